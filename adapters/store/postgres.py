"""
PostgreSQL: several processes on one database, each with one writing connection.

Rule 1: a unit locks its goal's row first; a lost race (40001, 40P01) is run again.
Rule 2: a COMMIT whose answer never came is settled by asking the server what became of that
        transaction; its backend is ended first, so that it cannot commit afterwards.
Rule 3: while the server is out of reach callers wait, up to `BUSY_S`; then they are told.
Rule 4: times are the database's.

The first attempt at a group of jobs is pipelined and has no savepoints: jobs read before they write,
so one that is refused has written nothing. Only where the database itself refuses a row is the
group run again, each job in its own savepoint.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from adapters.store import schema
from adapters.store.statements import POSTGRES, Compiler, Reader, Statement
from adapters.store.transaction import HalfDone, Job, Outcome, Transaction
from bot.errors import HeadwayError, Refused, StoreBusy, StoreUnusable

T = TypeVar("T")
Connection = psycopg.Connection[Any]

BUSY_S: Final = 10.0
"""How long a caller waits for a server that is out of reach."""
PAUSE_S: Final = 0.05
PAUSE_MOST_S: Final = 0.5
CONNECT_S: Final = 5

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_CLOCK: Final = (
    "SELECT extract(epoch FROM clock_timestamp())::float8, pg_current_xact_id()::text,"
    " pg_backend_pid()"
)
_IS_THERE: Final = "SELECT to_regclass('alembic_version') IS NOT NULL"
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_BESIDE: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
_END_BACKEND: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE pid = %s AND backend_xid = %s::xid8::xid"
)
_STATUS: Final = "SELECT pg_xact_status(%s::xid8)"
_LOST_RACE: Final = (errors.SerializationFailure, errors.DeadlockDetected)


class Patience:
    """How long callers wait for a server that is out of reach."""

    def __init__(self, busy_s: float = BUSY_S) -> None:
        self.busy_s = busy_s

    def end(self) -> None:
        """Wait no more: whoever waits is told now."""
        self.busy_s = 0.0


class _Start:
    """A transaction's time, id and backend; read when first wanted, so that it costs no round trip."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self._row: tuple[float, str, int] | None = None

    def row(self) -> tuple[float, str, int]:
        """(seconds since 1970, transaction id, pid)."""
        if self._row is None:
            self._row = self._cursor.fetchone() or (0.0, "", 0)
        return self._row

    def now(self) -> float:
        """When the transaction began."""
        return self.row()[0]


class PostgresTransaction(Transaction):
    """A transaction whose writes may be on their way still."""

    pipeline: psycopg.Pipeline | None = None

    def run(self, statement: Statement, **parameters: Any) -> int:
        """Write at once, and return how many rows it met."""
        self.has_written = True
        cursor = self.execute(statement, parameters)
        if self.pipeline is not None:
            self.pipeline.sync()
        return cursor.rowcount

    def alone(self, name: str) -> None:
        """Wait until no other transaction that asked for `name` is open."""
        self.connection.execute(_ALONE, (name,)).fetchone()

    def beside(self, name: str) -> None:
        """Wait until no transaction that is `alone` with `name` is open, and keep new ones out."""
        self.connection.execute(_BESIDE, (name,)).fetchone()


