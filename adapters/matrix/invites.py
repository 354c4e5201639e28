"""
Invitations: taken from people on the list, declined otherwise.

Rule 1: an invitation is seen once in the answers to /sync. So those that stand open are looked up when
        the process starts, and none is forgotten because it could not be answered.
Rule 2: while the bot has no admin, a stranger's private room is joined, because the claim is made there;
        it is left when the claim has lapsed and nobody in it is on the list. That it was joined so is
        kept with the account at the homeserver.
Rule 3: a space is joined as any room is; nothing is heard or said there.
"""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import nio

from adapters.matrix import wire
from adapters.matrix.parse import is_id
from adapters.matrix.patience import pause_s
from adapters.matrix.reading import Json, events_of, rooms_of
from bot.errors import HeadwayError, Refused
from bot.ports.chat import Speaker
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

CLAIM: Final = "dev.headway.claim"
"""The field of a room's account data: it was joined so that somebody may claim the bot."""
LOOK_S: Final = 30.0
"""How often it is looked whether the claim has lapsed."""
JOIN_S: Final = 180.0
"""A join over federation may take minutes."""

MayInvite = Callable[[Speaker], Awaitable[bool]]
IsClaimOpen = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Invitation:
    """One that stands open."""

    room: str
    by: Speaker
    is_direct: bool = False


@dataclass(slots=True)
class _Open:
    invitation: Invitation
    failures: int = 0
    not_before: float = 0.0


class Invites:
    """Those of one account."""

    def __init__(
        self,
        client: nio.AsyncClient,
        clock: Clock,
        *,
        may_invite: MayInvite,
        is_claim_open: IsClaimOpen,
        members_of: Callable[[str], Awaitable[frozenset[str]]],
    ) -> None:
        self._client, self._clock = client, clock
        self._may_invite, self._is_claim_open = may_invite, is_claim_open
        self._members_of = members_of
        self._open: dict[str, _Open] = {}
        self._claims: set[str] = set()
        self._news = asyncio.Event()

    def see(self, answer: Json) -> None:
        """Note the invitations in an answer to /sync, and those that were taken back."""
        for room, info in rooms_of(answer, "invite"):
            invitation = invitation_of(room, info, self._client.user_id)
            if invitation is not None:
                self._open[room] = _Open(invitation)
                self._news.set()
        for kind in ("leave", "join"):
            for room, _ in rooms_of(answer, kind):
                self._open.pop(room, None)

    async def run(self) -> None:
        """Answer what is open, first what a former process left, until cancelled."""
        await self._look_up()
        while True:
            self._news.clear()
            for room in list(self._open):
                await self._try(room)
            await self._leave_lapsed()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._rest_s()):
                    await self._news.wait()

    async def _look_up(self) -> None:
        failures = 0
        while True:
            try:
                await self._look()
            except HeadwayError as error:
                # A session that has ended is renewed by who listens, and by nobody beside.
                failures += 1
                log.info("The open invitations are looked up later: %s", error)
                await self._clock.sleep(pause_s(failures, error))
            else:
                return

    async def _look(self) -> None:
        """Only a first sync shows every open invitation; with all else left out it is small."""
        nothing: dict[str, list[str]] = {"types": []}
        # Synapse gives the same answer to the same first sync for two minutes: so it never is.
        other = {"limit": 1, "types": [], "not_senders": [f"@{secrets.token_hex(8)}:invalid"]}
        room = {
            "timeline": other, "state": nothing, "ephemeral": nothing,
            "account_data": {"types": [CLAIM]},
        }  # fmt: skip
        wish = json.dumps({"presence": nothing, "account_data": nothing, "room": room})
        query = urlencode({"filter": wish, "timeout": 0})
        answer = await wire.call(
            self._client, "GET", f"/sync?{query}", what="The open invitations cannot be read"
        )
        for joined, info in rooms_of(answer.body, "join"):
            if any(_is_claim(event) for event in events_of(info, "account_data")):
                self._claims.add(joined)
        self.see({"rooms": {"invite": dict(rooms_of(answer.body, "invite"))}})

    async def _try(self, room: str) -> None:
        opened = self._open.get(room)
        if opened is None or opened.not_before > self._clock.now():
            return
        try:
            await self._answer(opened.invitation)
        except HeadwayError as error:
            if isinstance(error, Refused):
                # It was taken back, or we are banned there.
                log.info("The invitation to %s is void: %s", room, error)
                self._drop(opened)
                return
            opened.failures += 1
            opened.not_before = self._clock.now() + pause_s(opened.failures, error)
            log.warning("The invitation to %s waits: %s", room, error)
            return
        self._drop(opened)

    def _drop(self, opened: _Open) -> None:
        # Somebody may have asked us in again meanwhile.
        if self._open.get(opened.invitation.room) is opened:
            del self._open[opened.invitation.room]

    async def _answer(self, invitation: Invitation) -> None:
        room = invitation.room
        if await self._may_invite(invitation.by):
            await join(self._client, room, via=(server_of(invitation.by.id),))
            return
        if invitation.is_direct and await self._is_claim_open():
            await self._mark(room, {"at": self._clock.now()})
            self._claims.add(room)
            await join(self._client, room, via=(server_of(invitation.by.id),))
            return
        log.info("The invitation of %s to %s is declined: not on the list", invitation.by.id, room)
        await _leave(self._client, room)

    async def _leave_lapsed(self) -> None:
        if not self._claims:
            return
        try:
            if await self._is_claim_open():
                return
            for room in list(self._claims):
                await self._settle(room)
        except HeadwayError as error:
            log.info("Rooms of a claim are looked at later: %s", error)

    async def _settle(self, room: str) -> None:
        others = await self._members_of(room) - {self._client.user_id}
        known = [await self._may_invite(Speaker(other, other)) for other in others]
        try:
            if not any(known):
                log.info("The claim has lapsed: %s is left", room)
                await _leave(self._client, room)
            await self._mark(room, {})
        except Refused as error:
            log.info("%s is not our room any more: %s", room, error)
        self._claims.discard(room)

    async def _mark(self, room: str, content: dict[str, Any]) -> None:
        user, where = (quote(part, safe="") for part in (self._client.user_id, room))
        path = f"/user/{user}/rooms/{where}/account_data/{CLAIM}"
        await wire.call(self._client, "PUT", path, content, what="The claim's room cannot be noted")

    def _rest_s(self) -> float:
        waits = [opened.not_before - self._clock.now() for opened in self._open.values()]
        return max(min([LOOK_S, *waits]), 0.05)


