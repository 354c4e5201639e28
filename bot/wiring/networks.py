"""
The chat networks of a process: who is on them, and how each is heard.

Rule: a network in trouble is tried again for as long as the process lives, and the trouble stays its
      own: goals go on, posts wait in the outbox, health and the operations room say so.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from bot.chat.allow_list import AllowList
from bot.chat.operations import Operations
from bot.errors import HeadwayError
from bot.ports.chat import Chat, Network, Place, Receive, Signs, Speaker
from bot.ports.clock import Clock
from bot.ports.people import Members, Subject
from bot.wiring.ground import Ground
from bot.wiring.names import half_slack
from bot.wiring.people import ConsoleMembers
from bot.wiring.watch import Watch

if TYPE_CHECKING:
    from bot.wiring.slack import Slack

log = logging.getLogger(__name__)

FIRST_PAUSE_S: Final = 1.0
LAST_PAUSE_S: Final = 60.0
DEAF_S: Final = 300.0
"""A network that has not been heard for so long is an incident; less passes by itself."""


class NetworkMembers:
    """Port Members, of several networks: each is asked of its own places."""

    def __init__(self, of: Mapping[Network, Members]) -> None:
        self._of = of

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the room; a network that is not connected says no."""
        members = self._of.get(room.network)
        return members is not None and await members.is_member(room, who)

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Whether the room's workspace is theirs in full; a network that is not connected says no."""
        members = self._of.get(room.network)
        return members is not None and await members.is_own(room, who)

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Whether they are in the user group."""
        members = self._of.get(group.network)
        return members is not None and await members.is_in_group(group, who)

    async def is_direct(self, place: Place) -> bool:
        """Whether nobody but them and the bot reads there."""
        members = self._of.get(place.network)
        return members is not None and await members.is_direct(place)

    async def is_encrypted(self, place: Place) -> bool:
        """Whether what is said there is encrypted; a network that is not connected says yes."""
        members = self._of.get(place.network)
        return members is None or await members.is_encrypted(place)

    async def enter(self, room: Place) -> bool:
        """Whether the bot can speak in the room; a network that is not connected says no."""
        members = self._of.get(room.network)
        return members is not None and await members.enter(room)


class Hearing:
    """Listens to one network for as long as the process lives."""

    def __init__(self, chat: Chat, watch: Watch, operations: Operations, clock: Clock) -> None:
        self._chat, self._watch, self._clock = chat, watch, clock
        self._operations = operations
        self._deaf_since: float | None = None
        self._why = ""

    @property
    def network(self) -> Network:
        """Which."""
        return self._chat.network

    def heard(self) -> None:
        """The network gave a sign of life."""
        self._watch.heard(self._chat.network)
        self._deaf_since, self._why = None, ""
        self._operations.mended("network", self._chat.network)

    def troubled(self, why: str) -> None:
        """It cannot be heard, and why."""
        if self._deaf_since is None:
            self._deaf_since = self._clock.now()
        if why != self._why:
            log.warning("%s cannot be heard: %s", self._chat.network.capitalize(), why)
            self._why = why
        self._watch.troubled(self._chat.network, why)

    async def run(self, receive: Receive) -> None:
        """Listen, and begin again when that ends, until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            began = self._clock.now()
            try:
                await self._chat.listen(receive)
            except HeadwayError as error:
                self.troubled(str(error))
            except Exception as error:
                log.exception("Listening to %s has failed", self._chat.network)
                self.troubled(f"listening has failed ({type(error).__name__})")
            pause_s = FIRST_PAUSE_S if self._clock.now() - began > LAST_PAUSE_S else pause_s
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)

    async def look(self) -> None:
        """Tell the operations room of a network that has been deaf for long."""
        if self._deaf_since is not None and self._clock.now() - self._deaf_since >= DEAF_S:
            await self._operations.trouble("network", self._chat.network, self._why)


class ChatWithSigns(Chat, Signs, Protocol):
    """A network that shows signs beside messages."""


@dataclass(slots=True)
class Connected:
    """The networks beside the console, as one process has them."""

    members: Members
    chats: tuple[Chat, ...] = ()
    signs: Mapping[Network, Signs] = field(default_factory=dict)
    hearings: tuple[Hearing, ...] = ()
    allowed: tuple[Callable[[AllowList], None], ...] = ()
    """Told of the list once it is built: it asks `members`."""
    slack: "Slack | None" = None

    def take(self, chat: "ChatWithSigns", ground: Ground) -> Hearing:
        """Take a network in; returns who listens to it."""
        hearing = Hearing(chat, ground.watch, ground.watches.operations, ground.clock)
        self.chats += (chat,)
        self.signs = {**self.signs, chat.network: chat}
        self.hearings += (hearing,)
        return hearing

    async def close(self) -> None:
        """Let go of what is held; nothing is sent any more."""
        if self.slack is not None:
            await self.slack.close()


def connect(ground: Ground) -> Connected:
    """Build what the settings and accounts ask for; nothing is said to any network yet.

    Raises:
        BadSettings: what a network needs is not set.
    """
    members: dict[Network, Members] = {"console": ConsoleMembers()}
    connected = Connected(NetworkMembers(members))
    # Their libraries take half a second to load, and most processes have no account.
    if ground.names.matrix:
        from bot.wiring.matrix import Doorkeeper, build_matrix, tells

        door = Doorkeeper(ground.store)
        matrix = build_matrix(
            ground.settings, ground.names.matrix, ground.store, ground.files, ground.clock,
            ground.redactor, ground.manner, door,
        )  # fmt: skip
        members["matrix"] = matrix
        tells(matrix, connected.take(matrix, ground))
        connected.allowed += (door.allowed,)
    if ground.names.slack:
        from bot.wiring.slack import build_slack

        slack = connected.slack = build_slack(ground)
        members["slack"] = slack.chat
        hearing = connected.take(slack.chat, ground)
        slack.tells(hearing.heard, hearing.troubled)
        connected.allowed += (slack.allowed,)
    elif told := half_slack(ground.settings):
        log.warning("%s", told)
    return connected
