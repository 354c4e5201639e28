"""
Killed with SIGKILL between every two steps of what Slack sends in and what is posted to it.

The process is real; Slack is the tests' own, and kills at what it sees: an acknowledgement, a request on
its way. People mention the bot, type commands, press, fill in, edit and upload, and see each post once
and in order. What Slack does not send again (a command, a press) a person does again, where it told
them that it failed and nothing has come of it.
"""

import asyncio
import itertools
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from adapters.slack.manifest import NEW_GOAL
from bot.goals.machine import replay
from scheduler.control import ask_owner
from tests.crash.kept import kept_alive
from tests.crash.slack_bot import INSIDE, command
from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    GENERAL,
    Json,
    SlackBot,
    SlackGoal,
    a_slack,
    assert_once,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.slack_delivery import Envelope
from tests.peers.slack_front import Call, Mode, Moment, Reply, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

IS_FULL: Final = os.environ.get("TEST_FULL") == "1"
SEEN: Final = ("acknowledged", "request sent", "request done")
"""By Slack: what it sent is acknowledged; it has a request and has not done it; it has, and says nothing."""
POINTS: Final = (*INSIDE, *SEEN)
POSTING: Final = frozenset({
    "chat.postMessage", "chat.update", "chat.postEphemeral", "response_url",
    "files.completeUploadExternal",
})  # fmt: skip
STORY_S: Final = 60.0
WINDOW_S: Final = 5.0
RETRIES: Final = 1 / 10
"""By this Slack's times between deliveries over HTTP are shortened: a start takes some seconds."""
SETTLED: Final = {"sent", "superseded"}


class Person:
    """Somebody in the channel, who does again what Slack says has failed."""

    def __init__(self, bot: SlackBot, deaths: list[int]) -> None:
        self.bot, self.front, self._deaths = bot, bot.front, deaths

    def say(self, text: str, thread: str = "") -> str:
        """Say something."""
        return self.front.say(ALICE, GENERAL, text, thread)

    def goal(self, root: str) -> SlackGoal:
        """The goal whose thread begins with this message."""
        return SlackGoal(self.bot, ALICE, GENERAL, root)

    def type(self, text: str) -> None:
        """Type `/goal`."""
        self._taken(lambda: self.front.command(ALICE, GENERAL, text))

    def press(self, post: Json, label: str) -> None:
        """Press a button of a post."""
        self._taken(lambda: self.front.press(ALICE, GENERAL, post["ts"], label))

    def open(self, press: Callable[[], Reply], title: str) -> None:
        """Press what opens a window; again, where none has come."""

        def is_open() -> bool:
            press().wait()
            with suppress(AssertionError):
                until(lambda: self._shows(title), WINDOW_S, str)
            return self._shows(title)

        until(is_open, STORY_S, lambda: f"There is no window {title}.\n{self.bot.told()}")

    def fill_in(self, **values: str) -> None:
        """Submit the window that is open, until it closes."""
        view = self.front.window(ALICE)
        until(
            lambda: self.front.submit_as(ALICE, view, **values).wait().is_acked, STORY_S,
            self.bot.told,
        )  # fmt: skip

    def root(self) -> str:
        """The message of the bot's under which a goal hangs that no message began."""

        def there() -> list[str]:
            return [
                post["ts"] for post in self.front.posts(GENERAL)
                if "🎯" in plain_text(post) and not post.get("thread_ts")
            ]  # fmt: skip

        until(lambda: bool(there()), STORY_S, lambda: f"There is no root.\n{self.bot.told()}")
        return there()[0]

    def _shows(self, title: str) -> bool:
        try:
            view = self.front.window(ALICE)
        except LookupError:
            return False
        has_input = any(block["type"] == "input" for block in view["blocks"])
        return has_input and title in view["title"]["text"]

    def _taken(self, act: Callable[[], Reply]) -> None:
        """Do it; once more if Slack says that it failed, and nothing has come of it."""
        before = _count(self.bot)
        if act().wait().is_acked:
            return
        until(lambda: bool(self._deaths) and _answers(self.bot), STORY_S, self.bot.told)
        if _count(self.bot) == before:
            assert act().wait().is_acked, self.bot.told()


def by_messages(person: Person) -> tuple[SlackGoal, tuple[str, ...]]:
    """Asked for by a mention, answered in its thread."""
    goal = person.goal(person.say(f"<@{BOT}> !script asks"))
    goal.until_posted("decision", STORY_S)
    goal.say("yes")
    goal.until_posted("settle", STORY_S)
    return goal, ("decision", "settle")


def by_command(person: Person) -> tuple[SlackGoal, tuple[str, ...]]:
    """Asked for by `/goal`, decided with a button."""
    person.type("!script asks")
    goal = person.goal(person.root())
    person.press(goal.until_posted("decision", STORY_S), "yes")
    goal.until_posted("settle", STORY_S)
    return goal, ("decision", "settle")


def by_forms(person: Person) -> tuple[SlackGoal, tuple[str, ...]]:
    """Asked for in a window, decided in another."""
    person.open(lambda: person.front.shortcut(ALICE, NEW_GOAL), "New goal")
    person.fill_in(where=GENERAL, objective="Ask. !script asks", budget="$3")
    goal = person.goal(person.root())
    card = goal.until_posted("decision", STORY_S)
    person.open(lambda: person.front.press(ALICE, GENERAL, card["ts"], "In words"), "decision")
    person.fill_in(**{"Your answer": "yes"})
    goal.until_posted("settle", STORY_S)
    return goal, ("decision", "settle")


def by_edit(person: Person) -> tuple[SlackGoal, tuple[str, ...]]:
    """Edited while it is at work, for so long that it has a status, which is edited in place."""
    goal = person.goal(person.say(f"<@{BOT}> !script reports 4"))
    until(lambda: bool(person.bot.look(goal.thread)), STORY_S, person.bot.told)
    assert person.front.edit(ALICE, GENERAL, goal.root, f"<@{BOT}> !script reports 4 as steer-1")
    settled = goal.until_posted("settle", STORY_S)
    assert "heard steer-1" in goal.text(settled)
    assert goal.look().goal.revision == 2
    return goal, ("reply", "settle")


def by_files(person: Person) -> tuple[SlackGoal, tuple[str, ...]]:
    """A file comes in and goes out."""
    boats = b"boat,length\nann,7\n"
    root = person.front.upload(
        ALICE, GENERAL, "boats.csv", boats, f"<@{BOT}> !script returns", kind="text/csv"
    )
    goal = person.goal(root)
    goal.until_posted("settle", STORY_S)
    [shared] = [post for post in goal.posts() if post.get("files")]
    assert [each["size"] for each in shared["files"]] == [len(boats)]
    return goal, ("file", "upload", "settle")


STORIES: Final = {
    "messages": by_messages, "command": by_command, "forms": by_forms, "edit": by_edit,
    "files": by_files,
}  # fmt: skip
COUNTS: Final = {
    "messages": (2, 2, 3, 3, 3, 2, 3, 3), "command": (2, 2, 4, 4, 4, 2, 4, 4),
    "forms": (2, 2, 4, 4, 4, 4, 4, 4), "edit": (2, 2, 3, 4, 4, 2, 4, 4),
    "files": (1, 1, 2, 2, 2, 1, 3, 3),
}  # fmt: skip
"""How often a point is passed for sure, in the order of POINTS; rows that are due together are one claim."""
WHOLE: Final[list[tuple[str, int, str, Mode]]] = [
    (point, count, story, "socket")
    for story in STORIES
    for point, most in zip(POINTS, COUNTS[story], strict=True)
    for count in range(1, most + 1)
]
OVER_HTTP: Final[list[tuple[str, int, str, Mode]]] = [
    (point, 1 + n % 2, story, "http")
    for n, point in enumerate(POINTS)
    for story in (("messages", "command", "forms", "command")[n % 4],)
]
SAMPLE: Final[list[tuple[str, int, str, Mode]]] = [
    ("received", 1, "command", "socket"), ("stored", 1, "messages", "http"),
    ("acknowledged", 2, "forms", "socket"), ("claimed", 1, "command", "socket"),
    ("request done", 2, "files", "socket"), ("answered", 2, "edit", "socket"),
]  # fmt: skip
CHOSEN: Final = WHOLE + OVER_HTTP if IS_FULL else SAMPLE


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


@pytest.mark.full
@pytest.mark.parametrize(("point", "count", "story", "mode"), CHOSEN)
def test_killed_at(
    point: str, count: int, story: str, mode: Mode, tmp_path: Path, api: BlockingMessagesApi
) -> None:
    with a_slack(mode, retry_factor=RETRIES) as front:
        bot = slack_bot(tmp_path, api, front)
        if point in INSIDE:
            bot.command = command(point, count)
        with kept_alive(bot) as deaths:
            bot.allow(ALICE, "admin")
            if point in SEEN:
                _arm(bot, point, count)

            goal, kinds = STORIES[story](Person(bot, deaths))
            # It may have been killed just after the last post.
            until(lambda: bool(deaths) and _answers(bot), STORY_S, bot.told)
            _until_said(bot, goal)

            assert deaths == [-signal.SIGKILL], bot.told()
            assert goal.kinds() == list(kinds), goal.story()
            assert len(goal.status()) <= 1, goal.story()
            assert_once(front)
            _assert_handled_once(bot, goal)
            assert front.violations == []


@pytest.mark.full
@pytest.mark.skipif(not IS_FULL, reason="It dies as often as it posts; a sample dies once.")
@pytest.mark.parametrize("at", ["request", "done"])
def test_killed_at_each_of_its_posts(at: Moment, tmp_path: Path, api: BlockingMessagesApi) -> None:
    killed: set[str] = set()
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path, api, front)

        def called(moment: Moment, call: Call) -> None:
            metadata = call.arguments.get("metadata") or {}
            key = metadata.get("event_payload", {}).get("key", "")
            if moment == at and call.method == "chat.postMessage" and key not in killed:
                killed.add(key)
                _kill(bot)

        with kept_alive(bot) as deaths:
            bot.allow(ALICE, "admin")
            front.watcher = called

            goal, kinds = by_command(Person(bot, deaths))
            until(lambda: len(deaths) == len(killed) and _answers(bot), STORY_S, bot.told)
            _until_said(bot, goal)

            assert len(deaths) == 1 + len(kinds), bot.told()
            assert goal.kinds() == list(kinds), goal.story()
            assert_once(front)
            _assert_handled_once(bot, goal)
            assert front.violations == []


def _kill(bot: SlackBot) -> None:
    assert bot.process is not None
    bot.process.kill()
    bot.process.wait()


def _arm(bot: SlackBot, point: str, count: int) -> None:
    passed = itertools.count(1)
    at: Moment = "request" if point == "request sent" else "done"

    def kill() -> None:
        if next(passed) == count:
            _kill(bot)

    def called(moment: Moment, call: Call) -> None:
        if moment == at and call.method in POSTING:
            kill()

    def heard(moment: str, envelope: Envelope) -> None:
        if moment == "acked" and _is_said(envelope):
            kill()

    if point == "acknowledged":
        bot.front.delivery.watcher = heard
    else:
        bot.front.watcher = called


def _is_said(envelope: Envelope) -> bool:
    """Whether somebody said something, and not the bot itself."""
    event = envelope.payload.get("event", {"user": ALICE, "type": "message"})
    return event.get("type") == "message" and BOT not in (
        event.get("user"), (event.get("message") or {}).get("user"),
    )  # fmt: skip


def _until_said(bot: SlackBot, goal: SlackGoal) -> None:
    """What was on its way when it was killed is looked up first; the last edit comes last."""
    until(
        lambda: {one for (one,) in _rows(bot, "SELECT state FROM outbox")} <= SETTLED, STORY_S,
        goal.story,
    )  # fmt: skip


def _assert_handled_once(bot: SlackBot, goal: SlackGoal) -> None:
    assert len(bot.goals()) == 1
    [look] = bot.look(goal.thread)
    assert replay(look.journal) == look.goal
    assert look.goal.state == "complete"
    until(
        lambda: {one for (one,) in _rows(bot, "SELECT state FROM inbox")} == {"handled"},
        STORY_S, goal.story,
    )  # fmt: skip


def _answers(bot: SlackBot) -> bool:
    answers = asyncio.run(ask_owner(bot.folder, {"do": "ping"})) is not None
    return answers and bot.front.is_heard()


def _count(bot: SlackBot) -> int:
    return len(_rows(bot, "SELECT id FROM inbox"))


def _rows(bot: SlackBot, sql: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(f"file:{bot.folder / 'headway.db'}?mode=ro", uri=True) as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows
