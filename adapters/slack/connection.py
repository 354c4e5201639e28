"""
One Slack app as a network: an ear and a mouth for all its workspaces. Ports Chat, Signs, Members, Homes.

Rule: an app that another process serves says and hears nothing here; what is to be said waits for
whoever serves it.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack import views
from adapters.slack.attaching import Attaching
from adapters.slack.authorizing import InstallAuthorize, seen_through
from adapters.slack.calling import Calls
from adapters.slack.ear import Ear, Prompts
from adapters.slack.history import History
from adapters.slack.ids import NETWORK, user_of
from adapters.slack.leaving import Leaving
from adapters.slack.listening import Manner, SlackListening, Way
from adapters.slack.media import Media
from adapters.slack.members import SlackMembers
from adapters.slack.overhearing import Overhearing
from adapters.slack.pace import Pace
from adapters.slack.payloads import Json
from adapters.slack.people import Directory
from adapters.slack.posting import SlackPosting
from adapters.slack.render import Words
from adapters.slack.room_names import RoomNames
from adapters.slack.signs import SlackSigns
from adapters.slack.subscribed import Subscribed
from adapters.slack.tokens import Tokens
from bot.ports.chat import Network, Outgoing, Place, Receive, Speaker
from bot.ports.clock import Clock
from bot.ports.files import Files
from bot.ports.installs import WaysBack
from bot.ports.people import Subject
from bot.ports.windows import Home, Windows

NOWHERE: Final = "-"
"""As the workspace of a process that does not serve the app: no place has it."""

Serving = Callable[[Callable[[], Awaitable[None]], Callable[[], None]], Awaitable[None]]
"""Runs the first for as long as this process serves the app, and tells the second while it does not."""


async def _unlisted(place: Place, speaker: Speaker) -> bool:
    return False


async def _unnoticed(workspace: str, who: Speaker) -> None:
    return


async def _unopened(workspace: str, who: Speaker, page: int) -> None:
    return


def _nothing(reason: str = "") -> None:
    return


@dataclass(frozen=True, slots=True)
class Kept:
    """What the app works with."""

    tokens: Tokens
    ways_back: WaysBack
    files: Files
    clock: Clock
    api_url: str
    serving: Serving
    is_served: Callable[[], bool]
    """Whether this process serves the app."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """What the network says by itself, from the catalogue."""

    post: Words
    hear: Manner
    working: str
    unfetched: Callable[[str, str], str]
    """(name, why): the line for a file that was not taken."""
    prompts: Prompts


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is brought in later: who is heard, who is told."""

    heard: Callable[[], None] = _nothing
    trouble: Callable[[str], None] = _nothing
    is_heard: Callable[[Place, Speaker], Awaitable[bool]] = _unlisted
    """Whether somebody's files are fetched: who has a role there."""
    is_listed: Callable[[Place, Speaker], Awaitable[bool]] = _unlisted
    """Whether another bot is on the list by itself."""
    windows: Windows | None = None
    looks: Callable[[str, Speaker, int], Awaitable[None]] = _unopened
    """(workspace, person, page): somebody looks at their home."""
    gone: Callable[[str, Speaker], Awaitable[None]] = _unnoticed
    """(workspace, person): they were deactivated."""
    back: Callable[[str, Speaker], Awaitable[None]] = _unnoticed
    """(workspace, person): their profile says that they are there."""


