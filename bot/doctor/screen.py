"""The doctor's words on a terminal, in a pipe, or as JSON."""

import io
import json
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from bot.doctor.finding import Finding, State
from bot.wiring.program import program

SIGNS: Final[dict[State, str]] = {
    "ok": "[green]✓ ok[/]     ",
    "warning": "[yellow]! warning[/]",
    "wrong": "[red]✗ wrong[/]  ",
    "skipped": "[dim]- skipped[/]",
}
NAME_CHARS: Final = 14


class Screen:
    """Prints one line a finding; on a terminal it says besides what is being looked at."""

    def __init__(self, *, as_json: bool) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        self._as_json = as_json
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._still()

    def looking(self, check: str) -> None:
        """Say what is awaited."""
        if self._as_json or not self._console.is_interactive:
            return
        self._still()
        self._status = self._console.status(f"Looking at the {check} ...")
        self._status.start()

    def show(self, finding: Finding) -> None:
        """Print a finding."""
        if not self._as_json:
            self._still()
            sign, name = SIGNS[finding.state], finding.check.ljust(NAME_CHARS)
            self._line(f"{sign} {name} ", escape(finding.text))

    def _line(self, head: str, text: str) -> None:
        """On a terminal what is too long goes on beneath itself; in a pipe a line stays a line."""
        if not self._console.is_terminal:
            self._console.print(head + text)
            return
        row = Table.grid()
        row.add_column(no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(head, text)
        self._console.print(row, soft_wrap=False)

    def close(self, findings: Sequence[Finding], *, is_all: bool = True) -> None:
        """Print what it comes to, or the whole as JSON. `is_all`: everything was looked at."""
        self._still()
        bad = [finding.check for finding in findings if finding.state == "wrong"]
        if self._as_json:
            rows = [
                {"check": each.check, "state": each.state, "text": each.text} for each in findings
            ]
            self._console.print_json(json.dumps({"ok": not bad, "checks": rows}))
        elif bad:
            self._console.print(f"\n[red]✗ Mend first:[/] {', '.join(bad)}.")
        elif is_all:
            start = "run" if any(_is_reached(each) for each in findings) else "chat"
            self._console.print(f"\n[green]✓ Ready.[/] Start with `{escape(program())} {start}`.")

    def _still(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _is_reached(finding: Finding) -> bool:
    """Whether people reach it over that network, once it runs."""
    return finding.check in ("matrix", "slack") and not finding.text.startswith("not set up")
