"""Two processes on one database and one app: one serves it, the other follows, and nothing comes twice."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store.postgres import open_postgres
from tests.journeys.bot import headway
from tests.journeys.slack import ALICE, GENERAL, SlackBot, a_slack, assert_once, slack_bot
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.postgres import Postgres, private_postgres
from tests.peers.slack_front import SlackFront

pytestmark = [pytest.mark.process, pytest.mark.postgres, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with private_postgres() as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> str:
    name = postgres.create()
    open_postgres(postgres.url(name))
    return postgres.url(name)


@pytest.fixture
def front() -> Iterator[SlackFront]:
    with a_slack("socket") as made:
        yield made
        assert made.violations == []
        assert_once(made)


@pytest.fixture
def two(
    tmp_path: Path, api: BlockingMessagesApi, sandbox: str, front: SlackFront, database: str
) -> Iterator[tuple[SlackBot, SlackBot]]:
    """The first one serves; the second was started after it."""
    shared = {"lease_s": 3.0, "renew_s": 1.0, "workspaces": tmp_path / "shared"}
    keys = {"secret_key_file": tmp_path / "key", "database": database}
    bots = tuple(
        slack_bot(tmp_path / name, api, front, **shared, **keys) for name in ("one", "two")
    )
    try:
        for bot in bots:
            (bot.state_dir.parent).mkdir()
            bot.start()
        yield bots[0], bots[1]
        for bot in bots:
            assert "Traceback" not in bot.told(), bot.told()
    finally:
        for bot in bots:
            bot.end()


def serves(bot: SlackBot) -> bool:
    return bool(bot.ask(do="slack.status")["serves"])


def let_in(two: tuple[SlackBot, SlackBot]) -> tuple[SlackBot, SlackBot]:
    """Alice is an admin, and both know it: a list is read anew when it is asked for."""
    two[0].allow(ALICE, "admin")
    for bot in two:
        assert bot.ask(do="allow.list")["entries"]
    return two


def test_one_serves_and_the_other_stands_by(
    two: tuple[SlackBot, SlackBot], front: SlackFront
) -> None:
    one, two_ = let_in(two)

    goals = [one.asked(ALICE, f"<@{BOT}> !script complete_after 1") for _ in range(3)]
    for goal in goals:
        goal.until("complete")
        goal.until_kinds("settle")

    assert (serves(one), serves(two_)) == (True, False)
    told = headway("slack", "status", env=two_.env).stdout
    assert "this one stands by" in told


def test_who_ends_in_good_order_is_followed_at_once(
    two: tuple[SlackBot, SlackBot], front: SlackFront
) -> None:
    one, two_ = let_in(two)
    one.stop()

    front.until(lambda: serves(two_), f"the second serves\n{two_.told()}", 25)
    front.until(front.is_heard, f"a socket\n{two_.told()}", 20)
    goal = two_.asked(ALICE, f"<@{BOT}> !script complete_after 1")

    goal.until("complete")
    goal.until_kinds("settle")


def test_who_is_killed_in_the_middle_of_a_goal_is_followed_and_the_goal_ends_once(
    two: tuple[SlackBot, SlackBot], front: SlackFront
) -> None:
    one, two_ = let_in(two)
    goal = one.asked(ALICE, f"<@{BOT}> !script slow 1 6")
    goal.until_true(lambda look: look.goal.turn >= 1)

    one.stop(signal.SIGKILL)
    front.until(lambda: serves(two_), f"the second serves\n{two_.told()}", 60)
    after = type(goal)(two_, ALICE, GENERAL, goal.root)

    after.until("complete", 60)
    after.until_kinds("settle", timeout_s=40)
