"""
One limiter for one endpoint with one key: who may call now, and in which order.

Rule 1: first come, first served. A call that is tried again keeps its place.
Rule 2: while the endpoint is closed one call probes and the others wait; then they go on spread over
        a minute, in order. The rules of closing and opening are in `endpoint_state`.
Rule 3: only a call that was let in since the last closing says anything about the endpoint: a
        hundred calls that fail together close it once.
Rule 4: passing trouble is waited out for a day without a success; trouble that somebody must mend is
        waited out with no limit.
Rule 5: a call whose reply may have been served is never repeated here: its caller books it first.

The time is the clock's alone, so that a test's clock can run half an hour in a second.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from adapters.claude.endpoint_state import (
    OPERATOR_KINDS,
    EndpointState,
    LimiterRules,
    Trouble,
    closed,
    has_given_up,
    opened,
    recovered,
)
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.ports.clock import Clock

T = TypeVar("T")

PASSING_KINDS: Final = frozenset({"overload", "rate_limit", "timeout", "network"})
ENDPOINT_KINDS: Final = PASSING_KINDS | {"auth", "billing", "permission"}
"""What closes a whole endpoint. A model that is not found closes that model alone."""


@dataclass(slots=True, eq=False)
class Permit:
    """Leave to make one attempt."""

    generation: int
    is_probe: bool
    opens: Callable[["Permit"], None] = field(repr=False)

    def begin(self) -> None:
        """Say that the answer has begun: the endpoint is alive, whatever comes of this call."""
        self.opens(self)


@dataclass(slots=True, order=True)
class _Waiter:
    place: int
    wake: asyncio.Event = field(compare=False, default_factory=asyncio.Event)
    error: ModelBusy | None = field(compare=False, default=None)
    is_gone: bool = field(compare=False, default=False)


class Limiter:
    """Lets calls through to one endpoint. `on_trouble` and `on_recovery` must not raise."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        rules: LimiterRules | None = None,
        chance: random.Random | None = None,
        state: EndpointState | None = None,
        closed_by: frozenset[str] = ENDPOINT_KINDS,
        on_trouble: Callable[[Trouble], None] | None = None,
        on_recovery: Callable[[Trouble], None] | None = None,
        on_state: Callable[[EndpointState], None] | None = None,
    ) -> None:
        """Start open, or where `state` left off.

        Args:
            name: the endpoint's name, for the messages.
            clock: the time that is waited in.
            rules: the numbers.
            chance: where the jitter is drawn from.
            state: what an earlier process exported.
            closed_by: the kinds of error that close this limiter.
            on_trouble: told once when trouble begins, and again if it becomes somebody's to mend.
            on_recovery: told once when that trouble ends.
            on_state: told of every change, for the endpoint's row.
        """
        self._clock = clock
        self._rules = rules or LimiterRules()
        self._chance = chance or random.Random()
        self._state = state or EndpointState(name)
        self._closed_by = closed_by
        self._on_trouble = on_trouble
        self._on_recovery = on_recovery
        self._on_state = on_state
        self._places = itertools.count()
        self._queue: list[_Waiter] = []
        self._waiting = 0
        self._in_flight = 0
        self._probe: Permit | None = None
        self._generation = 0
        self._last_let_go = 0.0

    @property
    def state(self) -> EndpointState:
        """The state, to be kept."""
        return self._state

    @property
    def waiting(self) -> int:
        """How many calls wait now."""
        return self._waiting

    @property
    def in_flight(self) -> int:
        """How many attempts are being made now."""
        return self._in_flight

    def trouble(self) -> Trouble | None:
        """What is wrong now, or None."""
        state = self._state
        if state.kind is None:
            return None
        since = state.since if state.since is not None else self._clock.now()
        return Trouble(state.name, state.kind, since, state.attempts, state.closed_until)

    def probe_now(self) -> None:
        """Let the next probe go at once: somebody says that the cause is mended."""
        if self._state.is_closed:
            self._set(replace(self._state, closed_until=self._clock.now()))
            self._wake_first()

    async def run(self, send: Callable[[Permit], Awaitable[T]]) -> T:
        """Make the call `send` as often as it takes, each attempt when it is its turn.

        Raises:
            ModelBusy: the reply may have been served, or there was no success for a day.
            BadRequest, ModelRefusesUs: of a kind that does not close this limiter.
        """
        place = next(self._places)
        while True:
            permit = await self._admit(place)
            try:
                result = await send(permit)
            except ModelBusy as busy:
                self._leave(permit)
                self._count_failure(permit, busy.kind, busy.retry_after_s)
                if busy.maybe_served or busy.kind not in self._closed_by or self._is_over(busy):
                    raise
            except ModelRefusesUs as refusal:
                self._leave(permit)
                if refusal.kind not in self._closed_by:
                    self._count_answer(permit)
                    raise
                self._count_failure(permit, refusal.kind, None)
            except BadRequest:
                self._leave(permit)
                self._count_answer(permit)
                raise
            except BaseException:
                self._leave(permit)
                raise
            else:
                self._leave(permit)
                self._count_answer(permit)
                return result

    async def _admit(self, place: int) -> Permit:
        waiter = _Waiter(place)
        heapq.heappush(self._queue, waiter)
        self._waiting += 1
        try:
            while True:
                if waiter.error is not None:
                    raise waiter.error
                delay = self._delay_of_first() if self._first() is waiter else None
                if delay is not None and delay <= 0:
                    break
                await self._rest(waiter, delay)
        except BaseException:
            self._forget(waiter)
            self._wake_first()
            raise
        self._forget(waiter)
        return self._let_go()

    def _delay_of_first(self) -> float | None:
        """Seconds until the first in the queue may go; None while only an event can tell."""
        if self._in_flight >= self._rules.max_in_flight:
            return None
        now = self._clock.now()
        if self._state.is_closed:
            return None if self._probe is not None else self._state.closed_until - now
        if now >= self._state.spread_until:
            return 0.0
        step = (self._state.spread_until - self._last_let_go) / self._waiting
        return self._last_let_go + step - now

    async def _rest(self, waiter: _Waiter, delay: float | None) -> None:
        """Until woken, or for `delay` seconds of the clock."""
        waiter.wake.clear()
        if delay is None:
            await waiter.wake.wait()
            return
        both = {
            asyncio.ensure_future(self._clock.sleep(delay)),
            asyncio.ensure_future(waiter.wake.wait()),
        }
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()

    def _first(self) -> _Waiter | None:
        while self._queue and self._queue[0].is_gone:
            heapq.heappop(self._queue)
        return self._queue[0] if self._queue else None

    def _forget(self, waiter: _Waiter) -> None:
        # It stays in the heap until it comes first: taking it out of the middle costs more.
        waiter.is_gone = True
        self._waiting -= 1

    def _let_go(self) -> Permit:
        self._in_flight += 1
        permit = Permit(self._generation, self._state.is_closed, self._open)
        if permit.is_probe:
            self._probe = permit
        self._last_let_go = self._clock.now()
        if not self._waiting and self._state.spread_until:
            # Nobody is left to spread: who comes now need not wait for the minute to pass.
            self._set(replace(self._state, spread_until=0.0))
        self._wake_first()
        return permit

    def _leave(self, permit: Permit) -> None:
        self._in_flight -= 1
        if self._probe is permit:
            self._probe = None
        self._wake_first()

    def _count_failure(self, permit: Permit, kind: str, retry_after_s: float | None) -> None:
        if kind not in self._closed_by or permit.generation != self._generation:
            return
        before = self._state
        self._generation += 1
        self._set(
            closed(
                before,
                kind,
                now=self._clock.now(),
                retry_after_s=retry_after_s,
                jitter=self._chance.random(),
                rules=self._rules,
            )
        )
        is_told = before.is_closed and (before.is_operators or kind not in OPERATOR_KINDS)
        trouble = self.trouble()
        if self._on_trouble is not None and trouble is not None and not is_told:
            self._on_trouble(trouble)
        self._wake_first()

    def _count_answer(self, permit: Permit) -> None:
        if permit.generation != self._generation:
            return
        self._open(permit)
        if self._state.attempts:
            self._set(recovered(self._state))

    def _open(self, permit: Permit) -> None:
        if permit.generation != self._generation or not self._state.is_closed:
            return
        ended = self.trouble()
        now = self._clock.now()
        if self._probe is permit:
            self._probe = None
        self._last_let_go = now
        self._set(opened(self._state, now=now, waiting=self._waiting, rules=self._rules))
        if self._on_recovery is not None and ended is not None:
            self._on_recovery(ended)
        self._wake_first()

    def _is_over(self, busy: ModelBusy) -> bool:
        """True after a day without a success; then everybody who waits is told."""
        if not has_given_up(self._state, now=self._clock.now(), rules=self._rules):
            return False
        for waiter in self._queue:
            waiter.error = _same(busy)
            waiter.wake.set()
        return True

    def _set(self, state: EndpointState) -> None:
        if state == self._state:
            return
        self._state = state
        if self._on_state is not None:
            self._on_state(state)

    def _wake_first(self) -> None:
        first = self._first()
        if first is not None:
            first.wake.set()


def _same(busy: ModelBusy) -> ModelBusy:
    return ModelBusy(str(busy), kind=busy.kind, retry_after_s=busy.retry_after_s)
