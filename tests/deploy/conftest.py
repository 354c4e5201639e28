"""A service manager with a model server beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.manager import Manager
from tests.peers.messages_api import BY_OBJECTIVE, started


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with started(BY_OBJECTIVE) as api:
        made = Manager(tmp_path, api)
        yield made
        made.close()
