"""The chat double keeps the contract of every network."""

from collections.abc import Awaitable, Callable
from itertools import count

import pytest

from bot.ports.chat import Incoming, Place, Speaker
from tests.contracts.chat import ChatContract
from tests.doubles.chat import MemoryChat


class TestMemoryChat(ChatContract):
    @pytest.fixture
    def chat(self) -> MemoryChat:
        return MemoryChat("matrix")

    @pytest.fixture
    def place(self) -> Place:
        return Place("matrix", "example.org", "!room", "$thread")

    @pytest.fixture
    def elsewhere(self) -> Place:
        return Place("console", "", "console")

    @pytest.fixture
    def say(self, chat: MemoryChat) -> Callable[[Place, str], Awaitable[str]]:
        numbers = count(1)

        async def say(place: Place, text: str) -> str:
            id = f"m{next(numbers)}"
            await chat.hear(Incoming(id, place, Speaker("@ann", "ann"), text, 0.0))
            return id

        return say
