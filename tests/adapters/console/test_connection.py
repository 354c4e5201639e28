"""The console as a chat network, over its real file."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.console.connection import ConsoleChat
from adapters.console.parse import Posted, Taken, room
from adapters.console.room import RoomFile, room_path
from bot.errors import StoreUnusable, Wait
from bot.ports.chat import Arrival, Chat, Incoming, Place, Speaker
from bot.ports.positions import Position
from tests.contracts.chat import ChatContract, a_post
from tests.doubles.clock import HandClock

ANN = Speaker("ann", "ann")


@pytest.fixture
def chat(tmp_path: Path) -> ConsoleChat:
    return ConsoleChat(tmp_path, HandClock())


@pytest.fixture
def place() -> Place:
    return room("t1")


class TestConsole(ChatContract):
    """The contract of every network."""

    @pytest.fixture
    def elsewhere(self) -> Place:
        return Place("slack", "T1", "C1", "1.2")

    @pytest.fixture
    def say(self, chat: Chat) -> Callable[[Place, str], Awaitable[str]]:
        assert isinstance(chat, ConsoleChat)
        console = chat

        async def say(place: Place, text: str) -> str:
            return await console.say(ANN, text, place.thread)

        return say


def posted(folder: Path) -> list[Posted]:
    lines = RoomFile(room_path(folder)).news()
    return [line for line in lines if isinstance(line, Posted)]


async def test_a_post_with_the_same_key_is_written_once(
    chat: ConsoleChat, place: Place, tmp_path: Path
) -> None:
    first = await chat.send(a_post(place, "g1:settle", "Done."))
    again = await ConsoleChat(tmp_path, HandClock()).send(a_post(place, "g1:settle", "Done."))

    assert first == again
    assert len(posted(tmp_path)) == 1


async def test_a_process_that_died_after_its_send_finds_it(
    chat: ConsoleChat, place: Place, tmp_path: Path
) -> None:
    remote = await chat.send(a_post(place, "g1:settle", "Done."))

    after_restart = ConsoleChat(tmp_path, HandClock())

    assert await after_restart.find(place, "g1:settle") == remote


async def test_an_edit_that_changes_nothing_is_not_written(
    chat: ConsoleChat, place: Place, tmp_path: Path
) -> None:
    remote = await chat.send(a_post(place, "g1:status:1", "Working"))
    size = room_path(tmp_path).stat().st_size

    await chat.send(a_post(place, "g1:status:2", "Working", edits=remote))

    assert room_path(tmp_path).stat().st_size == size


async def test_what_was_said_and_not_taken_is_given_again_after_a_restart(
    chat: ConsoleChat, tmp_path: Path
) -> None:
    said = await chat.say(ANN, "/goal write a haiku")
    heard: list[Arrival] = []
    got_it = asyncio.Event()

    async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
        [message] = arrivals
        heard.append(message)
        got_it.set()

    after_restart = ConsoleChat(tmp_path, HandClock())
    listening = asyncio.create_task(after_restart.listen(receive))
    await asyncio.wait_for(got_it.wait(), 5)
    while after_restart.has_untaken:
        await asyncio.sleep(0.01)
    listening.cancel()

    assert [one.id for one in heard if isinstance(one, Incoming)] == [said]
    assert Taken(said) in list(RoomFile(room_path(tmp_path)).news())
    assert not ConsoleChat(tmp_path, HandClock()).has_untaken


async def test_a_message_whose_storing_fails_stays_untaken(chat: ConsoleChat) -> None:
    await chat.say(ANN, "/goal write a haiku")

    async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
        [_] = arrivals
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="gone"):
        await chat.listen(receive)

    assert chat.has_untaken


@pytest.mark.parametrize("is_file", [True, False], ids=["the file", "the store"])
async def test_what_is_out_of_reach_for_a_while_costs_nothing_that_was_said(
    tmp_path: Path, is_file: bool
) -> None:
    chat = ConsoleChat(tmp_path, HandClock())
    path = room_path(tmp_path)
    said = await chat.say(ANN, "/goal write a haiku")
    kept = path.read_bytes()
    heard: list[str] = []

    async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
        [message] = arrivals
        assert isinstance(message, Incoming)
        heard.append(message.id)
        if is_file and len(heard) == 1:
            path.unlink()
            path.mkdir()
        if not is_file and len(heard) < 3:
            raise StoreUnusable("The database is read-only.")

    listening = asyncio.create_task(chat.listen(receive))
    while not heard:
        await asyncio.sleep(0.01)
    if is_file:
        with pytest.raises(Wait):
            await chat.send(a_post(room("t1"), "g1:settle", "Done."))
        path.rmdir()
        path.write_bytes(kept)
    async with asyncio.timeout(5):
        while chat.has_untaken:
            await asyncio.sleep(0.01)
    listening.cancel()

    assert set(heard) == {said}
    assert Taken(said) in list(RoomFile(path).news())


async def test_a_flood_is_given_in_its_order_and_many_at_a_time(chat: ConsoleChat) -> None:
    said = [await chat.say(ANN, f"steer {number}") for number in range(300)]
    begun: list[str] = []
    at_once: list[int] = []
    running = 0

    async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
        [message] = arrivals
        nonlocal running
        assert isinstance(message, Incoming)
        begun.append(message.id)
        running += 1
        await asyncio.sleep(0.01)
        at_once.append(running)
        running -= 1

    listening = asyncio.create_task(chat.listen(receive))
    async with asyncio.timeout(10):
        while chat.has_untaken:
            await asyncio.sleep(0.01)
    listening.cancel()

    assert begun == said
    assert max(at_once) > 50
