"""Files with messages: told in their text on the way in, posted once on the way out."""

from dataclasses import replace

import pytest

from adapters.console.parse import room
from bot.chat.delivery import Delivery
from bot.chat.intake import Intake
from bot.errors import OutcomeUnknown, Refused, Wait
from bot.goals.events import FileShared, TurnStarted
from bot.goals.goal import Goal, State
from bot.ports.attached import path_of
from bot.ports.chat import Attachment, Incoming, Removed
from bot.ports.journal import Content, Unit
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.network import ANN as PERSON
from tests.bot.chat.network import Net
from tests.bot.chat.network import room as there
from tests.doubles.chat import MemoryChat

CSV = Attachment("../report.csv", "text/csv", 12_345, "0" * 64)
REPORT = Attachment("report.md", "text/markdown", 700, "1" * 64)


@pytest.fixture
def chat() -> MemoryChat:
    return MemoryChat()


@pytest.fixture
def delivery(bench: Bench, chat: MemoryChat) -> Delivery:
    store = bench.store
    made = Delivery(store.outbox, store.journal, store.rooms, (chat,), bench.manner, bench.clock)
    made.attachments = store.attachments
    return made


def said(id: str, text: str, thread: str = "") -> Incoming:
    return Incoming(id, room(thread), ANN, text, 1_800_000_000.0, files=(CSV,))


def line(id: str) -> str:
    return f"[file: {path_of(id, 'report.csv')}, text/csv, 12 KB]"


async def text(bench: Bench, goal: Goal, hash: str) -> str:
    return (await bench.store.journal.contents(goal.session, [hash])).get(hash, "")


async def shares(bench: Bench, goal: Goal, file: Attachment, caption: str = "") -> None:
    lease = await bench.store.leases.claim_one("w", goal.id)
    assert lease is not None
    content = Content(caption, "agent")
    shared = FileShared(file.hash, content.hash if caption else "")
    unit = Unit(goal.id, (TurnStarted(), shared), (content,), lease.epoch, files=(file,))
    await bench.store.journal.commit(unit)


async def test_an_objective_tells_of_the_file_that_came_with_it(bench: Bench) -> None:
    await bench.intake.receive(said("m1", "/goal sum up the table"))
    await bench.intake.drain()

    goal = await bench.goal("m1")
    assert await text(bench, goal, goal.objective) == f"sum up the table\n{line('m1')}"
    came = await bench.store.attachments.came(goal.session, ["report.csv"])
    assert came == {"m1": (Attachment("report.csv", "text/csv", 12_345, "0" * 64),)}


async def test_a_file_without_a_word_steers_the_goal_of_its_thread(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.intake.receive(said("m2", "", thread))
    await bench.intake.drain()

    goal = await bench.goal(thread)
    assert goal.messages == 1
    lines = await bench.store.journal.history(goal.session)
    assert await text(bench, goal, lines[-1].entry.event.content) == line("m2")  # type: ignore[union-attr]


@pytest.mark.parametrize("words", ["", "look at this"])
async def test_a_file_that_is_given_to_nobody_opens_nothing(bench: Bench, words: str) -> None:
    await bench.intake.receive(said("m1", words))
    await bench.intake.drain()

    assert await bench.store.rooms.goals() == ()
    assert await bench.store.inbox.waiting() == ()


@pytest.mark.parametrize("words", ["/goal", "@headway"])
async def test_a_file_with_nothing_but_the_bots_name_is_no_objective(
    bench: Bench, words: str
) -> None:
    await bench.intake.receive(said("m1", words))
    await bench.intake.drain()

    assert await bench.store.rooms.goals() == ()
    assert await bench.store.inbox.waiting() == ()


async def test_what_is_taken_back_takes_the_words_that_told_of_its_file(bench: Bench) -> None:
    await bench.intake.receive(said("m1", "/goal sum up the table"))
    await bench.intake.drain()
    goal = await bench.goal("m1")
    withdrawn: list[str] = []

    async def withdraw(message: str) -> None:
        withdrawn.append(message)

    intake = Intake(replace(bench.desk, withdraw=withdraw), bench.allow_list.of)
    await intake.receive(Removed("m1", room(), ANN, 1_800_000_001.0))
    await intake.drain()

    assert await text(bench, goal, goal.objective) == ""
    assert await bench.store.attachments.named() == frozenset()
    assert withdrawn == ["m1"]


async def test_a_shared_file_is_posted_once_in_the_goals_thread(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    thread, _ = await bench.start()
    goal = await bench.goal(thread)
    await shares(bench, goal, REPORT, "The report.")

    await delivery.drain()
    await delivery.drain()

    [post] = [post for post in chat.posts.values() if post.files]
    assert post.files == (REPORT,)
    assert post.place.thread
    assert post.shape.body == "The report."
    assert post.shape.word == "report.md"


@pytest.mark.parametrize("trouble", [Wait("later"), OutcomeUnknown("lost")])
async def test_trouble_on_the_way_posts_it_no_second_time(
    bench: Bench, delivery: Delivery, chat: MemoryChat, trouble: Wait
) -> None:
    thread, _ = await bench.start()
    goal = await bench.goal(thread)
    (chat.will_raise if type(trouble) is Wait else chat.will_lose).append(trouble)
    await shares(bench, goal, REPORT)

    for _ in range(3):
        await delivery.drain()
        bench.clock.move(10.0)

    assert len([post for post in chat.posts.values() if post.files]) == 1


async def test_a_file_that_the_network_does_not_take_parks_the_goal(
    bench: Bench, delivery: Delivery, chat: MemoryChat
) -> None:
    thread, _ = await bench.start()
    goal = await bench.goal(thread)
    chat.will_raise.append(Refused("The homeserver takes no such file.", code="M_TOO_LARGE"))
    await shares(bench, goal, REPORT)

    await delivery.drain()

    assert (await bench.goal(thread)).state is State.PAUSED


@pytest.mark.parametrize("text", ["the table", ""])
async def test_a_message_that_is_aimed_at_gives_its_files_with_it(stored: Net, text: str) -> None:
    await stored.allow(PERSON)
    id = await stored.say("the table", files=(CSV,))

    await stored.react("🎯", id, text=text)

    [goal] = await stored.goals()
    told = await stored.store.journal.contents(goal.session, [goal.objective])
    assert told[goal.objective] == f"the table\n{line(id)}"
    assert list(await stored.store.attachments.came(goal.session, ["report.csv"])) == [id]


async def test_in_a_room_of_two_a_file_without_a_word_opens_nothing(stored: Net) -> None:
    await stored.allow(PERSON)
    stored.members.direct.add("!room")

    await stored.say("", files=(CSV,))
    nothing = await stored.goals()
    await stored.say("sum it up", files=(CSV,))

    assert not nothing
    assert len(await stored.goals()) == 1


async def test_a_goal_that_gets_a_thread_of_its_own_gets_its_files(stored: Net) -> None:
    await stored.allow(PERSON)
    first = await stored.say("!goal write a haiku")
    asked = await stored.say("!goal sum it up", place=there(first), files=(CSV,))

    goal = max(await stored.goals(), key=lambda one: one.number)
    thread = await stored.store.rooms.thread(there(first))
    assert thread is not None
    assert goal.session != thread.session
    assert list(await stored.store.attachments.came(goal.session, ["report.csv"])) == [asked]
