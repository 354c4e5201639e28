"""Peers that are slow to start: one of each for all tests of a process, made when first asked for."""

from tests.peers.matrix_fixtures import matrix_olm_people, matrix_people, stock_synapse, synapse

__all__ = ["matrix_olm_people", "matrix_people", "stock_synapse", "synapse"]
