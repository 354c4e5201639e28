"""What every sandbox does with commands that run on while others come and go."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from bot.ports.sandbox import Outcome, Sandbox, Session
from tests.contracts.sandbox import LIMIT_S, bash

SOON_S = 10.0


async def begin(session: Session, command: str) -> str:
    """Start a command in the background; gives its id."""
    outcome = await session.call(
        "bash", {"command": command, "background": True}, timeout_s=LIMIT_S
    )
    found = re.search(r"bg-[0-9a-f]{8}", outcome.text)
    assert outcome.ok
    assert found is not None
    return found[0]


async def poll(session: Session, id: str, wait_s: int = 0) -> Outcome:
    return await session.call("poll", {"id": id, "wait_s": wait_s}, timeout_s=LIMIT_S)


async def kill(session: Session, id: str) -> Outcome:
    return await session.call("kill", {"id": id}, timeout_s=LIMIT_S)


class BackgroundContract:
    """Subclasses give a fixture `sandbox`."""

    @pytest.fixture
    async def behind(self, sandbox: Sandbox) -> AsyncIterator[Session]:
        opened = await sandbox.open("B1", "workspace")
        yield opened
        await opened.close()
        await sandbox.release("B1")

    async def test_it_runs_on_while_other_commands_come_and_go(self, behind: Session) -> None:
        id = await begin(behind, "echo first; sleep 0.5; echo last; exit 3")

        other = await bash(behind, "echo other")
        ended = await poll(behind, id, 10)

        assert other.text.strip() == "other"
        assert not ended.ok
        assert ended.exit_code == 3
        assert "last" in ended.text
        assert "ended with exit code 3" in ended.text

    async def test_each_look_gives_what_is_new(self, behind: Session) -> None:
        id = await begin(behind, "echo first; sleep 60")
        first = await self._printed(behind, id)

        second = await poll(behind, id)

        assert "first" in first
        assert "running" in second.text
        assert "first" not in second.text
        await kill(behind, id)

    async def test_a_look_does_not_wait_longer_than_it_says(self, behind: Session) -> None:
        id = await begin(behind, "sleep 60")

        outcome = await asyncio.wait_for(poll(behind, id, 1), SOON_S)

        assert outcome.ok
        assert outcome.exit_code is None
        assert "running" in outcome.text

    async def test_it_is_ended_by_kill(self, sandbox: Sandbox, behind: Session) -> None:
        id = await begin(behind, "echo printed; sleep 60")
        await bash(behind, "true")

        killed = await kill(behind, id)
        after = await poll(behind, id)

        assert killed.ok
        assert "killed" in killed.text
        assert "killed" in after.text
        assert sandbox.processes("B1")[id] == "killed"

    async def test_of_one_that_is_not_there_it_says_which_are(self, behind: Session) -> None:
        id = await begin(behind, "sleep 60")

        outcomes = [await poll(behind, "bg-00000000"), await kill(behind, "bg-00000000")]

        assert not any(outcome.ok for outcome in outcomes)
        assert all(id in outcome.text for outcome in outcomes)

    async def test_what_it_changes_is_seen_by_a_look(self, behind: Session) -> None:
        id = await begin(behind, "sleep 0.3; echo new > notes.txt")

        looked = await poll(behind, id, 10)
        again = await poll(behind, id)

        assert looked.changed
        assert not again.changed

    async def test_a_closed_session_leaves_nothing_running(self, sandbox: Sandbox) -> None:
        session = await sandbox.open("B2", "workspace")
        id = await begin(session, "sleep 60")

        await session.close()

        assert id not in sandbox.processes("B2")
        assert "B2" not in sandbox.lingering

    async def test_what_lives_on_is_there_in_the_next_session(self, sandbox: Sandbox) -> None:
        first = await sandbox.open("B3", "workspace")
        id = await begin(first, "sleep 0.5; echo done")
        await first.close(lives_on="G7")
        lingering = dict(sandbox.lingering)
        between = await sandbox.open("B3", "workspace")
        await between.close()

        second = await sandbox.open("B3", "workspace")
        outcome = await poll(second, id, 10)
        await second.close(lives_on="G7")
        await sandbox.release("B3")

        assert lingering == {"B3": "G7"}
        assert "done" in outcome.text
        assert outcome.exit_code == 0

    async def test_its_end_is_known_without_asking_it(self, sandbox: Sandbox) -> None:
        session = await sandbox.open("B4", "workspace")
        id = await begin(session, "sleep 0.3")
        await session.close(lives_on="G7")
        states = [sandbox.processes("B4")[id]]

        for _ in range(100):
            await asyncio.sleep(0.05)
            states.append(sandbox.processes("B4")[id])
            if states[-1] != "running":
                break
        await sandbox.release("B4")

        assert states[0] == "running"
        assert states[-1] == "ended with exit code 0"

    async def test_what_is_released_is_gone(self, sandbox: Sandbox) -> None:
        session = await sandbox.open("B5", "workspace")
        id = await begin(session, "sleep 60")
        await session.close(lives_on="G7")

        await sandbox.release("B5")
        await sandbox.release("B5")

        assert id not in sandbox.processes("B5")
        assert not sandbox.lingering

    async def _printed(self, session: Session, id: str) -> str:
        for _ in range(50):
            text = (await poll(session, id)).text
            if "first" in text:
                return text
            await asyncio.sleep(0.1)
        pytest.fail("it prints nothing")
