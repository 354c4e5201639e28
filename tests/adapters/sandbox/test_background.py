"""Commands in the background: nothing of them hides, outlives or outgrows what it may."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.none import Unconfined
from bot.agent.probe import SandboxProbe
from bot.goals.goal import Goal
from bot.ports.sandbox import Sandbox, Session
from tests.adapters.sandbox.conftest import SMALL
from tests.adapters.sandbox.test_endings import _alive, _pid, _sleepers
from tests.contracts.background import begin, kill, poll
from tests.contracts.sandbox import bash

pytestmark = pytest.mark.sandbox

HIDING = (
    "setsid sleep 985 & (setsid sleep 985 &) ; "
    "(trap '' TERM HUP INT; setsid bash -c 'setsid sleep 985; true' &) ; sleep 985"
)
"""Four sleepers, three of them not where they began."""


@pytest.fixture(params=["bubblewrap", "none"])
async def each(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Sandbox]:
    made = Bubblewrap(folder) if request.param == "bubblewrap" else Unconfined(folder)
    yield made
    await made.close()


@pytest.fixture
async def hands(each: Sandbox) -> AsyncIterator[Session]:
    opened = await each.open("G1", "workspace")
    yield opened
    await opened.close()


async def test_kill_reaches_whoever_has_hidden_and_nobody_else(hands: Session) -> None:
    kept = await begin(hands, "sleep 984")
    id = await begin(hands, HIDING)
    await _sleeping(hands, 5)

    killed = await kill(hands, id)

    left = [one.cmdline() for one in _sleepers(hands)]
    assert killed.ok
    assert left == [["sleep", "984"]]
    assert "running" in (await poll(hands, kept)).text


async def test_what_another_command_leaves_ends_and_the_background_does_not(
    hands: Session,
) -> None:
    id = await begin(hands, HIDING)
    await _sleeping(hands, 4)

    outcome = await bash(hands, "(setsid sleep 983 &) ; sleep 0.2")

    assert "1 processes that it left running were ended" in outcome.text
    assert len(_sleepers(hands)) == 4
    assert "running" in (await poll(hands, id)).text


async def test_a_cancelled_call_ends_and_the_background_does_not(hands: Session) -> None:
    id = await begin(hands, "sleep 985")
    call = asyncio.create_task(bash(hands, "(setsid sleep 983 &) ; sleep 983"))
    await _sleeping(hands, 3)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert len(_sleepers(hands)) == 1
    assert "running" in (await poll(hands, id)).text


async def test_what_it_leaves_running_ends_with_it(hands: Session) -> None:
    id = await begin(hands, "(setsid sleep 985 &) ; sleep 0.2; echo over")

    outcome = await poll(hands, id, 10)

    assert "1 processes that it left running were ended" in outcome.text
    assert outcome.exit_code == 0
    assert not _sleepers(hands)


async def test_closing_ends_all_of_it(hands: Session) -> None:
    await begin(hands, HIDING)
    await _sleeping(hands, 4)
    family = psutil.Process(_pid(hands)).children(recursive=True)

    await hands.close()

    assert not _alive(family)


async def test_who_ends_its_keeper_ends_it(folder: Path) -> None:
    session = await Bubblewrap(folder).open("G1", "workspace")
    id = await begin(session, "kill -9 $PPID; sleep 985")

    outcome = await poll(session, id, 10)
    await asyncio.sleep(0.3)

    assert "outcome is not known" in outcome.text
    assert not _sleepers(session)
    await session.close()


async def test_its_output_is_bounded(hands: Session) -> None:
    id = await begin(hands, "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo last")

    outcome = await poll(hands, id, 30)

    assert outcome.ok
    assert len(outcome.text) < 31_000
    assert outcome.text.startswith("first\nxxx")
    assert "bytes left out" in outcome.text
    assert f"xlast\n[{id}: ended with exit code 0]" in outcome.text


async def test_there_are_only_so_many_at_once(folder: Path) -> None:
    session = await Bubblewrap(folder, limits=Limits(background=2)).open("G1", "workspace")
    first = [await begin(session, "sleep 985"), await begin(session, "sleep 985")]

    refused = await session.call("bash", {"command": "sleep 985", "background": True}, timeout_s=9)
    await kill(session, first[0])
    third = await begin(session, "sleep 985")
    await session.close()

    assert not refused.ok
    assert first[1] in refused.text
    assert "End one with kill first" in refused.text
    assert third not in first


@pytest.mark.parametrize(
    ("limits", "command", "told"),
    [
        (Limits(background_s=1.0), "sleep 985", "ended after 1 s"),
        (Limits(background_processes=5), "for i in $(seq 9); do sleep 985 & done; wait", "more than 5"),
        (SMALL, "while :; do head -c 1000000 /dev/urandom >> big; sleep 0.02; done", "Delete what"),
    ],
    ids=["time", "processes", "disk"],
)  # fmt: skip
async def test_its_limit_ends_it_though_nobody_asks(
    folder: Path, limits: Limits, command: str, told: str
) -> None:
    sandbox = Bubblewrap(folder, limits=limits)
    session = await sandbox.open("G1", "workspace")
    id = await begin(session, command)

    for _ in range(150):
        await asyncio.sleep(0.1)
        if sandbox.processes("G1")[id] != "running":
            break
    outcome = await poll(session, id)
    left = _sleepers(session)
    await session.close()

    assert told in outcome.text
    assert not left


async def test_a_fork_bomb_in_the_background_leaves_the_rest_alone(folder: Path) -> None:
    limits = SMALL._replace(background_processes=30)
    session = await Bubblewrap(folder, limits=limits).open("G1", "workspace")
    kept = await begin(session, "sleep 984")
    bomb = await begin(session, "f() { f | f & f | f & }; f; sleep 30")
    await asyncio.sleep(3)

    after = await bash(session, "echo on")
    outcome = await poll(session, bomb)

    assert "on" in after.text.splitlines()
    assert "running" not in outcome.text
    assert "running" in (await poll(session, kept)).text
    await session.close()


async def test_it_begins_where_the_shell_is_and_moves_it_nowhere(hands: Session) -> None:
    await bash(hands, "cd notes; export WHO=me")

    id = await begin(hands, 'pwd; echo "$WHO"; cd ../drafts; export WHO=you')
    outcome = await poll(hands, id, 10)
    after = await bash(hands, "pwd; echo $WHO")

    assert outcome.text.splitlines()[0].endswith("/notes")
    assert outcome.text.splitlines()[1] == "me"
    assert after.text.splitlines()[0].endswith("/notes")
    assert after.text.splitlines()[1] == "me"


async def test_an_end_is_told_with_the_next_command_and_once(hands: Session) -> None:
    id = await begin(hands, "exit 4")
    await asyncio.sleep(0.5)

    first, second = await bash(hands, "echo a"), await bash(hands, "echo b")

    assert f"[{id}: ended with exit code 4" in first.text
    assert second.text == "b"


async def test_what_went_with_its_sandbox_is_told_once(hands: Session) -> None:
    id = await begin(hands, "sleep 985 # the server")
    await _sleeping(hands, 1)
    family = psutil.Process(_pid(hands)).children(recursive=True)
    psutil.Process(_pid(hands)).kill()
    await asyncio.sleep(0.5)

    polled = await poll(hands, id)
    after = await bash(hands, "echo on")

    assert not _alive(family)
    assert not polled.ok
    assert f"Gone with the sandbox in which they ran: {id} (sleep 985 # the server)" in polled.text
    assert "Gone" not in after.text


async def test_a_session_with_something_running_gives_way_last(folder: Path) -> None:
    sandbox = Bubblewrap(folder, max_sessions=2)
    first, second = await sandbox.open("G1", "workspace"), await sandbox.open("G2", "workspace")
    id = await begin(first, "sleep 985")
    await bash(second, "true")

    third = await sandbox.open("G3", "workspace")

    assert "running" in (await poll(first, id)).text
    for session in (first, second, third):
        await session.close()


async def test_it_is_found_from_a_session_that_sees_the_workspace_otherwise(folder: Path) -> None:
    sandbox = Bubblewrap(folder)
    first = await sandbox.open("G1", "workspace")
    id = await begin(first, "echo said; sleep 985")
    await asyncio.sleep(0.2)
    await first.close(lives_on="G1")
    second = await sandbox.open("G1", "read_only")

    polled, killed = await poll(second, id), await kill(second, id)
    await second.close()
    await sandbox.close()

    assert "said" in polled.text
    assert killed.ok


async def test_another_process_of_the_bot_sees_what_runs_and_what_has_gone(folder: Path) -> None:
    one, other = Bubblewrap(folder), Bubblewrap(folder)
    session = await one.open("G1", "workspace")
    id = await begin(session, "sleep 985")
    probe, goal = SandboxProbe(other), Goal("g", "G1", 1, "ann", "x")

    seen = [await probe.process(goal, id), await probe.process(goal, "bg-00000000")]
    await session.close()
    after = await probe.process(goal, id)
    await other.close()

    assert seen == ["running", "gone"]
    assert after == "gone"


async def test_a_look_that_is_cancelled_ends_at_once(hands: Session) -> None:
    id = await begin(hands, "sleep 985")
    started = time.monotonic()
    look = asyncio.create_task(poll(hands, id, 30))
    await asyncio.sleep(0.3)

    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look

    assert "running" in (await poll(hands, id)).text
    assert time.monotonic() - started < 5


async def _sleeping(session: Session, many: int) -> None:
    for _ in range(500):
        if len(_sleepers(session)) >= many:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the commands do not run")
