"""
Who reads in a channel and who is in a user group, as Slack knows. Port Members.

Rule 1: an answer is remembered for five minutes, and changed by what Slack tells of comings and goings.
Rule 2: one channel is asked for once, however many wait.
Rule 3: while Slack is away, who was there is.
Rule 4: what Slack refuses to tell is taken for no: who cannot be seen there has no rights by it.
"""

import asyncio
import logging
import math
from collections import OrderedDict
from typing import Final
from weakref import WeakValueDictionary

from adapters.slack.calling import Calls, Json
from adapters.slack.errors import NOT_IN_ROOM
from adapters.slack.ids import NETWORK, user_of
from adapters.slack.people import Directory
from bot.errors import ByOperator, Refused, Wait
from bot.ports.chat import Place, Speaker
from bot.ports.clock import Clock
from bot.ports.people import Subject

log = logging.getLogger(__name__)

KEPT_S: Final = 300.0
ROOMS_MOST: Final = 500
"""Channels and groups of which it is remembered."""
PAGE: Final = 999
"""Members of a page; Slack takes less than 1,000."""
NOT_THERE: Final = frozenset(
    {
        NOT_IN_ROOM,
        "channel_not_found",
        "no_such_subteam",
        "subteam_not_found",
        "fetch_members_failed",
    }
)

Known = tuple[float, frozenset[str]]
Key = tuple[str, str]
"""Workspace, and channel or group."""


class SlackMembers:
    """The channels and groups of the workspaces of an app."""

    def __init__(self, calls: Calls, people: Directory, clock: Clock) -> None:
        self._calls, self._people, self._clock = calls, people, clock
        self._known: OrderedDict[Key, Known] = OrderedDict()
        self._asking: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._changes = 0

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the channel. Raises Wait where that cannot be asked."""
        if room.network != NETWORK or not room.room:
            return False
        return _user(who) in await self.of(room.workspace, room.room)

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Whether the workspace is theirs in full: no guest, bot or other organisation's person.

        Raises:
            Wait: that cannot be asked at the moment.
        """
        team, user = user_of(who.id)
        try:
            home = await self._people.home(room.workspace)
            # A user's id alone says nothing of another organisation's people.
            return team in home.ids and await self._people.is_own(room.workspace, user)
        except (Refused, ByOperator) as error:
            log.warning("%s counts as a stranger in %s: %s", who.id, room.workspace, error)
            return False

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Whether they are in a user group, `S01` or `T01:S01`. Raises as `is_member`.

        A guest in it counts: whoever made the group has listed them.
        """
        named, _, id = group.id.rpartition(":")
        team, user = user_of(who.id)
        given = named or group.workspace
        for workspace in (given,) if given else (self._people.where(user) or (team,)):
            if user in await self._asked((workspace, id), group=True):
                return team in (await self._people.home(workspace)).ids
        return False

    async def is_direct(self, place: Place) -> bool:
        """Whether it is a conversation of one person and the bot."""
        return place.network == NETWORK and place.room.startswith("D")

    async def is_encrypted(self, place: Place) -> bool:
        """Never: Slack reads along."""
        return False

    async def enter(self, room: Place) -> bool:
        """Whether the bot can speak in the channel: it is in it, or has just joined, as it may.

        Raises:
            Wait: that cannot be asked at the moment.
        """
        if room.network != NETWORK:
            return False
        channel = await self._channel(room)
        if channel.get("is_archived"):
            return False
        if channel.get("is_member") or channel.get("is_im") or channel.get("is_mpim"):
            return True
        # Of a private one Slack tells only who is in it.
        return bool(channel.get("is_channel")) and await self._joined(room)

    async def of(self, workspace: str, channel: str) -> frozenset[str]:
        """Ids of the users in a channel; nobody where the bot sees none. Raises Wait."""
        return await self._asked((workspace, channel), group=False)

    def came(self, workspace: str, channel: str, user: str) -> None:
        """Slack told that somebody has come into a channel."""
        self._change((workspace, channel), came=frozenset({user}))

    def went(self, workspace: str, channel: str, user: str) -> None:
        """Slack told that somebody has left a channel."""
        self._change((workspace, channel), went=frozenset({user}))

    def forget(self, workspace: str, id: str = "") -> None:
        """A channel or a group has changed as a whole; without `id`, all of the workspace have."""
        self._changes += 1
        for key in [key for key in self._known if key[0] == workspace and id in ("", key[1])]:
            del self._known[key]

    async def _asked(self, key: Key, *, group: bool) -> frozenset[str]:
        lock = self._asking.setdefault(key, asyncio.Lock())
        async with lock:
            at, members = self._known.get(key, (-math.inf, frozenset()))
            if self._clock.now() - at < KEPT_S:
                self._known.move_to_end(key)
                return members
            asked_at, changes = self._clock.now(), self._changes
            try:
                members = await (self._group(key) if group else self._channel_members(key))
            except (Refused, ByOperator) as error:
                if getattr(error, "code", "") not in NOT_THERE:
                    log.warning("Nobody counts as being in %s of %s: %s", key[1], key[0], error)
                members = frozenset()
            except Wait:
                if key in self._known:
                    return self._known[key][1]
                raise
            if changes == self._changes:
                self._keep(key, (asked_at, members))
            return members

    async def _channel_members(self, key: Key) -> frozenset[str]:
        found: set[str] = set()
        what = "The channel's members cannot be read"
        pages = self._calls.pages(
            key[0], "conversations.members", what=what, channel=key[1], limit=PAGE
        )
        async for page in pages:
            found.update(_ids(page, "members"))
        return frozenset(found)

    async def _group(self, key: Key) -> frozenset[str]:
        home = await self._people.home(key[0])
        answer = await self._calls.call(
            key[0],
            "usergroups.users.list",
            what="The user group cannot be read",
            usergroup=key[1],
            team_id=home.team if home.enterprise and home.team.startswith("T") else None,
        )
        return frozenset(_ids(answer, "users"))

    async def _channel(self, room: Place) -> Json:
        try:
            answer = await self._calls.call(
                room.workspace,
                "conversations.info",
                what="The channel cannot be looked at",
                channel=room.room,
            )
        except (Refused, ByOperator) as error:
            log.info("%s cannot be looked at: %s", room.room, error)
            return {}
        channel = answer.get("channel")
        return channel if isinstance(channel, dict) else {}

    async def _joined(self, room: Place) -> bool:
        try:
            await self._calls.call(
                room.workspace,
                "conversations.join",
                what="The channel cannot be joined",
                channel=room.room,
            )
        except (Refused, ByOperator) as error:
            log.info("%s cannot be joined: %s", room.room, error)
            return False
        self.forget(room.workspace, room.room)
        return True

    def _change(
        self,
        key: Key,
        *,
        came: frozenset[str] = frozenset(),
        went: frozenset[str] = frozenset(),
    ) -> None:
        # What is being asked at this moment may be from before it.
        self._changes += 1
        if key in self._known:
            at, members = self._known[key]
            self._known[key] = at, (members | came) - went

    def _keep(self, key: Key, known: Known) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > ROOMS_MOST:
            self._known.popitem(last=False)


def _user(who: Speaker) -> str:
    return user_of(who.id)[1]


def _ids(answer: Json, key: str) -> list[str]:
    told = answer.get(key)
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
