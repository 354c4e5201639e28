"""Goals that are put back to a checkpoint, and copied from one, on the console in the real process."""

import os
import signal
import time
from pathlib import Path

import pytest

from bot.goals.machine import replay
from tests.adapters.snapshots.test_whole_trees import kept_of
from tests.journeys.bot import Bot, Thread, headway, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
Files = dict[bytes, tuple[object, ...]]


def workspace(goal: Thread) -> Path:
    return goal.bot.state_dir / "workspaces" / goal.goal().session


def files(goal: Thread) -> Files:
    return kept_of(workspace(goal))


def asked(goal: Thread, number: int) -> Files:
    """Wait until the goal asks so often, and tell what is in its workspace then."""
    goal.until_true(lambda look: look.goal.decisions >= number and look.goal.state == "deciding")
    goal.bot.ask(do="settle")
    return files(goal)


def until_restored(goal: Thread, count: int = 1) -> Files:
    """Wait until its workspace was put back, and tell what is in it before the agent goes on."""
    goal.until_true(lambda look: len(look.events("WorkspaceRestored")) >= count)
    return files(goal)


def told(goal: Thread, text: str) -> str:
    """Say something, and wait for what is answered."""
    id = goal.say(text)
    until(
        lambda: any(post.key == f"reply:{id}" for post in goal.bot.posts(goal.id)), 20,
        lambda: f"Nothing was answered to {text}.\n{goal.bot.told()}",
    )  # fmt: skip
    [post] = [post for post in goal.bot.posts(goal.id) if post.key == f"reply:{id}"]
    return post.text


