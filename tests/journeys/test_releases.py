"""What the processes of former releases left when they were killed is gone on with by today's."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store import schema
from bot.goals.machine import replay
from tests.adapters.store.releases.kept import RELEASES, WHO, Kept, unpack
from tests.journeys.bot import Bot, Thread
from tests.journeys.conftest import SHARED
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = pytest.mark.process

Api = BlockingMessagesApi

ONWARDS_S = 5.0
"""How long after the old process was killed the new one starts, by its clock."""


@pytest.fixture(params=RELEASES)
def old(
    request: pytest.FixtureRequest, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Bot, Kept, Path]]:
    """A bot that is not started yet, on what a release left, at the time when it was left."""
    monkeypatch.setenv("LOGNAME", WHO)
    kept = unpack(request.param, tmp_path / "state")
    shift = tmp_path / "shift"
    shift.write_text(str(kept.made_at + ONWARDS_S - time.time()))
    limits = {"limits__continuations": 20, "limits__continuations_most": 20}
    reached = {"base_url": api.url, "api_key": api.key}
    settings = {**reached, **SHARED, **limits, "sandbox": "none"}
    bot = Bot(
        tmp_path / "state",
        settings,
        (sys.executable, "-m", "tests.journeys.shifted", str(shift)),
    )
    yield bot, kept, shift
    bot.end()


def test_every_goal_of_a_killed_former_release_is_gone_on_with_and_nothing_is_sent_twice(
    old: tuple[Bot, Kept, Path],
) -> None:
    bot, kept, shift = old
    posted = [post.key for post in bot.posts() if not post.is_edit]
    threads = {name: Thread(bot, thread) for name, thread in kept.threads.items()}

    bot.start()
    threads["in_a_tool"].until("complete")
    for name in ("complete", "blocked", "over_budget", "paused", "deciding", "waiting"):
        assert threads[name].goal().state == name
    threads["deciding"].say("1")
    threads["deciding"].until("complete")
    threads["paused"].say("/goal resume")
    threads["paused"].until("complete")
    threads["streaming"].say("/goal stop")
    threads["streaming"].until("paused")
    shift.write_text(str(float(shift.read_text()) + 4000))
    threads["waiting"].until("complete")
    bot.ask(do="settle")

    keys = [post.key for post in bot.posts() if not post.is_edit]
    assert len(keys) == len(set(keys))
    assert keys[: len(posted)] == posted
    for name, thread in threads.items():
        look = thread.look()
        assert replay(look.journal) == look.goal, name
        assert thread.kinds().count("complete") == (look.goal.state == "complete"), name
    flood = [key for key in keys if key.startswith("reply:flood-")]
    assert len(flood) == 60
    lost = threads["streaming"].look().events("CallLost")
    assert len(lost) == 1
    assert (bot.folder / f"headway.db.before-{schema.HEAD}").is_file()
    assert bot.stop()[0] == 0
    assert "Traceback" not in bot.told(), bot.told()
