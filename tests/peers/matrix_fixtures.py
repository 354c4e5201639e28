"""Fixtures of the Matrix beds; a `conftest.py` imports those that its tests ask for."""

from collections.abc import Iterator

import pytest

from tests.peers.matrix_user import People, olm_people, people
from tests.peers.synapse import Synapse, private_synapse


@pytest.fixture(scope="session")
def synapse() -> Iterator[Synapse]:
    """A homeserver without rate limits; restarted, it is the same one, so leave it running."""
    with private_synapse() as server:
        yield server


@pytest.fixture(scope="session")
def stock_synapse() -> Iterator[Synapse]:
    """A homeserver with the rate limits that it has when nobody chose any."""
    with private_synapse("stock") as server:
        yield server


@pytest.fixture(scope="session")
def matrix_people() -> Iterator[People]:
    """Plays any number of people with matrix-js-sdk; each test logs its own in."""
    with people() as crowd:
        yield crowd


@pytest.fixture(scope="session")
def matrix_olm_people() -> Iterator[People]:
    """Plays any number of people with mautrix and libolm; there is none for Python 3.13."""
    with olm_people() as crowd:
        yield crowd
