"""The in-memory double keeps every contract of the store."""

from collections.abc import AsyncIterator

import pytest

from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.arrivals import ArrivalsContract
from tests.contracts.attachments import AttachmentsContract
from tests.contracts.checkpoints import CheckpointsContract
from tests.contracts.forgetting import RemovalContract
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
from tests.contracts.stores import Bed
from tests.doubles.store import MemoryStore


@pytest.fixture
async def bed() -> AsyncIterator[Bed]:
    clock = HandClock()
    bed = Bed(MemoryStore(clock), HandTime(clock))
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


class TestRemoval(RemovalContract): ...


class TestArrivals(ArrivalsContract): ...


class TestPositions(PositionsContract): ...


class TestPermissions(PermissionsContract): ...


class TestRoots(RootsContract): ...


class TestRepositories(RepositoriesContract): ...


class TestSecretUses(SecretUsesContract): ...


class TestRoomMoves(RoomMovesContract): ...


class TestInstalls(InstallsContract): ...


class TestWaysBack(WaysBackContract): ...


class TestMcpServers(McpServersContract): ...
