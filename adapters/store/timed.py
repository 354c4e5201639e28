"""A database whose transactions are counted and timed, at about a microsecond each."""

from bisect import bisect_left
from collections.abc import Sequence
from time import perf_counter

from adapters.store.transaction import Database, Job, Outcome
from bot.errors import StoreBusy, StoreUnusable
from bot.ports.figures import BOUNDS_S, BOUNDS_UNITS, Commits


class Timed:
    """Port Database, around another one. `commits` may be read from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.commits = Commits()

    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        """As the database does it."""
        commits = self.commits
        began = commits.began = perf_counter()
        outcomes = self._database.transact(jobs)
        took, commits.began = perf_counter() - began, 0.0
        commits.took[bisect_left(BOUNDS_S, took)] += 1
        commits.took_s += took
        commits.held[bisect_left(BOUNDS_UNITS, len(jobs))] += 1
        commits.units += len(jobs)
        error = outcomes[0].error
        if error is not None and isinstance(error, StoreBusy | StoreUnusable):
            commits.failed += 1
        return outcomes

    def close(self) -> None:
        """As the database does it."""
        self._database.close()
