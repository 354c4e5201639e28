"""
A session's journal, folded to what the agent has heard, said and done: pure.

Rule 1: a person's message or edit stands where a model call first carried it, which its
        `CallStarted` says; until then it is held.
Rule 2: a reply enters only as the answer to the call that was the last one open.
Rule 3: each goal and ordinary turn is a strand of its own. What others said in the session enters
        at the start of a turn, once their own turn is over, so that no call is ever split.
Rule 4: after `Rewound` it goes on where the point was.
Rule 5: after `Compacted`, what stands up to and with the goal's entry `upto` is its summary.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.agent.pieces import Piece, Replied, Said
from bot.agent.rewinding import Cut, counting, cut
from bot.agent.strand import Strand
from bot.goals.events import GoalOpened, Rewound, TurnStarted
from bot.goals.goal import FINAL
from bot.ports.journal import Line


class Transcript:
    """The conversation as one goal's next request tells it. Feed it every line, in order."""

    def __init__(self, goal: str, inherited: Sequence[Piece] = (), *, keeps: bool = True) -> None:
        """`inherited`: what a copy of another goal knows from that one.

        Args:
            keeps: the lines, without which it takes no `Rewound`.
        """
        self.keeps = keeps
        self._goal, self._inherited = goal, tuple(inherited)
        self._lines: list[Line] = []
        self._cuts: dict[tuple[str, int], Cut] = {}
        self._begin()

    @property
    def may_have_changed(self) -> bool:
        """The workspace, since the last turn that ended."""
        return any(one.may_have_changed for one in (self.own, *self._others.values()))

    @property
    def to_be_put_back(self) -> str:
        """Another goal of the session whose files are still to be put back, as it is called; or empty."""
        rows = (one.row for one in self._others.values())
        waits = (row for row in rows if row.get("restore") and row.get("state") not in FINAL)
        return next((f"G{row.get('number')}" for row in waits), "")

    def feed(self, line: Line) -> None:
        """Take the session's next line."""
        event = line.entry.event
        if not isinstance(event, Rewound):
            if self.keeps:
                self._lines.append(line)
            self._feed(line)
            return
        assert self.keeps
        row = self._strand(line.goal).row
        self._cuts[line.goal, line.entry.seq] = cut(self._lines, line, event, row)
        self._lines.append(line)
        self._begin()
        for one in counting(self._lines):
            self._feed(one)

    def _begin(self) -> None:
        self.own = Strand(self._goal)
        self._others: dict[str, Strand] = {}
        self.own.pieces = list(self._inherited)

    def _feed(self, line: Line) -> None:
        strand, event = self._strand(line.goal), line.entry.event
        if strand is self.own and isinstance(event, GoalOpened | TurnStarted):
            self._take_others(line.entry.seq)
        if isinstance(event, Rewound):
            strand.goes_on(self._cuts[line.goal, line.entry.seq])
        strand.feed(line)

    def _strand(self, goal: str) -> Strand:
        return self.own if goal == self._goal else self._others.setdefault(goal, Strand(goal))

    def wanted(self) -> list[str]:
        """Hashes of the texts that a request needs."""
        pieces = self.own.all
        hashes = [piece.content for piece in pieces if piece.content]
        for piece in pieces:
            if isinstance(piece, Replied):
                hashes.append(piece.objective)
                hashes += [end.content for end in piece.ended.values() if end.content]
        last = self.own.last
        said = last.approvals if last is not None else {}
        hashes += [one.answer for id, one in said.items() if one.answer and one.said == "no"]
        return hashes

    def persons(self) -> list[str]:
        """Hashes of what people wrote, which they may erase at any time."""
        return [p.content for p in self.own.all if isinstance(p, Said) and p.is_persons]

    def _take_others(self, seq: int) -> None:
        for strand in self._others.values():
            if strand.is_resting:
                self.own.pieces += [replace(piece, seq=seq) for piece in strand.take()]
