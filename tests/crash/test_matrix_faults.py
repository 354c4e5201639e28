"""
Messages through a proxy that does all that real homeservers and networks do, at random.

Goals wait for a sign-off while people steer them, so that nothing but the network is tried; let go,
each says what it heard, in order. What was asked in between was answered, each question once.
"""

import os
import random
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running
from tests.peers.matrix_faults import Cut, Fault, Limited, Page, Slow, Stale, faults
from tests.peers.matrix_plain import PlainUser, is_edit, key_of, plain_users, thread_of
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.synapse import Synapse

IS_FULL: Final = os.environ.get("TEST_FULL") == "1"
MESSAGES: Final = 2_000 if IS_FULL else 150
THREADS: Final = 20 if IS_FULL else 5
ASKS_EACH: Final = 10
"""Of so many messages of a thread one is a question, which is answered with a post."""
APART_S: Final = 0.1
SHARE: Final = 0.15
FAULTS: Final[Sequence[Fault]] = (
    Limited(retry_after_ms=300), Limited(header_s=1), Limited(), Page(502), Page(503),
    Page(504, passes=True), Cut("before"), Cut("after"), Cut("middle"), Slow(0.7), Stale(),
)  # fmt: skip
DRAINED_S: Final = 1_500.0 if IS_FULL else 90.0
LAST_EDITS_S: Final = 60.0 + 8.0 * THREADS
"""A limit that said nothing is taken for one event in 5 s, and edits come last."""
UNSENT: Final = "SELECT key, state FROM outbox WHERE state NOT IN ('sent', 'superseded')"
KINDS_LEAST: Final = 6 if IS_FULL else 4
"""Of faults that chance has to bring; the short form has few requests."""
GROWTH_MOST: Final = 40 * 1024 * 1024

pytestmark = [pytest.mark.process, pytest.mark.full, pytest.mark.timeout(3_000 if IS_FULL else 240)]


@dataclass(frozen=True)
class Talk:
    """A goal's thread, and what was said there."""

    person: PlainUser
    room: str
    root: str
    steered: tuple[str, ...]
    asked: tuple[str, ...]
    """Events of questions."""


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


def test_none_is_lost_none_doubled_and_order_kept(
    tmp_path: Path, api: BlockingMessagesApi, synapse: Synapse
) -> None:
    people = plain_users(synapse, *["talker"] * THREADS)
    with faults(synapse.url) as proxy:
        bot = matrix_bot(tmp_path, api, synapse, url=proxy.url)
        # With it a session that was ended is begun again.
        bot.settings["matrix_password"] = bot.user.password
        with running(bot):
            rooms = [_resting_goal(bot, person) for person in people]
            proxy.lottery(4, SHARE, FAULTS)
            first = _said_in_all(rooms, part=0)
            _until_taken(bot, first)
            before = _memory(bot)
            token = proxy.of("sync")[-1].token
            proxy.revoke(token)
            second = _said_in_all(rooms, part=1)
            _until_taken(bot, [*first, *second])
            after = _memory(bot)
            proxy.calm()
            talks = [_joined(one, other) for one, other in zip(first, second, strict=True)]
            for talk in talks:
                talk.person.say(talk.room, "yes", talk.root)
            for talk in talks:
                _assert_heard_whole(bot, talk)

            _assert_each_once(bot)
            sys.stderr.write(f"{proxy.faulted()}; memory {before} to {after}\n")
            assert len(set(proxy.faulted())) >= KINDS_LEAST, proxy.faulted()
            assert {call.token for call in proxy.of("send")} > {token}
            assert after - before < GROWTH_MOST
            assert len(proxy.calls) < 60 * MESSAGES, "something asks again and again"


def _resting_goal(bot: MatrixBot, person: PlainUser) -> tuple[PlainUser, str, str]:
    bot.allow(person.user_id, "admin")
    room = person.create(bot.user_id)
    person.until_joined(room, bot.user_id)
    root = person.say(room, "!goal !script gathers sign_off")
    until(lambda: _state(bot, root) == "deciding", 30, bot.told)
    return person, room, root


def _state(bot: MatrixBot, root: str) -> str:
    found = bot.look(root)
    return str(found[0].goal.state) if found else ""


def _said_in_all(rooms: Sequence[tuple[PlainUser, str, str]], part: int) -> list[Talk]:
    """Everybody talks at once, each in a thread of their own."""
    with ThreadPoolExecutor(4) as talking:
        return list(talking.map(lambda room: _said(room, part), rooms))


def _said(where: tuple[PlainUser, str, str], part: int) -> Talk:
    person, room, root = where
    count = MESSAGES // THREADS // 2
    chance = random.Random(f"{root} {part}")
    steered, asked = [], []
    for number in range(part * count, (part + 1) * count):
        # Not all in one answer of the homeserver.
        time.sleep(APART_S)
        if chance.randrange(ASKS_EACH) == 0:
            asked.append(person.say(room, "tasks", root))
        else:
            steered.append(f"steer-{number}")
            person.say(room, f"Mind steer-{number}", root)
    return Talk(person, room, root, tuple(steered), tuple(asked))


def _joined(one: Talk, other: Talk) -> Talk:
    steered, asked = one.steered + other.steered, one.asked + other.asked
    return Talk(one.person, one.room, one.root, steered, asked)


def _until_taken(bot: MatrixBot, talks: Sequence[Talk]) -> None:
    """Every message is handled, and every question answered on the server."""
    expected = sum(len(talk.steered) + len(talk.asked) for talk in talks)

    def taken() -> bool:
        [(count,)] = _rows(
            bot, "SELECT count(*) FROM inbox WHERE state = 'handled' AND thread <> ''"
        )
        return int(str(count)) >= expected and not _rows(bot, UNSENT)

    until(taken, DRAINED_S, lambda: f"Not all was taken.\n{bot.told()[-4000:]}")


def _assert_heard_whole(bot: MatrixBot, talk: Talk) -> None:
    until(lambda: _state(bot, talk.root) == "complete", 60, bot.told)
    bot.ask(do="settle")
    posts = [
        event for event in talk.person.messages(talk.room, bot.user_id)
        if thread_of(event) == talk.root and not is_edit(event)
    ]  # fmt: skip
    keys = [key_of(event) for event in posts]
    assert len(keys) == len(set(keys))
    answered = [key.removeprefix("reply:") for key in keys if key.startswith("reply:")]
    assert [id for id in answered if id in set(talk.asked)] == list(talk.asked)
    [said] = [event["content"]["body"] for event in posts if ":settle" in key_of(event)]
    heard = [word.strip(".,") for word in said.split() if word.startswith("steer-")]
    assert heard == list(talk.steered)


def _assert_each_once(bot: MatrixBot) -> None:
    rows = _rows(bot, "SELECT state, attempts FROM inbox")
    assert {state for state, _ in rows} == {"handled"}
    until(
        lambda: not _rows(bot, UNSENT), LAST_EDITS_S, lambda: f"{_rows(bot, UNSENT)} are not sent"
    )


def _rows(bot: MatrixBot, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{bot.folder / 'headway.db'}?mode=ro", uri=True) as database:
        rows = database.execute(sql).fetchall()
    database.close()
    return rows


def _memory(bot: MatrixBot) -> int:
    assert bot.process is not None
    return int(psutil.Process(bot.process.pid).memory_info().rss)
