"""An operator's worst day: backup while it runs, the machine lost, restored elsewhere, released."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from adapters.console.room import room_path
from adapters.store.schema import HEAD
from bot.goals.machine import replay
from tests.adapters.store.releases.kept import RELEASES, unpack
from tests.journeys.bot import (
    COMMAND,
    Bot,
    Thread,
    assert_sound,
    environment,
    headway,
    until_called,
)
from tests.journeys.conftest import Begin
from tests.journeys.test_full_disk import SMALL_DISK
from tests.peers.messages_api import ROOT, BlockingMessagesApi
from tests.peers.terminal import on_a_terminal

pytestmark = pytest.mark.process

Api = BlockingMessagesApi


def test_after_a_restore_nothing_is_sent_twice_and_every_open_decision_is_still_there(
    begin: Begin, api: Api, tmp_path: Path
) -> None:
    bot = begin(api)
    asks, written = bot.goal("!script asks"), bot.goal("!script writes 1")
    asks.until("deciding")
    written.until("complete")
    for name in ("asked later", "long work"):
        api.fault({"kind": "hang"}, contains=name)
    asked_later, works = (
        bot.goal("asked later !script asks"),
        bot.goal("long work !script slow 0.2 2"),
    )
    for goal in (asked_later, works):
        until_called(api, goal)

    backup = headway("backup", str(tmp_path / "backup"), "--json", env=bot.env)
    api.ask("POST", "release")
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
    assert "Everything is on hold (restored from a backup)" in restored.told()
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


@pytest.fixture(scope="module")
def old_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder as the first release left it."""
    folder = tmp_path_factory.mktemp("old") / "state"
    unpack(RELEASES[0], folder)
    return folder


def test_an_upgrade_keeps_a_copy_and_says_from_where_to_where(
    old_state: Path, tmp_path: Path
) -> None:
    shutil.copytree(old_state, tmp_path / "state")
    env = environment(state_dir=tmp_path / "state")

    status = headway("db", "status", env=env)
    done = headway("db", "upgrade", env=env)
    again = json.loads(headway("db", "upgrade", "--json", env=env).stdout)

    kept = tmp_path / "state" / f"headway.db.before-{HEAD}"
    assert f"Schema {RELEASES[0]}; this Headway works with {HEAD}" in status.stdout
    assert f"From schema {RELEASES[0]} to {HEAD}." in done.stdout
    assert f"As it was before: {kept}" in done.stdout
    assert kept.is_file()
    assert again == {"from": HEAD, "to": HEAD, "kept": ""}


@pytest.mark.parametrize(
    "command",
    [
        ("db", "status"),
        ("db", "upgrade"),
        ("backup", "BACKUP"),
        ("release",),
        ("hold",),
        ("goals",),
    ],
)
def test_a_newer_database_is_refused_by_every_command(
    old_state: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    shutil.copytree(old_state, tmp_path / "state")
    with closing(sqlite3.connect(tmp_path / "state" / "headway.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    arguments = [str(tmp_path / word) if word.isupper() else word for word in command]

    ended = headway(*arguments, env=environment(state_dir=tmp_path / "state"))

    assert ended.returncode == 74, ended
    assert "schema 9999" in ended.stderr
    assert "install the Headway that wrote it" in ended.stderr
    assert not (tmp_path / "BACKUP").exists()


def test_a_disk_that_fills_up_during_a_backup_is_said_and_nothing_is_left(
    old_state: Path, tmp_path: Path
) -> None:
    shutil.copytree(old_state, tmp_path / "state")
    for number in range(8):
        large = tmp_path / "state" / "workspaces" / f"s{number}" / "drafts"
        large.mkdir(parents=True)
        (large / "large").write_bytes(os.urandom(1024 * 1024))
    (tmp_path / "small").mkdir()
    told = tmp_path / "left"
    script = f'"$@"; code=$?; ls -A "$0" >{told}; exit $code'

    ended = subprocess.run(
        [
            *SMALL_DISK, str(tmp_path / "small"), "sh", "-c", script, str(tmp_path / "small"),
            *COMMAND, "backup", str(tmp_path / "small" / "backup"),
        ],
        env=environment(state_dir=tmp_path / "state"),
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.returncode == 74, ended
    assert "No space left on device" in ended.stderr
    assert "free some space, or name another disk" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert told.read_text() == ""


def test_a_restore_asks_before_it_is_released_and_holds_what_is_started_meanwhile(
    begin: Begin, api: Api, tmp_path: Path
) -> None:
    bot = begin(api)
    bot.goal("!script asks").until("deciding")
    assert headway("backup", str(tmp_path / "backup"), env=bot.env).returncode == 0
    bot.stop()
    refused = headway("restore", str(tmp_path / "backup"), env=bot.env)
    replaced = headway("restore", str(tmp_path / "backup"), "--replace", env=bot.env)

    bot.start()
    late = bot.goal("!script complete_after 1")
    unasked = headway("release", env=bot.env)
    time.sleep(1.0)
    assert late.kinds() == []
    assert {goal.state.value for goal in bot.goals()} <= {"deciding", "ready"}
    released = json.loads(headway("release", "--yes", "--json", env=bot.env).stdout)
    late.until("complete")

    assert refused.returncode == 2
    assert "has a database already: give --into" in refused.stderr
    assert replaced.returncode == 0, replaced.stderr
    assert "Nothing runs, fires or is sent until `headway release`." in replaced.stdout
    assert "Kept: " in replaced.stdout
    assert unasked.returncode == 2
    assert "give --yes" in unasked.stderr
    assert any("question 1 is open" in line for line in released["report"])
    assert [hold["scope"] for hold in released["released"]] == ["restore"]
    assert_sound(api, late, "complete")


def test_whoever_releases_a_restored_state_is_asked(old_state: Path, tmp_path: Path) -> None:
    backup, other = str(tmp_path / "backup"), str(tmp_path / "other")
    assert headway("backup", backup, env=environment(state_dir=old_state)).returncode == 0
    assert headway("restore", backup, "--into", other, env=environment()).returncode == 0
    release, env = (*COMMAND, "release"), environment(state_dir=other)

    no, asked = on_a_terminal(release, env, [("Release it?", "n\n")], folder=ROOT)
    held = headway("hold", env=env)
    yes, told = on_a_terminal(release, env, [("Release it?", "y\n")], folder=ROOT)

    assert no == 1
    assert "question 1 is open" in asked
    assert "Everything, as restored, is on hold" in held.stdout
    assert yes == 0
    assert "Everything, as restored, goes on." in told
