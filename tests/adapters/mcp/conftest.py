"""A bed for each test, which leaves no process behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.mcp.bed import Bed


@pytest.fixture
async def bed(tmp_path: Path) -> AsyncIterator[Bed]:
    """A toolbox over an empty folder."""
    bed = Bed(tmp_path)
    yield bed
    await bed.box.close()