class PostgresDatabase:
    """The writing connection, made anew whenever it is lost. Used on the writer's thread."""

    def __init__(self, url: str, patience: Patience | None = None) -> None:
        self._url = url
        self._patience = patience or Patience()
        self._compiler = Compiler(POSTGRES)
        self._connection: Connection | None = None
        self._start: _Start | None = None

    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs in one transaction and commit, again and again until it is known how."""
        try:
            return patiently(lambda: self._attempt(jobs), self._patience, self.close)
        except psycopg.Error as error:
            return [Outcome(error=translated(error))] * len(jobs)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _attempt(self, jobs: Sequence[Job]) -> list[Outcome]:
        connection = self._connection or connect(self._url)
        self._connection = connection
        try:
            outcomes = self._run(connection, jobs)
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise
        try:
            done = connection.execute("COMMIT", prepare=False).statusmessage
        except psycopg.OperationalError as error:
            if self._has_committed():
                return outcomes
            raise _again(error) from error
        if done != "COMMIT":
            raise errors.SerializationFailure("The transaction was given up.")
        return outcomes

    def _run(self, connection: Connection, jobs: Sequence[Job]) -> list[Outcome]:
        try:
            with connection.pipeline() as pipeline:
                start = self._begin(connection)
                outcomes = [self._bare(connection, job, start, pipeline) for job in jobs]
                start.row()
            return outcomes
        except (psycopg.Error, HalfDone) as error:
            if connection.closed or isinstance(error, _LOST_RACE):
                raise
            connection.execute("ROLLBACK")
        start = self._begin(connection)
        return [self._alone(connection, job, start) for job in jobs]

    def _begin(self, connection: Connection) -> _Start:
        connection.execute(_BEGIN)
        self._start = _Start(connection.execute(_CLOCK))
        return self._start

    def _bare(
        self, connection: Connection, job: Job, start: _Start, pipeline: psycopg.Pipeline
    ) -> Outcome:
        tx = PostgresTransaction(connection, self._compiler, start.now)
        tx.pipeline = pipeline
        try:
            return Outcome(job(tx))
        except psycopg.Error:
            raise
        except Exception as error:
            if tx.has_written:
                raise HalfDone from error
            return Outcome(error=error)

    def _alone(self, connection: Connection, job: Job, start: _Start) -> Outcome:
        connection.execute("SAVEPOINT unit")
        try:
            result = job(PostgresTransaction(connection, self._compiler, start.now))
        except Exception as error:
            if connection.closed or isinstance(error, _LOST_RACE):
                raise
            connection.execute("ROLLBACK TO SAVEPOINT unit")
            connection.execute("RELEASE SAVEPOINT unit")
            is_driver = isinstance(error, psycopg.Error)
            return Outcome(error=translated(error) if is_driver else error)
        connection.execute("RELEASE SAVEPOINT unit")
        return Outcome(result)

    def _has_committed(self) -> bool:
        """What became of the last COMMIT. Raises psycopg.Error when nobody can tell."""
        assert self._start is not None
        _, xid, pid = self._start.row()
        self.close()

        def ask() -> bool:
            connection = self._connection = self._connection or connect(self._url)
            connection.execute(_END_BACKEND, (pid, xid))
            [status] = connection.execute(_STATUS, (xid,)).fetchone() or ("aborted",)
            if status == "in progress":
                raise errors.LockNotAvailable("The last transaction is still in progress.")
            return bool(status == "committed")

        return patiently(ask, self._patience, self.close)


class PostgresSource:
    """Connections for readers: each read is one snapshot."""

    is_near = False

    def __init__(self, url: str, patience: Patience | None = None) -> None:
        self._url = url
        self._patience = patience or Patience()
        self._compiler = Compiler(POSTGRES)

    def reader(self) -> Reader:
        """A new connection."""
        try:
            return Reader(patiently(lambda: connect(self._url), self._patience), self._compiler)
        except psycopg.Error as error:
            raise translated(error) from error

    def read(self, reader: Reader, query: Callable[[Reader], T]) -> T:
        """Run `query` in one snapshot; on a lost connection again, on a new one."""

        def attempt() -> T:
            if getattr(reader.connection, "closed", True):
                reader.connection = connect(self._url)
            reader.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                return query(reader)
            finally:
                if not getattr(reader.connection, "closed", True):
                    reader.connection.execute("ROLLBACK")

        try:
            return patiently(attempt, self._patience, lambda: self.drop(reader))
        except psycopg.Error as error:
            raise translated(error) from error

    def drop(self, reader: Reader) -> None:
        """Close it."""
        if isinstance(reader.connection, psycopg.Connection):
            with suppress(psycopg.Error):
                reader.connection.close()


def open_postgres(
    url: str, patience: Patience | None = None, before: Callable[[], object] = lambda: None
) -> tuple[PostgresDatabase, PostgresSource]:
    """Reach the server and migrate the database, one process at a time; an older one after `before`.

    Raises:
        StoreBusy: the server is out of reach.
        StoreUnusable: it refuses us, or the database is newer.
    """
    patience = patience or Patience()
    try:
        connection = patiently(lambda: connect(url), patience)
        with connection:
            connection.execute("SELECT pg_advisory_lock(hashtext('headway.schema'))")
            found = version_of(connection)
            if schema.needs_migration(found, f"The database {connection.info.dbname}"):
                if found is not None:
                    before()
                _migrate(url)
    except psycopg.Error as error:
        raise translated(error) from error
    return PostgresDatabase(url, patience), PostgresSource(url, patience)


def connect(url: str) -> Connection:
    """A connection in autocommit: transactions are begun by name."""
    return psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=CONNECT_S,
        application_name="headway",
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=3,
    )


def version_of(connection: Connection) -> str | None:
    """The version of the database's schema; None where it has no tables."""
    [is_there] = connection.execute(_IS_THERE).fetchone() or (False,)
    row = connection.execute(schema.VERSION_SQL).fetchone() if is_there else None
    return None if row is None else str(row[0])


