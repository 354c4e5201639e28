"""
Messages through a Slack that limits, repeats, cuts, loses answers and fails, at random.

Goals wait for a sign-off while people steer them, so that nothing but the network is tried; let go,
each says what it heard, in order. What was changed in between was told, each change once; what was only
looked at was answered to whoever asked, at least once: Slack keeps nothing of that by which a lost answer
could be looked up.
"""

import os
import random
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.bench.roomy import ROOMY
from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    BOB,
    SlackBot,
    SlackGoal,
    a_slack,
    assert_once,
    key_of,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT, CHANNELS
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.slack_faults import Cut, Failed, Fault, Limited, Page, Slow
from tests.peers.slack_front import Mode, SlackFront

IS_FULL: Final = os.environ.get("TEST_FULL") == "1"
MESSAGES: Final = 2_000 if IS_FULL else 150
THREADS: Final = 20 if IS_FULL else 5
CHANGES_EACH: Final = 10
LOOKS_EACH: Final = 20
"""Of so many messages of a thread one changes something, and one only looks at it."""
APART_S: Final = 0.1
SHARE: Final = 0.15
FAULTS: Final[Sequence[Fault]] = (
    Limited(1), Limited(2), Limited(None), Page(500), Page(502), Page(503, passes=True),
    Cut("before"), Cut("after"), Cut("middle"), Slow(0.7), Failed("internal_error"),
    Failed("service_unavailable", 503), Failed("fatal_error", passes=True), Failed("ratelimited"),
)  # fmt: skip
TROUBLES_APART_S: Final = 0.7
BREAKS: Final = 200 if IS_FULL else 3
"""Times that all sockets are wanted back or break; whose sockets last seconds waits longer and longer."""
MODES: Final[Sequence[Mode]] = ("socket", "http") if IS_FULL else ("socket",)
DRAINED_S: Final = 1_500.0 if IS_FULL else 120.0
UNSENT: Final = "SELECT key, state FROM outbox WHERE state NOT IN ('sent', 'superseded')"
KINDS_LEAST: Final = 10 if IS_FULL else 4
"""Of faults that chance has to bring; the short form has few requests."""
GROWTH_MOST: Final = 40 * 1024 * 1024

pytestmark = [pytest.mark.process, pytest.mark.full, pytest.mark.timeout(3_000 if IS_FULL else 240)]


