"""Headway in Slack as people there meet it: the real process, a Slack, people who speak, press and fill in.

with slack_home(folder, api, "socket") as (front, bot):
    goal = bot.asked("U01ALICE", "<@U0BOT> !script complete_after 2")
    goal.until("complete")
    assert goal.kinds() == ["settle"]
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bot.goals.goal import Goal
from tests.journeys.bot import COMMAND, Bot, Look, until
from tests.journeys.conftest import SHARED
from tests.peers.localslack import APP_TOKEN, BOT, BOT_TOKEN, SIGNING_SECRET, TEAM, free_port
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import Mode, SlackFront, plain_text, slack

GOAL_S: Final = 30.0
GENERAL: Final = "C01GEN"
ALICE: Final = "U01ALICE"
BOB: Final = "U02BOB"
ERIN: Final = "U05ERIN"
"""Who is on no list."""
EVENT_TYPE: Final = "headway_post"
Json = dict[str, Any]


@dataclass
class SlackBot(Bot):
    """One `headway run` that is an app of Slack."""

    front: SlackFront = field(default=None)  # type: ignore[assignment]

    def start(self) -> "SlackBot":
        """Start it and wait until Slack reaches it: a command is not kept for who is away."""
        super().start()
        self.front.until(self.front.is_heard, f"Slack reaches the bot: {self.told()}", GOAL_S)
        return self

    def allow(self, user: str, role: str = "user", team: str = TEAM) -> None:
        """Let somebody of Slack in, in all rooms."""
        self.ask(do="allow.add", who=f"{team}:{user}", role=role, room=None, network="slack")

    def asked(self, user: str, text: str, channel: str = GENERAL) -> "SlackGoal":
        """A goal that a person asks for in a main timeline; its thread is the message's."""
        return SlackGoal(self, user, channel, self.front.say(user, channel, text))

    def started(self, user: str, objective: str, channel: str = GENERAL) -> "SlackGoal":
        """A goal by `/goal`, whose thread is that of the message that the bot posts itself."""
        before = {post["ts"] for post in self.front.posts(channel)}
        self.front.command(user, channel, objective)

        def root() -> Json | None:
            return next(
                (post for post in self.front.posts(channel)
                 if post["ts"] not in before and "🎯" in plain_text(post)
                 and not post.get("thread_ts")), None
            )  # fmt: skip

        found = self.front.until(root, f"a root for {objective!r}\n{self.told()[-3000:]}", GOAL_S)
        return SlackGoal(self, user, channel, found["ts"])


@dataclass(frozen=True)
class SlackGoal:
    """A goal's thread as its channel shows it, and its rows in the database."""

    bot: SlackBot
    user: str
    channel: str
    root: str

    @property
    def front(self) -> SlackFront:
        """The Slack that it is in."""
        return self.bot.front

    @property
    def thread(self) -> str:
        """As the product calls its thread."""
        return f"{self.channel}:{self.root}"

    def say(self, text: str, user: str = "") -> str:
        """Say something in the thread; returns its timestamp."""
        return self.front.say(user or self.user, self.channel, text, self.root)

    def press(self, post: Json, label: str, user: str = "") -> None:
        """Press a button of a post, as it reads now."""
        self.front.press(user or self.user, self.channel, post["ts"], label)

    def look(self) -> Look:
        """Its newest goal."""
        found = self.bot.look(self.thread)
        assert found, f"There is no goal.\n{self.story()}"
        return found[0]

    def until(self, state: str, timeout_s: float = GOAL_S) -> Goal:
        """Wait until its goal is in a state, and all that follows from it is posted."""
        self.until_true(lambda look: look.goal.state == state, timeout_s, f"be {state}")
        self.bot.ask(do="settle")
        return self.look().goal

    def until_true(
        self, holds: Callable[[Look], bool], timeout_s: float = GOAL_S, what: str = "come to that"
    ) -> Look:
        """Wait until something holds of its goal."""

        def check() -> bool:
            found = self.bot.look(self.thread)
            return bool(found) and holds(found[0])

        until(check, timeout_s, lambda: f"The goal did not {what}.\n{self.story()}")
        return self.look()

    def until_posted(self, kind: str, timeout_s: float = GOAL_S) -> Json:
        """Wait for a post of a kind; returns the last one, as it reads now."""
        until(lambda: kind in self.kinds(), timeout_s, lambda: f"No {kind}.\n{self.story()}")
        return [post for post in self.posts() if self.kind_of(post) == kind][-1]

    def until_kinds(self, *kinds: str, timeout_s: float = GOAL_S) -> list[Json]:
        """Wait until the posts are these; returns them."""
        until(
            lambda: self.kinds() == list(kinds), timeout_s,
            lambda: f"{self.kinds()} are not {list(kinds)}.\n{self.story()}",
        )  # fmt: skip
        return self.posts()

    def until_reads(self, post: Json, words: str, timeout_s: float = GOAL_S) -> str:
        """Wait until a post reads so; returns all of it."""

        def text() -> str:
            return plain_text(self.front.mirror.get(self.channel, post["ts"]) or {})

        until(
            lambda: words in text(), timeout_s,
            lambda: f"No {words!r} in {text()!r}.\n{self.story()}",
        )  # fmt: skip
        return text()

    def posts(self) -> list[Json]:
        """What the bot posted in the thread, first parts only, without status messages."""
        return [
            each for each in self.front.thread(self.channel, self.root)
            if each.get("user") == BOT and self.part_of(each) == 0
            and self.kind_of(each) != "status"
        ]  # fmt: skip

    def kinds(self) -> list[str]:
        """The kinds of its posts, in order."""
        return [self.kind_of(post) for post in self.posts()]

    def status(self) -> list[Json]:
        """Its status messages as they read now."""
        return [
            each for each in self.front.thread(self.channel, self.root)
            if each.get("user") == BOT and self.kind_of(each) == "status"
        ]  # fmt: skip

    def kind_of(self, post: Json) -> str:
        """What a post is: `settle`, `blocked`, `decision`, `reply`, `status` ... by its key; a file: `upload`."""
        if post.get("files"):
            return "upload"
        key = key_of(self.front, self.channel, post)
        return key.split(":")[1] if ":" in key and not key.startswith("reply:") else "reply"

    def part_of(self, post: Json) -> int:
        """Which part of a message that went out in several it is."""
        return int(payload_of(self.front, self.channel, post).get("part", 0))

    def text(self, post: Json) -> str:
        """All that can be read of a post, as it reads now."""
        return plain_text(self.front.mirror.get(self.channel, post["ts"]) or post)

    def story(self) -> str:
        """What happened, for a failure's message."""
        found = self.bot.look(self.thread)
        lines = [f"{e.seq} {type(e.event).__name__} {e.rule} {e.after}" for e in
                 (found[0].journal if found else ())]  # fmt: skip
        shown = [f"{self.kind_of(each)}: {plain_text(each)!r}" for each in
                 self.front.thread(self.channel, self.root)]  # fmt: skip
        return "\n".join([*lines[-25:], *shown, *self.front.violations, *self.bot.log[-20:]])


def slack_bot(
    folder: Path, api: BlockingMessagesApi, front: SlackFront, **settings: object
) -> SlackBot:
    """A Headway with one workspace's token, not yet started."""
    reached: dict[str, object] = {
        "base_url": api.url, "api_key": api.key, "sandbox": "bubblewrap",
        "slack_bot_token": BOT_TOKEN, "slack_api_url": front.api_url,
    }  # fmt: skip
    if front.mode == "socket":
        reached["slack_app_token"] = APP_TOKEN
    else:
        listen = front.request_url.removeprefix("http://").partition("/")[0]
        reached |= {
            "slack_mode": "http", "slack_signing_key": SIGNING_SECRET, "public_listen": listen,
            "public_url": f"http://{listen}",
        }  # fmt: skip
    return SlackBot(folder / "state", {**reached, **SHARED, **settings}, COMMAND, front=front)


@contextmanager
def running(bot: SlackBot, *admins: str) -> Iterator[SlackBot]:
    """The bot at work with these admins, ended in order; a defect on the way fails here."""
    bot.start()
    try:
        for admin in admins:
            bot.allow(admin, "admin")
        yield bot
        code, _ = bot.stop()
        assert code == 0, bot.told()
        assert "Traceback" not in bot.told(), bot.told()
        assert bot.front.violations == []
    finally:
        bot.end()


@contextmanager
def a_slack(mode: Mode, **options: Any) -> Iterator[SlackFront]:
    """A Slack that reaches the bot in either mode."""
    url = f"http://127.0.0.1:{free_port()}/slack/events" if mode == "http" else ""
    with slack(mode=mode, request_url=url, **options) as front:
        yield front


def payload_of(front: SlackFront, channel: str, post: Json) -> Json:
    """The payload of the metadata that a post of Headway's came with; empty where it has none."""
    metadata = front.world.origins.get((channel, post["ts"]), {})
    found: Json = metadata.get("event_payload", {}) if metadata else {}
    return found


def key_of(front: SlackFront, channel: str, post: Json) -> str:
    """The key that a post of Headway's was sent with; empty for what others sent."""
    return str(payload_of(front, channel, post).get("key", ""))


def assert_once(front: SlackFront, channel: str = GENERAL) -> None:
    """No part of a post of the bot's is there twice, and each has its key."""
    posts = [post for post in front.posts(channel) if not post.get("files")]
    posted = [
        (key_of(front, channel, post), payload_of(front, channel, post).get("part"))
        for post in posts
    ]
    assert all(key for key, _ in posted), [plain_text(post) for post in posts]
    assert len(posted) == len(set(posted)), posted