def patiently(
    attempt: Callable[[], T], patience: Patience, between: Callable[[], None] = lambda: None
) -> T:
    """Call `attempt` until it gets through: again at once, then waiting longer each time.

    As long as the patience lasts, at most.

    Raises:
        psycopg.Error: it never did, or never will.
    """
    began = time.monotonic()
    pause = 0.0
    while True:
        try:
            return attempt()
        except psycopg.Error as error:
            if not _passes(error) or time.monotonic() + pause > began + patience.busy_s:
                raise
            if isinstance(error, _LOST_RACE):
                continue
            between()
        time.sleep(pause)
        pause = min(max(2 * pause, PAUSE_S), PAUSE_MOST_S)


def translated(error: BaseException) -> HeadwayError:
    """Our error for the driver's: what happened, then the mend."""
    ours: HeadwayError
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, errors.UniqueViolation) and "one_live_goal" in str(error):
        ours = Refused("This thread has a live goal already: end it first.", code="one_goal")
    elif isinstance(error, psycopg.Error) and _passes(error):
        ours = StoreBusy(
            f"PostgreSQL is out of reach ({said}): start it, or check HEADWAY_DATABASE.",
            retry_after_s=1.0,
        )
    else:
        mend = next((mend for kinds, mend in _MENDS if isinstance(error, kinds)), _REPORT)
        ours = StoreUnusable(f"PostgreSQL refuses the store ({said}): {mend}.")
    ours.__cause__ = error
    return ours


_REPORT: Final = "look at it with `headway doctor`"
_MENDS: Final[tuple[tuple[tuple[type[BaseException], ...], str], ...]] = (
    ((errors.DiskFull,), "free some space on its disk"),
    ((errors.ReadOnlySqlTransaction,), "give the address of the primary, not of a replica"),
    ((errors.UndefinedTable,), "`headway run` or `headway chat` makes its tables"),
    ((errors.InsufficientPrivilege,), "give this user rights on the database"),
    ((errors.InvalidAuthorizationSpecification,), "check user and password in the URL"),
    ((errors.DataCorrupted, errors.IndexCorrupted), "restore the last backup"),
    ((psycopg.OperationalError,), "check user, password and database name in the URL"),
    ((psycopg.IntegrityError,), "report this, a row broke a rule of the schema"),
)
_NEVER: Final = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password")
"""What libpq says of a connection that no waiting will mend; it gives no code for it."""


def _passes(error: psycopg.Error) -> bool:
    if isinstance(error, (*_LOST_RACE, errors.LockNotAvailable, errors.QueryCanceled)):
        return True
    if isinstance(error, errors.DiskFull | errors.ConfigurationLimitExceeded):
        return False
    return isinstance(error, psycopg.OperationalError) and not any(
        word in str(error) for word in _NEVER
    )


def _again(error: psycopg.Error) -> psycopg.Error:
    return errors.SerializationFailure(f"The COMMIT did not take effect: {error}")


def _migrate(url: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool
    )
    try:
        with engine.begin() as connection:
            schema.migrate(connection)
    except DBAPIError as error:
        raise translated(error.orig or error) from error
