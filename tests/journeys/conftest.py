"""One server and one bot for the journeys that can share them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from tests.bench.roomy import ROOMY
from tests.journeys.bot import COMMAND, Bot
from tests.peers.messages_api import BlockingMessagesApi, started

Begin = Callable[..., Bot]

SHARED: dict[str, object] = {
    "turns_at_once": 64,
    "budget_tokens": 400_000,
    "budget_usd": 100,
    **ROOMY,
    "audit_timeout_s": 1.5,
    "limits__continuations": 6,
    "limits__continuations_most": 9,
    "limits__quiet_s": 0.3,
    "limits__probe_first_s": 1,
}
"""Limits that a journey reaches in a second or two."""


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where tools run: bubblewrap; where it does not work the journeys fail and say the mend."""
    asyncio.run(Bubblewrap(tmp_path_factory.mktemp("look")).check())
    return "bubblewrap"


@pytest.fixture(scope="session")
def api() -> Iterator[BlockingMessagesApi]:
    """A model server for all journeys."""
    with started() as server:
        yield server


@pytest.fixture(scope="session")
def bot(
    api: BlockingMessagesApi, sandbox: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bot]:
    """One running process for all journeys that leave it as it is."""
    shared = Bot(
        tmp_path_factory.mktemp("journeys"),
        {"base_url": api.url, "api_key": api.key, "sandbox": sandbox, **SHARED},
    )
    shared.start()
    yield shared
    code, _ = shared.stop()
    assert code == 0
    assert "Traceback" not in shared.told(), shared.told()


@pytest.fixture
def begin(sandbox: str, tmp_path: Path) -> Iterator[Begin]:
    """Starts processes of a test's own, with `begin(api, setting=...)`, and ends them."""
    begun: list[Bot] = []

    def start(
        api: BlockingMessagesApi, command: Sequence[str] = COMMAND, **settings: object
    ) -> Bot:
        reached: dict[str, object] = {"base_url": api.url, "sandbox": sandbox}
        if "api_key_file" not in settings:
            reached["api_key"] = api.key
        one = Bot(tmp_path / "state", {**reached, **SHARED, **settings}, command)
        begun.append(one)
        return one.start()

    yield start
    for one in begun:
        one.end()
