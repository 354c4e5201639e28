"""
Tokens and money: what a call may cost, what it did cost, and what is left.

Rule 1: four classes of token, each counted once: input, cache write (by time to live), cache read,
        output.
Rule 2: money is whole nano-dollars (10^-9 USD), so that sums are exact.
Rule 3: a price that is not known is None and stays visible as "at least"; it is never zero.
Rule 4: a call starts only against a reservation, and every reservation is settled by its reply,
        released when the endpoint served nothing, or charged in full when the reply was lost.
"""

from dataclasses import dataclass, field
from typing import Final

from bot.goals.copying import replace

NANO: Final = 1_000_000_000
"""Nano-dollars in a dollar."""

LOST_KEPT: Final = 8


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or a sum of calls, by class."""

    input: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    output: int = 0
    server_tools: int = 0
    """Requests made by the endpoint's own tools (web search and the like)."""

    @property
    def tokens(self) -> int:
        """All four classes together."""
        return (
            self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read + self.output
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.cache_read + other.cache_read,
            self.output + other.output,
            self.server_tools + other.server_tools,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """Nano-dollars a token, by class, of one model at one context size."""

    input: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int
    output: int

    def of(self, usage: Usage) -> int:
        """What `usage` costs, in nano-dollars."""
        return (
            usage.input * self.input
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
            + usage.cache_read * self.cache_read
            + usage.output * self.output
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """What a goal may spend; None means no limit of that kind."""

    nano_usd: int | None
    tokens: int | None
    active_s: float | None


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call in flight may cost at most. `nano_usd` is None where the price is unknown."""

    call: str
    role: str
    tokens: int
    nano_usd: int | None


@dataclass(frozen=True)
class Ledger:
    """All that a goal has spent, and what its calls in flight hold back. Without slots, as Goal."""

    usage: Usage = field(default_factory=Usage)
    nano_usd: int = 0
    has_unknown_price: bool = False
    estimated_tokens: int = 0
    """Tokens charged by reservation because the reply was lost."""
    estimated_nano_usd: int = 0
    active_s: float = 0.0
    calls: int = 0
    open: tuple[Reservation, ...] = ()
    lost: tuple[Reservation, ...] = ()
    """The last few that were charged in full: a reply that turns up after all replaces its estimate."""

    @property
    def tokens(self) -> int:
        """Tokens spent, charged estimates included."""
        return self.usage.tokens + self.estimated_tokens


def left_tokens(budget: Budget, ledger: Ledger) -> int | None:
    """Tokens that no call has spent or reserved, or None without a limit."""
    if budget.tokens is None:
        return None
    return budget.tokens - ledger.tokens - sum(r.tokens for r in ledger.open)


def left_nano_usd(budget: Budget, ledger: Ledger) -> int | None:
    """Nano-dollars that no call has spent or reserved, or None without a limit."""
    if budget.nano_usd is None:
        return None
    return budget.nano_usd - ledger.nano_usd - sum(r.nano_usd or 0 for r in ledger.open)


def covers(budget: Budget, ledger: Ledger, call: Reservation, *, held_back: int = 0) -> bool:
    """True when what is left covers `call` and `held_back` further tokens at the same price a token.

    A call of unknown price is covered only under a token budget (design, money).
    """
    tokens = left_tokens(budget, ledger)
    if tokens is not None and tokens < call.tokens + held_back:
        return False
    if budget.active_s is not None and ledger.active_s >= budget.active_s:
        return False
    if call.nano_usd is None:
        return budget.tokens is not None
    money = left_nano_usd(budget, ledger)
    extra = call.nano_usd * held_back // call.tokens if call.tokens else 0
    return money is None or money >= call.nano_usd + extra


def reserve(ledger: Ledger, call: Reservation) -> Ledger:
    """The ledger with `call` in flight."""
    return replace(ledger, open=(*ledger.open, call))


def settle(ledger: Ledger, call: str, usage: Usage, nano_usd: int | None) -> Ledger:
    """The ledger after the reply of `call`: its reservation is replaced by what it cost.

    A reply that comes after its call was charged as lost replaces that estimate; one without any
    reservation is added all the same.
    """
    late = next((r for r in ledger.lost if r.call == call), None)
    if late is not None:
        ledger = _refund(ledger, late)
    return replace(
        ledger,
        open=_without(ledger.open, call),
        usage=ledger.usage + usage,
        nano_usd=ledger.nano_usd + (nano_usd or 0),
        has_unknown_price=ledger.has_unknown_price or nano_usd is None,
        calls=ledger.calls + 1,
    )


def release(ledger: Ledger, call: str) -> Ledger:
    """The ledger after `call` was answered without being served."""
    return replace(ledger, open=_without(ledger.open, call))


def charge_lost(ledger: Ledger, call: str) -> Ledger:
    """The ledger after the reply of `call` was lost: its reservation in full, marked estimated."""
    lost = next((r for r in ledger.open if r.call == call), None)
    if lost is None:
        return ledger
    return replace(
        ledger,
        open=_without(ledger.open, call),
        lost=(*ledger.lost, lost)[-LOST_KEPT:],
        nano_usd=ledger.nano_usd + (lost.nano_usd or 0),
        has_unknown_price=ledger.has_unknown_price or lost.nano_usd is None,
        estimated_tokens=ledger.estimated_tokens + lost.tokens,
        estimated_nano_usd=ledger.estimated_nano_usd + (lost.nano_usd or 0),
        calls=ledger.calls + 1,
    )


def charge_all_lost(ledger: Ledger) -> Ledger:
    """The ledger after the process that made the calls in flight has gone."""
    for call in ledger.open:
        ledger = charge_lost(ledger, call.call)
    return ledger


def worked(ledger: Ledger, active_s: float) -> Ledger:
    """The ledger after `active_s` more seconds of a turn."""
    return replace(ledger, active_s=ledger.active_s + active_s)


def _refund(ledger: Ledger, late: Reservation) -> Ledger:
    return replace(
        ledger,
        lost=_without(ledger.lost, late.call),
        nano_usd=ledger.nano_usd - (late.nano_usd or 0),
        estimated_tokens=ledger.estimated_tokens - late.tokens,
        estimated_nano_usd=ledger.estimated_nano_usd - (late.nano_usd or 0),
        calls=ledger.calls - 1,
    )


def _without(calls: tuple[Reservation, ...], call: str) -> tuple[Reservation, ...]:
    return tuple(r for r in calls if r.call != call)
