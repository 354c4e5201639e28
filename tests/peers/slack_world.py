"""
What a Slack knows and local-slack does not: who is where, what each token may do, what is whose.

Everything here is state; it is changed from the front's own thread alone.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.peers.localslack import APP_TOKEN, USERS, Channel, Install

TRIGGER_S: Final = 3.0
"""How long a `trigger_id` opens a view, once."""
WAY_BACK_S: Final = 1_800.0
WAY_BACK_USES: Final = 5
STACK: Final = 3
"""Views one above the other."""


@dataclass
class Trigger:
    """What a person did that lets the app open a view."""

    user: str
    until: float
    is_used: bool = False


@dataclass
class WayBack:
    """A `response_url`."""

    install: Install
    user: str
    channel: str
    until: float
    message_ts: str = ""
    thread_ts: str = ""
    is_ephemeral: bool = False
    """Of the message from which it is."""
    uses: int = 0


@dataclass
class Room:
    """A channel as the front knows it beyond local-slack."""

    has_bot: bool = True
    is_archived: bool = False
    is_gone: bool = False
    is_shared: bool = False
    """With another organisation."""
    further: tuple[Install, ...] = ()
    """Other installs by which the same is seen."""


@dataclass
class World:
    """Workspaces, people, channels, tokens, views."""

    installs: list[Install]
    channels: dict[str, Channel]
    app_tokens: set[str] = field(default_factory=lambda: {APP_TOKEN})
    rooms: dict[str, Room] = field(default_factory=dict)
    dms: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of a DM: the person and the bot."""
    members: dict[str, set[str]] = field(default_factory=dict)
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What differs in `users.info` from a plain member of the first workspace."""
    tokens: dict[str, Install] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    scopes: dict[str, frozenset[str]] = field(default_factory=dict)
    """By token; a token that is not here may do everything."""
    metadata: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    origins: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """The metadata that each message was first posted with."""
    locked: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of threads that take no posts: the error."""
    groups: list[dict[str, Any]] = field(default_factory=list)
    homes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Of (bot, user)."""
    stacks: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    """Our ids by those of local-slack, which gives a new one at each update."""
    triggers: dict[str, Trigger] = field(default_factory=dict)
    ways: dict[str, WayBack] = field(default_factory=dict)
    statuses: dict[tuple[str, str], str] = field(default_factory=dict)
    streams: dict[tuple[str, str], str] = field(default_factory=dict)
    ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    has_assistant: bool = True
    """Whether the plan and the app have `assistant.threads.*`."""

    def room(self, channel: str) -> Room:
        """What is known of a channel."""
        return self.rooms.setdefault(channel, Room())

    def install_of(self, channel: str) -> Install:
        """The install in whose workspace a channel is."""
        if channel in self.dms:
            bot = self.dms[channel][1]
            return next(each for each in self.installs if each.bot == bot)
        team = self.channels[channel].team if channel in self.channels else self.installs[0].team
        return next(each for each in self.installs if each.team == team)

    def is_private(self, channel: str) -> bool:
        """Whether only those see it who are in it."""
        return channel in self.channels and self.channels[channel].is_private

    def kind(self, channel: str) -> str:
        """The `channel_type` of its messages."""
        if channel in self.dms:
            return "im"
        return "group" if self.is_private(channel) else "channel"

    def people_of(self, channel: str) -> set[str]:
        """Who is in it, the bot where it is."""
        if channel in self.dms:
            return set(self.dms[channel])
        found = self.members.get(channel)
        if found is None:
            known = self.channels.get(channel)
            found = self.members[channel] = set(known.members if known else ())
        bot = {self.install_of(channel).bot} if self.room(channel).has_bot else set()
        return found | bot

    def closed(self, install: Install, channel: str) -> str:
        """The error that keeps an install from a channel; empty where nothing does."""
        room = self.room(channel)
        known = channel in self.channels or channel in self.dms
        theirs = known and (
            self.install_of(channel).bot == install.bot or install in room.further
        )  # fmt: skip
        if not theirs or room.is_gone or (self.is_private(channel) and not room.has_bot):
            return "channel_not_found"
        if room.is_archived:
            return "is_archived"
        return "" if room.has_bot else "not_in_channel"

    def team_of(self, user: str) -> str:
        """A person's own workspace."""
        mine: str = self.people.get(user, {}).get("team_id", self.installs[0].team)
        for install in self.installs:
            if user == install.bot:
                return install.team
        return mine

    def name_of(self, user: str) -> str:
        """A person's short name."""
        return next((name for id, name, _ in USERS if id == user), user)

    def trigger(self, user: str) -> str:
        """A new `trigger_id`."""
        id = f"{next(self.ids)}.{time.time_ns()}.trigger"
        self.triggers[id] = Trigger(user, time.monotonic() + TRIGGER_S)
        return id

    def take(self, trigger: str) -> tuple[Trigger | None, str]:
        """Use a trigger up; or the error."""
        found = self.triggers.get(trigger)
        if found is None:
            return None, "invalid_trigger_id"
        if found.is_used:
            return None, "exchanged_trigger_id"
        if time.monotonic() > found.until:
            return None, "expired_trigger_id"
        found.is_used = True
        return found, ""

    def fresh(self, prefix: str) -> str:
        """A new id."""
        return f"{prefix}{next(self.ids):08d}"


def world(channels: Sequence[Channel], installs: Sequence[Install]) -> World:
    """A world in which the app is installed and in every channel."""
    made = World(list(installs), {each.id: each for each in channels})
    made.tokens = {each.bot_token: each for each in installs}
    made.people = {
        "U06GUEST": {"is_restricted": True},
        "U07FORGN": {"team_id": "T09OTHER", "is_stranger": True},
    }
    return made


def identity(install: Install) -> Mapping[str, Any]:
    """An entry of `authorizations`."""
    return {
        "enterprise_id": install.enterprise or None,
        "team_id": None if install.is_org_wide else install.team,
        "user_id": install.bot, "is_bot": True, "is_enterprise_install": install.is_org_wide,
    }  # fmt: skip
