"""Holds and drains on the real process: what stops, when it stops, and that nothing is done twice."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.goals.machine import replay
from tests.journeys.bot import COMMAND, Bot, Thread, headway, until, until_called
from tests.journeys.conftest import Begin
from tests.peers.messages_api import ROOT, BlockingMessagesApi, started

pytestmark = pytest.mark.process

Api = BlockingMessagesApi
FULL = os.environ.get("TEST_FULL") == "1"
TURNS = 100 if FULL else 20
WITHIN_S = 2.0
STARTS = {"CallStarted", "ToolStarted", "TurnStarted", "TurnResumed", "WaitFired"}
ROOMY: dict[str, object] = {
    "turns_at_once": TURNS + 20,
    "calls_at_once": TURNS + 20,
    "live_goals_person": 500,
    "live_goals_room": 500,
    "live_goals_all": 500,
    "cap_person_usd": 10_000,
    "cap_room_usd": 10_000,
    "cap_all_usd": 10_000,
    "limits__continuations": 40,
    "limits__continuations_most": 40,
}
SLEEP_S = "8.125" if FULL else "3.125"
KINDS = (
    f"!script slow {8 if FULL else 3} 1",
    f"!script appends {12 if FULL else 6} kept.txt",
    f"!script sleeps {SLEEP_S}",
)
"""A model that takes its time, many quick calls and tools, a tool that takes its time."""


def test_a_hold_during_live_turns_stops_all_of_them_and_a_release_completes_them(
    begin: Begin, capsys: pytest.CaptureFixture[str]
) -> None:
    with started() as api:
        bot = begin(api, **ROOMY)
        # They all begin at the same moment.
        bot.ask(do="hold", kind="all", name="", by="ann")
        threads = [bot.goal(kind) for kind in _kinds()]
        until(lambda: len(bot.goals()) == TURNS, 60, bot.told)
        bot.ask(do="release", kind="all", name="")
        until(lambda: _begun(bot) == TURNS, 60, bot.told)
        live = sum(not goal.is_final for goal in bot.goals())

        began = time.monotonic()
        held = bot.ask(do="hold", kind="all", name="", by="ann", why="drill")["hold"]
        took = time.monotonic() - began
        stopped = 0.0
        while (passed := time.monotonic() - began) < WITHIN_S:
            stopped = stopped or (passed if _busy(bot) == 0 else 0.0)
            time.sleep(0.05)
        at_two, in_flight = api.totals()["calls"], api.totals()["in_flight"]
        asleep = _asleep()
        until(lambda: _busy(bot) == 0, 10, bot.told)
        stopped = stopped or time.monotonic() - began
        interrupted = _interrupted(threads)
        time.sleep(2.0)
        after, late = api.totals()["calls"], _starts_after(threads, held["at"])

        release = headway("release", "--all", env=bot.env)
        for thread in threads:
            thread.until("complete", 60)

        assert (late, in_flight, after - at_two, asleep) == ([], 0, 0, 0)
        assert live >= 0.9 * TURNS
        assert interrupted, "calls and tools were under way"
        assert release.stdout == "Everything goes on.\n"
        for thread, kind in zip(threads, _kinds(), strict=True):
            _assert_done_once(bot, thread, kind)
        with capsys.disabled():
            print(
                f"\n{live} live turns: held in {took * 1000:.0f} ms, all at rest after "
                f"{stopped * 1000:.0f} ms, {interrupted} calls and tools interrupted, 0 starts "
                f"committed after the hold, 0 requests after {WITHIN_S:g} s; all complete"
            )


def test_a_hold_survives_being_killed(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script appends 6 kept.txt")
    until_called(api, goal)
    done = headway("hold", "--all", "--why", "the disk", env=bot.env)

    bot.stop(9)
    listed = headway("hold", env=bot.env)
    bot.start()
    time.sleep(1.5)
    seen = goal.look()
    other = bot.goal("!script complete_after 1")
    time.sleep(1.0)
    told = bot.posts(other.id)
    started_meanwhile = other.look().events("TurnStarted")
    released = headway("release", env=bot.env)
    goal.until("complete")
    other.until("complete")

    assert done.stdout.startswith("Everything is on hold.")
    assert "since" in listed.stdout
    assert "the disk" in listed.stdout
    assert [line.event for line in seen.journal] == [
        line.event for line in goal.look().journal[: len(seen.journal)]
    ]
    assert started_meanwhile == []
    assert told == []
    assert released.stdout == "Everything goes on.\n"
    _assert_done_once(bot, goal, "!script appends 6 kept.txt")


def test_a_hold_without_a_running_process_is_there_at_the_next_start(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 3 1")
    until_called(api, goal)
    bot.stop()

    held = headway("hold", "--room", "console", "--json", env=bot.env)
    bot.start()
    time.sleep(1.0)
    calls = len(goal.look().events("CallStarted"))
    shown = bot.posts(goal.id)
    release = headway("release", "--room", "console:console", env=bot.env)
    goal.until("complete")

    assert held.returncode == 0, held.stderr
    assert json.loads(held.stdout)["scope"] == "room"
    assert calls == 1
    assert any(post.text.startswith("On hold") for post in shown)
    assert release.stdout == "The room console:console goes on.\n"


def test_a_held_person_s_goals_wait_and_status_messages_say_so(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 6 1")
    until(lambda: any(post.kind == "status" for post in bot.posts(goal.id)), 20, bot.told)

    bot.say("/goal hold all: the key is being changed")
    until(lambda: _status(bot, goal).startswith("On hold"), WITHIN_S + 1, bot.told)
    status = _status(bot, goal)
    bot.say("in German, please", goal.id)
    until(lambda: "reply" in goal.kinds(), 5, bot.told)
    kept = goal.posts()[-1].text
    bot.say("/goal release all")
    until(lambda: _status(bot, goal).startswith("Working"), WITHIN_S + 1, bot.told)
    goal.until("complete", 30)

    assert "the key is being changed" in str(status)
    assert "it is kept, and goes on after the release" in kept


def test_a_drain_lets_the_turn_end_and_the_process_ends_well(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 1 2")
    until_called(api, goal)

    drained = headway("drain", env=bot.env)
    assert bot.process is not None
    code = bot.process.wait(10)
    left = goal.goal()
    bot.start()
    goal.until("complete")

    assert (drained.returncode, code) == (0, 0), drained.stderr
    assert "1 turn still running" in drained.stderr
    assert drained.stdout == "Drained: the process has ended.\n"
    assert left.state == "auditing"
    assert (left.ledger.open, left.turn) == ((), 1)
    assert goal.kinds() == ["complete"]


def test_a_drain_whose_time_is_over_leaves_the_turn_at_its_step(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 1.5 2")
    until_called(api, goal)

    drained = headway("drain", "--timeout", "0.2", env=bot.env)
    assert bot.process is not None
    code = bot.process.wait(10)
    left = goal.goal()
    bot.start()
    goal.until("complete")

    assert (drained.returncode, code) == (0, 0)
    assert "1 turn will go on from where they were" in drained.stdout
    assert (left.state, left.ledger.open, left.ledger.lost) == ("working", (), ())


def test_a_drain_of_a_chat_is_refused_and_nothing_to_drain_is_well(begin: Begin, api: Api) -> None:
    bot = begin(api)
    bot.stop()

    nothing = headway("drain", env=bot.env)
    with subprocess.Popen(
        [*COMMAND, "chat", "--until-settled", "!script slow 4 1"],
        env=bot.env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    ) as chat:  # fmt: skip
        until(lambda: len(bot.goals()) == 1, 30, bot.told)
        refused = headway("drain", env=bot.env)
        chat.terminate()

    assert (nothing.returncode, nothing.stdout) == (0, "Nothing runs in this state folder.\n")
    assert refused.returncode == 1
    assert "belongs to a `headway chat`" in refused.stderr


def _kinds() -> Sequence[str]:
    return [KINDS[number % len(KINDS)] for number in range(TURNS)]


def _asleep() -> int:
    """How many of the goals' commands run."""
    found = 0
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            found += (process / "cmdline").read_bytes() == f"sleep\0{SLEEP_S}\0".encode()
    return found


