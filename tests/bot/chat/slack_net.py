"""A network as Slack is: commands that show nowhere, buttons, forms, direct messages, ids of two parts."""

from dataclasses import replace
from typing import Any, Final

from bot.chat.acks import Acks
from bot.chat.facts import Manner
from bot.chat.intake import Intake
from bot.chat.operations import Operations
from bot.ports.chat import Incoming, Outgoing, Place, Speaker
from bot.ports.people import Entry, Role, Subject
from bot.ports.plain import plain
from tests.bot.chat.network import MemorySigns, Net
from tests.doubles.chat import MemoryChat
from tests.doubles.clock import HandClock

TEAM: Final = "T01TEST"
ANN, BEN = Speaker("T01TEST:U01ANN", "Ann Lee"), Speaker("T01TEST:U02BEN", "ben")
EVE = Speaker("T02ELSE:U03EVE", "eve")
GENERAL: Final = "C01GEN"


def channel(thread: str = "", name: str = GENERAL) -> Place:
    """A channel, or a thread in it."""
    return Place("slack", TEAM, name, thread)


class MemorySlack(MemoryChat):
    """Posts named by channel and time."""

    def __init__(self) -> None:
        super().__init__("slack")

    def named(self, message: Outgoing, count: int) -> str:
        """`C01GEN:1800000000.000001`."""
        return f"{message.place.room}:1800000000.{count:06}"


class SlackNet(Net):
    """A chat without agent or worker, as Slack has it."""

    def __init__(self, store: Any = None, clock: HandClock | None = None) -> None:
        super().__init__(store, clock, MemorySlack())
        self.signs = MemorySigns()
        self.acks = Acks({"slack": self.signs}, self.allow_list.settings, self.clock)
        self.desk = replace(self.desk, taken=self.acks.taken)
        self.begin_anew()

    async def allow(self, who: Speaker, role: Role = "user") -> None:
        """Somebody is on the list."""
        await self.allow_list.allow(Entry(Subject("person", "slack", who.id), role))

    async def say(
        self, text: str, who: Speaker = ANN, place: Place | None = None, **more: object
    ) -> str:
        """Somebody says it in a channel, a thread or a direct message."""
        at = place or channel()
        said = Incoming(self.message_id(at), at, who, text, self.clock.now(), **more)  # type: ignore[arg-type]
        await self.take(said)
        return said.id

    async def command(
        self, text: str, who: Speaker = ANN, place: Place | None = None, way_back: str = "https://r"
    ) -> str:
        """Somebody types a slash command."""
        id = f"command:{self._id('t')}"
        await self.take(
            Incoming(
                id,
                place or channel(),
                who,
                text,
                self.clock.now(),
                via="command",
                way_back=way_back,
            )
        )
        return id

    async def press(
        self, verb: str, under: str = "", who: Speaker = ANN, place: Place | None = None
    ) -> str:
        """Somebody presses a button under a message of ours, or, without one, in their home."""
        id = f"button:{self._id('p')}"
        at = place or self.chat.posts[under].place
        await self.take(
            Incoming(id, at, who, verb, self.clock.now(), under, via="button", way_back="https://r")
        )
        return id

    async def fill(
        self,
        act: str,
        words: str = "",
        under: str = "",
        who: Speaker = ANN,
        place: Place | None = None,
        **fields: str,
    ) -> str:
        """Somebody submits a form."""
        id = f"form:{self._id('v')}"
        form = (("act", act), *fields.items())
        at = place or channel()
        await self.take(
            Incoming(id, at, who, words, self.clock.now(), under, via="form", form=form)
        )
        return id

    def begin_anew(self) -> None:
        """The process ends, and another one begins on the same store."""
        self.intake = Intake(self.desk, self.allow_list.of, operations=self.intake.operations)

    def call_it(self, name: str) -> None:
        """The command has a name of its own."""
        self.manner = Manner(commands={"slack": name})
        self.desk = replace(self.desk, manner=self.manner)
        self.delivery._manner = self.manner
        self.begin_anew()

    def watch_operations(self) -> None:
        """The operations room is another channel."""
        place = channel(name="C09OPS")
        operations = Operations(self.store.incidents, self.manner, place, self.clock)
        self.intake.operations = self.delivery.operations = operations
        self.begin_anew()

    def workspace(self) -> Place:
        """All rooms of the workspace."""
        return channel(name="")

    def message_id(self, place: Place) -> str:
        """The id of the next message that a person writes in a channel."""
        self._count += 1
        return f"{place.room}:1700000000.{self._count:06}"

    def said_at(self, place: Place) -> list[str]:
        """What everybody sees in a place of ours, oldest first."""
        posts = self.chat.posts.values()
        return [plain(one.shape) for one in posts if one.place == place and not one.only_for]

    def whispered(self, who: Speaker = ANN) -> list[str]:
        """What somebody alone was shown, oldest first."""
        posts = self.chat.posts.values()
        return [plain(one.shape) for one in posts if one.only_for == who.id]

    def whisper(self, who: Speaker = ANN) -> str:
        """The id of the last of it."""
        return [id for id, one in self.chat.posts.items() if one.only_for == who.id][-1]

    def root(self) -> str:
        """The id of the last first message of a thread that is ours."""
        return [id for id, one in self.chat.posts.items() if one.key.startswith("root:")][-1]

    def headed(self, word: str) -> str:
        """The id of the last post with that word as its head."""
        return [id for id, one in self.chat.posts.items() if one.shape.word == word][-1]

    def buttons(self, id: str) -> list[str]:
        """What the buttons under a message say when they are pressed."""
        return [button.verb for button in self.chat.posts[id].shape.buttons]
