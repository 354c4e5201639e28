"""
What the demo comes to: the report, the sums, and whether the goal was reached.

Rule 1: the report is read through the sandbox, as everything that an agent wrote is.
Rule 2: the true number is counted here, from the logs as they were made, not from the report.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.demo.story import Story
from bot.goals.goal import Goal, State
from bot.goals.machine import Entry, replay
from bot.goals.money import NANO
from bot.ports.sandbox import Access, Sandbox

REPORT: Final = "report.md"
READ_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Ending:
    """The goal as it ended, its journal, its report and what the demo did to it."""

    goal: Goal
    entries: tuple[Entry, ...]
    story: Story
    report: str
    path: str
    """The report's, in the workspace; empty where there is none."""
    truth: int
    kills: int
    is_rehearsed: bool

    @property
    def is_reached(self) -> bool:
        """Complete, and the report names the true number."""
        named = re.search(rf"(?<!\d){self.truth}(?!\d)", self.report)
        return self.goal.state is State.COMPLETE and named is not None

    @property
    def replays(self) -> bool:
        """Whether the journal folds to the goal's row."""
        return replay(self.entries) == self.goal

    def why_not(self) -> str:
        """Why the goal counts as not reached."""
        if self.goal.state is not State.COMPLETE:
            return f"The goal is {self.goal.state.replace('_', ' ')}, not complete."
        if not self.path:
            return f"The goal is complete, but there is no {REPORT} in its workspace."
        return f"The report does not hold the true number, {self.truth}."

    def rows(self) -> list[tuple[str, str]]:
        """The closing table."""
        ledger, story = self.goal.ledger, self.story
        audits = ", ".join(f"{kind} {count}" for kind, count in story.audits.items())
        tokens = f"{ledger.tokens:,}"
        if ledger.estimated_tokens:
            tokens += f" ({ledger.estimated_tokens:,} of them estimated, for a lost reply)"
        return [
            ("turns", str(self.goal.turn)),
            ("audits", f"{story.audits.total()} ({audits})"),
            ("model calls", str(ledger.calls)),
            ("tokens", tokens),
            ("cost", self._cost()),
            ("kills survived", f"{self.kills} (calls with effects run twice: {story.repeated})"),
            ("the journal", self._journal()),
        ]

    def _cost(self) -> str:
        ledger = self.goal.ledger
        least = "at least " if ledger.has_unknown_price else ""
        cost = f"{least}${ledger.nano_usd / NANO:.2f}"
        return f"$0.00; a real model would have charged {cost}" if self.is_rehearsed else cost

    def _journal(self) -> str:
        kinds = self.story.kinds
        told = "folds to the very same goal" if self.replays else "does NOT fold to the same goal"
        return (
            f"{len(self.entries)} entries, {kinds['CallSettled']} replies and "
            f"{kinds['ToolEnded']} tool results among them; replayed, it {told}"
        )


def true_number(logs: Mapping[str, str]) -> int:
    """How many different failed logins the logs hold."""
    lines: Iterable[str] = (line for text in logs.values() for line in text.splitlines())
    return len({m[1] for line in lines if (m := re.search(r"Failed password.* id=(\w+)", line))})


async def report_of(sandbox: Sandbox, workspace: str, *, confined: bool) -> tuple[str, str]:
    """Where the report is in the workspace, and its text; both empty where there is none.

    Raises:
        NoSandbox: it cannot be looked for.
    """
    access: Access = "read_only" if confined else "workspace"
    session = await sandbox.open(workspace, access)
    try:
        found = await session.call("glob", {"pattern": f"**/{REPORT}"}, timeout_s=READ_S)
        paths = [line.strip() for line in found.text.splitlines() if line.strip().endswith(REPORT)]
        if not found.ok or not paths:
            return "", ""
        path = min(paths, key=len)
        read = await session.call("bash", {"command": f"cat -- '{path}'"}, timeout_s=READ_S)
        return (path, read.text) if read.ok else ("", "")
    finally:
        await session.close()