def _busy(bot: Bot) -> int:
    return int(bot.ask(do="draining")["turns"])


def _begun(bot: Bot) -> int:
    """How many goals have a call or a tool behind them."""
    return sum(goal.ledger.calls + len(goal.ledger.open) > 0 for goal in bot.goals())


def _interrupted(threads: Sequence[Thread]) -> int:
    found = 0
    for look in (thread.look() for thread in threads):
        found += len(look.events("CallLost"))
        found += sum(event.outcome == "interrupted" for event in look.events("ToolEnded"))
    return found


def _starts_after(threads: Sequence[Thread], at: float) -> list[str]:
    return [
        f"{look.goal.id} {type(line.event).__name__}"
        for look in (thread.look() for thread in threads)
        for line in look.journal
        if type(line.event).__name__ in STARTS and line.event.at > at
    ]


def _status(bot: Bot, goal: Thread) -> str:
    shown = [post for post in bot.posts(goal.id) if post.kind == "status"]
    return "\n".join([shown[-1].text, str(shown[-1].shape.get("now", ""))])


def _assert_done_once(bot: Bot, thread: Thread, kind: str) -> None:
    """It is complete once, its money adds up, and what its tools do was done once."""
    look = thread.look()
    assert [one for one in thread.kinds() if one != "reply"] == ["complete"]
    assert replay(look.journal) == look.goal
    assert look.goal.ledger.open == ()
    assert "unknown" not in [event.outcome for event in look.events("ToolEnded")]
    script, *arguments = kind.split()[1:]
    if script == "appends":
        [path] = (bot.folder / "workspaces").rglob(f"{look.goal.session}/**/{arguments[1]}")
        lines = path.read_text().splitlines()
        assert len(lines) == len(set(lines))
