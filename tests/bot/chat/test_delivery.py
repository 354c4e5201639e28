"""Messages on their way out: once, in order, looked up when their outcome is unknown."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.delivery import Delivery
from bot.errors import OutcomeUnknown, Refused, StoreUnusable, Wait
from bot.goals.events import TurnStarted
from bot.goals.goal import State
from bot.ports.chat import THREAD_CLOSED, Network, Outgoing, Place, Shape
from bot.ports.mail import Due
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.turns import complete
from tests.doubles.chat import MemoryChat

THREAD = Place("console", "", "console", "t1")


@pytest.fixture
def chat() -> MemoryChat:
    return MemoryChat()


@pytest.fixture
def delivery(bench: Bench, chat: MemoryChat) -> Delivery:
    store = bench.store
    return Delivery(store.outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock)


async def say(bench: Bench, *texts: str) -> None:
    thread = await bench.store.rooms.begin(THREAD)
    for text in texts:
        await bench.store.outbox.say(thread.session, f"k:{text}", text)


def bodies(chat: MemoryChat) -> list[str]:
    return [shape.body for shape in chat.shapes()]


async def test_what_is_queued_is_sent_once_in_order(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one", "two", "three")

    await delivery.drain()
    await delivery.drain()

    assert bodies(chat) == ["one", "two", "three"]


async def test_a_thread_with_much_to_say_is_not_made_to_wait_between_its_posts(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    many = [str(number) for number in range(60)]
    await say(bench, *many)

    sending = asyncio.create_task(delivery.run())
    # With a pause after each post it would take six seconds.
    async with asyncio.timeout(4):
        while len(chat.posts) < len(many):
            await asyncio.sleep(0.01)
    sending.cancel()

    assert bodies(chat) == many


class Slow(MemoryChat):
    """A network on which one thread's posts hang until they are let go."""

    def __init__(self, network: Network = "console") -> None:
        super().__init__(network)
        self.go = asyncio.Event()

    async def send(self, message: Outgoing) -> str:
        if message.place.thread == "hangs":
            await self.go.wait()
        return await super().send(message)


async def test_a_post_that_hangs_holds_up_no_other_thread(bench: Bench) -> None:
    store, chat = bench.store, Slow()
    delivery = Delivery(
        store.outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock
    )
    hanging = await store.rooms.begin(replace(THREAD, thread="hangs"))
    await store.outbox.say(hanging.session, "k:slow", "slow")
    sending = asyncio.create_task(delivery.run())
    await asyncio.sleep(0.2)

    await say(bench, "quick")
    delivery.notify()
    async with asyncio.timeout(4):
        while bodies(chat) != ["quick"]:
            await asyncio.sleep(0.01)
    chat.go.set()
    async with asyncio.timeout(4):
        while bodies(chat) != ["quick", "slow"]:
            await asyncio.sleep(0.01)

    sending.cancel()


async def test_a_store_that_cannot_note_what_became_of_a_post_ends_nothing(
    bench: Bench, chat: MemoryChat
) -> None:
    store = bench.store

    class Full:
        """An outbox whose disk is full when something is to be put off."""

        is_full = True

        def __getattr__(self, name: str) -> Any:
            return getattr(store.outbox, name)

        async def later(self, key: str, delay_s: float) -> None:
            if self.is_full:
                raise StoreUnusable("The disk is full. Free some space.")
            await store.outbox.later(key, delay_s)

    outbox: Any = Full()
    delivery = Delivery(outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock)
    await say(bench, "one")
    chat.will_raise.append(Wait("Limited. Later.", retry_after_s=7))
    sending = asyncio.create_task(delivery.run())
    await asyncio.sleep(0.3)

    outbox.is_full = False
    bench.clock.move(61)
    delivery.notify()
    async with asyncio.timeout(4):
        while bodies(chat) != ["one"]:
            await asyncio.sleep(0.01)

    assert not sending.done()
    sending.cancel()


async def test_a_network_that_hangs_holds_up_no_other_network(bench: Bench) -> None:
    store, matrix, console = bench.store, Slow("matrix"), MemoryChat()
    delivery = Delivery(
        store.outbox, store.journal, store.rooms, (matrix, console), bench.manner, bench.clock
    )
    hanging = await store.rooms.begin(Place("matrix", "@bot:here", "!room", "hangs"))
    await store.outbox.say(hanging.session, "k:slow", "slow")
    sending = asyncio.create_task(delivery.run())

    await say(bench, "quick")
    async with asyncio.timeout(4):
        while bodies(console) != ["quick"]:
            await asyncio.sleep(0.01)
    sending.cancel()

    assert bodies(matrix) == []


