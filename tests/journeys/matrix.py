"""Headway on Matrix as people there meet it: the real process, a real homeserver, other clients.

bot = matrix_bot(folder, api, synapse); bot.start(); bot.allow(ann.user_id, "admin")
room = ann_and_bot(ann, bot, encrypted=True)
goal = bot.asked(ann, room, "!goal !script complete_after 2")
goal.until("complete")
assert goal.kinds() == ["settle"]
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile
from adapters.matrix.account import AccountFile
from adapters.matrix.login import Proof, log_in, sign_in
from bot.goals.goal import Goal
from tests.journeys.bot import COMMAND, Bot, Look, until
from tests.journeys.conftest import SHARED
from tests.peers.matrix_user import MatrixUser, Seen
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Account, Synapse

GOAL_S = 30.0


@dataclass
class MatrixBot(Bot):
    """One `headway run` that is on Matrix as `user`."""

    server: Synapse = field(kw_only=True)
    user: Account = field(default=Account("", "", "", ""))

    @property
    def user_id(self) -> str:
        """Who it is there."""
        return self.user.user_id

    def allow(self, who: str, role: str = "user") -> None:
        """Let somebody of Matrix in, in all rooms."""
        self.ask(do="allow.add", who=who, role=role, room=None, network="matrix")

    def set_room(self, room: str, key: str, value: str) -> None:
        """Set a room to something."""
        self.ask(do="room.set", room=f"matrix:{room}", key=key, value=value)

    def newest_message(self, room: str) -> str:
        """The id of what it said last among the newest in the room, edits apart; empty: nothing."""
        path = f"/_matrix/client/v3/rooms/{quote(room)}/messages?dir=b&limit=30"
        for event in self.server.call("GET", path, token=self.user.token).body.get("chunk", ()):
            relation = event["content"].get("m.relates_to", {}).get("rel_type")
            is_message = event["type"] in ("m.room.message", "m.room.encrypted")
            if event["sender"] == self.user_id and is_message and relation != "m.replace":
                return str(event["event_id"])
        return ""

    def asked(self, person: MatrixUser, room: str, text: str) -> "MatrixGoal":
        """A goal that a person asks for in the main timeline; its thread is the message's."""
        return MatrixGoal(self, person, room, person.text(room, text))


def matrix_bot(
    folder: Path, api: BlockingMessagesApi, server: Synapse, *, url: str = "", name: str = "headway",
    **settings: object,
) -> MatrixBot:  # fmt: skip
    """A Headway with an account of its own, logged in and signed, not yet started.

    Args:
        url: where it finds the homeserver; that of a proxy, if not the server itself.
    """
    user = server.register(name)
    key = folder / "config" / "secret.key"
    state = folder / "state"
    log_bot_in(state, key, url or server.url, user)
    reached: dict[str, object] = {
        "base_url": api.url, "api_key": api.key, "secret_key_file": key, "sandbox": "bubblewrap",
    }  # fmt: skip
    return MatrixBot(state, {**reached, **SHARED, **settings}, COMMAND, server=server, user=user)


def log_bot_in(state: Path, key: Path, url: str, user: Account) -> None:
    """Make the account file, the device and its identity, as `headway matrix login` does."""

    async def log() -> None:
        file = AccountFile(state / "matrix", KeySealing(KeyFile(key, apart_from=state)))
        proof = Proof(user.user_id, user.password)
        await log_in(file, url, proof, now=time.time(), is_first_secret=True)
        await sign_in(file, password=user.password)

    state.mkdir(parents=True, exist_ok=True)
    asyncio.run(log())


@contextmanager
def running(bot: MatrixBot, *admins: MatrixUser) -> Iterator[MatrixBot]:
    """The bot at work with these admins, ended in order; a defect on the way fails here."""
    bot.start()
    try:
        for admin in admins:
            bot.allow(admin.user_id, "admin")
        yield bot
        code, _ = bot.stop()
        assert code == 0, bot.told()
        assert "Traceback" not in bot.told(), bot.told()
    finally:
        bot.end()


def shared_room(
    person: MatrixUser, bot: MatrixBot, *others: MatrixUser, **options: bool | str
) -> str:
    """A room that a person makes and invites the bot and others to; all of them have come."""
    invited = [bot.user_id, *(other.user_id for other in others)]
    room = person.create(invite=invited, encrypted=bool(options.get("encrypted")),
                         name=str(options.get("name", "")))  # fmt: skip
    for other in others:
        other.until_invited(room)
        other.join(room)
    for user in invited:
        person.until_member(room, user)
    return room


