"""A person, or what is old, is taken out of everything under the state folder."""

import base64
import json
import os
import signal
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from bot.goals.machine import replay
from tests.journeys.bot import Bot, Thread, headway, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = pytest.mark.process

Api = BlockingMessagesApi
MARK = "zqmark7f3a"
ODD = "zqmärk7f3b"
NAME = "zqmark-ann"


@pytest.fixture
def one(begin: Begin, api: Api, monkeypatch: pytest.MonkeyPatch) -> Bot:
    """A process of a person whose name is a mark."""
    monkeypatch.setenv("LOGNAME", NAME)
    return begin(api)


def test_no_byte_of_a_person_is_left_and_the_sums_stand(one: Bot) -> None:
    goal = lived(one)
    live = one.goal(f"!script slow 20 about {MARK}")
    live.until_true(lambda look: bool(look.events("CallStarted")))
    assert {"headway.db-wal", "room.jsonl", "coded"} <= {p.name for p in holding(one.state_dir)}
    spent = json.loads(run(one, "show", "G1", "--json"))["cost_usd"]

    shown = run(one, "purge", "--person", NAME, "--dry-run")
    took = run(one, "purge", "--person", NAME, typed=b"y\n")

    assert holding(one.state_dir) == {}
    assert "1  live goal, cancelled" in shown
    assert "1  workspace\n" in took
    told = json.loads(run(one, "show", "G1", "--json"))
    assert (told["cost_usd"], told["objective"], told["owner"]) == (spent, FORGOTTEN, FORGOTTEN)
    assert MARK not in run(one, "trace", "G1", "--json")
    assert [look.goal.state for look in (goal.look(), live.look())] == ["complete", "cancelled"]
    code, _ = one.stop()
    assert code == 0
    assert holding(one.state_dir) == {}
    assert "Traceback" not in one.told()


def test_forget_me_asks_once_and_leaves_nothing_though_it_is_killed(one: Bot) -> None:
    lived(one)
    before = len(one.posts(""))
    one.say("/goal forget me")
    until(lambda: len(one.posts("")) > before, 10, one.told)
    asked = one.posts("")[-1].text
    assert holding(one.state_dir)

    one.say("/goal forget me yes")
    until(lambda: len(one.posts("")) > before + 1, 10, one.told)
    answered = one.posts("")[-1]
    one.stop(signal.SIGKILL)
    one.start()

    until(lambda: not marked(one.state_dir), 30, lambda: str(marked(one.state_dir)))
    assert "forget me yes" in asked
    assert "cannot be brought back" in asked
    assert answered.text


def test_what_is_old_goes_without_a_running_process_and_a_live_goal_stays(one: Bot) -> None:
    lived(one)
    live = one.goal("!script waits 600 message anything")
    live.until("waiting")
    one.stop()
    before = holding(one.state_dir)

    took = json.loads(run(one, "purge", "--older", "0d", "--yes", "--json"))["taken"]

    left = {path.name for path in holding(one.state_dir)}
    assert before
    assert took["text"] > 10
    assert took["workspace"] == 1
    assert left <= {"room.jsonl", "headway.db"}
    one.start()
    assert live.goal().state == "waiting"


def test_a_live_goal_of_somebody_else_goes_on_without_what_was_said_to_it(one: Bot) -> None:
    said = {"speaker": "ben", "do": "say"}
    assert headway("allow", "add", "@ben", env=one.env).returncode == 0
    goal = Thread(one, one.ask(**said, text="/goal !script slow 3 2")["id"])
    goal.until_true(lambda look: bool(look.events("CallStarted")))
    goal.say(f"// an aside of {MARK}")
    goal.say(f"mind {MARK}, and the tides")
    goal.until_true(lambda look: bool(look.events("MessageReceived")))
    one.stop()

    run(one, "purge", "--person", NAME, "--yes")
    assert holding(one.state_dir) == {}
    one.start()
    goal.until("complete", 40)

    look = goal.look()
    assert replay(look.journal) == look.goal
    assert json.loads(run(one, "show", "G1", "--json"))["owner"] == "ben"
    assert not marked(one.state_dir)


def test_a_deleted_objective_pauses_its_goal_within_a_moment(one: Bot) -> None:
    goal = one.goal(f"!script waits 600 message {ODD}")
    goal.until("waiting")

    one.ask(do="remove", id=goal.id)
    goal.until("paused")
    goal.until_posted("reply")

    shown = json.loads(run(one, "show", "G1", "--json"))
    assert shown["objective"] == FORGOTTEN
    assert f"@{NAME}: the message with the objective of G1 was deleted" in goal.posts()[-1].text
    assert ODD not in (one.state_dir / "console/room.jsonl").read_text().encode().decode(
        "unicode_escape"
    )


FORGOTTEN = "(forgotten)"


def lived(bot: Bot) -> Thread:
    """A goal that has ended, with marks in all that it left behind; others spoke in the room."""
    goal = bot.goal(f"!script quotes {MARK} and {ODD}")
    goal.until("deciding")
    bot.ask(do="say", text="a word of ben's", thread=goal.id, speaker="ben")
    goal.say(f"yes, {MARK} it is, {ODD}")
    goal.until("complete")
    bot.say("/goal list room")
    bot.ask(do="settle")
    return goal


def run(bot: Bot, *arguments: str, typed: bytes = b"") -> str:
    """What the command line printed."""
    done = headway(*arguments, env=bot.env, typed=typed)
    assert done.returncode == 0, done.stderr
    return done.stdout


def holding(folder: Path, forms: Collection[bytes] = ()) -> dict[Path, bytes]:
    """Files below the folder whose name or bytes hold a mark in any form, with the form."""
    found = {}
    for path in files(folder):
        name = os.fsencode(path.relative_to(folder))
        body = os.fsencode(os.readlink(path)) if path.is_symlink() else read(path)
        for form in forms or FORMS:
            if form in name or form in body:
                found[path] = form
    return found


def marked(folder: Path) -> dict[Path, bytes]:
    """The same but for the name: a process that starts meets its operator anew."""
    return holding(folder, MARKS)


def files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            is_file = path.is_symlink() or not path.is_dir()
            if is_file or any(form in os.fsencode(name) for form in FORMS):
                yield path


def read(path: Path) -> bytes:
    try:
        if stat.S_ISSOCK(path.lstat().st_mode) or path.is_dir():
            return b""
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def forms(mark: str) -> Iterator[bytes]:
    """The mark as UTF-8, UTF-16, JSON's escapes, and base64 of each at any offset."""
    yield json.dumps(mark)[1:-1].encode()
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        raw = mark.encode(encoding)
        yield raw
        for cut in range(3):
            whole = raw[cut : len(raw) - (len(raw) - cut) % 3]
            yield base64.b64encode(whole)


FORMS = sorted({form for mark in (MARK, ODD, NAME) for form in forms(mark)})
MARKS = sorted({form for mark in (MARK, ODD) for form in forms(mark)})
