"""A bot that only listens, and people who speak plain HTTP."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nio

from adapters.matrix.listening import Wishes, listening
from adapters.matrix.syncing import Syncing
from bot.errors import ByOperator, HeadwayError
from bot.ports.chat import Arrival, Incoming, Place, Speaker, Unreacted
from bot.ports.positions import Position, Sealed
from tests.adapters.matrix.encrypted_bot import client_of
from tests.peers.synapse import Account, Synapse

UNTIL_S = 20.0
_transactions = itertools.count()
Json = dict[str, Any]


class WallClock:
    """Port Clock, the wall's."""

    def now(self) -> float:
        """Now."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)


@dataclass
class Ledger:
    """A store in memory: `said` is what was claimed, in order; `given` everything, doubles too."""

    token: str | None = None
    said: dict[str, Arrival] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    sealed_now: dict[str, Sealed] = field(default_factory=dict)
    will_raise: list[Exception] = field(default_factory=list)
    """Raised by the next calls of `receive`; nothing of them is stored."""
    dies_after: int | None = None
    """So many calls of `receive` are stored, and then each ends the process."""
    dies_stored: bool = False
    """It ends with what it has just stored, before anybody knows."""
    calls: int = 0

    async def receive(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Store it all or nothing."""
        if self.will_raise:
            raise self.will_raise.pop(0)
        is_last = self.dies_after is not None and self.calls >= self.dies_after
        if is_last and not self.dies_stored:
            raise Killed
        self.calls += 1
        for one in arrivals:
            assert not isinstance(one, Unreacted)
            id = one.id if isinstance(one, Incoming) else one.as_message.id
            self.given.append(id)
            self.said.setdefault(id, one)
        if upto is not None:
            self.token = upto.token
            self.sealed_now |= {one.id: one for one in upto.sealed if one.id not in self.sealed_now}
            for id in upto.opened:
                self.sealed_now.pop(id, None)
        if is_last:
            raise Killed

    async def position(self, network: str, workspace: str) -> str | None:
        """As the port."""
        return self.token

    async def sealed(self, network: str, workspace: str) -> tuple[Sealed, ...]:
        """As the port."""
        return tuple(sorted(self.sealed_now.values(), key=lambda one: (one.at, one.id)))

    async def told(self, ids: Iterable[str]) -> None:
        """As the port."""
        for id in ids:
            if id in self.sealed_now:
                self.sealed_now[id] = replace(self.sealed_now[id], is_told=True)

    @property
    def texts(self) -> list[str]:
        """What was said, in order."""
        return [one.text for one in self.said.values() if isinstance(one, Incoming)]


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Ear:
    """The bot, while it listens."""

    client: nio.AsyncClient
    syncing: Syncing
    task: "asyncio.Task[None]"
    ledger: Ledger
    troubles: list[str]
    heard: list[float]
    told: list[tuple[Place, Speaker, str]]

    async def until(self, holds: Callable[[], object], timeout_s: float = UNTIL_S) -> None:
        """Wait until something holds, while the bot is well."""
        end = time.monotonic() + timeout_s
        while not holds():
            if self.task.done():
                self.task.result()
            if time.monotonic() > end:
                raise AssertionError(
                    f"It did not come. said {list(self.ledger.said.values())[-5:]}, "
                    f"sealed {len(self.ledger.sealed_now)}, troubles {self.troubles[-3:]}"
                )
            await asyncio.sleep(0.02)

    async def settled(self, answers: int = 2) -> None:
        """Wait until it has heard that many more answers."""
        before = len(self.heard)
        await self.until(lambda: len(self.heard) >= before + answers)


@dataclass
class PlainSession:
    """A session that has nothing to renew itself by."""

    client: nio.AsyncClient
    renewals: int = 0
    renewed: Callable[[nio.AsyncClient], None] | None = None

    async def ready(self) -> None:
        """It is."""

    async def renew(self) -> None:
        """Count it, and do what the test says."""
        self.renewals += 1
        if self.renewed:
            self.renewed(self.client)

    async def mended(self, error: ByOperator) -> None:
        """Never."""
        await asyncio.sleep(1.0)


