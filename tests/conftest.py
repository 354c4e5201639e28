"""Peers that are slow to start: one of each for all tests of a process, made when first asked for."""

import os

from hypothesis import settings

from tests.peers.matrix_fixtures import matrix_olm_people, matrix_people, stock_synapse, synapse

__all__ = ["matrix_olm_people", "matrix_people", "stock_synapse", "synapse"]

# A test that names its own number keeps it. How long one example takes is the machine's business.
settings.register_profile("sample", max_examples=40, deadline=None)
settings.register_profile("full", max_examples=200, deadline=None)
settings.load_profile("full" if os.environ.get("TEST_FULL") else "sample")
