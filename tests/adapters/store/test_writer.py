"""The writer's queue: groups, order, urgency, and callers that go away."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from adapters.store.transaction import Job, Outcome, Transaction
from adapters.store.writer import Writer
from bot.errors import StoreUnusable


class SlowDatabase:
    """Runs jobs by name, a group at a time, each group when it is let through."""

    def __init__(self) -> None:
        self.groups: list[list[Any]] = []
        self.gate = threading.Semaphore(0)

    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        self.gate.acquire()
        names = [job(None) for job in jobs]  # type: ignore[arg-type]
        self.groups.append(names)
        return [Outcome(error=OSError("no")) if name == "bad" else Outcome(name) for name in names]

    def close(self) -> None: ...


def _job(name: str) -> Any:
    def job(tx: Transaction) -> str:
        return name

    return job


async def test_what_waits_goes_into_one_group() -> None:
    database = SlowDatabase()
    writer = Writer(database)
    database.gate.release(5)

    results = await asyncio.gather(*(writer.do(_job(str(n))) for n in range(10)))
    await writer.close()

    assert results == [str(n) for n in range(10)]
    assert database.groups == [results]


async def test_the_writer_waits_for_more_where_that_has_brought_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It ends by the lanes that have written lately, not by the time.
    monkeypatch.setattr("adapters.store.writer.LINGER_S", 30.0)
    monkeypatch.setattr("adapters.store.writer.RECENT_S", 60.0)
    database = SlowDatabase()
    writer = Writer(database)
    database.gate.release(100)
    for _ in range(5):
        await asyncio.gather(*(writer.do(_job("x"), lane=str(n)) for n in range(10)))
    database.groups.clear()

    first = asyncio.create_task(writer.do(_job("first"), lane="0"))
    await asyncio.sleep(0.002)
    await asyncio.gather(first, *(writer.do(_job("x"), lane=str(n)) for n in range(1, 10)))
    await writer.close()

    assert [len(group) for group in database.groups] == [10]


async def test_one_who_writes_alone_is_not_kept_waiting() -> None:
    database = SlowDatabase()
    writer = Writer(database)
    database.gate.release(100)

    for number in range(50):
        await writer.do(_job("x"), lane=str(number))

    assert writer._worth == 0.0
    await writer.close()


async def test_urgent_lanes_go_first_and_keep_their_order() -> None:
    database = SlowDatabase()
    writer = Writer(database, group_most=2)
    first = asyncio.create_task(writer.do(_job("first")))
    await asyncio.sleep(0.05)

    rest = asyncio.gather(
        *(writer.do(_job(f"a{n}"), lane="a") for n in range(3)),
        writer.do(_job("b0"), lane="b"),
        writer.do(_job("stop b"), lane="b", urgent=True),
        writer.do(_job("b1"), lane="b"),
    )
    await asyncio.sleep(0.05)
    database.gate.release(9)
    await asyncio.gather(first, rest)
    await writer.close()

    assert database.groups == [["first"], ["b0", "stop b"], ["a0", "a1"], ["a2", "b1"]]


async def test_a_cancelled_caller_goes_only_when_its_outcome_is_known() -> None:
    database = SlowDatabase()
    writer = Writer(database)
    task = asyncio.create_task(writer.do(_job("x")))
    await asyncio.sleep(0.02)

    task.cancel()
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.sleep(0.02)
    still = not task.done()
    database.gate.release()
    with pytest.raises(asyncio.CancelledError):
        await task
    await writer.close()

    assert still
    assert database.groups == [["x"]]


async def test_a_cancelled_caller_s_error_is_not_left_behind() -> None:
    database = SlowDatabase()
    writer = Writer(database)
    task = asyncio.create_task(writer.do(_job("bad")))
    await asyncio.sleep(0.02)

    task.cancel()
    database.gate.release()
    with pytest.raises(asyncio.CancelledError):
        await task
    database.gate.release()
    with pytest.raises(OSError, match="no"):
        await writer.do(_job("bad"))
    await writer.close()


async def test_closing_writes_what_is_queued_and_takes_no_more() -> None:
    database = SlowDatabase()
    writer = Writer(database)
    tasks = [asyncio.create_task(writer.do(_job(str(n)))) for n in range(3)]
    await asyncio.sleep(0)

    database.gate.release(5)
    await writer.close()
    results = await asyncio.gather(*tasks)

    assert results == ["0", "1", "2"]
    with pytest.raises(StoreUnusable, match="closed"):
        await writer.do(_job("late"))
