"""A wait's probe: one command in the goal's sandbox, read-only, without a model."""

from bot.agent.background import Standing, standing
from bot.errors import NoSandbox
from bot.goals.goal import Goal
from bot.ports.sandbox import Sandbox

PROBE_S = 30.0
CANNOT_RUN = (126, 127)
"""What a shell exits with when a command is not found or not executable."""


class SandboxProbe:
    """Looks whether what a goal waits for has come."""

    def __init__(self, sandbox: Sandbox | None) -> None:
        self._sandbox = sandbox

    async def process(self, goal: Goal, id: str) -> Standing:
        """How a background command of the goal stands. It may run in another process of the database."""
        found = standing(self._sandbox, goal, id)
        if found != "gone" or self._sandbox is None:
            return found
        try:
            session = await self._sandbox.open(goal.session, "read_only")
        except NoSandbox:
            return "gone"
        try:
            held = await session.call("held", {"id": id}, timeout_s=PROBE_S)
        except NoSandbox:
            return "gone"
        finally:
            await session.close()
        return "running" if held.ok else "gone"

    async def probe(self, goal: Goal, command: str) -> tuple[bool, bool]:
        """Run `command` once within 30 s: has it come (exit 0), and could it run at all?"""
        if self._sandbox is None:
            return False, False
        try:
            session = await self._sandbox.open(goal.session, "read_only")
        except NoSandbox:
            return False, False
        try:
            outcome = await session.call("bash", {"command": command}, timeout_s=PROBE_S)
        except NoSandbox:
            return False, False
        finally:
            await session.close()
        came = outcome.exit_code == 0
        return came, came or (not outcome.timed_out and outcome.exit_code not in CANNOT_RUN)
