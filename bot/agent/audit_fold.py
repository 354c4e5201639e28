"""
What a journal tells of a goal that is to be audited: pure, fed line by line.

Texts are hashes here; whoever asks the auditor fetches them.
"""

from dataclasses import dataclass
from typing import Any

from bot.goals.events import (
    CallSettled,
    CallStarted,
    DecisionAnswered,
    GatesRan,
    ObjectiveEdited,
    Rewound,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    WaitAsked,
)
from bot.goals.goal import Decision, Wait
from bot.goals.machine import Entry


@dataclass(frozen=True, slots=True)
class Given:
    """An answer to a sign-off, by content hashes."""

    text: str
    by: str
    accepted: bool


class TurnFold:
    """One goal's turn, as far as its journal goes."""

    def __init__(self) -> None:
        self.seq = 0
        self.reply = ""
        """Of the turn that ended last, or empty where it said nothing."""
        self.tools: dict[str, None] = {}
        """Names of that turn, each once, in order."""
        self.waits: dict[tuple[str, str], Wait] = {}
        """What the agent asked to wait for, by kind and ref, the last one last."""
        self.sign_offs: list[Given] = []
        """Of this revision."""
        self.criteria = ""
        """Raw reply of the call that distilled the brief of this revision."""
        self.ran: GatesRan | None = None
        """The checks of the turn that ended last, where they have run."""
        self._criteria_at: list[tuple[int, str]] = [(0, "")]
        self._decision: Any = None
        self._distilling: set[str] = set()

    def feed(self, entry: Entry) -> None:
        """Take the goal's next entry."""
        self.seq = entry.seq
        decision: Decision | None = self._decision
        self._decision = entry.changes.get("decision", decision)
        match entry.event:
            case TurnStarted():
                self.tools, self.reply = {}, ""
            case ToolStarted(name=name):
                self.tools.setdefault(name)
            case TurnEnded(reply=reply):
                self.reply, self.ran = reply, None
            case GatesRan():
                self.ran = entry.event
            case WaitAsked(wait=wait):
                self.waits.pop((wait.kind, wait.ref), None)
                self.waits[wait.kind, wait.ref] = wait
            case ObjectiveEdited():
                self._distilled("")
                self.sign_offs = []
            case Rewound(to_seq=to_seq):
                self.tools, self.reply, self.ran, self.sign_offs = {}, "", None, []
                self._distilled([one for at, one in self._criteria_at if at <= to_seq][-1])
            case DecisionAnswered() as answer:
                if decision is not None and decision.kind == "sign_off":
                    self.sign_offs.append(Given(decision.text, answer.by, answer.accepted))
            case CallStarted(call=call, role="distil"):
                self._distilling.add(call)
            case CallSettled(call=call, content=content) if call in self._distilling and content:
                self._distilled(content)
            case _:
                pass

    def _distilled(self, criteria: str) -> None:
        self.criteria = criteria
        self._criteria_at.append((self.seq, criteria))