def invitation_of(room: str, info: Json, user: str) -> Invitation | None:
    """The invitation of `user` in a room's stripped state; None where there is none."""
    names: dict[str, str] = {}
    found: Json | None = None
    for event in events_of(info, "invite_state"):
        content = event.get("content") if isinstance(event, dict) else None
        if not isinstance(content, dict) or event.get("type") != "m.room.member":
            continue
        who, name = event.get("state_key"), content.get("displayname")
        if isinstance(who, str) and isinstance(name, str):
            names[who] = name
        if who == user and content.get("membership") == "invite" and is_id(event.get("sender")):
            found = event
    if found is None:
        return None
    sender = str(found["sender"])
    is_direct = found["content"].get("is_direct") is True
    return Invitation(room, Speaker(sender, names.get(sender) or sender), is_direct)


async def join(client: nio.AsyncClient, room: str, via: tuple[str, ...] = ()) -> None:
    """Join a room; joined already, nothing happens.

    Args:
        via: servers that know the room, where ours does not.

    Raises:
        Wait, LoggedOut: as `errors.unwrap`; Refused, where we may not.
    """
    query = urlencode([(name, server) for server in via for name in ("via", "server_name")])
    path = f"/join/{quote(room, safe='')}?{query}"
    what = f"{room} cannot be joined"
    await wire.call(client, "POST", path, {}, what=what, timeout_s=JOIN_S)


def server_of(user: str) -> str:
    """The homeserver of a user."""
    return user.partition(":")[2]


async def _leave(client: nio.AsyncClient, room: str) -> None:
    path = f"/rooms/{quote(room, safe='')}/leave"
    await wire.call(client, "POST", path, {}, what=f"{room} cannot be left")


def _is_claim(event: object) -> bool:
    is_claim = isinstance(event, dict) and event.get("type") == CLAIM
    return is_claim and isinstance(event, dict) and bool(event.get("content"))
