"""
No byte of what was blanked stays in the database's files.

SQLite leaves what was there before in free pages, in the gaps between cells, and in the WAL; writing the
file anew (VACUUM) and cutting the WAL takes them away. On PostgreSQL dead rows go with autovacuum, and
the WAL with the server's own retention.
"""

import sqlite3
from typing import Final

from adapters.store.statements import Connection
from adapters.store.transaction import AfterCommit, Transaction
from adapters.store.writer import Writer
from bot.errors import StoreBusy

TRIES: Final = 3


class StoreScrub:
    """Port Scrub."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def __call__(self) -> None:
        """Write the file anew. Whoever wants to write waits meanwhile: a second for some 200 MB.

        Raises:
            StoreBusy: another program reads the old state of the file and does not end.
        """

        def job(tx: Transaction) -> AfterCommit | None:
            is_sqlite = isinstance(tx.connection, sqlite3.Connection)
            return AfterCommit(_written_anew) if is_sqlite else None

        await self._writer.do(job)


def _written_anew(connection: Connection) -> None:
    connection.execute("PRAGMA secure_delete=OFF")
    connection.execute("VACUUM")
    for _ in range(TRIES):
        [is_busy, _, _] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:
            return
    raise StoreBusy("The database's log is read by another program: close what has it open.")
