"""
Make the kept database of a release: goals in every state of their life, their process killed.

Run it in a checkout of that release, which brings its own `bot`, `adapters` and `tests`:

    PYTHONPATH=. python WHERE_THIS_LIES/make.py FOLDER

Rule: what is kept was written by the release itself, and nothing in it names a machine or a person
      (of the machine's name only the leases tell: there it is replaced).
"""

import asyncio
import gzip
import json
import os
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from adapters.clock import WallClock
from adapters.console.parse import SaidLine, room
from adapters.console.room import RoomFile, room_path
from adapters.store.open import open_store
from adapters.store.schema import HEAD
from bot.goals.limits import LIMITS
from bot.ports.chat import Attachment, Incoming, Place, Reacted, Speaker
from bot.ports.positions import Position, Sealed
from tests.journeys.bot import Bot, Thread
from tests.peers.messages_api import started

WHO: Final = "ann"
"""The system's user, as the process sees it."""
FLOOD: Final = 60
"""Commands said at once: when the process dies some are answered, and some are not taken up yet."""
GOALS: Final = {
    "complete": "leave a part !script writes 1",
    "blocked": "reach what cannot be reached !script stalls",
    "over_budget": "spend a lot !script spends 50000",
    "paused": "take three turns !script slow 0.5 3",
    "deciding": "inquire before going on !script asks",
    "waiting": "wait for an hour !script waits 3600",
    "streaming": "think for long !script slow 30 1",
    "in_a_tool": "run for long !script sleeps 100",
}
"""What each goal is in the middle of, and its objective."""
SETTINGS: Final[dict[str, object]] = {
    "sandbox": "none",
    "zone": "UTC",
    "turns_at_once": 16,
    "live_goals_person": 16,
    "budget_tokens": 100_000,
    "budget_usd": 100,
    "limits__continuations": 6,
    "limits__quiet_s": 0.1,
}
SCRATCH: Final = ("cache", "tmp")


def main() -> None:
    """Make it in the folder that the command line names."""
    [out] = sys.argv[1:]
    os.environ.update(LOGNAME=WHO, TZ="UTC")
    with tempfile.TemporaryDirectory() as folder, started() as api:
        bot = Bot(Path(folder) / "state", {"base_url": api.url, "api_key": api.key, **SETTINGS})
        asyncio.run(_heard_elsewhere(bot.folder))
        bot.start()
        threads = _brought_there(bot)
        _killed_in_the_middle(bot)
        _keep(bot, threads, Path(out))


async def _heard_elsewhere(state_dir: Path) -> None:
    """A room of Matrix, whose bot is not there: what came with files and sealed, and an answer."""
    house, ann = Place("matrix", "@bot:example.org", "!house"), Speaker("@ann:example.org", WHO)
    file = Attachment("plan.txt", "text/plain", 4, sha256(b"plan").hexdigest())
    sealed = Sealed("$sealed", "!house", "key", '{"type": "m.room.encrypted"}', time.time())
    asked = Incoming("$asked", house, ann, "what is planned", time.time(), files=(file,))
    arrivals = (
        asked,
        Incoming("$aside", house, ann, "not you", time.time(), is_aside=True),
        Reacted("$nod", house, ann, "👍", asked.id, time.time()),
    )
    async with open_store(
        "sqlite:///headway.db", clock=WallClock(), limits=LIMITS, state_dir=state_dir
    ) as store:
        await store.inbox.receive_all(
            arrivals, Position("matrix", house.workspace, "s1", sealed=(sealed,))
        )
        thread = await store.rooms.begin(replace(house, thread=asked.id))
        await store.outbox.say(thread.session, f"reply:{asked.id}", "nothing yet", (asked.id,))


def _brought_there(bot: Bot) -> dict[str, Thread]:
    """Every goal in the state that it is named for."""
    threads = {name: bot.goal(GOALS[name]) for name in GOALS if name != "paused"}
    for name in ("complete", "blocked", "over_budget", "deciding", "waiting"):
        threads[name].until(name, 60)
    threads["paused"] = bot.goal(GOALS["paused"])
    threads["paused"].until_true(lambda look: bool(look.events("ToolEnded")), 30)
    threads["paused"].say("pause")
    threads["paused"].until("paused", 60)
    for name, event in (("streaming", "CallStarted"), ("in_a_tool", "ToolStarted")):
        threads[name].until_true(lambda look, event=event: bool(look.events(event)), 30)  # type: ignore[misc]
    bot.ask(do="settle")
    return threads


def _killed_in_the_middle(bot: Bot) -> None:
    """Kill the process while it answers many people at once."""
    assert bot.process is not None
    said = [
        Incoming(f"flood-{number}", room(), Speaker(WHO, WHO), "/goal list", time.time(), "")
        for number in range(FLOOD)
    ]
    RoomFile(room_path(bot.folder)).append(*(SaidLine(each) for each in said))
    end = time.monotonic() + 30
    while True:
        bot.process.send_signal(signal.SIGSTOP)
        # What its threads are in the middle of ends first.
        time.sleep(0.02)
        if all(_counted(bot)):
            break
        assert time.monotonic() < end, "The process was never in the middle of it: run this again."
        bot.process.send_signal(signal.SIGCONT)
        time.sleep(0.004)
    bot.process.kill()
    bot.process.wait(10)


def _counted(bot: Bot) -> list[int]:
    """Messages not handled, not sent, and on their way to the room."""
    with closing(sqlite3.connect(f"file:{bot.folder / 'headway.db'}?mode=ro", uri=True)) as found:
        queries = (
            "SELECT count(*) FROM inbox WHERE state = 'waiting'",
            "SELECT count(*) FROM outbox WHERE state = 'pending' AND key LIKE 'reply:flood%'",
            "SELECT count(*) FROM outbox WHERE state = 'claimed' AND kind = 'reply'",
        )
        return [found.execute(query).fetchone()[0] for query in queries]


def _keep(bot: Bot, threads: dict[str, Thread], out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    whole = bot.folder / "compact.db"
    with closing(sqlite3.connect(bot.folder / "headway.db", isolation_level=None)) as database:
        here = f"{socket.gethostname()}."
        database.execute("UPDATE lease SET worker = replace(worker, ?, 'host.')", (here,))
        database.execute("VACUUM INTO ?", (str(whole),))
        goals = dict(database.execute("SELECT thread, session.id FROM session").fetchall())
    for name, path in (("headway.db", whole), ("room.jsonl", room_path(bot.folder))):
        _compress(path, out / f"{name}.gz")
    ignored = shutil.ignore_patterns(*SCRATCH)
    shutil.copytree(bot.folder / "workspaces", out / "workspaces", ignore=ignored)
    for left in (*out.glob("workspaces/**/.*"), *out.glob("workspaces/*/*")):
        if left.is_dir() and not any(left.iterdir()):
            left.rmdir()
    for left in out.glob("workspaces/*"):
        if not any(left.iterdir()):
            left.rmdir()
    told: dict[str, Any] = {
        "schema": HEAD,
        "made_at": time.time(),
        "threads": {name: thread.id for name, thread in threads.items()},
        "sessions": {name: goals[thread.id] for name, thread in threads.items()},
    }
    (out / "made.json").write_text(json.dumps(told, indent=2) + "\n")


def _compress(path: Path, to: Path) -> None:
    # Without name and time: the same bytes give the same file.
    with to.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(path.read_bytes())


if __name__ == "__main__":
    main()
