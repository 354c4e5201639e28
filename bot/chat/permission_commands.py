"""
The verbs `permissions` and `profile`: what a room has allowed for a time, and what a goal may do unasked.

Rule 1: a number is one of the list that its sayer was shown last: the list may have moved on since.
        Where nothing is known of one, it is shown, and nothing is taken back.
Rule 2: a goal's owner sets its profile up to the room's; beyond that an admin alone. Whoever lowers one
        that an admin has raised gets no further up than they came from.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bot.chat.desk import Commit, Desk
from bot.chat.gate_commands import MayWith
from bot.chat.heard import Heard
from bot.chat.offers import allows
from bot.chat.parse import Command
from bot.chat.permission_words import (
    OPEN,
    PermissionWords,
    is_number,
    list_text,
    meant,
    read_permissions,
    read_profile,
)
from bot.chat.rights import Act, may
from bot.errors import BadInput, Refused
from bot.goals.events import ProfileSet
from bot.goals.goal import Goal
from bot.goals.hands import PROFILES, Profile
from bot.ports.chat import Place
from bot.ports.permissions import Permission, Permissions
from bot.tools.policy.verdict import profile_of

SHOWN_MOST: Final = 256
"""Lists that are remembered, the last ones."""


class PermissionCommands:
    """One method a verb."""

    verbs: Final = frozenset({"permissions"})

    def __init__(self, desk: Desk, commit: Commit, may: MayWith) -> None:
        self._desk, self._commit, self._may = desk, commit, may
        self._shown: OrderedDict[tuple[str, Place], Sequence[Permission]] = OrderedDict()

    async def run(self, heard: Heard, command: Command) -> None:
        """`permissions [revoke N]`. Raises Refused, BadInput."""
        words = read_permissions(command.text) or PermissionWords()
        place = _room_of(heard)
        listed = await self._kept().of(place)
        if words.revoke:
            await self._revoke(heard, place, listed, words.revoke)
            return
        await self._list(heard, place, listed)

    async def _list(
        self, heard: Heard, place: Place, listed: Sequence[Permission], told: str = ""
    ) -> None:
        """Show them, below `told`; numbers are of this list from now on."""
        self._shown.pop((heard.person, place), None)
        self._shown[heard.person, place] = listed
        if len(self._shown) > SHOWN_MOST:
            self._shown.popitem(last=False)
        people = await self._desk.rooms.people(sorted({one.by for one in listed if one.by}))
        names = {person: speaker.name for person, speaker in people.items()}
        manner = self._desk.manner_in(place)
        shown = list_text(listed, names, self._desk.clock.now(), manner)
        await self._desk.answer(heard, "\n\n".join(part for part in (told, shown) if part))

    async def profile(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Show a goal's profile, or set it. Raises Refused."""
        texts, name = self._desk.manner.texts, self._desk.name(goal)
        wanted = read_profile(command.text) or ""
        room, default = heard.room, self._desk.profile
        now = profile_of(goal, room, default)
        if not wanted:
            told = texts("profile.is", goal=name, profile=now, means=texts(f"profile.{now}"))
            await self._desk.answer(heard, told)
            return
        if not await self._may(heard, Act.PROFILE, goal):
            return
        if goal.is_final:
            raise Refused("The goal has ended.", code="final")
        of_room = profile_of(_unset(goal), room, default)
        set_to: Profile = of_room if wanted == OPEN else _known(wanted)
        is_beyond = _height(set_to) > max(_height(of_room), _height(now))
        if is_beyond and not may(Act.SETTINGS, heard.roles, room=room):
            raise Refused(f"The room's profile is {of_room}.", code="profile")
        told = texts("profile.set", goal=name, profile=set_to, means=texts(f"profile.{set_to}"))
        changed = ProfileSet(heard.person, "" if wanted == OPEN else wanted)
        await self._commit(heard, goal, changed, told=lambda _: told)

    async def _revoke(
        self, heard: Heard, place: Place, listed: Sequence[Permission], word: str
    ) -> None:
        if not await self._may(heard, Act.MEMORY):
            return
        texts = self._desk.manner.texts
        seen = self._shown.get((heard.person, place))
        if seen is None and listed and is_number(word):
            await self._list(heard, place, listed, texts("permissions.of_which", word=word))
            return
        one = meant(word, listed if seen is None else seen)
        if one is None:
            raise BadInput(texts("bad.permission", word=word))
        told = texts("permissions.revoked", what=allows(one.kind, one.what, texts))
        answer = await self._desk.reply(heard, told)
        if not await self._kept().revoke(place, one.id, heard.person, answer):
            raise BadInput(texts("bad.permission", word=word))
        self._desk.posted()

    def _kept(self) -> Permissions:
        if self._desk.permissions is None:
            raise Refused("Permissions are not kept here.", code="no_permissions")
        return self._desk.permissions


def _room_of(heard: Heard) -> Place:
    place = heard.message.place
    return Place(place.network, place.workspace, place.room)


def _known(word: str) -> Profile:
    return next(profile for profile in PROFILES if profile == word)


def _height(profile: Profile) -> int:
    return PROFILES.index(profile)


def _unset(goal: Goal) -> Goal:
    return replace(goal, profile="")
