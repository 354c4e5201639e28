"""Messages on their way to the goals: stored, in order, once."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.console.parse import room
from bot.chat.intake import Intake
from bot.chat.verbs import VERBS
from bot.errors import StoreBusy
from bot.goals.goal import State
from bot.ports.chat import Incoming
from bot.ports.journal import Applied, Journal, Unit
from bot.ports.people import Role
from tests.bot.chat.conftest import ANN, Bench


def said(id: str, text: str, thread: str = "") -> Incoming:
    return Incoming(id, room(thread), ANN, text, 1_800_000_000.0)


async def test_a_message_that_comes_twice_is_handled_once(bench: Bench) -> None:
    await bench.intake.receive(said("m1", "/goal write a haiku"))
    await bench.intake.receive(said("m1", "/goal write a haiku"))
    await bench.intake.drain()
    await bench.intake.receive(said("m1", "/goal write a haiku"))
    await bench.intake.drain()

    assert len(await bench.store.rooms.goals()) == 1


async def test_what_waits_at_the_start_is_handled(bench: Bench) -> None:
    await bench.store.inbox.receive(said("m1", "/goal write a haiku"))

    await Intake(bench.desk, bench.allow_list.of).drain()

    assert len(await bench.store.rooms.goals()) == 1


async def test_messages_of_a_thread_are_handled_in_order(bench: Bench) -> None:
    thread, _ = await bench.start()
    for number, text in enumerate(["pause", "resume", "pause", "resume", "pause"]):
        await bench.intake.receive(said(f"m{number}", text, thread))

    await bench.intake.drain()

    assert (await bench.goal(thread)).state is State.PAUSED
    session = (await bench.goal(thread)).session
    lines = await bench.store.journal.history(session)
    names = [type(line.entry.event).__name__ for line in lines]
    assert names == ["GoalOpened", "Paused", "Resumed", "Paused", "Resumed", "Paused"]


async def test_a_thread_that_has_to_wait_holds_up_no_other(bench: Bench) -> None:
    back = asyncio.Event()

    async def roles(message: Incoming) -> frozenset[Role]:
        if message.place.thread == "away":
            await back.wait()
        return await bench.allow_list.of(message)

    intake = Intake(bench.desk, roles)
    await intake.receive(said("m1", "/goal count sheep", "away"))
    handling = asyncio.create_task(intake.run())
    await asyncio.sleep(0.05)

    await intake.receive(said("m2", "/goal write a haiku"))
    async with asyncio.timeout(4):
        while len(await bench.store.rooms.goals()) < 1:
            await asyncio.sleep(0.01)
    back.set()
    async with asyncio.timeout(4):
        while len(await bench.store.rooms.goals()) < 2:
            await asyncio.sleep(0.01)

    handling.cancel()
    assert not await intake.waiting()


class Troubled:
    """A journal that raises for a while."""

    def __init__(self, inner: Journal, errors: list[Exception]) -> None:
        self._inner = inner
        self._errors = errors

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def commit(self, unit: Unit) -> Applied:
        if self._errors:
            raise self._errors.pop(0)
        return await self._inner.commit(unit)


async def test_a_busy_store_is_waited_for_and_counts_as_no_failure(bench: Bench) -> None:
    thread, _ = await bench.start()
    errors: list[Exception] = [StoreBusy("Locked. Wait.") for _ in range(9)]
    journal = Troubled(bench.store.journal, errors)
    intake = Intake(replace(bench.desk, journal=journal), bench.allow_list.of)  # type: ignore[arg-type]
    await intake.receive(said("m1", "pause", thread))

    await intake.drain()

    assert (await bench.goal(thread)).state is State.PAUSED


async def test_a_message_that_raises_three_times_is_failed_and_said_so(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    thread, _ = await bench.start()
    errors: list[Exception] = [RuntimeError("boom") for _ in range(3)]
    journal = Troubled(bench.store.journal, errors)
    intake = Intake(replace(bench.desk, journal=journal), bench.allow_list.of)  # type: ignore[arg-type]
    await intake.receive(said("m1", "pause", thread))
    await intake.receive(said("m2", "status", thread))

    with caplog.at_level(logging.CRITICAL):
        await intake.drain()
    await bench.deliver()
    bench.clock.move(6)
    await bench.deliver()

    answers = bench.answers(thread)
    assert answers[0].startswith("That could not be handled. Say it again. (ref ")
    assert any(answer.startswith("⏳ Queued · G1") for answer in answers)
    assert (await bench.goal(thread)).state is State.READY


async def test_bad_input_is_answered_where_it_was_said_and_nothing_is_lost(bench: Bench) -> None:
    await bench.say("/goal " + "x" * 100 * 1024)
    long = bench.last()
    await bench.say("/goal a\0b")
    nul = bench.last()
    await bench.say("/goal a\udc80b")
    surrogate = bench.last()
    await bench.say("/goal ")

    assert "Put it in a file in the workspace" in long
    assert "NUL" in nul
    assert "UTF-8" in surrogate
    assert bench.last().startswith("You have no live goals here.")
    assert await bench.store.rooms.goals() == ()
    assert await bench.store.inbox.waiting() == ()


SAYINGS = st.one_of(
    st.sampled_from(
        [
            *(f"{before}{verb.name}" for verb in VERBS.values() for before in ("", "/goal ")),
            "cancel yes", "budget +2", "budget 5 and resume", "edit do less", "reopen the tests",
            "/goal pause G1", "/goal status G2", "/goal budget -1", "1", "2", "yes", "approve 1",
            "hello", "/goal write a haiku", "// aside", "", "\0",
        ]
    ),
    st.text(alphabet=st.characters(codec=None), max_size=20),
)  # fmt: skip


@given(said=st.lists(st.tuples(SAYINGS, st.booleans()), max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_is_said_is_handled_and_nothing_fails(said: list[tuple[str, bool]]) -> None:
    async def talk(folder: Path) -> dict[str, int]:
        bench = Bench(folder)
        thread, _ = await bench.start()
        for text, is_in_thread in said:
            await bench.say(text, thread if is_in_thread else "")
        assert await bench.store.inbox.waiting() == ()
        answers = [*bench.answers(), *bench.answers(thread)]
        assert not any("could not be handled" in answer for answer in answers)
        return dict(await bench.store.records.outbox_depth())

    with TemporaryDirectory() as folder:
        depth = asyncio.run(talk(Path(folder)))

    assert "failed" not in depth
