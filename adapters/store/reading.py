"""The database for reading alone, whether or not another process owns it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

from adapters.store import schema
from adapters.store.checkpoints import StoreCheckpoints
from adapters.store.figures import StoreFigures
from adapters.store.holds import StoreHolds
from adapters.store.incidents import StoreIncidents
from adapters.store.installs import StoreInstalls
from adapters.store.journal import StoreJournal
from adapters.store.open import POSTGRES, SQLITE, address_of, file_of
from adapters.store.people import StorePeople
from adapters.store.positions import StorePositions
from adapters.store.readers import Readers, Source
from adapters.store.records import StoreRecords
from adapters.store.restored import StoreRestores
from adapters.store.secrets import StoreSecrets
from adapters.store.spending import StoreSpending
from adapters.store.statements import Reader
from adapters.store.tallies import NO_GUARD
from adapters.store.transaction import Job, Outcome
from adapters.store.writer import Writer
from bot.errors import Ours, StoreUnusable
from bot.goals.limits import LIMITS
from bot.ports.secrets import Sealing


@dataclass(frozen=True, slots=True)
class Reading:
    """What projections need: rows, and the texts that belong to them."""

    records: StoreRecords
    spending: StoreSpending
    journal: StoreJournal
    figures: StoreFigures
    secrets: StoreSecrets
    restores: StoreRestores
    holds: StoreHolds
    incidents: StoreIncidents
    people: StorePeople
    positions: StorePositions
    installs: StoreInstalls
    checkpoints: StoreCheckpoints


@asynccontextmanager
async def open_for_reading(
    url: str, *, state_dir: Path, sealing: Sealing | None = None
) -> AsyncIterator[Reading]:
    """Open the database at `url` read-only for as long as the context lasts.

    Raises:
        StoreBusy, StoreUnusable: there is none yet, or it cannot be read.
    """
    readers = Readers(_source(url, state_dir))
    writer = Writer(_NoWriting())
    try:
        await readers.do(_refuse_other_version)
        journal = StoreJournal(writer, readers, LIMITS)
        secrets = StoreSecrets(writer, readers, sealing)
        figures, restores = StoreFigures(readers), StoreRestores(readers)
        holds, incidents = (
            StoreHolds(writer, readers, journal.apply),
            StoreIncidents(writer, readers),
        )
        spending = StoreSpending(writer, readers, LIMITS, NO_GUARD, time)
        people, records = StorePeople(writer, readers), StoreRecords(readers)
        positions = StorePositions(writer, readers)
        installs = StoreInstalls(writer, readers, sealing)
        yield Reading(
            records, spending, journal, figures, secrets, restores, holds, incidents, people,
            positions, installs, StoreCheckpoints(writer, readers),
        )  # fmt: skip
    finally:
        await writer.close()
        await readers.close()


def _refuse_other_version(reader: Reader) -> None:
    """Rows of another version may not mean what they seem to."""
    [found] = reader.connection.execute(schema.VERSION_SQL).fetchone()
    if schema.needs_migration(found, "The database"):
        raise StoreUnusable(
            f"The database has schema {found}, which is older than this Headway: `headway run` "
            "backs it up and migrates it."
        )


class _NoWriting:
    def transact(self, jobs: Sequence[Job]) -> list[Outcome]:
        error = Ours("This connection reads only.")
        return [Outcome(error=error)] * len(jobs)

    def close(self) -> None:
        pass


def _source(url: str, state_dir: Path) -> Source:
    if url.startswith(SQLITE):
        from adapters.store.sqlite import SqliteSource

        path = file_of(url, state_dir)
        if not path.is_file():
            raise StoreUnusable(
                f"There is no database {path} yet. `headway chat` or `headway run` makes it; "
                "--state-dir names another folder."
            )
        return SqliteSource(path)
    assert url.startswith(POSTGRES)
    from adapters.store.postgres import PostgresSource

    return PostgresSource(address_of(url))
