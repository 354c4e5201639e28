"""
What can be known of an account from outside: by its file, and by asking its homeserver.

Rule: looking changes nothing, there or here, and disturbs no process that works with the account. No
token is renewed: that would take it away from whoever works with it.
"""

import email.utils
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import aiohttp
import nio

from adapters.matrix.account import Account
from adapters.matrix.cross_signing import Seeds, Standing, standing
from adapters.matrix.errors import translated, unwrap
from adapters.matrix.homeserver import Homeserver
from adapters.matrix.wire import call

CALL_S: Final = 15.0
ROOMS_MOST: Final = 200
"""Rooms that are looked at; each takes a few calls."""
FIRST_WITH_CREATORS: Final = 12
ABOVE_ALL: Final = 2**53
MESSAGE: Final = "m.room.message"
ENCRYPTED: Final = "m.room.encrypted"


@dataclass(frozen=True, slots=True)
class Room:
    """A room that the bot is in."""

    id: str
    name: str
    is_encrypted: bool
    is_space: bool
    level: int
    """The bot's power."""
    needs: int
    """What sending a message takes."""

    @property
    def is_mute(self) -> bool:
        """The bot may not send there."""
        return not self.is_space and self.level < self.needs


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where the bot is. `more` were not looked at."""

    joined: tuple[Room, ...]
    more: int = 0


DeviceState = Literal["ours", "missing", "other"]


async def clock_skew_s(url: str) -> float | None:
    """How many seconds the homeserver's clock is ahead of ours; None where it does not tell."""
    timeout = aiohttp.ClientTimeout(total=CALL_S)
    with translated("The homeserver's clock cannot be read"):
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(f"{url}/_matrix/client/versions") as answer,
        ):
            told = answer.headers.get("Date", "")
    try:
        return email.utils.parsedate_to_datetime(told).timestamp() - time.time()
    except ValueError:
        return None


async def device_state(account: Account, ours: Mapping[str, str]) -> DeviceState:
    """Whether the homeserver has the keys `ours` of the account's device. Raises as `Homeserver`."""
    async with Homeserver.at(account.homeserver) as server:
        there = await server.device_keys(account.access_token, account.user_id, account.device_id)
    if there is None:
        return "missing"
    return "ours" if there == dict(ours) else "other"


async def signed(account: Account) -> Standing:
    """How others see the bot's device. Raises as `errors.unwrap`."""
    async with _asking(account) as client:
        return await standing(client, Seeds.of_text(account.seeds) if account.seeds else None)


async def rooms(account: Account) -> Rooms:
    """The rooms that the bot is in, and whether it may speak there. Raises as `errors.unwrap`."""
    async with _asking(account) as client:
        answer = await call(client, "GET", "/joined_rooms", what="The rooms cannot be listed")
        ids = [str(id) for id in answer.body.get("joined_rooms", ())]
        looked = [await _room(client, id) for id in ids[:ROOMS_MOST]]
    return Rooms(tuple(looked), len(ids) - len(looked))


async def _room(client: nio.AsyncClient, id: str) -> Room:
    with translated("A room cannot be looked at"):
        answer: nio.RoomGetStateResponse = unwrap(await client.room_get_state(id))
    state = {
        (event.get("type"), event.get("state_key")): event
        for event in answer.events
        if isinstance(event, dict)
    }
    levels = _content(state, "m.room.power_levels")
    is_encrypted = ("m.room.encryption", "") in state
    return Room(
        id,
        str(_content(state, "m.room.name").get("name") or ""),
        is_encrypted,
        _content(state, "m.room.create").get("type") == "m.space",
        _level(client.user_id, levels, state.get(("m.room.create", ""), {})),
        _needs(levels, ENCRYPTED if is_encrypted else MESSAGE),
    )


def _content(state: Mapping[tuple[Any, Any], Any], kind: str) -> dict[str, Any]:
    content = state.get((kind, ""), {}).get("content")
    return content if isinstance(content, dict) else {}


def _level(user_id: str, levels: Mapping[str, Any], create: Mapping[str, Any]) -> int:
    """A user's power. From version 12 on, who made the room stands above all numbers."""
    made = create.get("content")
    made = made if isinstance(made, dict) else {}
    creators = [create.get("sender"), *(made.get("additional_creators") or ())]
    version = str(made.get("room_version", "1"))
    if user_id in creators and version.isdecimal() and int(version) >= FIRST_WITH_CREATORS:
        return ABOVE_ALL
    if not levels:
        return 100 if user_id == create.get("sender") else 0
    users = levels.get("users")
    named = users.get(user_id) if isinstance(users, dict) else None
    return _number(levels.get("users_default", 0) if named is None else named)


def _needs(levels: Mapping[str, Any], kind: str) -> int:
    events = levels.get("events")
    named = events.get(kind) if isinstance(events, dict) else None
    return _number(levels.get("events_default", 0) if named is None else named)


def _number(level: object) -> int:
    try:
        return int(str(level))
    except ValueError:
        return 0


@asynccontextmanager
async def _asking(account: Account) -> AsyncIterator[nio.AsyncClient]:
    """A client that has no keys and asks alone."""
    config = nio.AsyncClientConfig(
        max_limit_exceeded=0, max_timeouts=0, encryption_enabled=False, request_timeout=CALL_S
    )
    client = nio.AsyncClient(account.homeserver, account.user_id, account.device_id, "", config)
    client.user_id, client.access_token = account.user_id, account.access_token
    try:
        yield client
    finally:
        await client.close()
