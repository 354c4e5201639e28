"""Secrets in SQLite, in PostgreSQL and in memory keep one contract."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.store.open import open_store
from adapters.store.secrets import StoreSecrets
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.errors import SecretsUnusable
from bot.goals.limits import LIMITS
from bot.ports.secrets import Sealing
from tests.adapters.store.clocks import HandClock
from tests.contracts.secrets import SecretBed, SecretsContract, sealing_in
from tests.doubles.secrets import MemorySecrets
from tests.peers.postgres import Postgres

_S = METADATA.tables["secret"]


def _flipped(sealed: str) -> str:
    return sealed[:-5] + ("A" if sealed[-5] != "A" else "B") + sealed[-4:]


class TestInMemory(SecretsContract):
    @pytest.fixture
    async def bed(self, tmp_path: Path) -> SecretBed:
        sealing, file = sealing_in(tmp_path)
        secrets = MemorySecrets(sealing)

        def again(other: Sealing) -> MemorySecrets:
            opened = MemorySecrets(other)
            opened.rows = secrets.rows
            return opened

        async def alter(of: str, into: str) -> None:
            named, sealed = secrets.rows["secret", into]
            if of == "!":
                secrets.rows["secret", into] = (named, _flipped(sealed))
            elif of == "other host":
                secrets.rows["secret", into] = (replace(named, hosts=("evil.example",)), sealed)
            else:
                secrets.rows["secret", into] = (named, secrets.rows["secret", of][1])

        return SecretBed(secrets, file, again, alter)


class TestInSqlite(SecretsContract):
    @pytest.fixture
    async def bed(self, tmp_path: Path) -> AsyncIterator[SecretBed]:
        async with _bed("sqlite:///headway.db", tmp_path) as bed:
            yield bed


@pytest.mark.postgres
class TestInPostgres(SecretsContract):
    @pytest.fixture
    async def bed(
        self, postgres: Postgres, database: str, tmp_path: Path
    ) -> AsyncIterator[SecretBed]:
        async with _bed(postgres.url(database), tmp_path) as bed:
            yield bed


@asynccontextmanager
async def _bed(url: str, folder: Path) -> AsyncIterator[SecretBed]:
    sealing, file = sealing_in(folder)
    (folder / "state").mkdir()
    async with open_store(
        url, clock=HandClock(), limits=LIMITS, state_dir=folder / "state", sealing=sealing
    ) as store:

        def again(other: Sealing) -> StoreSecrets:
            return StoreSecrets(store.writer, store.secrets._readers, other)

        async def alter(of: str, into: str) -> None:
            await store.writer.do(lambda tx: _alter(tx, of, into))

        yield SecretBed(store.secrets, file, again, alter)


def _alter(tx: Transaction, of: str, into: str) -> None:
    sealed: dict[str, str] = dict(tx.all(_S.select().with_only_columns(_S.c.name, _S.c.sealed)))
    change: dict[str, str] = {"sealed": sealed.get(of, _flipped(sealed[into]))}
    if of == "other host":
        change = {"hosts": '["evil.example"]'}
    tx.run(_S.update().where(_S.c.name == into).values(**change))


async def test_a_store_that_was_opened_without_a_key_says_so(tmp_path: Path) -> None:
    async with open_store(
        "sqlite:///headway.db", clock=HandClock(), limits=LIMITS, state_dir=tmp_path
    ) as store:
        with pytest.raises(SecretsUnusable, match="without the secret key"):
            await store.secrets.put("secret", "A", "first-value")


async def test_the_database_holds_no_value(tmp_path: Path) -> None:
    async with _bed("sqlite:///headway.db", tmp_path) as bed:
        await bed.secrets.put("secret", "A", "planted-in-a-row", hosts=("a.example",))

    found = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]

    assert found
    assert not any(b"planted-in-a-row" in path.read_bytes() for path in found)