@dataclass(frozen=True)
class Talk:
    """A goal's thread, and what was said there."""

    goal: SlackGoal
    steered: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Messages that changed something."""
    looked: int = 0


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


@pytest.mark.parametrize("mode", MODES)
def test_none_is_lost_none_doubled_and_order_kept(
    mode: Mode, tmp_path: Path, api: BlockingMessagesApi
) -> None:
    with a_slack(mode) as front:
        bot = slack_bot(tmp_path, api, front, **ROOMY)
        with running(bot, ALICE, BOB):
            goals = [_resting_goal(bot, number) for number in range(THREADS)]
            front.faults.lottery(4, SHARE, FAULTS)
            with _troubled(front):
                first = _said_in_all(goals, part=0)
                _until_taken(bot, first)
                before = _memory(bot)
                second = _said_in_all(goals, part=1)
                _until_taken(bot, [*first, *second])
                after = _memory(bot)
            front.faults.calm()
            talks = [_joined(one, other) for one, other in zip(first, second, strict=True)]
            for talk in talks:
                talk.goal.say("yes")
            for talk in talks:
                _assert_heard_whole(bot, talk)

            _assert_each_once(bot)
            _assert_asked_enough(front, talks)
            again = sum(envelope.sends > 1 for envelope in front.delivery.log)
            sys.stderr.write(
                f"{mode}: {len(front.calls)} calls, {_faulted(front)}; {again} of "
                f"{len(front.delivery.log)} sent again; memory {before} to {after}\n"
            )
            assert again > MESSAGES // 20
            assert len(_faulted(front)) >= KINDS_LEAST, _faulted(front)
            assert after - before < GROWTH_MOST
            assert len(front.calls) < 30 * MESSAGES, "something asks again and again"


def _resting_goal(bot: SlackBot, number: int) -> SlackGoal:
    channels = [each.id for each in CHANNELS]
    channel = channels[number % len(channels)]
    goal = bot.asked((ALICE, BOB)[number % 2], f"<@{BOT}> !script gathers sign_off", channel)
    goal.until_true(lambda look: look.goal.state == "deciding")
    return goal


@contextmanager
def _troubled(front: SlackFront) -> Iterator[None]:
    """Now and then events come twice, sockets are wanted back, or break."""
    over, chance = threading.Event(), random.Random(7)

    def trouble() -> None:
        broken = 0
        while not over.wait(TROUBLES_APART_S):
            which = chance.randrange(6) if broken < BREAKS else 2
            broken += which < 2
            if which == 0:
                front.run(front.sockets.disconnect())
            elif which == 1:
                front.run(front.sockets.cut())
            else:
                front.delivery.doubles += 3

    troubling = threading.Thread(target=trouble)
    troubling.start()
    try:
        yield
    finally:
        over.set()
        troubling.join()


def _said_in_all(goals: Sequence[SlackGoal], part: int) -> list[Talk]:
    """Everybody talks at once, each in a thread of their own."""
    with ThreadPoolExecutor(4) as talking:
        return list(talking.map(lambda goal: _said(goal, part), goals))


def _said(goal: SlackGoal, part: int) -> Talk:
    count = MESSAGES // THREADS // 2
    chance = random.Random(f"{goal.root} {part}")
    steered, changed, looked = [], [], 0
    for number in range(part * count, (part + 1) * count):
        time.sleep(APART_S)
        if chance.randrange(CHANGES_EACH) == 0:
            changed.append(goal.say(f"budget ${number + 2}"))
        elif chance.randrange(LOOKS_EACH) == 0:
            goal.say("tasks")
            looked += 1
        else:
            steered.append(f"steer-{number}")
            goal.say(f"Mind steer-{number}")
    return Talk(goal, tuple(steered), tuple(changed), looked)


def _joined(one: Talk, other: Talk) -> Talk:
    steered, changed = one.steered + other.steered, one.changed + other.changed
    return Talk(one.goal, steered, changed, one.looked + other.looked)


def _until_taken(bot: SlackBot, talks: Sequence[Talk]) -> None:
    """Every message is handled, and all that follows from it said."""
    expected = sum(len(talk.steered) + len(talk.changed) + talk.looked for talk in talks)

    def taken() -> bool:
        [(count,)] = _rows(
            bot, "SELECT count(*) FROM inbox WHERE state = 'handled' AND thread <> ''"
        )
        return int(str(count)) >= expected and not _rows(bot, UNSENT)

    until(
        taken, DRAINED_S,
        lambda: f"Not all was taken: {_rows(bot, UNSENT)[:20]}.\n{bot.told()[-4000:]}",
    )  # fmt: skip


def _assert_heard_whole(bot: SlackBot, talk: Talk) -> None:
    goal = talk.goal
    goal.until("complete", 120)
    keys = [key_of(bot.front, goal.channel, post) for post in goal.posts()]
    told = [key.rpartition(":")[2] for key in keys if key.startswith("reply:")]
    assert [ts for ts in told if ts in set(talk.changed)] == list(talk.changed)
    said = goal.text(goal.until_posted("settle"))
    heard = list(dict.fromkeys(
        word.strip(".,") for word in said.split() if word.startswith("steer-")
    ))  # fmt: skip
    assert heard == list(talk.steered)


def _assert_each_once(bot: SlackBot) -> None:
    rows = _rows(bot, "SELECT state FROM inbox")
    assert {state for (state,) in rows} == {"handled"}
    until(lambda: not _rows(bot, UNSENT), DRAINED_S, lambda: f"{_rows(bot, UNSENT)} are not sent")
    for channel in CHANNELS:
        assert_once(bot.front, channel.id)


def _assert_asked_enough(front: SlackFront, talks: Sequence[Talk]) -> None:
    """Who looked was answered; twice at most where Slack's answer to that was lost."""
    looked = sum(talk.looked for talk in talks)
    lost = sum(
        call.fault is not None and not call.is_done for call in front.of("chat.postEphemeral")
    )
    shown = sum(len(front.unseen(user)) for user in (ALICE, BOB))
    assert looked <= shown <= looked + lost


def _faulted(front: SlackFront) -> "Counter[str]":
    return Counter(str(call.fault) for call in front.calls if call.fault is not None)


def _rows(bot: SlackBot, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{bot.folder / 'headway.db'}?mode=ro", uri=True) as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows


def _memory(bot: SlackBot) -> int:
    assert bot.process is not None
    return int(psutil.Process(bot.process.pid).memory_info().rss)
