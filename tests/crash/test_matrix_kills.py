"""
Killed with SIGKILL between every two steps of a message's way in and a post's way out.

The process is real and so is the homeserver; between them stands a proxy, which kills at requests that
are on their way. A person in the room, with another client, asks for a goal, looks at its tasks,
answers its question, and must see each post once and in order.
"""

import asyncio
import itertools
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.goals.machine import replay
from scheduler.control import ask_owner
from tests.crash.kept import kept_alive
from tests.crash.matrix_bot import INSIDE, command
from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, MatrixGoal, assert_once, matrix_bot, shared_room
from tests.peers.matrix_faults import Call, MatrixFaults, Moment, faults
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

ON_THE_WAY = ("request sent", "request done")
"""The proxy has it and the homeserver not; the homeserver has done it and the bot does not know."""
POINTS = (*INSIDE, *ON_THE_WAY)
COUNTS = {"received": 3, "stored": 3, "claimed": 4, "answered": 4, "acknowledged": 4}
"""How often a point is passed for sure; those on the way as often as `answered`."""
ALL = [
    (point, count, encrypted)
    for point in POINTS
    for count in range(1, COUNTS.get(point, 4) + 1)
    for encrypted in (False, True)
]
SAMPLE = [(point, 1 + n % 3, n % 2 == 1) for n, point in enumerate(POINTS)]
CHOSEN = ALL if os.environ.get("TEST_FULL") == "1" else SAMPLE
STORY_S = 60.0
SETTLED = {"sent", "superseded"}


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture
def proxy(synapse: Synapse) -> Iterator[MatrixFaults]:
    with faults(synapse.url) as proxy:
        yield proxy


@pytest.mark.full
@pytest.mark.parametrize(("point", "count", "encrypted"), CHOSEN)
def test_killed_at(
    point: str, count: int, encrypted: bool, tmp_path: Path, api: BlockingMessagesApi,
    synapse: Synapse, proxy: MatrixFaults, ann: MatrixUser,
) -> None:  # fmt: skip
    bot = matrix_bot(tmp_path, api, synapse, url=proxy.url)
    if point in INSIDE:
        bot.command = command(point, count)
    else:
        _arm(bot, proxy, point, count)
    with kept_alive(bot) as deaths:
        bot.allow(ann.user_id, "admin")
        room = shared_room(ann, bot, encrypted=encrypted)

        goal = bot.asked(ann, room, "!goal !script asks")
        goal.until_posted("decision", STORY_S)
        goal.say("tasks")
        goal.until_posted("reply", STORY_S)
        goal.say("yes")
        goal.until_posted("settle", STORY_S)
        # It may have been killed just after the last post.
        until(lambda: bool(deaths) and _answers(bot), STORY_S, bot.told)
        bot.ask(do="settle")

        assert deaths == [-signal.SIGKILL], bot.told()
        assert goal.kinds() == ["decision", "reply", "settle"], goal.story()
        assert len(goal.status()) <= 1, goal.story()
        assert_once(ann, room, bot)
        _assert_handled_once(bot, goal)


def _answers(bot: MatrixBot) -> bool:
    return asyncio.run(ask_owner(bot.folder, {"do": "ping"})) is not None


def _arm(bot: MatrixBot, proxy: MatrixFaults, point: str, count: int) -> None:
    passed = itertools.count(1)
    at: Moment = "request" if point == "request sent" else "done"

    def kill(moment: Moment, call: Call) -> None:
        is_message = call.kind == "send" and "/send/m.room." in call.path
        if moment == at and is_message and next(passed) == count and bot.process is not None:
            bot.process.kill()
            bot.process.wait()

    proxy.watch(kill)


def _assert_handled_once(bot: MatrixBot, goal: MatrixGoal) -> None:
    [look] = bot.look(goal.root)
    assert replay(look.journal) == look.goal
    assert look.goal.state == "complete"
    messages = _rows(bot, "SELECT state, attempts FROM inbox")
    assert len(messages) == 3
    assert {state for state, _ in messages} == {"handled"}
    # What was on its way when it was killed is looked up first.
    until(
        lambda: {one for (one,) in _rows(bot, "SELECT state FROM outbox")} <= SETTLED,
        STORY_S,
        goal.story,
    )


def _rows(bot: MatrixBot, sql: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(bot.folder / "headway.db") as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows
