"""
Killed with SIGKILL between every two steps of a message's way in and a post's way out.

The process is real; Slack is the tests' own, which also kills at what is on its way. A person asks for
a goal, looks at its tasks, steers it, answers its question, and must see each post once and in order.
"""

import asyncio
import itertools
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.goals.machine import replay
from scheduler.control import ask_owner
from tests.crash.slack_bot import INSIDE, POSTS, command
from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    SlackBot,
    SlackGoal,
    a_slack,
    assert_once,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.slack_core import Mode, Moment
from tests.peers.slack_faults import Call
from tests.peers.slack_front import SlackFront

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

ON_THE_WAY = ("acknowledged", "request sent", "request done")
"""Slack has the acknowledgement of an event; it has a post and has not done it; it has done it and the
bot does not know."""
POINTS = (*INSIDE, *ON_THE_WAY)
COUNTS = {"received": 3, "stored": 3, "acknowledged": 3}
"""How often a point is passed for sure; the others four times."""
MODES: tuple[Mode, Mode] = ("socket", "http")
ALL = [
    (point, count, mode)
    for point in POINTS
    for count in range(1, COUNTS.get(point, 4) + 1)
    for mode in MODES
]
SAMPLE = [(point, 1 + n % 3, MODES[n % 2]) for n, point in enumerate(POINTS)]
CHOSEN = ALL if os.environ.get("TEST_FULL") == "1" else SAMPLE
STORY_S = 60.0
SETTLED = {"sent", "superseded"}


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


@pytest.mark.full
@pytest.mark.parametrize(("point", "count", "mode"), CHOSEN)
def test_killed_at(
    point: str, count: int, mode: Mode, tmp_path: Path, api: BlockingMessagesApi
) -> None:
    # Over HTTP Slack tries again three times; here it has to be for as long as a start takes.
    with a_slack(mode, retry_factor=0.005, most_retries=40) as front:
        bot = slack_bot(tmp_path, api, front)
        if point in INSIDE:
            bot.command = command(point, count)
        else:
            _arm(bot, front, point, count)
        with _kept_alive(bot) as deaths:
            bot.allow(ALICE, "admin")

            goal = bot.asked(ALICE, f"<@{BOT}> !script asks")
            goal.until_posted("decision", STORY_S)
            goal.say("pause")
            goal.until_true(lambda look: look.goal.state == "paused", STORY_S)
            goal.until_posted("reply", STORY_S)
            goal.say("resume")
            goal.until_true(lambda look: look.goal.state == "deciding", STORY_S)
            goal.say("yes")
            goal.until_posted("settle", STORY_S)
            # It may have been killed just after the last post.
            until(lambda: bool(deaths) and _answers(bot), STORY_S, bot.told)
            bot.ask(do="settle")

            assert deaths == [-signal.SIGKILL], bot.told()
            kinds = [kind for kind in goal.kinds() if kind != "reply"]
            assert kinds == ["decision", "settle"], goal.story()
            assert len(goal.status()) <= 1, goal.story()
            assert_once(front)
            _assert_handled_once(bot, goal)
            assert front.violations == []


def _answers(bot: SlackBot) -> bool:
    return asyncio.run(ask_owner(bot.folder, {"do": "ping"})) is not None


def _arm(bot: SlackBot, front: SlackFront, point: str, count: int) -> None:
    passed = itertools.count(1)

    def kill() -> None:
        if next(passed) == count and bot.process is not None:
            bot.process.kill()
            bot.process.wait()

    def called(moment: Moment, call: Call) -> None:
        at: Moment = "request" if point == "request sent" else "done"
        if moment == at and call.method in POSTS:
            kill()

    if point == "acknowledged":
        front.on_envelope(
            lambda what, envelope: kill()
            if what == "acked" and envelope.payload.get("event", {}).get("user") == ALICE
            and envelope.payload["event"]["type"] == "message" else None
        )  # fmt: skip
    else:
        front.watcher = called


@contextmanager
def _kept_alive(bot: SlackBot) -> Iterator[list[int]]:
    """The bot, started again by itself whenever it was killed; yields how it ended each time."""
    deaths: list[int] = []
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.05):
            process = bot.process
            if process is not None and (code := process.poll()) not in (None, 0):
                deaths.append(code)
                bot.start()

    bot.start()
    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield deaths
    finally:
        over.set()
        keeper.join()
        bot.end()


def _assert_handled_once(bot: SlackBot, goal: SlackGoal) -> None:
    [look] = bot.look(goal.thread)
    assert replay(look.journal) == look.goal
    assert look.goal.state == "complete"
    messages = _rows(bot, "SELECT state, attempts FROM inbox")
    assert len(messages) == 4
    assert {state for state, _ in messages} == {"handled"}
    # What was on its way when it was killed is looked up first.
    until(
        lambda: {one for (one,) in _rows(bot, "SELECT state FROM outbox")} <= SETTLED,
        STORY_S,
        goal.story,
    )


def _rows(bot: SlackBot, sql: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(bot.folder / "headway.db") as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows
