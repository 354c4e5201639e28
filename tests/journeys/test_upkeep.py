"""An operator's worst day: backup while it runs, the machine lost, restored elsewhere, released."""

import json
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.console.room import room_path
from bot.goals.machine import replay
from tests.journeys.bot import COMMAND, Bot, Thread, assert_sound, environment, headway, until
from tests.journeys.conftest import SHARED, Begin
from tests.journeys.test_full_disk import SMALL_DISK
from tests.peers.messages_api import ROOT, BlockingMessagesApi

pytestmark = pytest.mark.process

Api = BlockingMessagesApi


def test_after_a_restore_nothing_is_sent_twice_and_every_open_decision_is_still_there(
    begin: Begin, api: Api, tmp_path: Path
) -> None:
    bot = begin(api)
    asks, written = bot.goal("!script asks"), bot.goal("!script writes 1")
    asks.until("deciding")
    written.until("complete")
    asked_later, works = bot.goal("!script asks_slowly 2"), bot.goal("!script slow 0.6 4")
    works.until_true(lambda look: bool(look.events("CallStarted")))

    backup = headway("backup", str(tmp_path / "backup"), "--json", env=bot.env)
    asked_later.until("deciding")
    asked_later.say("2")
    asked_later.until("complete")
    works.until("complete", 30)
    assert backup.returncode == 0, backup.stderr
    bot.stop(signal.SIGKILL)
    posted = [post.key for post in bot.posts() if not post.is_edit]

    restored = _restored_elsewhere(bot, tmp_path / "backup", tmp_path / "other")
    restored.start()
    time.sleep(1.5)
    assert restored.posts() == bot.posts(), "Nothing is sent before the release."
    assert {goal.state for goal in restored.goals()} >= {"deciding"}
    told = headway("release", "--yes", env=restored.env)
    assert told.returncode == 0, told.stderr
    there = {name: Thread(restored, thread.id) for name, thread in
             (("asks", asks), ("later", asked_later), ("works", works), ("written", written))}  # fmt: skip
    assert there["asks"].goal().state == "deciding"
    there["asks"].say("1")
    there["asks"].until("complete")
    there["works"].until("complete", 30)
    there["later"].until("deciding")
    there["later"].say("1")
    there["later"].until("complete")

    assert "question 1 is open" in told.stdout
    assert "a call of the model (agent) was under way" in told.stdout
    keys = [post.key for post in restored.posts() if not post.is_edit]
    assert len(keys) == len(set(keys))
    assert keys[: len(posted)] == posted
    for thread in there.values():
        assert thread.kinds().count("complete") == 1, thread.kinds()
        assert thread.kinds().count("decision") <= 1
        look = thread.look()
        assert replay(look.journal) == look.goal
        assert look.goal.ledger.open == ()
    assert "the answer was yes" in _shown_last(there["later"])
    session = there["written"].goal().session
    assert (restored.folder / "workspaces" / session / "drafts" / "part-1.txt").is_file()
    assert restored.stop()[0] == 0
    assert "Traceback" not in restored.told()


def _restored_elsewhere(bot: Bot, backup: Path, folder: Path) -> Bot:
    """The backup in another state folder; the room is the network's and is as it was left."""
    done = headway("restore", str(backup), "--into", str(folder), "--json", env=bot.env)
    assert done.returncode == 0, done.stderr
    room_path(folder).parent.mkdir()
    shutil.copy(room_path(bot.folder), room_path(folder))
    return Bot(folder, bot.settings)


def _shown_last(thread: Thread) -> str:
    """What the thread's last post or edit that completes says."""
    shown = [post for post in thread.bot.posts(thread.id) if post.kind == "complete"]
    return shown[-1].text
