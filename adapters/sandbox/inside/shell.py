"""
`bash`: one command in a process group of its own, its directory and variables kept for the next.

Rule 1: a reader never holds more than the output limit, however much is printed.
Rule 2: when the command has ended, so has everything that it started.
Rule 3: a `fresh` one has nothing of those before, and leaves nothing for those after it.
"""

import time
from collections.abc import Callable
from typing import Any

from adapters.sandbox.inside.attending import Attendant, Ending
from adapters.sandbox.inside.hints import hints
from adapters.sandbox.inside.launch import Launcher, Manner
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.processes import Family
from adapters.sandbox.inside.room import Room
from adapters.sandbox.inside.tail import Tail
from adapters.sandbox.inside.tree import Survey, survey


class Shell:
    """Runs commands for one session."""

    def __init__(
        self,
        root: str,
        limits: Limits,
        launcher: Launcher,
        attendant: Attendant,
        family: Family,
        room: Room,
    ) -> None:
        self._root, self._limits = root, limits
        self._launcher, self._attendant = launcher, attendant
        self._family, self._room = family, room
        self.tend: Callable[[], None] = lambda: None
        """Looks after what serves the commands, before each and while it runs."""

    def run(
        self, call: int, args: dict[str, Any], most_s: float, known: Survey | None
    ) -> dict[str, Any]:
        """Run one command; `known` is the workspace before it, where that is known.

        Raises:
            BotGone: the bot is silent.
        """
        limits = self._limits
        asked = min(args.get("timeout_s") or limits.call_s, limits.longest_call_s)
        allowed = min(asked, most_s)
        before = known or survey(self._root, limits)
        output = Tail(limits.output_chars)
        self.tend()
        manner: Manner = "fresh" if args.get("fresh") is True else "usual"
        pid, pipe = self._launcher.start(args["command"], manner)
        self._room.later()
        ending = self._attendant.attend(
            call, pid, pipe, output.take, time.monotonic() + allowed, self._guard
        )
        after = survey(self._root, limits)
        printed = output.text()
        text = "\n".join(
            [_report(printed, ending, allowed), *hints(printed, ending.status, limits)]
        )
        breach = after.breach(limits)
        if breach is not None and breach not in text:
            text = f"{text}\n[{breach}]"
        return {
            "ok": ending.status == 0 and breach is None,
            "text": text,
            "changed": before.signature != after.signature,
            "exit_code": ending.status,
            "timed_out": ending.cause == "timeout",
            "survey": after,
        }

    def _guard(self) -> str | None:
        self.tend()
        if len(self._family.rest()) > self._limits.processes:
            return f"it ran more than {self._limits.processes} processes at once"
        return self._room.breach()


def _report(output: str, ending: Ending, allowed_s: float) -> str:
    notes = []
    if ending.cause == "timeout":
        notes.append(f"[ended after {allowed_s:g} s, with all it had started]")
    elif ending.cause == "cancelled":
        notes.append("[interrupted, and all it had started ended]")
    elif ending.cause != "ended":
        notes.append(f"[ended: {ending.cause}]")
    elif ending.status is not None and ending.status < 0:
        notes.append(f"[ended by signal {-ending.status}]")
    elif ending.status:
        notes.append(f"[exit code {ending.status}]")
    if ending.left_running:
        notes.append(f"[{ending.left_running} processes that it left running were ended]")
    return "\n".join([output.rstrip("\n"), *notes]) if output else "\n".join(notes) or "[no output]"
