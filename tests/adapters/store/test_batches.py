"""What networks give is stored whole with its position, or not at all, however the process ends."""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.peers.postgres import Postgres

ROOT = Path(__file__).parents[3]
BATCH = 40

WRITER = """
import asyncio, sys
from itertools import count
from pathlib import Path

from adapters.clock import WallClock
from adapters.store.open import open_store
from bot.goals.limits import LIMITS
from bot.ports.chat import Attachment, Incoming, Place, Speaker
from bot.ports.positions import Position, Sealed

async def main(url, folder):
    place, ann = Place("matrix", "@bot:here", "!room"), Speaker("@ann:here", "ann")
    file = Attachment("a.txt", "text/plain", 1, "a" * 64)
    async with open_store(url, clock=WallClock(), limits=LIMITS, state_dir=Path(folder)) as store:
        since = int(await store.positions.position("matrix", "@bot:here") or 0)
        for n in count(since + 1):
            messages = [
                Incoming(f"${n}.{i}", place, ann, f"text {n} {i}", 1.0, files=(file,))
                for i in range(BATCH)
            ]
            sealed = Sealed(f"$sealed{n}", "!room", "megolm", "{}", 1.0)
            opened = (f"$sealed{n - 1}",)
            upto = Position("matrix", "@bot:here", str(n), (sealed,), opened)
            await store.inbox.receive_all(messages, upto)
            print(n, flush=True)

asyncio.run(main(*sys.argv[1:]))
""".replace("BATCH", str(BATCH))

TABLES = ("inbox", "attachment", "sealed_event")


def killed(url: str, folder: Path, after_s: float) -> None:
    """A process that stores batches, killed in the middle of one."""
    command = [sys.executable, "-c", WRITER, url, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline()
        time.sleep(after_s)
        process.kill()


def counted(run: Any) -> tuple[int, ...]:
    """The position, and how many rows there are of each kind."""
    row = run("SELECT token FROM network_position").fetchone()
    rows = (run(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES)
    return (int(row[0]) if row else 0, *rows)


def test_a_killed_batch_leaves_nothing_and_none_is_stored_twice(tmp_path: Path) -> None:
    url, seen = f"sqlite:///{tmp_path / 'headway.db'}", []

    for n in range(3):
        killed(url, tmp_path, 0.013 * n)
        with closing(sqlite3.connect(tmp_path / "headway.db")) as database:
            seen.append(counted(database.execute))

    for token, messages, files, sealed in seen:
        assert messages == files == BATCH * token
        assert sealed == min(token, 1)
    assert 0 < seen[0][0] < seen[1][0] < seen[2][0]


@pytest.mark.postgres
def test_a_killed_batch_leaves_nothing_on_postgres(
    postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database)

    killed(url, tmp_path, 0.013)

    end = time.monotonic() + 10
    with psycopg.connect(url, autocommit=True) as connection:
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        )
        while connection.execute(others).fetchone() != (0,) and time.monotonic() < end:
            time.sleep(0.05)
        token, messages, files, sealed = counted(connection.execute)
    assert token > 0
    assert messages == files == BATCH * token
    assert sealed == 1