@dataclass(frozen=True)
class MatrixGoal:
    """A goal's thread as a person's client shows it, and its rows in the database."""

    bot: MatrixBot
    person: MatrixUser
    room: str
    root: str

    def say(self, text: str, **more: str) -> str:
        """Say something in the thread; returns the event's id."""
        return self.person.text(self.room, text, thread=self.root, **more)

    def look(self) -> Look:
        """Its newest goal."""
        found = self.bot.look(self.root)
        assert found, f"There is no goal.\n{self.story()}"
        return found[0]

    def until(self, state: str, timeout_s: float = GOAL_S) -> Goal:
        """Wait until its goal is in a state, and all that follows is posted and has come to them."""
        self.until_true(lambda look: look.goal.state == state, timeout_s, f"be {state}")
        self.bot.ask(do="settle")
        newest = self.bot.newest_message(self.room)
        known = self.person.seen.setdefault(self.room, {})
        self.person.until(lambda: newest in ("", *known), GOAL_S, self.story)
        return self.look().goal

    def until_true(
        self, holds: Callable[[Look], bool], timeout_s: float = GOAL_S, what: str = "come to that"
    ) -> Look:
        """Wait until something holds of its goal."""

        def check() -> bool:
            found = self.bot.look(self.root)
            return bool(found) and holds(found[0])

        until(check, timeout_s, lambda: f"The goal did not {what}.\n{self.story()}")
        return self.look()

    def until_posted(self, kind: str, timeout_s: float = GOAL_S) -> Seen:
        """Wait for a post of a kind as it reads now; returns the last one."""
        self.person.until(
            lambda: kind in self.kinds(), timeout_s, lambda: f"No {kind}.\n{self.story()}"
        )
        return [post for post in self.posts() if kind_of(post) == kind][-1]

    def until_kinds(self, *kinds: str, timeout_s: float = GOAL_S) -> list[Seen]:
        """Wait until the posts are these; returns them."""
        self.person.until(
            lambda: self.kinds() == list(kinds), timeout_s,
            lambda: f"{self.kinds()} are not {list(kinds)}.\n{self.story()}",
        )  # fmt: skip
        return self.posts()

    def posts(self) -> list[Seen]:
        """What the bot posted in the thread, first parts only, without status messages."""
        return [
            seen
            for seen in self.person.messages(self.room, self.bot.user_id)
            if seen.thread == self.root and _part(seen) == 0 and kind_of(seen) != "status"
        ]

    def kinds(self) -> list[str]:
        """The kinds of its posts, in order."""
        return [kind_of(post) for post in self.posts()]

    def status(self) -> list[Seen]:
        """Its status messages as they read now."""
        return [
            seen for seen in self.person.messages(self.room, self.bot.user_id)
            if seen.thread == self.root and kind_of(seen) == "status"
        ]  # fmt: skip

    def story(self) -> str:
        """What happened, for a failure's message."""
        found = self.bot.look(self.root)
        lines = [f"{e.seq} {type(e.event).__name__} {e.rule} {e.after}" for e in
                 (found[0].journal if found else ())]  # fmt: skip
        return "\n".join([*lines[-25:], self.person.story(self.room), *self.bot.log[-20:]])


def key_of(seen: Seen) -> str:
    """The key that a message of Headway was sent with; empty for what others sent."""
    mark = seen.original.get("dev.headway", {})
    return str(mark.get("key", ""))


def kind_of(seen: Seen) -> str:
    """What a post is: `settle`, `blocked`, `decision`, `reply`, `status`, ... by its key."""
    key = key_of(seen)
    return key.split(":")[1] if ":" in key and not key.startswith("reply:") else "reply"


def assert_once(person: MatrixUser, room: str, bot: MatrixBot) -> None:
    """No key was posted twice, and nothing of the bot's cannot be read."""
    posted = [
        (key_of(seen), _part(seen))
        for seen in person.messages(room, bot.user_id)
        if seen.type == "m.room.message"
    ]
    assert all(key for key, _ in posted), person.story(room)
    assert len(posted) == len(set(posted)), person.story(room)
    unread = [seen for seen in person.seen.get(room, {}).values()
              if seen.sender == bot.user_id and seen.failure]  # fmt: skip
    assert not unread, person.story(room)


def _part(seen: Seen) -> int:
    return int(seen.original.get("dev.headway", {}).get("part", 0))
