"""The limiter: who may call, when, and in which order. Its time is a stepped clock's."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.claude.endpoint_state import EndpointState, LimiterRules, Trouble
from adapters.claude.limiter import Limiter, Permit
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from tests.adapters.claude.clocks import SteppedClock, settle

DAY = 86_400.0


@dataclass
class Endpoint:
    """An endpoint that answers as `mood` says: an error, or None for a whole answer."""

    clock: SteppedClock
    mood: Callable[[float], Exception | None] = lambda _: None
    takes_s: float = 2.0
    calls: list[tuple[float, int]] = field(default_factory=list)
    served: list[int] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    def sender(self, number: int) -> Callable[[Permit], Awaitable[int]]:
        async def send(permit: Permit) -> int:
            self.calls.append((self.clock.now(), number))
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                await self.clock.sleep(0.1)
                error = self.mood(self.clock.now())
                if error is not None:
                    raise error
                permit.begin()
                await self.clock.sleep(self.takes_s)
            finally:
                self.in_flight -= 1
            self.served.append(number)
            return number

        return send


def limiter(clock: SteppedClock, **more: object) -> Limiter:
    return Limiter("test", clock, chance=random.Random(7), **more)  # type: ignore[arg-type]


def start(limiter: Limiter, endpoint: Endpoint, count: int) -> list["asyncio.Task[int]"]:
    return [asyncio.create_task(limiter.run(endpoint.sender(number))) for number in range(count)]


def overload(**more: object) -> ModelBusy:
    return ModelBusy("overloaded", kind="overload", **more)  # type: ignore[arg-type]


def until(end: float, error: Callable[[], Exception]) -> Callable[[float], Exception | None]:
    return lambda now: error() if now < end else None


async def test_half_an_hour_of_overload_loses_nobody_and_spares_the_endpoint() -> None:
    clock = SteppedClock()
    begin = clock.now()
    endpoint = Endpoint(clock, until(begin + 1800, overload))
    gate = limiter(clock)

    tasks = start(gate, endpoint, 200)
    await clock.run(1800)
    during = len(endpoint.calls)
    await clock.run(900)

    assert [task.result() for task in tasks] == list(range(200))
    assert during <= 100 + 20
    assert len(endpoint.calls) - during <= 200 + 20
    assert gate.waiting == gate.in_flight == 0


async def test_after_a_closure_calls_go_on_in_order_spread_over_a_minute() -> None:
    clock = SteppedClock()
    begin = clock.now()
    endpoint = Endpoint(clock, until(begin + 1800, overload))
    gate = limiter(clock)

    start(gate, endpoint, 200)
    await clock.run(3600)

    gone_on = endpoint.calls[-200:]
    times = [time for time, _ in gone_on]
    assert [number for _, number in gone_on] == list(range(200))
    assert 55 <= times[-1] - times[1] <= 65
    for second in range(60):
        assert sum(times[1] + second <= time < times[1] + second + 1 for time in times) <= 5


async def test_a_few_that_waited_go_on_within_seconds() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, until(clock.now() + 600, overload))
    gate = limiter(clock)

    tasks = start(gate, endpoint, 3)
    await clock.run(900)

    opened_at = endpoint.calls[-3][0]
    assert all(task.done() for task in tasks)
    assert endpoint.calls[-1][0] - opened_at <= 5


async def test_a_call_that_comes_when_nobody_waits_any_more_goes_at_once() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, until(clock.now() + 600, overload))
    gate = limiter(clock)
    start(gate, endpoint, 3)
    await clock.run(900)

    (late,) = start(gate, endpoint, 1)
    await clock.run(3)

    assert late.done()


async def test_while_closed_one_call_probes_and_the_waits_double_up_to_five_minutes() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, lambda _: overload())
    gate = limiter(clock)

    start(gate, endpoint, 5)
    await clock.run(3600)

    probes = [time for time, _ in endpoint.calls[5:]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(probes)]
    assert endpoint.most_in_flight == 5
    assert all(number == 0 for _, number in endpoint.calls[5:])
    assert all(225 <= gap <= 301 for gap in gaps[8:])
    assert gaps[0] < 3
    for earlier, later in itertools.pairwise(gaps[:8]):
        assert later > earlier


async def test_what_the_endpoint_asks_for_goes_before_the_doubling() -> None:
    clock = SteppedClock()
    begin = clock.now()
    endpoint = Endpoint(clock, until(begin + 50, lambda: overload(retry_after_s=77.0)))
    gate = limiter(clock)

    start(gate, endpoint, 1)
    await clock.run(200)

    assert [round(time - begin) for time, _ in endpoint.calls] == [0, 77]


async def test_a_hundred_failures_at_once_close_the_endpoint_once() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, lambda _: overload())
    gate = limiter(clock)

    start(gate, endpoint, 100)
    await clock.run(0.2)

    assert gate.state.attempts == 1
    assert gate.state.closed_until <= clock.now() + 1


async def test_no_more_than_the_cap_are_in_flight_and_the_first_come_go_first() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock)
    gate = limiter(clock, rules=LimiterRules(max_in_flight=7))

    tasks = start(gate, endpoint, 50)
    await clock.run(60)

    assert all(task.done() for task in tasks)
    assert endpoint.most_in_flight == 7
    assert [number for _, number in endpoint.calls] == list(range(50))


async def test_a_day_without_a_success_is_told_to_all_who_wait() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, lambda _: ModelBusy("limited", kind="rate_limit"))
    gate = limiter(clock)

    tasks = start(gate, endpoint, 20)
    await clock.run(DAY - 10)
    early = sum(task.done() for task in tasks)
    await clock.run(20)

    errors = [task.exception() for task in tasks]
    assert early == 0
    assert all(isinstance(error, ModelBusy) and error.kind == "rate_limit" for error in errors)
    assert not any(error.maybe_served for error in errors if isinstance(error, ModelBusy))


async def test_trouble_of_the_operator_is_waited_out_with_no_limit_and_told_once() -> None:
    clock = SteppedClock()
    begin = clock.now()
    revoked = until(begin + 3 * DAY, lambda: ModelRefusesUs("revoked", kind="auth"))
    endpoint = Endpoint(clock, revoked)
    told: list[Trouble] = []
    ended: list[Trouble] = []
    gate = limiter(clock, on_trouble=told.append, on_recovery=ended.append)

    tasks = start(gate, endpoint, 20)
    await clock.run(3 * DAY)
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(endpoint.calls[20:])]
    before = sum(task.done() for task in tasks)
    await clock.run(400)

    assert before == 0
    assert all(task.done() and task.exception() is None for task in tasks)
    assert [(trouble.kind, trouble.is_operators) for trouble in told] == [("auth", True)]
    assert [trouble.kind for trouble in ended] == ["auth"]
    assert 44 <= endpoint.calls[20][0] - begin <= 61
    assert all(gap <= 301 for gap in gaps)


async def test_overload_that_becomes_a_revoked_key_is_told_a_second_time() -> None:
    clock = SteppedClock()
    begin = clock.now()

    def mood(now: float) -> Exception | None:
        return overload() if now < begin + 100 else ModelRefusesUs("revoked", kind="auth")

    told: list[Trouble] = []
    gate = limiter(clock, on_trouble=told.append)

    start(gate, Endpoint(clock, mood), 5)
    await clock.run(1000)

    assert [trouble.kind for trouble in told] == ["overload", "auth"]


async def test_a_reply_that_may_have_been_served_goes_back_to_its_caller_and_closes() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, lambda _: ModelBusy("cut", kind="network", maybe_served=True))
    gate = limiter(clock)

    (task,) = start(gate, endpoint, 1)
    await clock.run(1)

    error = task.exception()
    assert isinstance(error, ModelBusy)
    assert error.maybe_served
    assert len(endpoint.calls) == 1
    assert gate.state.is_closed


async def test_an_invalid_request_is_an_answer_and_opens_the_endpoint() -> None:
    clock = SteppedClock()
    begin = clock.now()

    def mood(now: float) -> Exception | None:
        return overload() if now < begin + 5 else BadRequest("bad", kind="invalid_request")

    gate = limiter(clock)

    (task,) = start(gate, Endpoint(clock, mood), 1)
    await clock.run(60)

    assert isinstance(task.exception(), BadRequest)
    assert not gate.state.is_closed


async def test_a_cancelled_probe_hands_the_probe_to_the_next() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, until(clock.now() + 5, overload), takes_s=1000)
    gate = limiter(clock)
    tasks = start(gate, endpoint, 3)
    await clock.run(4)
    tasks[0].cancel()
    await settle()

    await clock.run(60)

    assert {number for _, number in endpoint.calls[-2:]} == {1, 2}


async def test_cancelled_callers_leave_the_queue() -> None:
    clock = SteppedClock()
    gate = limiter(clock)
    tasks = start(gate, Endpoint(clock, lambda _: overload()), 300)
    await clock.run(5)

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert gate.waiting == gate.in_flight == 0


async def test_a_probe_whose_answer_has_begun_lets_the_others_go_on() -> None:
    clock = SteppedClock()
    endpoint = Endpoint(clock, until(clock.now() + 10, overload), takes_s=500)
    gate = limiter(clock)

    start(gate, endpoint, 5)
    await clock.run(100)

    assert endpoint.in_flight == 5


async def test_a_restart_goes_on_closed_with_one_probe() -> None:
    clock = SteppedClock()
    first = limiter(clock)
    start(first, Endpoint(clock, lambda _: overload()), 10)
    await clock.run(300)
    kept = first.state

    endpoint = Endpoint(clock, lambda _: overload())
    second = limiter(clock, state=kept)
    start(second, endpoint, 200)
    await clock.run(280)

    assert kept.is_closed
    assert len(endpoint.calls) <= 2
    assert second.state.since == kept.since


async def test_a_restart_that_kept_only_the_row_of_the_endpoint_still_spreads() -> None:
    clock = SteppedClock()
    row = EndpointState("test", kind="overload", closed_until=clock.now() + 5)
    endpoint = Endpoint(clock)
    gate = limiter(clock, state=row)

    start(gate, endpoint, 100)
    await clock.run(120)

    times = [time for time, _ in endpoint.calls]
    assert len(times) == 100
    assert 55 <= times[-1] - times[0] <= 65


async def test_a_person_who_mended_it_need_not_wait_for_the_probe() -> None:
    clock = SteppedClock()
    mended = False

    def mood(_: float) -> Exception | None:
        return None if mended else ModelRefusesUs("revoked", kind="billing")

    gate = limiter(clock)
    (task,) = start(gate, Endpoint(clock, mood), 1)
    await clock.run(30)

    mended = True
    gate.probe_now()
    await clock.run(3)

    assert task.done()


async def test_a_defect_of_ours_is_seen_and_holds_no_place() -> None:
    clock = SteppedClock()
    gate = limiter(clock)

    async def broken(_: Permit) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await gate.run(broken)
    assert gate.in_flight == 0
    assert not gate.state.is_closed


FAULTS = st.sampled_from(["ok", "ok", "overload", "rate", "auth", "lost", "bad"])


@settings(max_examples=60, deadline=None)
@given(
    moods=st.lists(st.tuples(FAULTS, st.floats(1, 400)), min_size=1, max_size=12),
    count=st.integers(1, 40),
    cap=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_whatever_the_endpoint_does_everybody_ends_and_one_probes(
    moods: list[tuple[str, float]], count: int, cap: int, seed: int
) -> None:
    asyncio.run(_whatever(moods, count, cap, seed))


async def _whatever(moods: list[tuple[str, float]], count: int, cap: int, seed: int) -> None:
    clock = SteppedClock()
    begin = clock.now()
    probes = 0
    most_probes = 0

    def mood(now: float) -> Exception | None:
        passed = begin
        for name, lasts in moods:
            passed += lasts
            if now < passed:
                return _error(name)
        return None

    endpoint = Endpoint(clock, mood, takes_s=5)
    states: list[EndpointState] = []
    gate = Limiter(
        "test",
        clock,
        rules=LimiterRules(max_in_flight=cap),
        chance=random.Random(seed),
        on_state=states.append,
    )

    async def one(number: int) -> int:
        nonlocal probes, most_probes
        sender = endpoint.sender(number)

        async def send(permit: Permit) -> int:
            nonlocal probes, most_probes
            probes += permit.is_probe
            most_probes = max(most_probes, probes)
            began = permit.begin

            def begin_once() -> None:
                nonlocal probes
                if permit.is_probe:
                    probes -= 1
                    permit.is_probe = False
                began()

            try:
                shadow = Permit(permit.generation, permit.is_probe, lambda _: begin_once())
                return await sender(shadow)
            finally:
                probes -= permit.is_probe

        return await gate.run(send)

    tasks = [asyncio.create_task(one(number)) for number in range(count)]
    await clock.run(sum(lasts for _, lasts in moods) + 1200 + count * 10)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(isinstance(outcome, int | ModelBusy | BadRequest) for outcome in outcomes)
    assert endpoint.most_in_flight <= cap
    assert most_probes <= 1
    assert gate.in_flight == gate.waiting == 0
    assert all(state.closed_until <= clock.now() + DAY for state in states)


def _error(name: str) -> Exception | None:
    return {
        "ok": None,
        "overload": overload(),
        "rate": ModelBusy("limited", kind="rate_limit", retry_after_s=30.0),
        "auth": ModelRefusesUs("revoked", kind="auth"),
        "lost": ModelBusy("cut", kind="network", maybe_served=True),
        "bad": BadRequest("bad", kind="invalid_request"),
    }[name]
