"""
What a day may cost and how many goals may be live: by person, by room and in all.

Rule 1: a call starts only if what was spent today, what calls in flight may cost and what this one
        may cost fit every cap together: nothing runs past a cap, however many run at once.
Rule 2: a call of unknown price is counted in tokens, against caps of their own.
Rule 3: of caps the smallest holds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from bot.goals.copying import replace
from bot.goals.events import CallReleased, CallSettled, Event
from bot.goals.money import NANO, Ledger

Scope = Literal["person", "room", "all"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True)
class Caps:
    """The limits in force; a scope that is not there has none."""

    nano_usd: Mapping[Scope, int] = field(default_factory=dict)
    """A day's dollars, in nano-dollars."""
    tokens: Mapping[Scope, int] = field(default_factory=dict)
    """A day's tokens, of calls whose price is unknown."""
    live: Mapping[Scope, int] = field(default_factory=dict)
    """Goals that are live at once."""
    live_asks: int | None = None
    """Ordinary turns of one person at once."""

    def in_room(self, cap_usd: float | None, live_goals: int | None) -> "Caps":
        """The limits in a room that has set its own."""
        nano = None if cap_usd is None else round(cap_usd * NANO)
        return replace(
            self,
            nano_usd=_smaller(self.nano_usd, nano),
            live=_smaller(self.live, live_goals),
        )


NO_CAPS: Final = Caps()


@dataclass(frozen=True, slots=True)
class Amount:
    """Something spent, held back or needed: dollars, and tokens of calls whose price is unknown."""

    nano_usd: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.nano_usd + other.nano_usd, self.tokens + other.tokens)


NOTHING: Final = Amount()
Sums = Mapping[Scope, Amount]


@dataclass(frozen=True, slots=True)
class Reached:
    """The cap that a call would pass. `is_spent`: even if every call in flight cost nothing."""

    scope: Scope
    limit: int
    """Nano-dollars, or tokens for a call of unknown price."""
    in_tokens: bool
    is_spent: bool


@dataclass(frozen=True, slots=True)
class Booked:
    """What a ledger's change adds to the tally of the day; a late refund takes away."""

    tokens: int = 0
    nano_usd: int = 0
    unpriced_tokens: int = 0

    def __add__(self, other: "Booked") -> "Booked":
        return Booked(
            self.tokens + other.tokens,
            self.nano_usd + other.nano_usd,
            self.unpriced_tokens + other.unpriced_tokens,
        )

    @property
    def amount(self) -> Amount:
        """As the caps count it."""
        return Amount(self.nano_usd, self.unpriced_tokens)


def needs(tokens: int, nano_usd: int | None) -> Amount:
    """What a reservation needs of the caps."""
    return Amount(0, tokens) if nano_usd is None else Amount(nano_usd)


def reached(caps: Caps, spent: Sums, held: Sums, need: Amount) -> Reached | None:
    """The cap that a call which needs so much would pass; one that is really spent goes first."""
    found = tuple(_passed(caps, spent, held, need))
    return next((one for one in found if one.is_spent), found[0] if found else None)


def booked(before: Ledger, after: Ledger, event: Event) -> Booked:
    """What one event adds to the tally: what the ledger grew by."""
    unpriced = 0
    answered = event.call if isinstance(event, CallSettled | CallReleased) else ""
    if isinstance(event, CallSettled) and event.nano_usd is None:
        unpriced += event.usage.tokens
    for call in before.open:
        if call.nano_usd is None and call.call != answered and call not in after.open:
            unpriced += call.tokens
    if isinstance(event, CallSettled):
        late = (call for call in before.lost if call.call == answered and call.nano_usd is None)
        unpriced -= sum(call.tokens for call in late)
    return Booked(after.tokens - before.tokens, after.nano_usd - before.nano_usd, unpriced)


def full_scope(caps: Caps, live: Mapping[Scope, int]) -> str:
    """Which limit of live goals leaves no room for one more, as `person:3`; empty where none does."""
    for scope in SCOPES:
        limit = caps.live.get(scope)
        if limit is not None and live[scope] >= limit:
            return f"{scope}:{limit}"
    return ""


def _passed(caps: Caps, spent: Sums, held: Sums, need: Amount) -> Iterator[Reached]:
    for scope in SCOPES:
        limit = caps.nano_usd.get(scope)
        if limit is not None and need.nano_usd:
            alone = spent[scope].nano_usd + need.nano_usd
            if alone + held[scope].nano_usd > limit:
                yield Reached(scope, limit, in_tokens=False, is_spent=alone > limit)
        limit = caps.tokens.get(scope)
        if limit is not None and need.tokens:
            alone = spent[scope].tokens + need.tokens
            if alone + held[scope].tokens > limit:
                yield Reached(scope, limit, in_tokens=True, is_spent=alone > limit)


def _smaller(limits: Mapping[Scope, int], room: int | None) -> Mapping[Scope, int]:
    if room is None:
        return limits
    return {**limits, "room": min(room, limits.get("room", room))}
