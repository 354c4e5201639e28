"""A chat network in memory, which can be told to be busy, to lose its answer, or to refuse."""

import asyncio

from bot.errors import HeadwayError
from bot.ports.chat import Incoming, Network, Outgoing, Place, Receive, Shape


class MemoryChat:
    """Port Chat. `posts` holds what the network shows, by remote id, in order."""

    def __init__(self, network: Network = "console") -> None:
        self.network: Network = network
        self.workspace: str | None = None
        self.posts: dict[str, Outgoing] = {}
        self.edits: list[Outgoing] = []
        self.will_raise: list[HeadwayError] = []
        """Raised by the next sends, before anything is posted."""
        self.will_lose: list[HeadwayError] = []
        """Raised by the next sends, after the message was posted."""
        self.removed: list[Outgoing] = []
        self._count = 0
        self._said: asyncio.Queue[Incoming] = asyncio.Queue()
        self.acknowledged: list[str] = []

    async def listen(self, receive: Receive) -> None:
        """Give what is said to `receive`."""
        while True:
            message = await self._said.get()
            await receive(message)
            self.acknowledged.append(message.id)

    async def send(self, message: Outgoing) -> str:
        """Post or edit."""
        if message.place.network != self.network:
            raise HeadwayError(f"That place is of {message.place.network}. Send it there.")
        if self.will_raise:
            raise self.will_raise.pop(0)
        remote = self._put(message)
        if self.will_lose:
            raise self.will_lose.pop(0)
        return remote

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The message with that key."""
        for remote, message in self.posts.items():
            if message.key == key and message.place == place:
                return remote
        return None

    async def hear(self, message: Incoming) -> None:
        """A person says something."""
        await self._said.put(message)

    def shapes(self) -> list[Shape]:
        """What is shown now, in order."""
        return [message.shape for message in self.posts.values()]

    def named(self, message: Outgoing, count: int) -> str:
        """The remote id of the `count`-th post."""
        return f"r{count}"

    def _put(self, message: Outgoing) -> str:
        if message.removes:
            self.removed.append(message)
            self.posts.pop(message.edits, None)
            return message.edits
        if message.edits:
            self.edits.append(message)
            self.posts[message.edits] = message
            return message.edits
        self._count += 1
        remote = self.named(message, self._count)
        self.posts[remote] = message
        return remote
