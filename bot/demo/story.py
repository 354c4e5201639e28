"""
What the journal says while the demo runs: the lines to show, and where the goal stands. Pure.

Rule 1: everything told here is read from the journal; nothing is remembered by the demo alone.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bot.goals.events import (
    Audited,
    AuditFailed,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.machine import Entry

Kind = Literal["turn", "tool", "audit", "lost"]
SHOWN_CHARS: Final = 64
_TELLING: Final = ("command", "pattern", "path", "question", "text")
"""Of a tool's arguments, the one that is shown: the first of these that it has."""


@dataclass(frozen=True, slots=True)
class Told:
    """One line for the screen."""

    kind: Kind
    head: str
    text: str = ""


@dataclass(slots=True)
class Story:
    """The fold of one goal's journal. Feed it every entry once, in order."""

    turn: int = 0
    steps: int = 0
    """Of the running turn: replies and tool results that are committed."""
    tools: int = 0
    """Of the running turn: tool calls that have begun."""
    is_asking: bool = False
    """A model call of the running turn is under way."""
    audits: Counter[str] = field(default_factory=Counter)
    estimated: int = 0
    """Tokens charged for replies that were lost."""
    runs: Counter[str] = field(default_factory=Counter)
    """How often each tool call was begun, those that may change something."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Journal entries by kind."""
    _calls: dict[str, CallStarted] = field(default_factory=dict)
    _inputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def wanted(entry: Entry) -> tuple[str, ...]:
        """Hashes of the texts that `take` reads of an entry."""
        match entry.event:
            case CallSettled(content=content) if content:
                return (content,)
            case Audited(note=note) if note:
                return (note,)
            case _:
                return ()

    def take(self, entry: Entry, texts: Mapping[str, str]) -> Told | None:
        """The next entry; returns what there is to show of it, if anything."""
        event = entry.event
        self.kinds[type(event).__name__] += 1
        match event:
            case TurnStarted():
                self.turn, self.steps, self.tools = self.turn + 1, 0, 0
                return Told("turn", f"turn {self.turn}")
            case TurnEnded():
                self.is_asking = False
                return None
            case TurnResumed() | CallLost():
                return self._lost(entry)
            case CallStarted() | CallSettled() | CallReleased():
                self._call(event, texts)
                return None
            case ToolStarted():
                return self._tool(event)
            case ToolEnded():
                self.steps += 1
                return None
            case Audited(verdict=verdict, note=note):
                self.audits[verdict] += 1
                return Told("audit", verdict.replace("_", " "), texts.get(note, ""))
            case AuditFailed(failure=failure):
                self.audits["failed"] += 1
                return Told("audit", "failed", failure)
            case _:
                return None

    @property
    def repeated(self) -> int:
        """Tool calls with effects that were begun more than once."""
        return sum(count > 1 for count in self.runs.values())

    def _lost(self, entry: Entry) -> Told | None:
        """A call whose reply never came is charged when its turn is taken up again."""
        self.is_asking = False
        ledger = entry.changes.get("ledger")
        charged = getattr(ledger, "estimated_tokens", self.estimated) - self.estimated
        self.estimated += charged
        if not charged:
            return None
        return Told("lost", f"{charged:,} tokens", "the most that it can have cost")

    def _call(
        self, event: CallStarted | CallSettled | CallReleased, texts: Mapping[str, str]
    ) -> None:
        if isinstance(event, CallStarted):
            self._calls[event.call] = event
            self.is_asking = event.role == "agent"
            return
        begun = self._calls.get(event.call)
        if begun is not None and begun.role == "agent":
            self.is_asking = False
        if isinstance(event, CallSettled):
            self.steps += begun is not None and begun.role == "agent"
            self._keep(texts.get(event.content, ""))

    def _keep(self, reply: str) -> None:
        try:
            blocks = json.loads(reply)
        except ValueError:
            return
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                self._inputs[str(block.get("id"))] = block.get("input") or {}

    def _tool(self, event: ToolStarted) -> Told:
        self.tools += 1
        if event.effects in ("workspace", "external"):
            self.runs[event.tool_use] += 1
        return Told("tool", event.name, _shown(self._inputs.get(event.tool_use, {})))


def _shown(given: Mapping[str, Any]) -> str:
    told = next((str(given[name]) for name in _TELLING if given.get(name)), "")
    line = " ".join(told.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"
