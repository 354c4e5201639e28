"""Five goals at once on a homeserver that lets an account send 0.2 events a second."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running
from tests.peers.matrix_plain import PlainUser, is_edit, key_of, thread_of
from tests.peers.messages_api import BlockingMessagesApi, started
from tests.peers.synapse import Json, Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

GOALS = 5
POST_S = 60.0
LAST_STATE_S = 120.0


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started() as server:
        yield server


def test_every_post_comes_within_a_minute_and_every_last_state_is_shown(
    tmp_path: Path, api: BlockingMessagesApi, stock_synapse: Synapse
) -> None:
    person = PlainUser(stock_synapse, stock_synapse.register("ann"))
    stock_synapse.free_of_limits(person.user_id)
    bot = matrix_bot(tmp_path, api, stock_synapse)
    with running(bot):
        bot.allow(person.user_id, "admin")
        room = person.create(bot.user_id)
        person.until_joined(room, bot.user_id)

        roots = [person.say(room, f"!goal {n} !script slow 2 2") for n in range(GOALS)]
        until(lambda: all(bot.look(root) for root in roots), 30, bot.told)
        until(lambda: all(_state(bot, root) == "complete" for root in roots), 60, bot.told)
        settled = time.time()
        posted: dict[str, Json] = {}

        def all_posted() -> bool:
            posted.update(_settled(person, room, bot.user_id))
            return posted.keys() >= set(roots)

        until(all_posted, POST_S, lambda: f"{len(posted)} of {GOALS} were posted.\n{bot.told()}")
        waited = [event["origin_server_ts"] / 1e3 - settled for event in posted.values()]
        until(
            lambda: not _unfinished(person, room, bot.user_id), LAST_STATE_S,
            lambda: f"{_unfinished(person, room, bot.user_id)}",
        )  # fmt: skip

        assert max(waited) < POST_S
        keys = [key_of(event) for event in person.messages(room, bot.user_id) if not is_edit(event)]
        assert len(keys) == len(set(keys))


def _state(bot: MatrixBot, root: str) -> str:
    return str(bot.look(root)[0].goal.state)


def _settled(person: PlainUser, room: str, bot: str) -> dict[str, Json]:
    return {
        thread_of(event): event
        for event in person.messages(room, bot)
        if ":settle" in key_of(event) and not is_edit(event)
    }


def _unfinished(person: PlainUser, room: str, bot: str) -> list[str]:
    """Status messages whose newest words do not say that the goal is complete."""
    shown: dict[str, str] = {}
    for event in person.messages(room, bot):
        content = event["content"]
        if is_edit(event):
            original = content["m.relates_to"]["event_id"]
            if original in shown:
                shown[original] = content["m.new_content"]["body"]
        elif ":status" in key_of(event):
            shown[event["event_id"]] = content["body"]
    return [words for words in shown.values() if "Complete" not in words]
