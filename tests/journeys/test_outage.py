"""Half an hour of overload, then a revoked and replaced key, under two hundred live goals.

The half hour is the limiter's: Headway's clock runs faster here. Nobody presses Resume, no thread
hears of it, and the endpoint is not run over.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from bot.goals.machine import replay
from tests.journeys.bot import Bot, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import KEY, BlockingMessagesApi, started

pytestmark = [pytest.mark.process, pytest.mark.full, pytest.mark.timeout(300)]

FULL = os.environ.get("TEST_FULL") == "1"
GOALS = 200 if FULL else 50
RATE = 120.0
OUTAGE_S = 1800.0 / RATE
"""Half an hour of Headway's clock, in seconds of the wall."""
TURNS = 3


def test_an_outage_and_a_revoked_key_lose_no_goal_and_tell_no_thread(
    begin: Begin, tmp_path: Path
) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(KEY)
    with started() as api:
        bot = _begun(begin, api, key_file)
        goals = [bot.goal(f"Goal {n} !script slow {GOALS / 70} {TURNS}") for n in range(GOALS)]
        assert _states(bot).get("complete", 0) == 0
        overloaded = _overloaded(api)
        _until_most_have_moved(bot)
        _key_replaced(api, key_file)

        until(lambda: _states(bot) == {"complete": GOALS}, 120, lambda: str(_states(bot)))
        bot.ask(do="settle")
        told = [(post.thread, post.kind) for post in bot.posts() if post.kind != "status"]

        assert sorted(told) == sorted((goal.id, "complete") for goal in goals)
        assert overloaded < 200, "the endpoint was run over while it was overloaded"
        _assert_said_once(bot)
        _assert_nothing_lost(bot, api)


def _begun(begin: Begin, api: BlockingMessagesApi, key_file: Path) -> Bot:
    return begin(
        api,
        api_key_file=key_file,
        clock_rate=RATE,
        lease_s=30 * RATE,
        renew_s=10 * RATE,
        turns_at_once=200,
        calls_at_once=100,
        audit_timeout_s=30,
        budget_hours=100,
        limits__quiet_s=0,
    )


def _overloaded(api: BlockingMessagesApi) -> int:
    """Half an hour of 529 to every call; returns how many there were."""
    api.fault({"status": 529}, count=None)
    before = api.totals(status=529)["calls"]
    time.sleep(OUTAGE_S)
    refused = int(api.totals(status=529)["calls"]) - before
    api.clear_faults()
    return refused


def _until_most_have_moved(bot: Bot) -> None:
    """The overload is over when goals go on: half of them have worked."""

    def moved() -> bool:
        return sum(goal.turn >= 1 and goal.seq > 6 for goal in bot.goals()) > GOALS // 2

    until(moved, 60, lambda: f"No goal goes on: {_states(bot)}")


def _key_replaced(api: BlockingMessagesApi, key_file: Path) -> None:
    """The key is revoked for ten minutes, then another is put in its place."""
    api.keys(revoke=(KEY,))
    until(lambda: api.totals(status=401)["calls"] > 0, 60, lambda: "No call meets the revoked key.")
    time.sleep(600 / RATE)
    key_file.write_text("another-key")
    api.keys(accept=("another-key",))


def _states(bot: Bot) -> dict[str, int]:
    return dict(Counter(goal.state.value for goal in bot.goals()))


def _assert_said_once(bot: Bot) -> None:
    """One line when each trouble began, one when it was over, and nothing of single goals."""
    lines = [line for line in bot.log if "model endpoint" in line]
    assert ["overload" in line for line in lines].count(True) == 1, bot.told()
    assert sum("refuses us (auth)" in line for line in lines) == 1, bot.told()
    assert sum("answers again" in line for line in lines) == 2, bot.told()
    assert bot.log == lines, bot.told()


def _assert_nothing_lost(bot: Bot, api: BlockingMessagesApi) -> None:
    users = api.totals()["users"]
    for thread in {post.thread for post in bot.posts()}:
        [look] = bot.look(thread)
        assert replay(look.journal) == look.goal
        assert look.goal.turn == TURNS
        assert look.goal.ledger.open == ()
        assert look.goal.ledger.usage.tokens == sum(users[look.goal.id]["tokens"].values())
        assert not look.events("Resumed")