def test_a_goal_is_put_back_byte_for_byte_goes_on_from_there_and_forward_again(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script keeps 3 2")
    first = asked(goal, 1)
    goal.say("yes")
    second = asked(goal, 2)
    assert first != second

    listed = told(goal, "rewind")
    answered = told(goal, "rewind 1")
    paused = goal.until("paused")
    goal.say("resume")
    back = until_restored(goal)
    third = asked(goal, 3)

    assert "**2** · turn 2" in listed
    assert "checkpoint 1 (turn 1" in answered
    assert "rewind 2" in answered
    assert paused.reason == "rewound"
    assert back == first
    assert third[b"drafts"] != second[b"drafts"]
    log = (workspace(goal) / "drafts/log.txt").read_text()
    assert log == "turn-1\nturn-2\n"

    told(goal, "rewind 2")
    goal.say("resume")
    assert until_restored(goal, 2) == second
    asked(goal, 4)
    goal.say("yes")
    goal.until("complete")
    assert (workspace(goal) / "drafts/log.txt").read_text() == "turn-1\nturn-2\nturn-3\n"
    look = goal.look()
    assert replay(look.journal) == look.goal
    traced = headway("trace", f"G{look.goal.number}", "--json", env=bot.env)
    assert '"event": "Rewound"' in traced.stdout, traced.stderr
    shown = headway("trace", f"G{look.goal.number}", env=bot.env)
    assert "WorkspaceRestored" in shown.stdout, shown.stderr
    keys = [post.key for post in bot.posts(goal.id) if not post.is_edit]
    assert len(keys) == len(set(keys))


def test_a_checkpoint_that_there_is_not_and_a_goal_that_has_ended_are_refused(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script keeps 1")
    asked(goal, 1)

    unknown = told(goal, "rewind 7")
    none_of_it = goal.goal()
    goal.say("yes")
    goal.until("complete")
    final = told(goal, "rewind 1")

    assert "no checkpoint 7" in unknown
    assert none_of_it.state == "deciding"
    assert "rewind" not in goal.goal().reason
    assert "has ended" in final
    assert goal.goal().state == "complete"


def test_a_copy_goes_on_in_a_thread_of_its_own_and_leaves_the_goal_alone(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script keeps 2 2")
    first = asked(goal, 1)
    goal.say("yes")
    second = asked(goal, 2)

    answered = told(goal, "fork 1")
    number = max(one.number for one in bot.goals())
    [made] = [one for one in bot.goals() if one.number == number]
    until(lambda: bool(threads_of(bot, number)), 20, bot.told)
    copy = Thread(bot, threads_of(bot, number)[0])
    back = until_restored(copy)
    asked(copy, 1)
    copy.say("yes")
    copy.until("complete")

    assert f"G{number} goes on from checkpoint 1" in answered
    assert made.forks == goal.goal().id
    assert made.session != goal.goal().session
    assert back == first
    assert (workspace(copy) / "drafts/log.txt").read_text() == "turn-1\nturn-2\n"
    assert files(goal) == second
    assert goal.goal().state == "deciding"
    assert made.budget.nano_usd == (goal.goal().budget.nano_usd or 0) - goal_spent(goal)
    for one in (copy, goal):
        look = one.look()
        assert replay(look.journal) == look.goal


def goal_spent(goal: Thread) -> int:
    return goal.goal().ledger.nano_usd


def threads_of(bot: Bot, number: int) -> list[str]:
    """The threads of the goal of that number, once it has one."""
    import asyncio

    from adapters.store.reading import open_for_reading

    async def read() -> list[str]:
        async with open_for_reading(bot.database, state_dir=bot.folder) as store:
            rows = await store.records.goals()
        return [row.place.thread for row in rows if row.goal.number == number]

    return [thread for thread in asyncio.run(read()) if not thread.startswith("new:")]


def test_a_goal_that_has_ended_is_copied_too_with_a_new_objective(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script keeps 1")
    first = asked(goal, 1)
    goal.say("yes")
    goal.until("complete")

    told(goal, "fork 1 write it once more")
    number = max(one.number for one in bot.goals())
    until(lambda: bool(threads_of(bot, number)), 20, bot.told)
    copy = Thread(bot, threads_of(bot, number)[0])
    copy.until("complete")

    assert files(copy) == first


def test_what_a_goal_made_is_listed_in_words_and_on_the_command_line(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script keeps 1")
    asked(goal, 1)

    answered = told(goal, "files")
    number = goal.goal().number
    done = headway("files", f"G{number}", env=bot.env)
    as_json = headway("files", f"G{number}", "--json", env=bot.env)

    assert "`artifacts/report.md` · 9 bytes · made in turn 1" in answered
    assert "`drafts/`" in answered
    assert done.returncode == 0, done.stderr
    assert "artifacts/report.md" in done.stdout
    assert '"path": "cache/scratch"' in as_json.stdout


def test_killed_while_files_are_put_back_they_are_put_back_all_the_same(
    begin: Begin, api: Api
) -> None:
    bot = begin(api, budget_tokens=400_000, budget_usd=100)
    goal = bot.goal("!script keeps 2 1")
    asked(goal, 1)
    folder = workspace(goal)
    many = folder / "checkouts"
    for number in range(1500):
        (many / f"f{number}.txt").write_text(f"file {number}\n" * 20)
    goal.say("yes")
    first = asked(goal, 2)
    for path in many.iterdir():
        path.write_text("spoilt")
    told(goal, "rewind 2")
    goal.until("paused")
    goal.say("resume")
    for _ in range(3):
        until_begun(folder)
        bot.stop(signal.SIGKILL)
        bot.start()

    back = until_restored(goal)

    assert back == first
    look = goal.look()
    assert [event.tree for event in look.events("WorkspaceRestored")] == [
        look.events("Rewound")[0].tree
    ]
    assert replay(look.journal) == look.goal


def until_begun(folder: Path) -> None:
    """Wait until drafts of files that are put back lie there, or some moment."""
    end = time.monotonic() + 5
    while time.monotonic() < end and not (folder / "tmp/.putting-back").exists():
        time.sleep(0.005)
    time.sleep(0.05)


def test_after_a_copy_was_opened_a_kill_before_its_first_turn_loses_nothing(
    begin: Begin, api: Api
) -> None:
    bot = begin(api, budget_tokens=400_000, budget_usd=100)
    goal = bot.goal("!script keeps 1 1")
    first = asked(goal, 1)
    goal.say("fork 1")
    until(lambda: len(bot.goals()) == 2, 20, bot.told)
    bot.stop(signal.SIGKILL)

    bot.start()
    number = max(one.number for one in bot.goals())
    until(lambda: bool(threads_of(bot, number)), 20, bot.told)
    copy = Thread(bot, threads_of(bot, number)[0])

    assert until_restored(copy) == first
    assert len(copy.look().events("WorkspaceRestored")) == 1
    assert os.listdir(bot.state_dir / "workspaces") != []
