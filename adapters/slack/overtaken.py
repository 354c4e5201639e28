"""
What was taken back or changed while it was on its way still: news overtake each other.

Slack sends over several sockets, and over HTTP side by side; a message waits for its files; what was not
stored comes again, minutes later. Whatever comes after its own end counts as it would have, had it come
before.
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from bot.ports.chat import Arrival, Changed, Incoming, Reacted, Removed, Unreacted

KEPT: Final = 5_000
"""The last ones; Slack sends again for an hour at most."""


class Overtaken:
    """Remembers what ended lately."""

    def __init__(self) -> None:
        self._ends: OrderedDict[object, Removed | Unreacted | Changed] = OrderedDict()

    def note(self, one: Arrival) -> None:
        """It may be of something that comes yet."""
        if not isinstance(one, Removed | Unreacted | Changed):
            return
        key = _sign(one) if isinstance(one, Unreacted) else one.id
        known = self._ends.get(key)
        is_last = known is None or (known.at <= one.at and not isinstance(known, Removed))
        if is_last:
            self._ends[key] = one
            self._ends.move_to_end(key)
        while len(self._ends) > KEPT:
            self._ends.popitem(last=False)

    def now(self, one: Arrival) -> Arrival | None:
        """The arrival as it is by now; None where it is over."""
        if isinstance(one, Reacted):
            end = self._ends.get(_sign(one))
            return None if end is not None and one.at <= end.at else one
        if not isinstance(one, Incoming) or one.via != "message":
            return one
        end = self._ends.get(one.id)
        if isinstance(end, Removed):
            return None
        return replace(one, text=end.text) if isinstance(end, Changed) else one


def _sign(one: Reacted | Unreacted) -> tuple[str, str, str]:
    return one.to, one.speaker.id, one.emoji
