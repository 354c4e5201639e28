"""The contract of the port Snapshots, over the double and over the folder with real sandboxes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from adapters.snapshots.folder import SnapshotFolder
from bot.ports.sandbox import Sandbox, Session
from bot.ports.snapshots import Snapshots
from tests.contracts.snapshots import QUOTA, SnapshotsContract
from tests.doubles.sandbox import MemorySandbox
from tests.doubles.snapshots import MemorySnapshots


class _OverSandbox(SnapshotsContract):
    @pytest.fixture
    async def session(self, sandbox: Sandbox) -> AsyncIterator[Session]:
        opened = await sandbox.open("G1", "workspace")
        yield opened
        await opened.close()


class TestMemory(_OverSandbox):
    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return MemorySandbox()

    @pytest.fixture
    def snapshots(self) -> Snapshots:
        return MemorySnapshots(most_bytes=QUOTA)


class TestFolderOverMemory(_OverSandbox):
    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return MemorySandbox()

    @pytest.fixture
    def snapshots(self, tmp_path: Path) -> Snapshots:
        return SnapshotFolder(tmp_path / "snapshots", most_bytes=QUOTA, free_least=0)


@pytest.mark.sandbox
class TestFolderOverBubblewrap(_OverSandbox):
    @pytest.fixture
    def sandbox(self, tmp_path: Path) -> Sandbox:
        return Bubblewrap(tmp_path / "workspaces")

    @pytest.fixture
    def snapshots(self, tmp_path: Path) -> Snapshots:
        return SnapshotFolder(tmp_path / "snapshots", most_bytes=QUOTA, free_least=0)


class TestFolderOverNone(_OverSandbox):
    @pytest.fixture
    def sandbox(self, tmp_path: Path) -> Sandbox:
        return Unconfined(tmp_path / "workspaces")

    @pytest.fixture
    def snapshots(self, tmp_path: Path) -> Snapshots:
        return SnapshotFolder(tmp_path / "snapshots", most_bytes=QUOTA, free_least=0)
