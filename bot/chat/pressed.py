"""
What a press or a form is about: who did it, which goal, in which room.

Rule: nothing is written and nothing is told. A goal that is named counts, then the one of the message
under which the press stands, then the thread's.
"""

import re
from dataclasses import dataclass
from typing import Final

from bot.chat.cards import number_in
from bot.chat.desk import Desk
from bot.chat.rights import Act, may
from bot.errors import Refused
from bot.goals.goal import Goal, State
from bot.ports.chat import Incoming, Place
from bot.ports.mail import Posted
from bot.ports.people import Role
from bot.ports.room_settings import RoomSettings
from bot.ports.windows import DECISION, GOAL

_NUMBER: Final = re.compile(r"[gG]([0-9]{1,9})")
CARDS: Final = frozenset({"decision", "reminder", "card"})
"""Kinds of posts that show a decision."""


@dataclass(frozen=True, slots=True)
class About:
    """A press or a form, with what it is about."""

    message: Incoming
    person: str
    place: Place
    """Where the goal lives; without one, where the press stands or the form is said."""
    roles: frozenset[Role]
    """Of whoever did it, there."""
    room: RoomSettings
    goal: Goal | None = None
    decision: int = 0
    """Number of the decision that it is about, or 0."""

    @property
    def is_owner(self) -> bool:
        """Whether whoever did it owns the goal."""
        return self.goal is not None and self.goal.owner == self.person

    def may(self, act: Act) -> bool:
        """Whether they may do this."""
        return may(act, self.roles, is_owner=self.is_owner, room=self.room)


async def about(desk: Desk, message: Incoming, *, named: str = "") -> About:
    """Read what it is about. `named`: the goal's number as the press has it. Raises as the store does."""
    form = dict(message.form)
    ours = await _ours(desk, message)
    goal = await _goal(desk, message.place, named or form.get(GOAL, ""), ours)
    place = await desk.allow_list.home(goal.session) if goal else message.place
    return About(
        message,
        await desk.rooms.person(place.network, message.speaker),
        place,
        await desk.allow_list.roles(place, message.speaker),
        desk.allow_list.settings(place),
        goal,
        _decision(form.get(DECISION, ""), ours),
    )


async def refuse_outsiders(desk: Desk, found: About) -> None:
    """Raise Refused where they may not see what is in the room."""
    is_seen = found.may(Act.SEE) and await desk.allow_list.members.is_member(
        found.place, found.message.speaker
    )
    if not is_seen:
        text = desk.manner.texts("window.not_yours" if found.roles else "said.stranger")
        raise Refused(text, code="not_yours")


def refusal(desk: Desk, found: About, act: Act) -> str:
    """Why somebody may not do something, as they are told; empty where they may."""
    if found.may(act):
        return ""
    texts = desk.manner.texts
    if not found.roles:
        return texts("said.stranger")
    name = desk.name(found.goal) if found.goal else ""
    return texts.first(
        f"said.may_not.{act}", "said.may_not" if name else "said.may_not.here", goal=name
    )


def refuse(desk: Desk, found: About, act: Act) -> None:
    """Raise Refused with the sentence, where they may not."""
    if why := refusal(desk, found, act):
        raise Refused(why, code="may_not")


def some(desk: Desk, found: About) -> Goal:
    """The goal. Raises Refused where there is none."""
    if found.goal is None:
        raise Refused(desk.manner.texts("window.no_goal"), code="no_goal")
    return found.goal


def live(desk: Desk, found: About) -> Goal:
    """The goal that has not ended. Raises Refused."""
    goal = some(desk, found)
    if goal.is_final:
        key = "refused.cancelled" if goal.state is State.CANCELLED else "refused.final"
        raise Refused(desk.manner.texts(key, goal=desk.name(goal)), code="final")
    return goal


async def _ours(desk: Desk, message: Incoming) -> Posted | None:
    if not message.reply_to:
        return None
    return await desk.rooms.posted(message.place, message.reply_to)


async def _goal(desk: Desk, place: Place, named: str, ours: Posted | None) -> Goal | None:
    number = _NUMBER.fullmatch(named.strip())
    if number is not None:
        return next(iter(await desk.rooms.goals(room=place, number=int(number[1]))), None)
    if ours is not None and ours.goal:
        return await desk.journal.goal(ours.goal)
    if not place.thread:
        return None
    thread = await desk.rooms.thread(place)
    if thread is None:
        return None
    return (
        await desk.journal.goal(thread.goal)
        if thread.goal
        else await desk.rooms.last_goal(thread.session)
    )


def _decision(named: str, ours: Posted | None) -> int:
    if named.isascii() and named.isdigit():
        return int(named[:9])
    return number_in(ours.key) if ours is not None and ours.kind in CARDS else 0
