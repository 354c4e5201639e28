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

NANO: Final = 1_000_000_000
"""Nano-dollars in a dollar."""


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


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that a goal has spent, and what its calls in flight hold back."""

    usage: Usage = field(default_factory=Usage)
    nano_usd: int = 0
    has_unknown_price: bool = False
    estimated_tokens: int = 0
    """Tokens charged by reservation because the reply was lost."""
    estimated_nano_usd: int = 0
    active_s: float = 0.0
    calls: int = 0
    open: tuple[Reservation, ...] = ()

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
    return _with(ledger, open=(*ledger.open, call))


def settle(ledger: Ledger, call: str, usage: Usage, nano_usd: int | None) -> Ledger:
    """The ledger after the reply of `call`: its reservation is replaced by what it cost.

    A call that holds no reservation (booked late, by a worker whose lease is gone) is added all
    the same: money is never lost from sight.
    """
    return _with(
        ledger,
        open=_without(ledger, call),
        usage=ledger.usage + usage,
        nano_usd=ledger.nano_usd + (nano_usd or 0),
        has_unknown_price=ledger.has_unknown_price or nano_usd is None,
        calls=ledger.calls + 1,
    )


def release(ledger: Ledger, call: str) -> Ledger:
    """The ledger after `call` was answered without being served."""
    return _with(ledger, open=_without(ledger, call))


def charge_lost(ledger: Ledger, call: str) -> Ledger:
    """The ledger after the reply of `call` was lost: its reservation in full, marked estimated."""
    lost = next((r for r in ledger.open if r.call == call), None)
    if lost is None:
        return ledger
    return _with(
        ledger,
        open=_without(ledger, call),
        nano_usd=ledger.nano_usd + (lost.nano_usd or 0),
        has_unknown_price=ledger.has_unknown_price or lost.nano_usd is None,
        estimated_tokens=ledger.estimated_tokens + lost.tokens,
        estimated_nano_usd=ledger.estimated_nano_usd + (lost.nano_usd or 0),
        calls=ledger.calls + 1,
    )


def worked(ledger: Ledger, active_s: float) -> Ledger:
    """The ledger after `active_s` more seconds of a turn."""
    return _with(ledger, active_s=ledger.active_s + active_s)


def _without(ledger: Ledger, call: str) -> tuple[Reservation, ...]:
    return tuple(r for r in ledger.open if r.call != call)


def _with(
    ledger: Ledger,
    *,
    usage: Usage | None = None,
    nano_usd: int | None = None,
    has_unknown_price: bool | None = None,
    estimated_tokens: int | None = None,
    estimated_nano_usd: int | None = None,
    active_s: float | None = None,
    calls: int | None = None,
    open: tuple[Reservation, ...] | None = None,
) -> Ledger:
    # Written out so that the type checker sees every field.
    return Ledger(
        usage=ledger.usage if usage is None else usage,
        nano_usd=ledger.nano_usd if nano_usd is None else nano_usd,
        has_unknown_price=(
            ledger.has_unknown_price if has_unknown_price is None else has_unknown_price
        ),
        estimated_tokens=(
            ledger.estimated_tokens if estimated_tokens is None else estimated_tokens
        ),
        estimated_nano_usd=(
            ledger.estimated_nano_usd if estimated_nano_usd is None else estimated_nano_usd
        ),
        active_s=ledger.active_s if active_s is None else active_s,
        calls=ledger.calls if calls is None else calls,
        open=ledger.open if open is None else open,
    )
