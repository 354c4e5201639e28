"""
Whether an endpoint takes calls: a frozen value and the pure rules that move it.

Rule 1: *open* takes every call. *Closed* takes one probe at a time, and none before `closed_until`.
Rule 2: each failed probe waits longer: what the endpoint asks for, else doubling with jitter.
Rule 3: an answer that has begun opens the endpoint; only a whole one clears the memory of failures,
        so that an endpoint that begins every answer and finishes none still waits longer each time.
Rule 4: those who waited go on spread over time, not all at once.
"""

from dataclasses import dataclass, replace
from typing import Final

OPERATOR_KINDS: Final = frozenset({"auth", "billing", "permission", "not_found"})
"""Kinds of trouble that somebody must mend; the others pass by themselves."""


@dataclass(frozen=True, slots=True)
class LimiterRules:
    """The numbers (design, "When a turn ends", rule 3). All seconds of the limiter's clock."""

    first_wait_s: float = 1.0
    longest_wait_s: float = 300.0
    operator_first_wait_s: float = 60.0
    spread_s: float = 60.0
    spread_per_call_s: float = 1.0
    """At most this long between two that go on, so that a few need not take the whole minute."""
    give_up_s: float = 86_400.0
    max_in_flight: int = 100


@dataclass(frozen=True, slots=True)
class EndpointState:
    """One endpoint with one key. Durable: a process that starts with it does not stampede."""

    name: str
    kind: str | None = None
    """What closed it, or None while it is open."""
    since: float | None = None
    """When the first failure after the last whole answer came."""
    closed_at: float | None = None
    """When it closed; `since` may be earlier, of failures with a beginning of an answer between."""
    attempts: int = 0
    """Failures since the last whole answer."""
    closed_until: float = 0.0
    spread_until: float = 0.0

    @property
    def is_closed(self) -> bool:
        """True while only a probe may go."""
        return self.kind is not None

    @property
    def is_operators(self) -> bool:
        """True while somebody must mend it."""
        return self.kind in OPERATOR_KINDS


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with an endpoint, for the operations room and the endpoint's row."""

    endpoint: str
    kind: str
    since: float
    attempts: int
    closed_until: float

    @property
    def is_operators(self) -> bool:
        """True when somebody must mend it, false when it passes by itself."""
        return self.kind in OPERATOR_KINDS


def closed(
    state: EndpointState,
    kind: str,
    *,
    now: float,
    retry_after_s: float | None,
    jitter: float,
    rules: LimiterRules,
) -> EndpointState:
    """The state after a failure.

    Args:
        kind: the failure's kind.
        now: seconds since the epoch.
        retry_after_s: what the endpoint asked for, if anything.
        jitter: a number in [0, 1), drawn for this failure.
        rules: the numbers.
    """
    # A change from passing trouble to the operator's (or back) starts its own count.
    is_new = state.is_closed and state.is_operators != (kind in OPERATOR_KINDS)
    attempts = 1 if is_new else state.attempts + 1
    since = now if is_new or state.since is None else state.since
    wait = retry_after_s or _backoff(kind, attempts, jitter, rules)
    return replace(
        state,
        kind=kind,
        since=since,
        closed_at=state.closed_at if state.is_closed else now,
        attempts=attempts,
        closed_until=now + _bounded(wait, kind, now - since, rules),
        spread_until=0.0,
    )


def opened(state: EndpointState, *, now: float, waiting: int, rules: LimiterRules) -> EndpointState:
    """The state once a probe's answer has begun, with `waiting` calls to let go on."""
    if not state.is_closed:
        return state
    began = state.since if state.closed_at is None else state.closed_at
    shut_for = rules.spread_s if began is None else now - began
    spread = min(rules.spread_s, shut_for, waiting * rules.spread_per_call_s)
    return replace(state, kind=None, closed_at=None, closed_until=0.0, spread_until=now + spread)


def recovered(state: EndpointState) -> EndpointState:
    """The state after a whole answer: nothing is remembered against the endpoint."""
    return replace(state, since=None, attempts=0)


def has_given_up(state: EndpointState, *, now: float, rules: LimiterRules) -> bool:
    """True when passing trouble has lasted so long that those who wait are told."""
    return (
        state.is_closed
        and not state.is_operators
        and state.since is not None
        and now - state.since >= rules.give_up_s
    )


def _backoff(kind: str, attempts: int, jitter: float, rules: LimiterRules) -> float:
    first = rules.operator_first_wait_s if kind in OPERATOR_KINDS else rules.first_wait_s
    wait = min(rules.longest_wait_s, first * 2.0 ** min(attempts - 1, 60))
    return wait * (1.0 - 0.25 * jitter)


def _bounded(wait: float, kind: str, lasted: float, rules: LimiterRules) -> float:
    """Never past the moment of giving up, and not far past it afterwards."""
    left = rules.give_up_s - lasted
    if kind not in OPERATOR_KINDS and left > 0:
        return min(wait, left)
    return min(wait, rules.longest_wait_s)
