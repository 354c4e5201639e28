"""PostgreSQL keeps every contract of the store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.store.open import open_store
from bot.goals.limits import LIMITS
from tests.adapters.store.clocks import HandClock
from tests.adapters.store.conftest import SHIFTED, ShiftedTime
from tests.contracts.arrivals import ArrivalsContract, BatchContract
from tests.contracts.attachments import AttachmentsContract
from tests.contracts.checkpoints import CheckpointsContract
from tests.contracts.figures import FiguresContract
from tests.contracts.forgetting import ForgettingContract, RemovalContract, RetentionContract
from tests.contracts.hands import HandsContract
from tests.contracts.holds import HoldsContract
from tests.contracts.incidents import IncidentsContract
from tests.contracts.installs import InstallsContract, WaysBackContract
from tests.contracts.journal import JournalContract
from tests.contracts.leases import LeasesContract
from tests.contracts.mail import InboxContract, OutboxContract
from tests.contracts.mcp_servers import McpServersContract
from tests.contracts.people import DoorsContract, PeopleContract
from tests.contracts.permissions import PermissionsContract
from tests.contracts.positions import PositionsContract
from tests.contracts.repositories import RepositoriesContract
from tests.contracts.room_moves import RoomMovesContract
from tests.contracts.rooms import RoomsContract
from tests.contracts.roots import RootsContract
from tests.contracts.secret_uses import SecretUsesContract
from tests.contracts.secrets import sealing_in
from tests.contracts.stores import Bed
from tests.peers.postgres import Postgres

pytestmark = pytest.mark.postgres


@pytest.fixture
async def bed(postgres: Postgres, database: str, tmp_path: Path) -> AsyncIterator[Bed]:
    url = postgres.url(database, options=SHIFTED)
    sealing, _ = sealing_in(tmp_path)
    async with open_store(
        url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path / "state", sealing=sealing
    ) as store:
        bed = Bed(store, ShiftedTime(url))
        yield bed
        await bed.check()


class TestJournal(JournalContract): ...


class TestAttachments(AttachmentsContract): ...


class TestCheckpoints(CheckpointsContract): ...


class TestHands(HandsContract): ...


class TestLeases(LeasesContract): ...


class TestInbox(InboxContract): ...


class TestOutbox(OutboxContract): ...


class TestHolds(HoldsContract): ...


class TestIncidents(IncidentsContract): ...


class TestRooms(RoomsContract): ...


class TestPeople(PeopleContract): ...


class TestDoors(DoorsContract): ...


class TestFigures(FiguresContract): ...


class TestForgetting(ForgettingContract): ...


class TestRetention(RetentionContract): ...


class TestRemoval(RemovalContract): ...


class TestArrivals(ArrivalsContract): ...


class TestPositions(PositionsContract): ...


class TestPermissions(PermissionsContract): ...


class TestBatch(BatchContract): ...


class TestRoots(RootsContract): ...


class TestRepositories(RepositoriesContract): ...


class TestSecretUses(SecretUsesContract): ...


class TestRoomMoves(RoomMovesContract): ...


class TestInstalls(InstallsContract): ...


class TestWaysBack(WaysBackContract): ...


class TestMcpServers(McpServersContract): ...
