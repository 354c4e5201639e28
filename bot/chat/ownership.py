"""
A goal on its way to another owner: offered in its thread, accepted or declined by whom it is offered to.

Rule 1: who offers must be the owner or an admin; who takes must be one who may start goals there.
Rule 2: an offer changes nothing. Accepting it changes the owner, and with that who is charged.
Rule 3: an offer is a row: it outlives the process.
"""

from typing import Final

from bot.chat.desk import Commit, Desk
from bot.chat.heard import Heard
from bot.chat.parse import Command
from bot.chat.people_words import read_subject, refuse_mere_names, shown
from bot.chat.rights import Act, may
from bot.errors import BadInput, Refused
from bot.goals.events import OwnerChanged
from bot.goals.goal import Goal
from bot.ports.chat import Speaker
from bot.ports.doors import Offered
from bot.ports.people import Answer, Note, Subject

ME: Final = "me"


class Ownership:
    """The verbs `owner`, `accept` and `decline`."""

    verbs: Final = frozenset({"accept", "decline"})
    """Those that need an offer, and no other right before it."""

    def __init__(self, desk: Desk, commit: Commit) -> None:
        self._desk = desk
        self._commit = commit

    async def hand_over(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Offer a goal to somebody, or take it over oneself."""
        texts = self._desk.manner.texts
        if goal.is_final:
            raise Refused("The goal has ended.", code="final")
        if command.text.lower() == ME:
            await self._take(heard, goal)
            return
        subject = read_subject(command.text, heard.message.place)
        if subject is None or subject.kind != "person":
            raise BadInput(texts("bad.owner"))
        refuse_mere_names(subject, heard.message.place, texts)
        to = await self._person(subject)
        if to == goal.owner:
            raise Refused("It is theirs already.", code="own_already")
        if to == heard.person:
            await self._take(heard, goal)
            return
        place, who = heard.message.place, Speaker(subject.id, subject.id)
        if not may(Act.START, await self._desk.allow_list.roles(place, who)):
            raise BadInput(texts("bad.owner.stranger", name=shown(subject)))
        by = heard.message.speaker.name
        note = Note(
            goal.session,
            f"offer:{heard.id}",
            texts("offer.card", name=shown(subject), by=by, goal=self._desk.name(goal)),
            f"offer:{to}",
        )
        told = texts("said.offered", name=shown(subject), goal=self._desk.name(goal))
        if heard.is_thread_of(goal):
            # The card stands where it was asked for: it says all that the answer would.
            answer = Answer((note,), (heard.id,))
        else:
            answer = await self._desk.reply(heard, told, note)
        await self._desk.doors.offer(goal.id, to=to, by=heard.person, answer=answer)
        self._desk.posted()

    async def accept(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Take a goal that was offered to whoever says so."""
        offered = await self._mine(heard, goal)
        if not may(Act.START, heard.roles):
            raise Refused("They may have no goals here.", code="no_goals_of_yours")
        await self._change(heard, goal, OwnerChanged(offered.by, heard.person))

    async def decline(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Leave it with its owner; whoever offered it may take the offer back, too."""
        offered = await self._desk.doors.offered(goal.id)
        if offered is None or heard.person not in (offered.to, offered.by, goal.owner):
            raise Refused("Nothing is offered.", code="no_offer")
        told = self._desk.manner.texts(
            "said.declined", name=heard.message.speaker.name, goal=self._desk.name(goal)
        )
        await self._desk.doors.withdraw(goal.id, await self._desk.reply(heard, told))
        self._desk.posted()

    async def refuse_without_owner(self, goal: Goal) -> None:
        """Raise Refused where a goal would go on and its owner may have none there any more."""
        if not goal.is_final and await self._desk.allow_list.lost(goal):
            raise Refused("Its owner may have no goals there.", code="owner_lost")

    async def is_offered(self, heard: Heard) -> bool:
        """Whether the goal of the thread is offered to whoever said something in it."""
        if heard.goal is None:
            return False
        offered = await self._desk.doors.offered(heard.goal.id)
        return offered is not None and offered.to == heard.person

    async def _take(self, heard: Heard, goal: Goal) -> None:
        """An admin takes a goal over; nobody else has to say yes."""
        if not may(Act.HAND_OVER, heard.roles) and not heard.is_owner_of(goal):
            raise Refused("It takes an admin.", code="no_offer")
        await self._change(heard, goal, OwnerChanged(heard.person, heard.person))

    async def _change(self, heard: Heard, goal: Goal, event: OwnerChanged) -> None:
        name = heard.message.speaker.name
        key = "said.accepted.rests" if goal.state == "paused" else "said.accepted"
        text = self._desk.manner.texts(key, name=name, goal=self._desk.name(goal))
        await self._commit(heard, goal, event, told=lambda _: text)

    async def _mine(self, heard: Heard, goal: Goal) -> Offered:
        offered = await self._desk.doors.offered(goal.id)
        if offered is None or offered.to != heard.person:
            raise Refused("Nothing is offered to them.", code="no_offer")
        return offered

    async def _person(self, subject: Subject) -> str:
        speaker = Speaker(subject.id, await self._known_name(subject))
        return await self._desk.rooms.person(subject.network, speaker)

    async def _known_name(self, subject: Subject) -> str:
        for entry in self._desk.allow_list.register.entries:
            if entry.subject.is_same(subject) and entry.subject.name:
                return entry.subject.name
        return subject.name or subject.id
