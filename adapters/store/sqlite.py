"""
SQLite: one owner, one writing connection which also checkpoints the WAL, readers that only read.

Rule 1: whoever writes holds the flock on `DATABASE.lock` for its life; the file names its pid.
Rule 2: every COMMIT is on the disk when it returns (WAL, synchronous=FULL).
"""

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from sqlalchemy import NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from adapters.store import schema
from adapters.store.copies import Told, keep_before, nobody
from adapters.store.due import void_claims
from adapters.store.installs import void_charges
from adapters.store.leases import void_leases
from adapters.store.statements import SQLITE, Compiler, Reader
from adapters.store.transaction import AfterCommit, HalfDone, Job, Outcome, Transaction
from bot.errors import HeadwayError, StoreBusy, StoreUnusable
from bot.ports.clock import Clock

log = logging.getLogger(__name__)
T = TypeVar("T")

BUSY_MS: Final = 5_000
CHECK_S: Final = 2.0
"""The integrity check at the start looks no longer than this."""
WAL_PAGES: Final = 4_000
WAL_KEPT_BYTES: Final = 64 * 1024 * 1024
CACHE_KIB: Final = 64 * 1024

_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={BUSY_MS}",
    f"PRAGMA wal_autocheckpoint={WAL_PAGES}",
    f"PRAGMA journal_size_limit={WAL_KEPT_BYTES}",
    f"PRAGMA cache_size=-{CACHE_KIB}",
)


