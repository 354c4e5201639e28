"""What commands work with, and how they answer."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from bot.chat.abilities import ROOTS_THREADS, is_unseen
from bot.chat.allow_list import AllowList
from bot.chat.facts import Manner
from bot.chat.heard import Heard, aimed_id_in, goal_id, goal_id_in
from bot.chat.held import kept
from bot.chat.secret_keeping import Keeping
from bot.goals.events import Event
from bot.goals.goal import FINAL, Goal, State
from bot.goals.hands import Profile
from bot.goals.instructions import Instruction
from bot.goals.money import NANO, Budget
from bot.ports.chat import Incoming, Place
from bot.ports.checkpoints import Checkpoints
from bot.ports.clock import Clock
from bot.ports.doors import Claims, Notices, Offers
from bot.ports.forgetting import Forgetting
from bot.ports.holds import Holds
from bot.ports.journal import Applied, Content, Journal, Reply
from bot.ports.mail import Inbox, Outbox, Rooms, Thread
from bot.ports.mcp_servers import Looking, McpServers
from bot.ports.people import Answer, Note
from bot.ports.permissions import Permissions
from bot.ports.repositories import Repositories
from bot.ports.room_settings import Mention
from bot.ports.snapshots import Snapshots
from bot.ports.spending import Spending

LIVE: Final = tuple(state.value for state in State if state not in FINAL)
"""States of goals that have not ended, as `Rooms.goals` takes them."""

HEARING: Final = frozenset(
    {State.READY, State.WORKING, State.AUDITING, State.WAITING, State.DECIDING}
)
"""States of goals that hear what is said in time: it begins nothing by itself."""

Told = Callable[[Applied], str]
"""What is answered, from what was done."""

Wake = Callable[[str, Sequence[Instruction]], None]
"""Told after a commit: the goal may be due, and what was asked for (a turn to stop)."""


class Doors(Claims, Offers, Notices, Protocol):
    """Claims, offers and notices: one keeper has all three."""


class Commit(Protocol):
    """Commits what a message caused, with what is answered: `Commands.commit`."""

    async def __call__(
        self,
        heard: Heard,
        goal: Goal,
        *events: Event,
        contents: tuple[Content, ...] = (),
        told: Told | None = None,
    ) -> None: ...


def _nothing() -> None:
    return


def _unmarked(message: Incoming, goal: Goal) -> None:
    return


async def _nobody() -> None:
    return


async def _nothing_of(message: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Desk:
    """What commands work with."""

    inbox: Inbox
    journal: Journal
    rooms: Rooms
    outbox: Outbox
    clock: Clock
    budget: Budget
    """Of a new goal, where the room says nothing."""
    wake: Wake
    manner: Manner
    allow_list: AllowList
    doors: Doors
    spending: Spending | None = None
    posted: Callable[[], None] = _nothing
    """Told when there is something to deliver."""
    taken: Callable[[Incoming, Goal], None] = _unmarked
    """Told of a message that counts for a goal, as the goal is with it."""
    holds: Holds | None = None
    repositories: Repositories | None = None
    checkpoints: Checkpoints | None = None
    snapshots: Snapshots | None = None
    mcp_servers: McpServers | None = None
    looking: Looking | None = None
    """Looks at servers of tools."""
    forgetting: Forgetting | None = None
    withdraw: Callable[[str], Awaitable[None]] = _nothing_of
    """Told of each message that was taken back, by its id: what its files left goes."""
    secrets: Keeping | None = None
    permissions: Permissions | None = None
    profile: Profile = "workspace"
    """Of goals where neither they nor their room say one."""
    recall: Callable[[], Awaitable[None]] = _nobody
    """Told when holds have changed: what runs may have to stop, what rests may go on."""

    def manner_in(self, place: Place) -> Manner:
        """How a room is spoken to."""
        return self.manner.in_zone(self.allow_list.settings(place).zone)

    def budget_in(self, place: Place) -> Budget:
        """What a new goal may spend in a room."""
        dollars = self.allow_list.settings(place).budget_usd
        if dollars is None:
            return self.budget
        return Budget(round(dollars * NANO), self.budget.tokens, self.budget.active_s)

    async def is_direct(self, place: Place) -> bool:
        """Whether all that is said there is for the bot: nobody else reads it.

        A console's room has words of its own for what is for the bot.
        """
        return is_shared(place) and await self.allow_list.members.is_direct(place)

    async def mention_in(self, place: Place) -> Mention:
        """How the bot is addressed where a goal lives.

        In a thread of its own by any word, as the room has it; in a thread that was there before, and
        in a room's main timeline, by name alone; where nobody else reads, as the room has it.
        """
        rule = self.allow_list.settings(place).mention
        if rule == "always" or await self.is_direct(place):
            return rule
        return rule if place.thread and await self._is_own(place) else "always"

    async def _is_own(self, place: Place) -> bool:
        """Whether a thread hangs under what opened a goal, or under a message of ours."""
        if place.network == "console":
            return True
        for id in (goal_id_in(place, place.thread), aimed_id_in(place, place.thread)):
            with contextlib.suppress(KeyError):
                await self.journal.goal(id)
                return True
        return await self.rooms.posted(place, place.thread) is not None

    def name(self, goal: Goal) -> str:
        """`G12`."""
        return self.manner.texts("goal", number=goal.number)

    async def mention(self, person: str) -> str:
        """`@ann`: a person, called by name."""
        known = (await self.rooms.people([person])).get(person)
        name = known.name if known else ""
        return self.manner.texts("mention", name=name or self.manner.texts("somebody"))

    async def objective(self, goal: Goal) -> str:
        """What the goal is to reach; empty once that text is gone."""
        texts = await self.journal.contents(goal.session, (goal.objective,))
        return texts.get(goal.objective, "")

    async def told_held(
        self, heard: Heard, session: str, owner: str, told: Told | None
    ) -> Told | None:
        """What is answered, and that the goal is on hold, where it is."""
        hold = await self.holds.over(session, owner) if self.holds is not None else None
        if hold is None:
            return told
        line = kept(hold, self.clock.now(), self.manner_in(heard.message.place))
        return lambda applied: f"{told(applied)}\n\n{line}" if told else line

    async def told_reply(self, heard: Heard, told: Told | None) -> Reply | None:
        """What is answered in the unit that does what the message asks."""
        if told is None:
            return None
        return Reply((await self.where(heard)).session, f"reply:{heard.id}", told)

    async def opened_by(self, message: Incoming) -> Goal | None:
        """The live goal that a message opened, or that somebody made of it; no ask."""
        place = message.place
        for id in (goal_id(message), aimed_id_in(place, message.id)):
            try:
                goal = await self.journal.goal(id)
            except KeyError:
                continue
            if not goal.is_final and goal.kind == "goal":
                return goal
        return None

    async def where(self, heard: Heard) -> Thread:
        """The thread in which a message is answered."""
        if heard.thread is not None:
            return heard.thread
        message, place = heard.message, heard.message.place
        is_root = place.network in ROOTS_THREADS and not (place.thread or is_unseen(message))
        if is_root and await self.is_direct(place):
            place = replace(place, thread=message.id)
        return await self.rooms.begin(place)

    async def answer(
        self, heard: Heard, text: str, *, reason: str = "", is_public: bool = False
    ) -> None:
        """Say `text` where the message was said; that is all it causes.

        Args:
            reason: names the buttons under it.
            is_public: others have to know it, too; else it concerns whoever asked.
        """
        session = (await self.where(heard)).session
        only_for = "" if is_public else heard.person
        await self.outbox.say(
            session, f"reply:{heard.id}", text, (heard.id,), only_for=only_for, reason=reason
        )
        self.posted()

    async def reply(
        self, heard: Heard, text: str, *notes: Note, reason: str = "", is_public: bool = True
    ) -> Answer:
        """The answer to a message as a part of a change, with what else is said for it."""
        session = (await self.where(heard)).session
        only_for = "" if is_public else heard.person
        own = Note(session, f"reply:{heard.id}", text, reason, only_for)
        return Answer((own, *notes), (heard.id,))


def is_shared(place: Place) -> bool:
    """Whether people talk among themselves there; a console's room is there for the bot alone."""
    return place.network != "console"
