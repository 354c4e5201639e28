"""The contract of the sandbox port, on each sandbox there is."""

from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from bot.ports.sandbox import Sandbox
from tests.adapters.sandbox.engine import containers
from tests.contracts.background import BackgroundContract
from tests.contracts.sandbox import SandboxContract
from tests.doubles.sandbox import MemorySandbox


@pytest.mark.sandbox
class TestBubblewrap(SandboxContract, BackgroundContract):
    @pytest.fixture
    def sandbox(self, tmp_path: Path) -> Sandbox:
        return Bubblewrap(tmp_path / "workspaces")


@pytest.mark.sandbox
class TestContainers(SandboxContract, BackgroundContract):
    @pytest.fixture
    def sandbox(self, tmp_path: Path) -> Sandbox:
        return containers(tmp_path / "workspaces")


class TestUnconfined(SandboxContract, BackgroundContract):
    @pytest.fixture
    def sandbox(self, tmp_path: Path) -> Sandbox:
        return Unconfined(tmp_path / "workspaces")


class TestMemory(SandboxContract, BackgroundContract):
    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return MemorySandbox()
