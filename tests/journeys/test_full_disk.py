"""A disk that is full, at the start and in the middle of the work: said, waited out, nothing lost.

The state folder is a small file system of its own, in a namespace that needs no rights.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bot.errors import HeadwayError
from tests.journeys.bot import COMMAND, Bot, Thread, assert_sound, environment, until
from tests.journeys.conftest import SHARED
from tests.peers.messages_api import ROOT, BlockingMessagesApi

Api = BlockingMessagesApi

MOUNTED = 'mount -t tmpfs -o size=4m,mode=700 headway "$1" && shift && exec "$@"'
SMALL_DISK = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh")


def _works() -> bool:
    try:
        tried = subprocess.run([*SMALL_DISK, "/mnt", "true"], check=False, capture_output=True)
    except OSError:
        return False
    return tried.returncode == 0


pytestmark = pytest.mark.process


@pytest.fixture
def small(api: Api, tmp_path: Path) -> Iterator[Bot]:
    """A bot that is not started yet, whose state folder will be a disk of 4 MB."""
    assert _works(), "these tests need user namespaces, as the sandbox does: `headway doctor`"
    folder = tmp_path / "disk"
    folder.mkdir()
    settings = {"base_url": api.url, "api_key": api.key, **SHARED, "sandbox": "none"}
    bot = Bot(folder, settings, (*SMALL_DISK, str(folder), *COMMAND), is_apart=True)
    yield bot
    bot.end()


def test_a_disk_that_fills_up_holds_the_goals_until_there_is_space(
    small: Bot, api: Api, tmp_path: Path
) -> None:
    bot = small.start()
    goal = bot.goal("the full disk !script slow 0.4 3")
    until(lambda: api.totals(contains="the full disk")["calls"] >= 1, 20, bot.told)

    filler = _fill(bot)
    until(lambda: "the disk is full: free some space" in bot.told(), 20, bot.told)
    with pytest.raises(HeadwayError, match=r"cannot be written .* Free space on its disk"):
        bot.say("more words than there is space for" * 2000, goal.id)
    time.sleep(1)
    assert bot.process is not None
    assert bot.process.poll() is None, bot.told()
    filler.unlink()
    goal.until_posted("complete", 60)
    bot.ask(do="settle")

    kept = _copied(bot, tmp_path / "copy")
    assert_sound(api, Thread(kept, goal.id), "complete", lost=1)
    assert "Traceback" not in bot.told(), bot.told()


def test_a_start_on_a_full_disk_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    fill = 'cat /dev/zero >"$0/filler" 2>/dev/null; exec "$@"'
    env = environment(state_dir=folder, api_key="k", sandbox="none")

    run = subprocess.run(
        [*SMALL_DISK, str(folder), "sh", "-c", fill, str(folder), *COMMAND, "run"],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert run.returncode in (74, 78), run.stderr
    assert "space" in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr


def _copied(bot: Bot, folder: Path) -> Bot:
    """What is on the bot's disk, where SQLite can be asked about it."""
    shutil.copytree(bot.folder, folder, ignore=shutil.ignore_patterns("*.sock", "*-shm"))
    return Bot(folder, bot.settings)


def _fill(bot: Bot) -> Path:
    filler = bot.folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler
