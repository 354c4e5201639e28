"""
A transaction as the store's jobs see it, on either database.

Rule 1: a job reads first and writes last, so that most of what fails has written nothing.
Rule 2: `now` is the store's clock: ours on SQLite, the database's on PostgreSQL.
Rule 3: a group of jobs is first tried without savepoints. If one fails after it has written, all is
        rolled back and the group is run again, each job in its own savepoint: so a job may be run
        more than once, and does nothing but in its transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from adapters.store.statements import Compiler, Connection, Reader, Statement, Writes

T = TypeVar("T")
Job = Callable[["Transaction"], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job: its result, or why nothing of it is written."""

    result: Any = None
    error: BaseException | None = None


class HalfDone(Exception):
    """A job failed after it had written: its group needs savepoints."""


@dataclass(frozen=True, slots=True)
class AfterCommit:
    """As a job's result: work on the writing connection that no transaction can hold (SQLite)."""

    work: Callable[[Connection], None]


class Transaction(Reader):
    """Reads and writes inside one transaction."""

    def __init__(
        self, connection: Connection, compiler: Compiler, now: Callable[[], float]
    ) -> None:
        super().__init__(connection, compiler)
        self.now = now
        self.has_written = False

    def run(self, statement: Statement, **parameters: Any) -> int:
        """Write at once, and return how many rows it met."""
        self.has_written = True
        return self.execute(statement, parameters).rowcount

    def write(self, writes: Writes) -> None:
        """Write what was gathered, in order."""
        self.has_written = True
        for statement, parameters in writes.rows:
            self.execute(statement, parameters)

    def alone(self, name: str) -> None:
        """Wait until no other transaction that asked for `name` is open. SQLite has one writer."""

    def beside(self, name: str) -> None:
        """Wait until no transaction that is `alone` with `name` is open, and keep new ones out."""


class Database(Protocol):
    """One database's way with transactions. Called from the writer's thread alone."""

    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs in one transaction and commit; what fails is undone alone.

        Never raises: each job has its outcome, and all have an error if the commit fails.
        """

    def close(self) -> None:
        """Let go of the connection."""
