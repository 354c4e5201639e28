"""
Upper bounds of what the caps' scopes have spent and hold back, where one process writes alone.

Rule 1: a bound only grows: by what each call reserves, and by what each unit books. So a call that
        fits the bounds fits the rows, which need not be read; a unit that is undone leaves its bound
        too high, which is safe.
Rule 2: what a bound does not show to fit is read, and the bounds begin anew from what was read.
Rule 3: what was read in a transaction that failed may be too low: then all is forgotten.
"""

from typing import Final

from bot.goals.caps import NOTHING, SCOPES, Amount, Caps, Scope, Sums, reached

KEPT: Final = 4_096
"""Scopes of one day; past so many they are read again."""
_NONE: Final[Sums] = dict.fromkeys(SCOPES, NOTHING)


class Bounds:
    """What each scope has spent and holds back at most, by day, person and room."""

    def __init__(self) -> None:
        self._most: dict[tuple[str, Scope, str], Amount] = {}

    def fits(self, caps: Caps, of: "Scoped", need: Amount, *, since: Amount = NOTHING) -> bool:
        """True where the call certainly fits; `since`: what its unit has spent so far."""
        sums: dict[Scope, Amount] = {}
        for scope, key in of.items():
            most = self._most.get(key)
            if most is None:
                return False
            sums[scope] = most + since
        return reached(caps, sums, _NONE, need) is None

    def begin(self, of: "Scoped", spent: Sums, held: Sums) -> None:
        """Take what was read."""
        if len(self._most) > KEPT:
            self.forget()
        for scope, key in of.items():
            self._most[key] = spent[scope] + held[scope]

    def grow(self, of: "Scoped", by: Amount) -> None:
        """A call has reserved so much, or a unit has booked it."""
        by = Amount(max(0, by.nano_usd), max(0, by.tokens))
        most = self._most
        for key in of.values():
            if key in most:
                most[key] += by

    def forget(self) -> None:
        """Read anew from now on; from any thread."""
        self._most = {}


Scoped = dict[Scope, tuple[str, Scope, str]]
"""Where the bounds of one person in one room on one day are kept."""


def scoped(day: str, person: str, room: str) -> Scoped:
    """The keys of a day's scopes."""
    return {"person": (day, "person", person), "room": (day, "room", room), "all": (day, "all", "")}