async def test_a_network_that_asks_to_wait_is_given_it_later_and_order_holds(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one", "two")
    chat.will_raise.append(Wait("Limited. Later.", retry_after_s=7))

    await delivery.drain()
    at_once = bodies(chat)
    bench.clock.move(8)
    await delivery.drain()

    assert at_once == []
    assert bodies(chat) == ["one", "two"]


async def test_a_send_of_unknown_outcome_that_arrived_is_not_sent_again(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one", "two")
    chat.will_lose.append(OutcomeUnknown("The answer was lost. It is looked up."))

    await delivery.drain()
    await delivery.drain()

    assert bodies(chat) == ["one", "two"]


async def test_a_send_of_unknown_outcome_that_did_not_arrive_is_sent(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one")
    chat.will_raise.append(OutcomeUnknown("The answer was lost. It is looked up."))

    await delivery.drain()
    await delivery.drain()

    assert bodies(chat) == ["one"]


async def test_a_row_that_stays_unknown_is_looked_up_again_after_a_pause(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one")
    for _ in range(2):
        chat.will_raise.append(OutcomeUnknown("The answer was lost. It is looked up."))

    await delivery.drain()
    at_once = bodies(chat)
    bench.clock.move(6)
    await delivery.drain()

    assert at_once == []
    assert bodies(chat) == ["one"]


async def test_a_claim_of_a_process_that_died_is_looked_up(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one")
    (row,) = await bench.store.outbox.claim("console", limit=1)
    await delivery._send(chat, row)
    bench.clock.move(61)

    await delivery.drain()

    assert bodies(chat) == ["one"]


async def test_what_cannot_be_sent_fails_and_later_rows_pass(
    bench: Bench, delivery: Delivery, chat: MemoryChat, caplog: pytest.LogCaptureFixture
) -> None:
    await say(bench, "one", "two")
    chat.will_raise.append(Refused("The room is gone. Name another.", code="gone"))

    with caplog.at_level(logging.CRITICAL):
        await delivery.drain()

    assert bodies(chat) == ["two"]
    assert await bench.store.records.outbox_depth() == {"failed": 1}


@pytest.mark.parametrize(
    ("code", "state"), [(THREAD_CLOSED, State.PAUSED), ("not_in_room", State.WORKING)]
)
async def test_a_goal_whose_thread_takes_nothing_any_more_is_parked(
    bench: Bench, delivery: Delivery, chat: MemoryChat, code: str, state: State
) -> None:
    _, goal = await bench.start()
    await bench.happens(goal, TurnStarted())
    bench.clock.move(9)
    chat.will_raise.append(Refused("The thread is gone.", code=code))

    await delivery.drain()

    assert (await bench.store.journal.goal(goal.id)).state is state


async def test_a_goal_that_is_parked_as_its_posts_are_refused_says_why(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    _, goal = await bench.start()
    await bench.happens(goal, TurnStarted())
    bench.clock.move(9)
    chat.will_raise.append(Refused("The thread is gone.", code=THREAD_CLOSED))
    await delivery.drain()

    bench.clock.move(9)
    await delivery.drain()

    shown = chat.shapes()[-1]
    assert shown.word == "Paused"
    assert shown.now.startswith("What was to be said here was refused: The thread is gone.")


async def test_the_status_message_is_posted_once_and_then_edited(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    _, goal = await bench.start()
    bench.clock.move(6)
    await delivery.drain()
    await bench.happens(goal, TurnStarted())
    bench.clock.move(3)

    await delivery.drain()

    assert len(chat.posts) == 1
    assert chat.shapes()[0].word == "Working"
    assert all(message.silent for message in chat.posts.values())


async def test_a_post_calls_whom_it_concerns_as_their_network_knows_them(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    _, goal = await bench.start()
    await complete(bench, goal)

    await delivery.drain()

    assert [shape.mentions for shape in chat.shapes() if shape.mentions] == [(ANN.id,)]


class AfterRestore:
    """An outbox whose rows were restored: each post may be there already, and say something else."""

    def __init__(self, bench: Bench) -> None:
        self._outbox = bench.store.outbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outbox, name)

    async def claim(self, *_: Any, **more: Any) -> tuple[Due, ...]:
        found = await self._outbox.claim("console", limit=more["limit"])
        return tuple(replace(due, state="unknown", may_differ=True) for due in found)


@pytest.fixture
def restored(bench: Bench, chat: MemoryChat) -> Delivery:
    outbox: Any = AfterRestore(bench)
    store = bench.store
    return Delivery(outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock)


async def test_after_a_restore_a_post_that_is_there_is_made_to_say_what_is_true_now(
    bench: Bench, restored: Delivery, chat: MemoryChat
) -> None:
    await chat.send(Outgoing("k:one", THREAD, Shape("", "", body="of after the backup")))
    await say(bench, "one", "two")

    await restored.drain()

    assert bodies(chat) == ["one", "two"]
    assert [edit.key for edit in chat.edits] == ["k:one"]
    assert [post.edits != "" for post in chat.posts.values()] == [True, False]


async def test_after_a_restore_a_post_that_is_not_there_is_sent(
    bench: Bench, restored: Delivery, chat: MemoryChat
) -> None:
    await say(bench, "one")

    await restored.drain()

    assert bodies(chat) == ["one"]
    assert chat.edits == []


class Fillable:
    """An outbox on a disk that may be full."""

    def __init__(self) -> None:
        self.is_full = True

    async def claim(self, network: str, *, limit: int, workspace: str = "") -> tuple[Due, ...]:
        if self.is_full:
            raise StoreUnusable("The disk is full: free some space.")
        return ()


async def test_an_outbox_that_cannot_be_read_is_logged_once_until_it_can(
    bench: Bench, chat: MemoryChat, caplog: pytest.LogCaptureFixture
) -> None:
    store, outbox = bench.store, Fillable()
    delivery = Delivery(
        outbox,  # type: ignore[arg-type]
        store.journal,
        store.rooms,
        (chat,),
        bench.manner,
        bench.clock,
    )

    for is_full in (True, True, True, False, True, True):
        outbox.is_full = is_full
        await delivery.drain()

    assert caplog.text.count("The outbox cannot be read: The disk is full") == 2