class Ownership:
    """The right to write a database file, held by this process until it is let go."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".lock")
        self._file: int | None = None

    def __enter__(self) -> "Ownership":
        """Take it.

        Raises:
            StoreUnusable: another process has it (its pid is named), or the folder is closed to us.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnusable(
                f"{self._path} cannot be opened ({error.strerror}): "
                "give this user write access to its folder."
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise StoreUnusable(
                f"Another process (pid {pid}) owns {self._path.with_suffix('')}: "
                "stop it, or give this one a state folder of its own."
            ) from error
        self._file = file
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            self.__exit__(None, None, None)
            raise StoreUnusable(
                f"{self._path} cannot be written ({error.strerror}): free some space on its disk."
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let it go; the file stays, so that nobody locks one that is about to vanish."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class SqliteDatabase:
    """The writing connection. Opened on one thread, used on the writer's alone."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._compiler = Compiler(SQLITE)
        self._clock = clock
        self.connection = opened(path)
        self._wal = path.with_name(f"{path.name}-wal")
        self._inodes: dict[Path, int] = {}

    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs in one transaction and commit; what fails is undone alone.

        SQLite goes on with files that were removed or replaced under it, and all that it writes is
        lost at its end. Here it is told, and what is in the WAL is brought home while it can be.
        """
        if not self._is_whole():
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            gone = StoreUnusable(
                f"{self._path} or its WAL was removed or replaced while it was in use: put it back "
                "if you moved it, and start Headway again."
            )
            return [Outcome(error=gone)] * len(jobs)
        try:
            outcomes = self._run(jobs)
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            return [Outcome(error=translated(error, self._path))] * len(jobs)
        return [self._after(outcome) for outcome in outcomes]

    def close(self) -> None:
        """Bring the WAL home and close."""
        with suppress(sqlite3.Error):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()

    def _after(self, outcome: Outcome) -> Outcome:
        if type(outcome.result) is not AfterCommit:
            return outcome
        try:
            outcome.result.work(self.connection)
        except (sqlite3.Error, HeadwayError) as error:
            ours = isinstance(error, HeadwayError)
            return Outcome(error=error if ours else translated(error, self._path))
        return Outcome()

    def _is_whole(self) -> bool:
        for path in (self._path, self._wal):
            try:
                inode = path.stat().st_ino
            except FileNotFoundError:
                inode = 0
            except OSError:
                continue
            if inode:
                self._inodes.setdefault(path, inode)
            if self._inodes.get(path, inode) != inode:
                return False
        return True

    def _run(self, jobs: Sequence[Job]) -> list[Outcome]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            return [self._bare(job) for job in jobs]
        except HalfDone:
            self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN IMMEDIATE")
        return [self._alone(job) for job in jobs]

    def _bare(self, job: Job) -> Outcome:
        tx = Transaction(self.connection, self._compiler, self._clock.now)
        try:
            return Outcome(job(tx))
        except Exception as error:
            if not self.connection.in_transaction:
                # SQLite gave the whole transaction up (a full disk, an I/O error): all have lost.
                raise
            if tx.has_written:
                raise HalfDone from error
            is_driver = isinstance(error, sqlite3.Error)
            return Outcome(error=translated(error, self._path) if is_driver else error)

    def _alone(self, job: Job) -> Outcome:
        connection = self.connection
        connection.execute("SAVEPOINT unit")
        try:
            result = job(Transaction(connection, self._compiler, self._clock.now))
        except Exception as error:
            if not connection.in_transaction:
                # SQLite gave the whole transaction up (a full disk, an I/O error): all have lost.
                raise
            connection.execute("ROLLBACK TO unit")
            connection.execute("RELEASE unit")
            is_driver = isinstance(error, sqlite3.Error)
            return Outcome(error=translated(error, self._path) if is_driver else error)
        connection.execute("RELEASE unit")
        return Outcome(result)


class SqliteSource:
    """Read-only connections to the same file."""

    is_near = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._compiler = Compiler(SQLITE)

    def reader(self) -> Reader:
        """A new read-only connection."""
        try:
            return Reader(opened(self._path, read_only=True), self._compiler)
        except sqlite3.Error as error:
            raise translated(error, self._path) from error

    def read(self, reader: Reader, query: Callable[[Reader], T]) -> T:
        """Run `query` in one snapshot."""
        connection = reader.connection
        try:
            connection.execute("BEGIN")
            try:
                return query(reader)
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise translated(error, self._path) from error

    def drop(self, reader: Reader) -> None:
        """Close it."""
        connection = reader.connection
        if isinstance(connection, sqlite3.Connection):
            connection.close()


def open_sqlite(
    stack: AsyncExitStack, path: Path, clock: Clock
) -> tuple[SqliteDatabase, SqliteSource]:
    """Own the file until `stack` is left; check it, migrate it, void its former owner's leases.

    Raises:
        StoreBusy, StoreUnusable.
    """
    stack.enter_context(Ownership(path))
    try:
        database = SqliteDatabase(path, clock)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    try:
        check(database.connection, path)
        migrate(database.connection, path)
        [outcome] = database.transact(
            [lambda tx: (void_leases(tx), void_claims(tx), void_charges(tx))]
        )
        if outcome.error is not None:
            raise outcome.error
    except BaseException:
        database.close()
        raise
    return database, SqliteSource(path)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Look the file over for damage, for a bounded time.

    Raises:
        StoreUnusable: it is damaged, or no SQLite database at all.
    """
    until = time.monotonic() + CHECK_S
    connection.set_progress_handler(lambda: time.monotonic() > until, 100_000)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise translated(error, path) from error
        return
    except sqlite3.Error as error:
        raise translated(error, path) from error
    finally:
        connection.set_progress_handler(None, 0)
    if found != [("ok",)]:
        raise StoreUnusable(f"{path} is damaged ({found[0][0]}): restore the last backup.")


def translated(error: BaseException, path: Path) -> HeadwayError:
    """Our error for the driver's: what happened, then the mend."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        ours: HeadwayError = StoreBusy(
            f"{path} is locked by another program for longer than {BUSY_MS // 1000} s: "
            "close what else has it open.",
            retry_after_s=1.0,
        )
    else:
        what, mend = _SAID.get(
            code, (f"cannot be used ({error})", "look at it with `headway doctor`")
        )
        ours = StoreUnusable(f"{path} {what}: {mend}.")
    ours.__cause__ = error
    return ours


def migrate(connection: sqlite3.Connection, path: Path, told: Told | None = nobody) -> Path | None:
    """Bring the database to today's schema; an older one is copied first, and `told` how far that is.

    Returns the copy's path. Without `told` there is no copy: another one is there.

    Raises:
        StoreBusy, StoreUnusable: it is newer, or there is no space for the copy.
    """
    try:
        found = schema.version_in_sqlite(connection)
        if not schema.needs_migration(found, str(path)):
            return None
    except sqlite3.Error as error:
        raise translated(error, path) from error
    kept = None
    if found is not None and told is not None:
        kept = keep_before(path, schema.HEAD, translated, told)
    engine = create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"isolation_level": None}
    )
    event.listen(engine, "begin", lambda sql: sql.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as alembics:
            schema.migrate(alembics)
    except DBAPIError as error:
        raise translated(error.orig or error, path) from error
    if kept is not None:
        log.warning(
            "%s was of schema %s and is of %s now; as it was: %s", path, found, schema.HEAD, kept
        )
    return kept


_RESTORE: Final = "move it away and restore the last backup"
_SAID: Final[dict[int, tuple[str, str]]] = {
    sqlite3.SQLITE_FULL: ("cannot grow, the disk is full", "free some space"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "check the disk and its free space"),
    sqlite3.SQLITE_READONLY: ("is read-only", "give this user write access to it and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check that the path is right and readable"),
    sqlite3.SQLITE_PERM: ("cannot be opened", "give this user access to it"),
    sqlite3.SQLITE_AUTH: ("cannot be opened", "give this user access to it"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", _RESTORE),
    sqlite3.SQLITE_NOTADB: ("is not a database", _RESTORE),
    sqlite3.SQLITE_CONSTRAINT: ("refused a row that breaks a rule of the schema", "report this"),
}


def opened(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit: transactions are begun by name."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        timeout=BUSY_MS / 1000,
    )
    try:
        for pragma in _PRAGMAS[3:4] if read_only else _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
