"""
What a payload brings, taken in: who says it and where is found out, then it is stored.

Rule 1: it returns when what came is stored; then it may be acknowledged. If it raises, it is not.
Rule 2: nobody waits long for a name: what is not known soon is left out, and known the next time.
Rule 3: a message whose files take long is not acknowledged until they are there. It is stored then, and
        Slack has sent it again meanwhile: it counts once.
Rule 4: a channel that several installs see is one room, under the first that saw it.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from adapters.slack import interactions, parse
from adapters.slack.agent_view import AgentView
from adapters.slack.authorizing import seen_through
from adapters.slack.ear import Ear, Installed
from adapters.slack.errands import Errands
from adapters.slack.line import Line, Turn
from adapters.slack.markup_in import users_in
from adapters.slack.mentions import Known, Names, addressed
from adapters.slack.overtaken import Overtaken
from adapters.slack.parse import Heard, Hearer
from adapters.slack.payloads import (
    Json,
    authorization,
    fields,
    text_of,
    user_id,
)
from bot.errors import HeadwayError, Wait
from bot.ports.chat import Arrival, Incoming, Reacted
from bot.ports.installs import Install

log = logging.getLogger(__name__)

LOOK_UP_S: Final = 0.8
"""For names of people, out of the 3 s that Slack waits."""
READING_S: Final = 1.2
"""For the message under a reaction, or its files; there is the next time."""
MENTIONS_MOST: Final = 20
ROOMS_MOST: Final = 10_000
AIM: Final = "🎯"
T = TypeVar("T")


class NotYet(Wait):
    """It is stored when all of it is there, and not acknowledged before."""


class Taking:
    """Takes payloads in."""

    def __init__(
        self,
        ear: Ear,
        installed: Installed,
        line: Line,
        errands: Errands,
        agent: AgentView | None = None,
    ) -> None:
        self._ear, self._installed, self._line = ear, installed, line
        self._errands, self._agent = errands, agent
        self._overtaken = Overtaken()
        self._us: set[str] = set()
        self._rooms: OrderedDict[str, str] = OrderedDict()

    async def event(self, body: Json, turn: Turn) -> None:
        """Take an event in. Raises as `Receive`, and Wait."""
        event = fields(body.get("event"))
        hearer = await self.hearer_of(body)
        if hearer is None:
            return
        self._ear.on_event(hearer.workspace, event)
        heard = parse.parse(body, hearer)
        if heard is None or not await self._counts(heard):
            return
        self._overtaken.note(heard.arrival)
        await self._keep(turn, await self._whole(self._seen(heard, event, hearer), hearer, turn))

    async def store(self, turn: Turn, *arrivals: Arrival) -> None:
        """Store these. Raises as `Receive`."""
        await self._line.store(turn, *arrivals)

    async def _keep(self, turn: Turn, one: Arrival) -> None:
        """Store it, as it is by now. Raises as `Receive`."""
        now = self._overtaken.now(one)
        await self._line.store(turn, *(() if now is None else (now,)))

    async def install_named(self, workspace: str, hearer: Hearer) -> str:
        """A workspace that something of ours names, where the app is; else that of whoever heard it.

        Raises:
            HeadwayError: as `hearer_of`.
        """
        if workspace in ("", hearer.workspace):
            return hearer.workspace
        named = await self._installed.among((workspace,))
        return hearer.workspace if named is None else workspace

    async def hearer_of(self, body: Json) -> Hearer | None:
        """What is known where a payload is from; None where the app is not installed.

        Raises:
            HeadwayError: it cannot be looked up for the moment.
        """
        if "event" in body:
            return await self._hearer(
                body, parse.room_of(body), parse.users_of(body), parse.us_in(body)
            )
        return await self._hearer(body, interactions.room_in(body), interactions.users_in(body))

    async def _hearer(
        self, body: Json, room: str, who: tuple[str, str], us: str = ""
    ) -> Hearer | None:
        # The event may name one first that has just been removed.
        install = await self._installed.among(seen_through(body))
        if install is None:
            log.info("Something of a workspace where the app is not installed is dropped.")
            return None
        self._us |= {install.bot_user, us} - {""}
        home = install.organisation or install.workspace
        workspace = await self._workspace(install, room)
        people = await self._people(install.workspace, who)
        names = Names(frozenset(self._us), home, people, partial(self._ear.room_name, workspace))
        app = text_of(body.get("api_app_id"))
        return Hearer(workspace, names, install.workspace, _teams(body, install), app)

    async def _workspace(self, install: Install, room: str) -> str:
        """The install under which a channel is known, as long as it is there."""
        if not room:
            return install.workspace
        if room not in self._rooms:
            first = await self._ear.workspace_of(room)
            # What came by another install's right may have been quicker.
            self._rooms.setdefault(room, first or install.workspace)
        known = self._rooms[room]
        if known != install.workspace and await self._installed.among((known,)) is None:
            known = install.workspace
        self._rooms[room] = known
        self._rooms.move_to_end(room)
        while len(self._rooms) > ROOMS_MOST:
            self._rooms.popitem(last=False)
        return known

    async def _people(self, workspace: str, who: tuple[str, str]) -> Mapping[str, Known]:
        user, text = who
        mentioned = users_in(text)[:MENTIONS_MOST] if "<@" in text else ()
        # Whoever speaks is looked up by themselves: an unknown name in the text hides no known one.
        asked = (frozenset({user}), frozenset(mentioned) - {user})
        found = await asyncio.gather(
            *(self._known(workspace, users - self._us - {""}) for users in asked)
        )
        return {id: one for some in found for id, one in some.items()}

    async def _known(self, workspace: str, users: frozenset[str]) -> Mapping[str, Known]:
        if not users:
            return {}
        return await _soon(self._ear.people(workspace, users), LOOK_UP_S) or {}

    def _seen(self, heard: Heard, event: Json, hearer: Hearer) -> Heard:
        """The same, with what somebody who begins to talk in private has before them."""
        one = heard.arrival
        is_root = isinstance(one, Incoming) and one.via == "message" and not one.place.thread
        if self._agent is None or not isinstance(one, Incoming) or not is_root:
            return heard
        channel = self._agent.channel_before(event, hearer.workspace)
        name = self._ear.room_name(hearer.workspace, channel) if channel else ""
        return replace(heard, arrival=self._agent.with_context(one, channel, name))

    async def _counts(self, heard: Heard) -> bool:
        """Whether it is heard: another bot only where it is listed."""
        if not heard.is_bot:
            return True
        return await self._ear.is_listed(heard.arrival.place, heard.arrival.speaker)

    async def _whole(self, heard: Heard, hearer: Hearer, turn: Turn) -> Arrival:
        """The arrival with all that belongs to it. Raises NotYet where that is not there soon."""
        one = heard.arrival
        if isinstance(one, Reacted) and one.emoji == AIM:
            message = await _soon(self._aimed_at(one), READING_S)
            return replace(one, text=_says(message or {}, hearer))
        if isinstance(one, Incoming) and heard.files:
            return await self._with_files(one, heard, turn)
        return one

    async def _aimed_at(self, aim: Reacted) -> Json | None:
        """The message under a reaction of somebody who may make something of it."""
        if not await self._ear.is_heard(aim.place, aim.speaker):
            return None
        return await self._ear.message(aim.place.workspace, aim.to)

    async def _with_files(self, message: Incoming, heard: Heard, turn: Turn) -> Incoming:
        coming = asyncio.ensure_future(self._ear.with_files(message, heard.files))
        try:
            async with asyncio.timeout(READING_S):
                return await asyncio.shield(coming)
        except TimeoutError:
            self._line.leave(turn)
            name = f"the files of {message.id}"
            if not self._errands.start(name, self._later(coming)):
                coming.cancel()
            raise NotYet(f"The files of {message.id} are not there yet.") from None
        except asyncio.CancelledError:
            coming.cancel()
            raise

    async def _later(self, coming: Awaitable[Incoming]) -> None:
        """Store a message when its files are there."""
        message = await coming
        turn = self._line.enter()
        try:
            await self._keep(turn, message)
        finally:
            self._line.end(turn)


async def _soon(asked: Awaitable[T], limit_s: float) -> T | None:
    """What is known in time; None where it is not."""
    try:
        async with asyncio.timeout(limit_s):
            return await asked
    except (TimeoutError, HeadwayError) as error:
        log.debug("Not known in time: %s", error)
        return None


def _teams(body: Json, install: Install) -> frozenset[str]:
    """Ids under which the install's own people come."""
    found = {install.workspace, install.organisation}
    by, team = authorization(body), fields(body.get("team"))
    if install.organisation:
        if user_id(by.get("enterprise_id")) == install.organisation:
            found.add(user_id(by.get("team_id")))
        if user_id(team.get("enterprise_id")) == install.organisation:
            found.add(user_id(team))
    return frozenset(found - {""})


def _says(message: Json, hearer: Hearer) -> str:
    """What the message under a reaction says; empty of what we said ourselves, which is known."""
    if not message or parse.is_ours(message, hearer):
        return ""
    return addressed(text_of(message.get("text")), hearer.names).text
