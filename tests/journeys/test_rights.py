"""Several people at one console: let in, refused, handed over to, removed; killed in the middle."""

import getpass
import json
import signal
import time
from pathlib import Path

import pytest

from tests.journeys.bot import COMMAND, Bot, Thread, headway, until
from tests.journeys.conftest import SHARED, Begin
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.postgres import private_postgres

pytestmark = pytest.mark.process

Api = BlockingMessagesApi
ME = getpass.getuser()


def say(bot: Bot, who: str, text: str, thread: str = "") -> str:
    """Somebody says it, and all that follows from it at once has followed."""
    id = str(bot.ask(do="say", text=text, thread=thread, speaker=who)["id"])
    bot.ask(do="settle")
    return id


def goal_of(bot: Bot, who: str, script: str) -> Thread:
    return Thread(bot, say(bot, who, f"/goal !script {script}"))


def told(bot: Bot, thread: str = "") -> str:
    return "\n".join(post.text for post in bot.posts(thread))


def allow(bot: Bot, *arguments: str) -> str:
    done = headway("allow", *arguments, env=bot.env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_person_is_let_in_works_hands_over_and_is_removed(begin: Begin, api: Api) -> None:
    bot = begin(api)
    say(bot, "ben", "/goal !script waits 600")
    assert "I take goals from people on my list." in told(bot)
    assert not bot.goals()

    assert allow(bot, "add", "@ben") == "@ben is user in all rooms.\n"
    kept = goal_of(bot, "ben", "waits 600")
    given = goal_of(bot, "ben", "waits 600")
    mine = goal_of(bot, ME, "waits 600")
    kept.until("waiting")
    given.until("waiting")
    mine.until("waiting")

    say(bot, "ben", "budget 9 USD", mine.id)
    assert "You may not do that to G3" in told(bot, mine.id)
    assert not mine.look().events("BudgetSet")

    say(bot, "ben", f"owner @{ME}", given.id)
    say(bot, ME, "accept", given.id)
    assert f"G2 is {ME}'s now" in told(bot, given.id)
    assert given.goal().owner == mine.goal().owner

    allow(bot, "remove", "@ben")
    rests = kept.until("paused")
    assert rests.reason == "owner_lost:removed"
    assert f"@{ME}: ben is no longer on the list. Their goals here are paused:" in told(bot)
    assert [given.goal().state, mine.goal().state] == ["waiting", "waiting"]

    say(bot, ME, "/goal owner G1 me")
    say(bot, ME, "/goal resume G1")
    assert kept.until("waiting").owner == mine.goal().owner


def test_an_offer_and_what_is_set_outlive_a_kill(begin: Begin, api: Api) -> None:
    bot = begin(api)
    allow(bot, "add", "@ben")
    goal = goal_of(bot, ME, "waits 600")
    goal.until("waiting")
    say(bot, ME, "owner @ben", goal.id)
    set_one = headway("room", "console", "budget", "7", env=bot.env)
    assert set_one.returncode == 0, set_one.stderr
    bot.stop(signal.SIGKILL)

    bot.start()
    say(bot, "ben", "accept", goal.id)
    fresh = goal_of(bot, "ben", "waits 600")

    assert "G1 is ben's now" in told(bot, goal.id)
    assert goal.goal().owner == fresh.goal().owner
    assert fresh.goal().budget.nano_usd == 7_000_000_000
    assert "This room's `budget_usd` is 7 now, set by the operator." in told(bot)


def test_who_is_removed_while_nobody_works_owns_nothing_that_goes_on(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    allow(bot, "add", "@ben")
    goal = goal_of(bot, "ben", "slow 30")
    goal.until_true(lambda look: bool(look.events("CallStarted")))
    bot.stop(signal.SIGKILL)

    allow(bot, "remove", "@ben")
    bot.start()
    goal.until("paused")
    until(lambda: "no longer on the list" in told(bot), 10, bot.told)
    bot.stop(signal.SIGKILL)
    bot.start()
    bot.ask(do="settle")
    time.sleep(0.5)

    assert goal.goal().reason == "owner_lost:removed"
    cards = [post for post in bot.posts("") if "no longer on the list" in post.text]
    assert len(cards) == 1


def test_a_code_printed_by_the_operator_makes_an_admin(begin: Begin, api: Api) -> None:
    bot = begin(api)
    printed = json.loads(headway("claim", "--json", env=bot.env).stdout)

    say(bot, "ben", "claim AAAA-BBBB-CCCC")
    say(bot, "ben", f"claim {printed['code']}")
    say(bot, "ben", "/goal room self_approve on")

    assert "That is not the code." in told(bot)
    assert "ben is the admin now." in told(bot)
    assert "This room's `self_approve` is on now, set by ben." in told(bot)
    entries = json.loads(allow(bot, "--json"))
    assert [(one["who"], one["role"], one["given_by"]) for one in entries] == [
        ("@ben", "admin", "ben")
    ]
    refused = headway("allow", "remove", "@ben", env=bot.env)
    assert refused.returncode != 0
    assert "last admin" in refused.stderr


def test_chat_as_somebody_else_has_their_rights(begin: Begin, api: Api) -> None:
    bot = begin(api)
    allow(bot, "add", "@ben", "approver")

    started = headway("chat", "--as", "ben", env=bot.env, typed=b"/goal write it\n")
    listed = headway("chat", "--as", "@ben", env=bot.env, typed=b"/goal list room\n")
    nobody = headway("chat", "--as", "two words", env=bot.env, typed=b"")
    empty = headway("chat", "--as", "", env=bot.env, typed=b"/goal allow @ben admin\n")

    assert "You may not start anything here." in started.stdout
    assert "No goals here yet." in listed.stdout
    assert "'two words' is no name" in nobody.stderr
    assert nobody.returncode == 2
    assert "'' is no name" in empty.stderr


def test_a_chat_of_somebody_who_is_not_on_the_list_ends_with_its_input(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    chat = ("chat", "--as", "zoe", "write it", "--until-settled")

    told_why = headway(*chat, env=bot.env)
    told_already = headway(*chat, env=bot.env)

    assert (told_why.returncode, told_already.returncode) == (2, 2)
    assert "from people on my list" in told_why.stdout
    assert "Nothing was started." in told_already.stderr


def test_a_room_has_its_own_models(begin: Begin, api: Api) -> None:
    bot = begin(api)
    for key, model in (("model", "claude-opus-5"), ("audit_model", "claude-haiku-9")):
        headway("room", "console", key, model, env=bot.env)

    goal = goal_of(bot, ME, "complete_after 1")
    goal.until("complete")

    models = {call.role: call.model for call in goal.look().events("CallStarted")}
    assert models["agent"] == "claude-opus-5"
    assert models["audit"] == "claude-haiku-9"


@pytest.mark.postgres
def test_two_processes_of_two_people_agree_on_who_may_what(
    api: Api, sandbox: str, tmp_path: Path
) -> None:
    with private_postgres() as server:
        url = server.url(server.create())
        settings = {"base_url": api.url, "api_key": api.key, "sandbox": sandbox, "database": url,
                    "workspaces": tmp_path / "workspaces", **SHARED}  # fmt: skip
        ann, zoe = (
            Bot(tmp_path / who, settings, ("env", f"LOGNAME={who}", *COMMAND))
            for who in ("ann", "zoe")
        )
        ann.start(), zoe.start()
        try:
            allow(ann, "add", "@ben")
            hers = goal_of(ann, "ann", "waits 600")
            # Another process's list follows within 5 s.
            until(lambda: _begins(zoe, "ben"), 10, zoe.told)
            hers.until("waiting")

            began = time.monotonic()
            allow(ann, "remove", "@ben")
            until(lambda: _reasons(zoe)["G2"] == "owner_lost:removed", 10, zoe.told)
            took = time.monotonic() - began

            assert took < 8
            assert _reasons(ann)["G1"] == "wait:time"
            say(zoe, "zoe", "/goal list room")
            assert "@zoe: ben is no longer on the list." in told(zoe)
            assert "no longer on the list" not in told(ann)
        finally:
            for bot in (ann, zoe):
                bot.stop()


def _begins(bot: Bot, who: str) -> bool:
    """Somebody tries to start a goal; whether they could."""
    say(bot, who, "/goal !script waits 600")
    return any(goal.number == 2 for goal in bot.goals())


def _reasons(bot: Bot) -> dict[str, str]:
    return {f"G{goal.number}": goal.reason for goal in bot.goals()}
