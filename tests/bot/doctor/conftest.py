"""A healthy installation, and a PostgreSQL, for the tests of the doctor."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.doctor.patient import MODELS, Patient
from tests.peers.messages_api import KEY, BlockingMessagesApi, started
from tests.peers.postgres import Postgres, private_postgres


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    models = ("--models", ",".join(MODELS))
    with started("adapters.rehearsal.demo:script", *models) as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with private_postgres() as running:
        yield running


@pytest.fixture
def patient(
    api: BlockingMessagesApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patient]:
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "ANTHROPIC_", "XDG_")):
            monkeypatch.delenv(name)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path)
    patient = Patient(tmp_path, state, monkeypatch, api)
    patient.set(home=tmp_path, headway_state_dir=state)
    patient.set(headway_base_url=api.url, headway_api_key=KEY)
    yield patient
    api.clear_faults()
