"""What comes is stored in its order."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.line import Line, Turn
from bot.errors import StoreBusy, StoreUnusable
from bot.ports.chat import Arrival, Incoming, Place, Speaker
from bot.ports.positions import Position


def message(id: str) -> Incoming:
    return Incoming(id, Place("slack", "T1", "C1"), Speaker("T1:U1", "Ann"), id, 0.0)


class Store:
    """Port Receive, of what may fail."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.batches: list[int] = []
        self.odd: set[str] = set()
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        ids = [one.id for one in arrivals if isinstance(one, Incoming)]
        self.batches.append(len(ids))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        if self.odd.intersection(ids):
            raise ValueError("no such row")
        self.stored += ids


async def test_what_is_ready_first_waits_for_who_came_first() -> None:
    store = Store()
    line = Line(store)
    first, second = line.enter(), line.enter()

    later = asyncio.create_task(line.store(second, message("b")))
    await asyncio.sleep(0)
    before = list(store.stored)
    await line.store(first, message("a"))
    await later

    assert before == []
    assert store.stored == ["a", "b"]


async def test_who_leaves_lets_those_behind_pass() -> None:
    store = Store()
    line = Line(store)
    first, second = line.enter(), line.enter()

    waiting = asyncio.create_task(line.store(second, message("b")))
    await asyncio.sleep(0)
    line.leave(first)
    await waiting
    line.end(first)
    line.end(first)
    line.end(second)

    assert (store.stored, len(line)) == (["b"], 0)


async def test_what_is_ready_together_is_stored_together() -> None:
    store = Store()
    line = Line(store)
    store.gate.clear()
    turns = [line.enter() for _ in range(5)]

    storing = [
        asyncio.create_task(line.store(turn, message(str(n)))) for n, turn in enumerate(turns)
    ]
    await asyncio.sleep(0.01)
    store.gate.set()
    await asyncio.gather(*storing)

    assert store.stored == ["0", "1", "2", "3", "4"]
    assert len(store.batches) <= 2


async def test_what_cannot_be_stored_is_alone_in_that() -> None:
    store = Store()
    line = Line(store)
    store.odd.add("1")
    store.gate.clear()
    turns = [line.enter() for _ in range(3)]

    storing = [
        asyncio.create_task(line.store(turn, message(str(n)))) for n, turn in enumerate(turns)
    ]
    await asyncio.sleep(0.01)
    store.gate.set()
    results = await asyncio.gather(*storing, return_exceptions=True)

    assert [type(one).__name__ for one in results] == ["NoneType", "ValueError", "NoneType"]
    assert store.stored == ["0", "2"]


@pytest.mark.parametrize("error", [StoreBusy("locked"), StoreUnusable("full")])
async def test_a_store_that_takes_nothing_is_not_asked_once_for_each(error: Exception) -> None:
    store = Store()
    line = Line(store)
    store.gate.clear()
    turns = [line.enter() for _ in range(10)]

    storing = [
        asyncio.create_task(line.store(turn, message(str(n)))) for n, turn in enumerate(turns)
    ]
    await asyncio.sleep(0.01)
    store.error = error
    store.gate.set()
    results = await asyncio.gather(*storing, return_exceptions=True)

    assert all(one is error for one in results)
    assert len(store.batches) <= 2


async def test_who_goes_away_while_it_is_stored_lets_it_be_stored() -> None:
    store = Store()
    line = Line(store)
    store.gate.clear()
    turn = line.enter()

    storing = asyncio.create_task(line.store(turn, message("a")))
    await asyncio.sleep(0.01)
    storing.cancel()
    await asyncio.gather(storing, return_exceptions=True)
    line.end(turn)
    store.gate.set()
    await line.close()

    assert store.stored == ["a"]


async def test_so_many_stand_in_line_and_the_next_waits_outside() -> None:
    line = Line(Store(), most=2)
    first, _ = line.enter(), line.enter()

    waiting = asyncio.create_task(line.has_room())
    await asyncio.sleep(0.01)
    was_let_in = waiting.done()
    line.end(first)
    await asyncio.wait_for(waiting, 1)

    assert not was_let_in


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_whoever_is_ready_when_and_leaves_when_the_order_holds(
    plan: list[tuple[int, bool]], seed: int
) -> None:
    async def play() -> tuple[list[str], int]:
        store = Store()
        line = Line(store, most=100)

        async def one(number: int, turn: Turn, pause: int, has_something: bool) -> None:
            for _ in range(pause):
                await asyncio.sleep(0)
            try:
                if has_something:
                    await line.store(turn, message(str(number)))
            finally:
                line.end(turn)

        turns = [line.enter() for _ in plan]
        await asyncio.gather(
            *(one(n, turns[n], pause, something) for n, (pause, something) in enumerate(plan))
        )
        return store.stored, len(line)

    stored, left = asyncio.run(play())

    assert stored == [str(n) for n, (_, something) in enumerate(plan) if something]
    assert left == 0
