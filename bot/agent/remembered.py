"""
The conversations that a process remembers between turns, so that it need not read them again.

Rule 1: what is remembered is a copy of what the journal says: forgetting it costs a read, no more.
Rule 2: a conversation in which somebody else has spoken, an ordinary turn, is read on first.
"""

from collections import OrderedDict
from typing import Final

from bot.agent.record import Record
from bot.ports.journal import Applied

SPOKEN_MOST: Final = 10_000
"""Sessions; past so many, every conversation is read again."""


class Remembered:
    """Records of goals that no turn holds now, the longest unused first."""

    def __init__(self, chars_most: int) -> None:
        """Remember `chars_most` characters of text at most, and one record in any case."""
        self._chars_most = chars_most
        self._records: OrderedDict[str, tuple[Record, int]] = OrderedDict()
        """With the characters that each holds."""
        self._chars = 0
        self._spoken: set[str] = set()
        """Sessions in which an ordinary turn has spoken since their goal's last turn."""
        self._erasures = 0

    @property
    def erasures(self) -> int:
        """How often texts were erased: a record from before the last time is not kept."""
        return self._erasures

    def take(self, goal: str, session: str) -> Record | None:
        """The goal's record, which is the caller's until it is kept again."""
        record, chars = self._records.pop(goal, (None, 0))
        self._chars -= chars
        if session in self._spoken:
            self._spoken.discard(session)
            if record is not None:
                record.doubt()
        return record

    def keep(self, record: Record, erasures: int) -> None:
        """Remember it; `erasures` is how often texts had been erased when its turn began."""
        if record.is_fenced or record.goal.is_final or erasures != self._erasures:
            return
        chars = record.chars
        self._records[record.goal.id] = (record, chars)
        self._chars += chars
        while self._chars > self._chars_most and len(self._records) > 1:
            _, (_, chars) = self._records.popitem(last=False)
            self._chars -= chars

    def heard(self, applied: Applied) -> None:
        """Take what this process, which is alone on the database, has written."""
        goal = applied.goal
        if goal.kind == "ask":
            if len(self._spoken) >= SPOKEN_MOST:
                self._spoken.clear()
                self._forget()
            self._spoken.add(goal.session)
        elif goal.id in self._records:
            self._records[goal.id][0].hear(applied)

    def forget_texts(self) -> None:
        """Keep no text that was read until now: some of them were erased."""
        self._erasures += 1
        self._forget()

    def _forget(self) -> None:
        self._records.clear()
        self._chars = 0
