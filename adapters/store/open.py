"""Opens a store by its URL: migrates it, makes sure that it is ours, and closes it again."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adapters.store.attachments import StoreAttachments
from adapters.store.checkpoints import StoreCheckpoints
from adapters.store.doors import StoreDoors
from adapters.store.figures import StoreFigures
from adapters.store.forgetting import StoreForgetting
from adapters.store.holds import StoreHolds
from adapters.store.inbox import StoreInbox
from adapters.store.incidents import StoreIncidents
from adapters.store.installs import StoreInstalls
from adapters.store.journal import StoreJournal
from adapters.store.leases import LEASE_S, StoreLeases
from adapters.store.mcp_servers import StoreMcpServers
from adapters.store.outbox import StoreOutbox
from adapters.store.people import StorePeople
from adapters.store.permissions import StorePermissions
from adapters.store.positions import StorePositions
from adapters.store.readers import Readers, Source
from adapters.store.records import StoreRecords
from adapters.store.repositories import StoreRepositories
from adapters.store.restored import StoreRestores
from adapters.store.retention import StoreRetention
from adapters.store.rooms import StoreRooms
from adapters.store.scrub import StoreScrub
from adapters.store.secret_uses import StoreSecretUses
from adapters.store.secrets import StoreSecrets
from adapters.store.spending import StoreSpending
from adapters.store.tallies import NO_GUARD, Guard
from adapters.store.timed import Timed
from adapters.store.transaction import Database
from adapters.store.version import StoreVersion
from adapters.store.ways_back import StoreWaysBack
from adapters.store.writer import Writer
from bot.errors import BadSettings
from bot.goals.limits import Limits
from bot.ports.clock import Clock
from bot.ports.figures import Commits
from bot.ports.secrets import Sealing

SQLITE: Final = "sqlite:///"
POSTGRES: Final = ("postgresql://", "postgresql+psycopg://", "postgres://")


@dataclass(frozen=True, slots=True)
class Store:
    """Every port of the store, over one database."""

    journal: StoreJournal
    leases: StoreLeases
    inbox: StoreInbox
    outbox: StoreOutbox
    rooms: StoreRooms
    records: StoreRecords
    spending: StoreSpending
    secrets: StoreSecrets
    figures: StoreFigures
    people: StorePeople
    permissions: StorePermissions
    doors: StoreDoors
    positions: StorePositions
    attachments: StoreAttachments
    checkpoints: StoreCheckpoints
    installs: StoreInstalls
    ways_back: StoreWaysBack
    mcp_servers: StoreMcpServers
    holds: StoreHolds
    incidents: StoreIncidents
    forgetting: StoreForgetting
    retention: StoreRetention
    scrub: StoreScrub
    restores: StoreRestores
    repositories: StoreRepositories
    secret_uses: StoreSecretUses
    version: StoreVersion
    writer: Writer
    commits: Commits
    hurry: Callable[[], None]
    """From now on nobody waits for a database that is out of reach."""


@asynccontextmanager
async def open_store(
    url: str,
    *,
    clock: Clock,
    limits: Limits,
    state_dir: Path,
    lease_s: float = LEASE_S,
    home: str = "",
    sealing: Sealing | None = None,
    guard: Guard = NO_GUARD,
    before: Callable[[], object] = lambda: None,
) -> AsyncIterator[Store]:
    """Open the database at `url`, migrated and ready, for as long as the context lasts.

    `sqlite:///FILE` is relative to `state_dir`; `sqlite:////FILE` is absolute. PostgreSQL's URLs
    are psycopg's. On SQLite the leases and claims of the former owner are void. `home` names the
    folder of this process's workspaces, where others share the database. `sealing` has the keys
    of its secrets; without it none is opened. `guard`: the caps, and how many goals may be live.
    `before` keeps a copy before an older PostgreSQL is migrated; of SQLite one is kept beside.

    Raises:
        BadSettings: no such kind of database.
        StoreBusy, StoreUnusable: unreadable, newer, out of reach, or owned by another process.
    """
    async with AsyncExitStack() as stack:
        database, source, hurry = _connected(stack, url, clock, state_dir, before)
        timed = Timed(database)
        writer = Writer(timed)
        stack.push_async_callback(writer.close)
        readers = Readers(source)
        stack.push_async_callback(readers.close)
        journal = StoreJournal(writer, readers, limits, guard)
        yield Store(
            journal=journal,
            leases=StoreLeases(writer, readers, lease_s, home),
            inbox=StoreInbox(writer, readers),
            outbox=StoreOutbox(writer),
            rooms=StoreRooms(writer, readers, journal.forget_bounds),
            records=StoreRecords(readers),
            spending=StoreSpending(writer, readers, limits, guard, clock.now),
            secrets=StoreSecrets(writer, readers, sealing),
            figures=StoreFigures(readers, clock.now),
            permissions=StorePermissions(writer, readers, clock.now),
            installs=StoreInstalls(writer, readers, sealing),
            holds=StoreHolds(writer, readers, journal.apply),
            incidents=StoreIncidents(writer, readers),
            forgetting=StoreForgetting(writer, readers),
            retention=StoreRetention(writer, readers),
            scrub=StoreScrub(writer),
            restores=StoreRestores(readers),
            secret_uses=StoreSecretUses(writer, readers, sealing),
            version=StoreVersion(readers),
            writer=writer,
            commits=timed.commits,
            hurry=hurry,
            **_plain_ports(writer, readers),
        )


def _plain_ports(writer: Writer, readers: Readers) -> dict[str, Any]:
    """Ports that stand on nothing but the database."""
    return {
        "attachments": StoreAttachments(readers),
        "checkpoints": StoreCheckpoints(writer, readers),
        "doors": StoreDoors(writer, readers),
        "mcp_servers": StoreMcpServers(writer, readers),
        "people": StorePeople(writer, readers),
        "positions": StorePositions(writer, readers),
        "repositories": StoreRepositories(writer, readers),
        "ways_back": StoreWaysBack(writer, readers),
    }


def is_shared(url: str) -> bool:
    """Whether several processes may work on the database at `url`."""
    return url.startswith(POSTGRES)


def file_of(url: str, state_dir: Path) -> Path:
    """The file of the SQLite database at `url`."""
    return state_dir / url.removeprefix(SQLITE)


def address_of(url: str) -> str:
    """The URL of a PostgreSQL database as psycopg has it."""
    return "postgresql://" + url.partition("://")[2]


def unknown_kind(url: str) -> BadSettings:
    """What is said of a URL that is no known kind of database's."""
    kind = url.partition(":")[0]
    return BadSettings(
        f"{kind!r} is no kind of database that is known here: "
        "give sqlite:///FILE or postgresql://USER@HOST/NAME."
    )


def _connected(
    stack: AsyncExitStack,
    url: str,
    clock: Clock,
    state_dir: Path,
    before: Callable[[], object],
) -> tuple[Database, Source, Callable[[], None]]:
    if url.startswith(SQLITE):
        from adapters.store.sqlite import open_sqlite

        return *open_sqlite(stack, file_of(url, state_dir), clock), lambda: None
    if url.startswith(POSTGRES):
        from adapters.store.postgres import Patience, open_postgres

        patience = Patience()
        return *open_postgres(address_of(url), patience, before), patience.end
    raise unknown_kind(url)
