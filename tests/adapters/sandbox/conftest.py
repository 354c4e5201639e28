"""A small sandbox, with limits that a test can reach."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.limits import MIB, Limits
from bot.ports.sandbox import Session

SMALL = Limits(
    workspace_bytes=24 * MIB,
    workspace_entries=3_000,
    tmp_bytes=8 * MIB,
    memory_bytes=512 * MIB,
    processes=60,
    read_bytes=1 * MIB,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the workspaces are."""
    return tmp_path / "workspaces"


@pytest.fixture
def sandbox(folder: Path) -> Bubblewrap:
    return Bubblewrap(folder, limits=SMALL)


@pytest.fixture
async def session(sandbox: Bubblewrap) -> AsyncIterator[Session]:
    opened = await sandbox.open("G1", "workspace")
    yield opened
    await opened.close()