class SlackChat:
    """The app of a process, at work on Slack."""

    network: Network = NETWORK

    def __init__(self, kept: Kept, sentences: Sentences, way: Way) -> None:
        """Ask nothing of the network yet."""
        self._kept, self._sentences = kept, sentences
        self.wishes = Wishes()
        self._pace = Pace(time.monotonic)
        self.calls = Calls(
            kept.tokens.token_for,
            api_url=kept.api_url,
            budget=self._pace,
            verdicts=kept.tokens,
        )
        self.people = Directory(self.calls, kept.clock)
        self._members = SlackMembers(self.calls, self.people, kept.clock)
        self._history = History(self.calls, time.monotonic)
        self._names = RoomNames(self.calls, kept.clock)
        self._overhearing = Overhearing(self.people, self._members, self._history, self._names)
        self._signs = SlackSigns(self.calls, sentences.working, time.monotonic)
        self._posting = SlackPosting(
            self.calls, self.people, sentences.post, kept.files, time.monotonic,
            kept.ways_back.way_back, self._pace,
        )  # fmt: skip
        self._posting.said = self._signs.said
        self._leaving = Leaving(kept.tokens, kept.api_url, kept.clock.now)
        self.subscribed = Subscribed()
        self.others = 0
        """How many of the app's sockets are another process's."""
        authorize = InstallAuthorize(kept.tokens)
        self._listening = SlackListening(
            Ear(), self.calls, kept.tokens, authorize, kept.clock, sentences.hear, way
        )

    @property
    def workspace(self) -> str | None:
        """None, as one process posts in all workspaces; a name of none while that is another one."""
        return None if self._kept.is_served() else NOWHERE

    async def listen(self, receive: Receive) -> None:
        """Give whatever comes to `receive` until cancelled.

        Raises:
            ByOperator: the app's token is no good.
            Wait: Slack is out of reach.
        """
        await self._kept.serving(partial(self._hear, receive), self.wishes.heard)

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer what Slack has sent over HTTP, its signature checked."""
        return await self._listening.dispatch(request)

    async def close(self) -> None:
        """Close the connections."""
        await self.people.close()
        await self._names.close()
        await self.calls.close()

    async def send(self, message: Outgoing) -> str:
        """Post, edit or remove, and return the remote id. Raises as `Chat.send`."""
        return await self._posting.send(message)

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The id of the message that was sent with `key`, or None. Raises as `Chat.find`."""
        return await self._posting.find(place, key, since)

    async def publish(self, workspace: str, who: Speaker, home: Home) -> None:
        """Show somebody their home. Raises Wait, HeadwayError."""
        view = views.home_view(home, workspace, self._sentences.hear.views)
        _, user = user_of(who.id)
        what = "The home cannot be shown"
        await self.calls.call(workspace, "views.publish", what=what, user_id=user, view=view)

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put a reaction under a message; returns the reaction's id. Raises HeadwayError."""
        return await self._signs.react(place, message, emoji)

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take a reaction of ours away again. Raises HeadwayError."""
        await self._signs.take_reaction(place, reaction)

    async def show_working(self, places: frozenset[Place]) -> None:
        """Show that the bot is at work in these places and no others. Raises HeadwayError."""
        await self._signs.show_working(places)

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the channel. Raises HeadwayError."""
        return await self._members.is_member(room, who)

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Whether they belong to the room's workspace, and are no guest. Raises HeadwayError."""
        return await self._members.is_own(room, who)

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Whether they are in the user group. Raises HeadwayError."""
        return await self._members.is_in_group(group, who)

    async def is_direct(self, place: Place) -> bool:
        """Whether nobody but one person and the bot reads there."""
        return await self._members.is_direct(place)

    async def is_encrypted(self, place: Place) -> bool:
        """Never from end to end."""
        return await self._members.is_encrypted(place)

    async def enter(self, room: Place) -> bool:
        """Whether the bot is in the channel, or has just joined it. Raises HeadwayError."""
        return await self._members.enter(room)

    async def _hear(self, receive: Receive) -> None:
        """Listen, once it is known that there is somebody to listen to."""
        await self._kept.tokens.all()
        await self._leaving.look(receive)
        attaching = Attaching(
            Media(self.calls, self._kept.files).fetch,
            self._kept.clock,
            is_heard=self.wishes.is_heard,
            unfetched=self._sentences.unfetched,
        )
        self._listening.ear = self._ear(attaching)
        try:
            await self._listening.run(receive)
        finally:
            await attaching.close()

    def _ear(self, attaching: Attaching) -> Ear:
        wishes, overhearing = self.wishes, self._overhearing
        return Ear(
            heard=wishes.heard,
            trouble=wishes.trouble,
            others=self._count_others,
            is_listed=wishes.is_listed,
            is_heard=wishes.is_heard,
            people=overhearing.people_of,
            with_files=attaching.with_files,
            message=self._history.message,
            workspace_of=partial(self._kept.ways_back.workspace_of, NETWORK),
            room_name=self._names.name,
            on_event=self._event,
            on_left=self._left,
            on_profile=self._profile,
            on_home=wishes.looks,
            windows=wishes.windows,
            prompts=lambda: self._sentences.prompts,
        )

    def _count_others(self, count: int) -> None:
        self.others = count

    def _event(self, workspace: str, event: Json) -> None:
        self.subscribed.note(event, self._kept.clock.now())
        self._overhearing.on_event(workspace, event)

    async def _left(self, body: Json, receive: Receive) -> None:
        await self._leaving.event(body, receive)
        for workspace in seen_through(body):
            if await self._kept.tokens.install_of(workspace) is None:
                self._overhearing.forget(workspace)
                self._signs.forget(workspace)
                self._listening.agent.forget(workspace)

    async def _profile(self, workspace: str, user: Json) -> None:
        person = self.people.changed(workspace, user)
        if person is None:
            return
        told = self.wishes.gone if person.is_gone else self.wishes.back
        await told(workspace, person.speaker)