@asynccontextmanager
async def ear(
    synapse: Synapse,
    account: Account,
    folder: Path,
    ledger: Ledger,
    *,
    url: str = "",
    invited: Iterable[str] = (),
    poll_s: float = 0.3,
    late_s: float = 15.0,
    session: Callable[[nio.AsyncClient], PlainSession] = PlainSession,
    clock: Any = None,
    **wishes: Any,
) -> AsyncIterator[Ear]:
    """The bot, listening; killed at the end, whatever it does."""
    client = client_of(synapse, account, folder)
    if url:
        client.homeserver = url
    troubles: list[str] = []
    heard: list[float] = []
    told: list[tuple[Place, Speaker, str]] = []
    people = set(invited)

    async def may_invite(speaker: Speaker) -> bool:
        return speaker.id in people

    async def tell(place: Place, speaker: Speaker, key: str) -> None:
        told.append((place, speaker, key))

    given = {
        "may_invite": may_invite,
        "tell_unreadable": tell,
        "heard": lambda: heard.append(time.monotonic()),
        "trouble": troubles.append,
        **wishes,
    }
    syncing = listening(
        session(client),
        ledger,
        clock or WallClock(),
        Wishes(**given),
        poll_s=poll_s,
        late_s=late_s,
    )
    task = asyncio.create_task(_mortal(syncing, ledger))
    try:
        yield Ear(client, syncing, task, ledger, troubles, heard, told)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Killed, HeadwayError):
            await task
        await client.close()
        # A connection that was cut closes a moment later.
        await asyncio.sleep(0.05)
        if client.store is not None:
            client.store.database.close()


async def _mortal(syncing: Syncing, ledger: Ledger) -> None:
    # An exception that is none of `Exception` would end the loop of the test, too.
    with contextlib.suppress(Killed):
        await syncing.run(ledger.receive)


@dataclass(frozen=True)
class Person:
    """Somebody with a plain client."""

    synapse: Synapse
    account: Account

    @property
    def id(self) -> str:
        """The user id."""
        return self.account.user_id

    def do(self, method: str, path: str, body: Json | None = None) -> Json:
        """One call below /_matrix/client/v3 that has to succeed."""
        path = f"/_matrix/client/v3{path}"
        return self.synapse.done(method, path, body, self.account.token)

    def create(self, *invite: str, direct: bool = False, **more: Any) -> str:
        """Make a room."""
        wish = {"preset": "private_chat", "invite": list(invite), "is_direct": direct, **more}
        return str(self.do("POST", "/createRoom", wish)["room_id"])

    def send(self, room: str, content: Json, type: str = "m.room.message") -> str:
        """Send an event; returns its id."""
        path = f"/rooms/{quote(room)}/send/{type}/t{next(_transactions)}"
        return str(self.do("PUT", path, content)["event_id"])

    def tries(self, room: str, content: Json, type: str = "m.room.message") -> None:
        """Send an event that the homeserver itself may refuse."""
        path = f"/_matrix/client/v3/rooms/{quote(room)}/send/{type}/t{next(_transactions)}"
        self.synapse.call("PUT", path, content, self.account.token)

    def say(self, room: str, body: str, **more: Any) -> str:
        """Say something."""
        return self.send(room, {"msgtype": "m.text", "body": body, **more})

    def state(self, room: str, type: str, content: Json, key: str = "") -> str:
        """Set a part of the room's state."""
        path = f"/rooms/{quote(room)}/state/{type}/{quote(key, safe='')}"
        return str(self.do("PUT", path, content)["event_id"])

    def act(self, room: str, what: str, **body: Any) -> Json:
        """`kick`, `ban`, `invite`, `leave`, `upgrade` ..."""
        return self.do("POST", f"/rooms/{quote(room)}/{what}", body)

    def redact(self, room: str, event: str) -> str:
        """Take a message back."""
        path = f"/rooms/{quote(room)}/redact/{quote(event)}/t{next(_transactions)}"
        return str(self.do("PUT", path, {})["event_id"])


def person(synapse: Synapse, name: str = "ann") -> Person:
    """Somebody new."""
    return Person(synapse, synapse.register(name))
