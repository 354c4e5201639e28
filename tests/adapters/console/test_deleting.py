"""`/delete` takes back what was said last from a seat."""

import asyncio
from pathlib import Path

from adapters.console.connection import ConsoleChat
from adapters.console.parse import RemovedLine, SaidLine, read, room, written
from adapters.console.room import RoomFile, room_path
from adapters.console.seat import Seat
from bot.chat.texts import Texts
from bot.ports.chat import Arrival, Incoming, Removed, Speaker, Unreacted
from bot.ports.positions import Position
from tests.doubles.clock import HandClock

ANN = Speaker("ann", "ann")
LINE = RemovedLine("m1", "t1", ANN, 2.0)


def seat_at(folder: Path, console: ConsoleChat) -> Seat:
    async def say(text: str, thread: str) -> str:
        return await console.say(ANN, text, thread)

    async def remove(id: str, thread: str) -> None:
        await console.remove(ANN, id, thread)

    seat = Seat(RoomFile(room_path(folder)), say, lambda text: text.startswith("/goal"), Texts())
    seat.remove = remove
    return seat


async def give(console: ConsoleChat, heard: list[Arrival]) -> None:
    """What is there is taken in."""

    async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
        [message] = arrivals
        heard.append(message)

    listening = asyncio.create_task(console.listen(receive))
    while console.has_untaken:
        await asyncio.sleep(0.01)
    listening.cancel()


def test_a_removal_is_read_as_it_was_written() -> None:
    assert read(written(LINE)) == LINE


async def test_the_last_message_is_taken_back_and_then_the_one_before(tmp_path: Path) -> None:
    console = ConsoleChat(tmp_path, HandClock())
    seat = seat_at(tmp_path, console)
    heard: list[Arrival] = []
    for text in ("/goal one", "a word in its thread"):
        await seat.typed(text)
    await give(console, heard)

    told = [await seat.typed("/delete") for _ in range(3)]
    await give(console, heard)

    said = [one for one in heard if isinstance(one, Incoming)]
    gone = [one for one in heard if isinstance(one, Removed)]
    texts = Texts()
    assert told == [*2 * [texts("said.deleted")], texts("said.deleted.none")]
    assert [one.id for one in gone] == [said[1].id, said[0].id]
    assert [one.place for one in gone] == [room(said[0].id), room()]


async def test_a_message_that_was_taken_back_is_blank_in_the_file_and_told_once(
    tmp_path: Path,
) -> None:
    console = ConsoleChat(tmp_path, HandClock())
    heard: list[Arrival] = []
    id = await console.say(ANN, "/goal a slip")
    await give(console, heard)

    await console.remove(ANN, id)
    await give(console, heard)
    again: list[Arrival] = []
    await give(ConsoleChat(tmp_path, HandClock()), again)

    lines = [line for line in RoomFile(room_path(tmp_path)).news() if isinstance(line, SaidLine)]
    assert [line.message.text for line in lines] == [""]
    assert len(heard) == 2
    assert again == []


async def test_a_removal_that_was_not_marked_taken_is_told_again(tmp_path: Path) -> None:
    console = ConsoleChat(tmp_path, HandClock())
    id = await console.say(ANN, "/goal a slip")
    await give(console, [])
    await console.remove(ANN, id)

    heard: list[Arrival] = []
    await give(ConsoleChat(tmp_path, HandClock()), heard)

    assert [one.id for one in heard if not isinstance(one, Unreacted)] == [id]
