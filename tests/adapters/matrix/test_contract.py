"""The contract of chat networks, in a room in clear and in an encrypted one, on a real Synapse."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from adapters.matrix.listening import Wishes, listening
from bot.ports.chat import Arrival, Network, Outgoing, Place, Receive
from bot.ports.positions import Position
from tests.adapters.matrix.listening_bed import Ledger, PlainSession, WallClock
from tests.adapters.matrix.posting_bed import Poster, in_thread, poster
from tests.contracts.chat import ChatContract
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.synapse import Synapse


class Account:
    """One account: the mouth of a Poster and an ear on the same client, from where it is now."""

    network: Network = "matrix"

    def __init__(self, bot: Poster) -> None:
        self.bot = bot
        self.workspace = bot.account.user_id

    async def listen(self, receive: Receive) -> None:
        ledger = Ledger(token=self.bot.client.next_batch)

        async def one_by_one(*arrivals: Arrival, upto: Position | None = None) -> None:
            for arrival in arrivals:
                await receive(arrival)
            await ledger.receive(upto=upto)

        session: Any = PlainSession(self.bot.client)
        await listening(session, ledger, WallClock(), Wishes(), poll_s=0.3).run(one_by_one)

    async def send(self, message: Outgoing) -> str:
        return await self.bot.posting.send(message)

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        return await self.bot.posting.find(place, key)


@pytest_asyncio.fixture
async def bot(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Poster]:
    async with poster(synapse, tmp_path / "nio") as there:
        yield there


@pytest.fixture
def chat(bot: Poster) -> Account:
    return Account(bot)


@pytest_asyncio.fixture
async def ann(bot: Poster, matrix_people: People) -> MatrixUser:
    return await asyncio.to_thread(matrix_people.login, bot.synapse, bot.ann)


@pytest.fixture
def elsewhere() -> Place:
    return Place("console", "", "console", "t1")


@pytest.fixture
def say(ann: MatrixUser) -> Callable[[Place, str], Awaitable[str]]:
    async def said(place: Place, text: str) -> str:
        return await asyncio.to_thread(ann.text, place.room, text, thread=place.thread)

    return said


async def a_thread(bot: Poster, ann: MatrixUser, *, encrypted: bool) -> Place:
    room = await asyncio.to_thread(ann.create, encrypted=encrypted, invite=[bot.account.user_id])
    await bot.join(room)
    await asyncio.to_thread(ann.until_member, room, bot.account.user_id)
    root = await asyncio.to_thread(ann.text, room, "!goal mend it")
    await bot.sync()
    return in_thread(Place("matrix", bot.account.user_id, room), root)


class TestInClear(ChatContract):
    @pytest_asyncio.fixture
    async def place(self, bot: Poster, ann: MatrixUser) -> Place:
        return await a_thread(bot, ann, encrypted=False)


class TestEncrypted(ChatContract):
    @pytest_asyncio.fixture
    async def place(self, bot: Poster, ann: MatrixUser) -> Place:
        return await a_thread(bot, ann, encrypted=True)
