"""
A goal's own checks: what people gave it, and the check lines of its objective.

Rule 1: a check is a person's text: no tool adds, changes or skips one. It runs in the sandbox, so that no
        profile has to allow it.
Rule 2: it runs after the turn, with no tool of the turn running, in a shell of its own: neither the
        directory nor a variable that the agent has set is that check's. What it changes stays.
Rule 3: one that cannot run has failed, and says why: there is no sandbox, no such program, or its text was
        erased.
"""

import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.agent.audit_request import Gate
from bot.errors import NoSandbox
from bot.goals.goal import Goal
from bot.goals.objective_lines import checks_in
from bot.ports.journal import Journal
from bot.ports.sandbox import Access, Line, Outcome, Sandbox, Session

TIME_LIMIT_S: Final = 300.0
GRACE_S: Final = 10.0
"""A command's own limit ends it before the call's."""
NO_PROGRAM: Final = 127
"""What a shell ends with whose program is not there (POSIX)."""
TIMED_OUT: Final = 124
"""As coreutils' `timeout` has it."""
OUTPUT_CHARS: Final = 2_400
_ERASED: Final = "Not run: the text was erased, and nobody knows what it asks for."


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a goal's checks run: how they see the workspace, their way out, and their folder."""

    access: Access = "workspace"
    line: Line | None = None
    folder: str = ""


async def _plain(goal: Goal) -> Ground:
    return Ground()


class SandboxGates:
    """Port Gates of the audit."""

    def __init__(
        self,
        journal: Journal,
        sandbox: Sandbox | None,
        ground: Callable[[Goal], Awaitable[Ground]] = _plain,
        *,
        limit_s: float = TIME_LIMIT_S,
    ) -> None:
        """`ground` tells where the checks of a goal run; each may take `limit_s` seconds."""
        self._journal, self._sandbox = journal, sandbox
        self._ground, self._limit_s = ground, limit_s

    async def run(self, goal: Goal) -> tuple[Gate, ...]:
        """Every check, in order; one that could not run says so. Cancelling it ends what runs."""
        commands, lost = await _checks_of(goal, self._journal)
        return (*lost, *await self._ran(goal, commands)) if commands else lost

    async def _ran(self, goal: Goal, commands: Sequence[str]) -> tuple[Gate, ...]:
        if self._sandbox is None:
            return _broken(commands, "There is no sandbox on this machine.")
        ground = await self._ground(goal)
        try:
            session = await self._sandbox.open(goal.session, ground.access, ground.line)
        except NoSandbox as error:
            return _broken(commands, str(error))
        try:
            return tuple([await self._one(session, command, ground) for command in commands])
        finally:
            await session.close()

    async def _one(self, session: Session, command: str, ground: Ground) -> Gate:
        args = {"command": in_folder(command, ground.folder), "timeout_s": self._limit_s}
        try:
            outcome = await session.call(
                "bash", {**args, "fresh": True}, timeout_s=self._limit_s + GRACE_S
            )
        except NoSandbox as error:
            return Gate(command, None, str(error))
        return Gate(command, _exit_code(outcome), outcome.text[-OUTPUT_CHARS:])


async def _checks_of(goal: Goal, journal: Journal) -> tuple[tuple[str, ...], tuple[Gate, ...]]:
    """The goal's checks: those that people gave it, then those of its objective, each once; and what is lost."""
    hashes = (goal.objective, *(gate.command for gate in goal.gates))
    texts = await journal.contents(goal.session, sorted(set(hashes)))
    given = [texts[gate.command] for gate in goal.gates if gate.command in texts]
    lost = [
        Gate(f"check {gate.number}", None, f"{_ERASED} `gate remove {gate.number}` takes it away.")
        for gate in goal.gates
        if gate.command not in texts
    ]
    if goal.objective not in texts:
        lost.append(Gate("checks of the objective", None, f"{_ERASED} `edit` gives another."))
    own = checks_in(texts.get(goal.objective, ""))
    return tuple(dict.fromkeys([*given, *own])), tuple(lost)


def in_folder(command: str, folder: str) -> str:
    """The command, as it is run in a folder of the workspace (empty: the workspace itself)."""
    if not folder:
        return command
    there = shlex.quote(folder)
    return f"cd -- {there} || {{ echo {shlex.quote(f'There is no {folder} yet.')}; exit 1; }}\n{command}"


def _broken(commands: Sequence[str], why: str) -> tuple[Gate, ...]:
    return tuple(Gate(command, None, why) for command in commands)


def _exit_code(outcome: Outcome) -> int | None:
    """None where the check could not run at all."""
    if outcome.timed_out:
        return TIMED_OUT
    if outcome.exit_code == NO_PROGRAM and "command not found" in outcome.text:
        return None
    if outcome.exit_code is None:
        # A limit of the sandbox ended it, which says so: it ran.
        return 0 if outcome.ok else 1
    return outcome.exit_code or (0 if outcome.ok else 1)
