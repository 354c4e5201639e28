"""The process of a closed session waits for the next one over the same workspace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from bot.errors import NoSandbox

Make = Callable[[float], Bubblewrap]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Bubblewrap] = []

    def make(rest_s: float) -> Bubblewrap:
        made.append(Bubblewrap(tmp_path / "workspaces", rest_s=rest_s))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def test_the_next_session_over_a_workspace_has_the_same_process(make: Make) -> None:
    sandbox = make(30.0)
    first = await sandbox.open("one", "workspace")
    pid = _pid(first)
    await first.close()

    second = await sandbox.open("one", "workspace")

    assert _pid(second) == pid
    outcome = await second.call("bash", {"command": "echo still here"}, timeout_s=10)
    assert outcome.text.strip() == "still here"
    await second.close()


async def test_another_workspace_or_profile_has_a_process_of_its_own(make: Make) -> None:
    sandbox = make(30.0)
    first = await sandbox.open("one", "workspace")
    pid = _pid(first)
    await first.close()

    others = [await sandbox.open("two", "workspace"), await sandbox.open("one", "read_only")]

    assert pid not in {_pid(each) for each in others}
    for each in others:
        await each.close()


async def test_a_closed_session_takes_no_call_though_its_process_rests(make: Make) -> None:
    session = await make(30.0).open("one", "workspace")
    await session.close()

    with pytest.raises(NoSandbox):
        await session.call("glob", {"pattern": "*"}, timeout_s=10)


async def test_a_session_that_is_closed_under_a_call_does_not_rest(make: Make) -> None:
    sandbox = make(30.0)
    session = await sandbox.open("one", "workspace")
    pid = _pid(session)
    call = asyncio.create_task(session.call("bash", {"command": "sleep 60"}, timeout_s=60))
    await asyncio.sleep(0.2)

    await session.close()

    assert not (await call).ok
    assert not _lives(pid)


async def test_what_rests_too_long_ends(make: Make) -> None:
    session = await make(0.05).open("one", "workspace")
    pid = _pid(session)
    await session.close()

    async with asyncio.timeout(10):
        while _lives(pid):
            await asyncio.sleep(0.02)


async def test_closing_the_sandbox_ends_what_rests(make: Make) -> None:
    sandbox = make(30.0)
    session = await sandbox.open("one", "workspace")
    pid = _pid(session)
    await session.close()

    await sandbox.close()

    assert not _lives(pid)


def _pid(session: object) -> int:
    pid = getattr(session, "pid", None)
    assert isinstance(pid, int)
    return pid


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
