"""What the operations room hears: each incident once, one line when it is over, nobody else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.chat.delivery import Delivery
from bot.chat.operations import Operations
from bot.errors import HeadwayError, StoreBusy
from bot.goals.events import DecisionAsked, TurnEnded
from bot.goals.goal import State
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Content
from bot.ports.plain import plain
from tests.bot.chat.conftest import Bench
from tests.bot.chat.turns import began, complete
from tests.doubles.chat import MemoryChat

OPS = Place("console", "", "console")


@pytest.fixture
def operations(bench: Bench) -> Operations:
    made = Operations(bench.store.incidents, bench.manner, OPS, bench.clock)
    bench.intake.operations = bench.delivery.operations = made
    return made


async def test_an_incident_is_said_once_and_so_is_its_end(
    bench: Bench, operations: Operations
) -> None:
    for _ in range(3):
        await operations.trouble("key", "claude", "auth")
    await bench.deliver()
    opened = bench.answers()
    for _ in range(3):
        await operations.over("key", "claude")
    await bench.deliver()

    assert opened == [
        (
            "⚠ Incident: the model endpoint claude does not take our key (auth). Goals on it wait and "
            "go on by themselves. Mend the key."
        )
    ]
    assert bench.answers()[1:] == [
        "✔ Over: the model endpoint claude takes our calls; goals go on."
    ]


@pytest.mark.parametrize(
    ("kind", "mend"),
    [
        ("auth", "Mend the key."),
        ("billing", "Mend the bill."),
        ("permission", "Allow the model, or name another."),
        ("not_found", "Name another model."),
    ],
)
async def test_every_refusal_of_a_key_names_its_mend(
    operations: Operations, kind: str, mend: str
) -> None:
    alert = operations.alert("key", "claude", kind)

    assert "claude" in alert.text
    assert alert.text.endswith(mend)
    assert "go on by themselves" in alert.text


async def test_an_incident_that_nobody_knows_is_told_as_it_is(operations: Operations) -> None:
    assert operations.alert("moon", "full", "too bright").text == (
        "⚠ Incident: moon full: too bright"
    )


async def test_without_a_room_the_log_is_told(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    operations = Operations(bench.store.incidents, bench.manner, None, bench.clock)

    await operations.trouble("disk", "/srv", "300 MB")
    await operations.trouble("disk", "/srv", "299 MB")
    await bench.deliver()

    assert [record.message.startswith("⚠ Incident: the disk") for record in caplog.records] == [
        True
    ]
    assert bench.answers() == []
    assert len(await bench.store.incidents.listed()) == 1


async def test_what_cannot_wait_is_told_again_while_the_database_is_away(
    bench: Bench, operations: Operations
) -> None:
    tries = []

    async def busy_twice() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StoreBusy("The database is away. Wait.")

    operations.soon(busy_twice)
    operations.soon(_told(operations.trouble, "key", "claude", "auth"))
    async with asyncio.timeout(5):
        while not await bench.store.incidents.listed():
            await asyncio.sleep(0)

    assert len(tries) == 3
    await operations.close()


async def test_a_post_that_cannot_be_sent_parks_its_goal_and_is_told_once(
    bench: Bench, operations: Operations
) -> None:
    chat = MemoryChat()
    delivery = _delivery(bench, chat, operations)
    goals = [(await bench.start(f"count {number} sheep"))[1] for number in range(2)]
    for goal in goals:
        asked = DecisionAsked("d", "question", Content("Which?").hash, "t")
        await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=("Which?",))

    chat.will_raise = [HeadwayError("The room is gone. Invite the bot again.")] * 2
    await delivery.drain()
    states = [(await bench.store.journal.goal(goal.id)).state for goal in goals]
    [incident] = await bench.store.incidents.listed()
    await delivery.drain()
    posted = [plain(post.shape) for post in chat.posts.values()]

    assert states == [State.PAUSED, State.PAUSED]
    assert (incident.kind, incident.subject) == ("post", "console:console")
    assert "The room is gone" in incident.detail
    assert len([text for text in posted if text.startswith("⚠ Incident: what should be")]) == 1
    async with asyncio.timeout(5):
        while (await bench.store.incidents.listed())[0].is_open:
            await asyncio.sleep(0)


async def test_what_a_room_refused_is_said_once_the_room_takes_posts_again(
    bench: Bench, operations: Operations
) -> None:
    chat = MemoryChat()
    delivery = _delivery(bench, chat, operations)
    goal = (await bench.start("count sheep"))[1]
    await complete(bench, goal)
    chat.will_raise = [HeadwayError("The bot may not send here.")]
    await delivery.drain()
    await delivery.drain()

    said = [message.key for message in chat.posts.values()]
    assert said.count(f"{goal.id}:settle") == 1


async def test_what_one_person_alone_is_told_is_no_proof_that_a_room_takes_posts(
    bench: Bench, operations: Operations
) -> None:
    chat = MemoryChat()
    delivery = _delivery(bench, chat, operations)
    person = await bench.store.rooms.person("console", Speaker("ann", "ann"))
    session = (await bench.store.rooms.begin(Place("console", "", "there", "t9"))).session
    await bench.store.outbox.say(session, "reply:a", "For all.")
    chat.will_raise = [HeadwayError("The bot may not send here.")]
    await delivery.drain()

    await bench.store.outbox.say(session, "reply:b", "For her.", only_for=person)
    await delivery.drain()
    unmended = set(operations.open)
    await bench.store.outbox.say(session, "reply:c", "For all.")
    await delivery.drain()

    assert unmended == {("post", "console:there")}
    assert operations.open == frozenset()


async def test_a_post_of_the_operations_room_that_fails_makes_no_incident(
    bench: Bench, operations: Operations
) -> None:
    chat = MemoryChat()
    delivery = _delivery(bench, chat, operations)
    await operations.trouble("key", "claude", "auth")

    chat.will_raise = [HeadwayError("The room is gone. Invite the bot again.")]
    await delivery.drain()

    assert [one.kind for one in await bench.store.incidents.listed()] == ["key"]
    assert chat.posts == {}


async def test_a_message_that_failed_three_times_is_told_until_one_is_handled(
    bench: Bench, operations: Operations
) -> None:
    real, left = bench.intake._handle, [3]

    async def broken(message: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise ValueError("made by the test")
        await real(message)

    bench.intake._handle = broken  # type: ignore[method-assign]

    await bench.say("/goal status")
    told = bench.answers()
    [incident] = await bench.store.incidents.listed()
    await bench.say("/goal list")
    async with asyncio.timeout(5):
        while (await bench.store.incidents.listed())[0].is_open:
            await asyncio.sleep(0)

    assert any(text.startswith("That could not be handled.") for text in told)
    assert any(text.startswith("⚠ Incident: a message could not be") for text in told)
    assert (incident.kind, incident.subject) == ("message", "ValueError")


def _delivery(bench: Bench, chat: MemoryChat, operations: Operations) -> Delivery:
    store = bench.store
    made = Delivery(store.outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock)
    made.operations = operations
    return made


def _told(
    tell: Callable[..., Awaitable[None]], kind: str, subject: str, detail: str
) -> Callable[[], Awaitable[None]]:
    return lambda: tell(kind, subject, detail)
