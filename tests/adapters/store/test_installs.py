"""Tokens of installs are sealed, whole, and gone when they should be, on both databases."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from adapters.clock import WallClock
from adapters.store import upkeep
from adapters.store.copies import nobody
from adapters.store.open import Store, open_store
from adapters.store.restored import Origin
from adapters.store.tables import METADATA
from bot.errors import SecretsUnusable
from bot.goals.limits import LIMITS
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.secrets import Named, Sealed, Sealing
from tests.adapters.store.keeps_installs import numbered
from tests.contracts.installs import HERE
from tests.contracts.secrets import sealing_in
from tests.peers.postgres import Postgres

ROOT = Path(__file__).parents[3]


@dataclass
class Bed:
    """A database and its keys, and another one that a backup of it is restored to."""

    url: str
    other_url: str
    folder: Path

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @asynccontextmanager
    async def store(
        self, sealing: Sealing | None = None, *, is_other: bool = False
    ) -> AsyncIterator[Store]:
        url = self.other_url if is_other else self.url
        async with open_store(
            url, clock=WallClock(), limits=LIMITS, state_dir=self.state_dir,
            sealing=sealing or sealing_in(self.folder)[0],
        ) as store:  # fmt: skip
            yield store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def bed(request: pytest.FixtureRequest, tmp_path: Path) -> Bed:
    (tmp_path / "state").mkdir()
    if request.param == "sqlite":
        return Bed("sqlite:///headway.db", "sqlite:///other.db", tmp_path)
    postgres: Postgres = request.getfixturevalue("postgres")
    return Bed(postgres.url(postgres.create()), postgres.url(postgres.create()), tmp_path)


class SealsNoRefresh:
    """Sealing that fails at what renews a token: its key goes in between."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        if of.name.endswith(":refresh"):
            raise SecretsUnusable("The key is gone.")
        return self._sealing.seal(of, value, is_first=is_first)

    def unseal(self, of: Named, text: str) -> str:
        return self._sealing.unseal(of, text)

    def add_key(self) -> str:
        return self._sealing.add_key()

    def drop_keys(self, keep: frozenset[str]) -> None:
        self._sealing.drop_keys(keep)


async def test_new_keys_seal_the_tokens_again_and_lists_name_them(bed: Bed) -> None:
    async with bed.store() as store:
        await store.installs.keep(HERE)
        before = await store.secrets.names()

        count = await store.secrets.rotate()

        after = await store.secrets.names()
        assert count == 2
        assert [(one.kind, one.name, one.set_by) for one in after] == [
            ("token", "slack:T01", "T01:U01"), ("token", "slack:T01:refresh", "T01:U01"),
        ]  # fmt: skip
        assert not {one.key_id for one in before} & {one.key_id for one in after}
        assert await store.installs.install("slack", "T01") == HERE


async def test_no_row_holds_a_token_or_a_state(bed: Bed) -> None:
    async with bed.store() as store:
        await store.installs.keep(HERE)
        await store.installs.begin_state("planted-state", lasts_s=60)

        rows = await store.writer.do(
            lambda tx: {name: tx.all(table.select()) for name, table in METADATA.tables.items()}
        )

    assert len(rows["install"]) == len(rows["install_state"]) == 1
    assert not any(one in repr(rows) for one in (HERE.token, HERE.refresh_token, "planted-state"))


async def test_tokens_that_do_not_open_are_no_install_that_works(bed: Bed, tmp_path: Path) -> None:
    async with bed.store() as store:
        await store.installs.keep(HERE)
    other, _ = sealing_in(tmp_path / "elsewhere")

    async with bed.store(other) as store:
        with pytest.raises(SecretsUnusable):
            await store.installs.install("slack", "T01")
        with pytest.raises(SecretsUnusable):
            await store.installs.installed("slack")
        erased = await store.installs.erase("slack", "T01")
        left = await store.secrets.names()

    assert (erased, left) == (True, ())


async def test_an_install_whose_token_was_removed_is_none(bed: Bed) -> None:
    async with bed.store() as store:
        await store.installs.keep(HERE)
        await store.secrets.remove("token", "slack:T01")

        assert await store.installs.installed("slack") == ()
        assert await store.installs.install("slack", "T01") is None


async def test_what_cannot_be_sealed_whole_leaves_the_former_one(bed: Bed) -> None:
    async with bed.store() as store:
        await store.installs.keep(HERE)
    async with bed.store(SealsNoRefresh(sealing_in(bed.folder)[0])) as store:
        with pytest.raises(SecretsUnusable):
            await store.installs.keep(replace(HERE, token="xoxb-new", refresh_token="xoxe-new"))

        assert await store.installs.installed("slack") == (HERE,)


@pytest.mark.process
async def test_a_process_that_is_killed_leaves_an_install_whole(bed: Bed) -> None:
    first = 1
    for patience_s in (0.0, 0.013, 0.031):
        last = _killed(bed, first, patience_s)
        async with bed.store() as store:
            found = await store.installs.install("slack", "T01")

        assert found is not None
        assert found.expires_at is not None
        number = int(found.expires_at)
        assert found == numbered(number)
        assert number in (last, last + 1)
        first = number + 1


def _killed(bed: Bed, first: int, patience_s: float) -> int:
    """The last renewal that a process told of before it was killed."""
    arguments = (bed.url, str(bed.state_dir), str(bed.folder), str(first))
    process = subprocess.Popen(
        (sys.executable, "-m", "tests.adapters.store.keeps_installs", *arguments),
        cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(3):
        last = int(process.stdout.readline())
    time.sleep(patience_s)
    process.kill()
    rest = process.stdout.read().split(b"\n")
    process.stdout.close()
    process.wait(10)
    return int(rest[-2]) if len(rest) > 1 else last


async def test_what_serves_for_a_while_is_not_restored_and_installs_are_told(bed: Bed) -> None:
    place, ann = Place("slack", "T01", "C01"), Speaker("T01:U01", "Ann")
    said = Incoming(
        "command:1",
        place,
        ann,
        "/goal list",
        5.0,
        via="command",
        way_back="https://hooks.example/1",
    )
    backup = bed.folder / "backup"
    backup.mkdir()
    async with bed.store() as store:
        await store.installs.keep(HERE)
        await store.installs.begin_state("begun", lasts_s=600)
        await store.installs.take_charge("A01", "host.1", lasts_s=600)
        await store.inbox.receive_all((said,))
        upkeep.back_up(bed.url, state_dir=bed.state_dir, folder=backup, told=nobody)

    report, _ = upkeep.restore(
        bed.other_url, Origin(time.time(), "1.0"), state_dir=bed.state_dir, folder=backup,
        beside="", now=time.time, told=nobody,
    )  # fmt: skip

    async with bed.store(is_other=True) as store:
        [received] = await store.inbox.waiting()
        assert report.installs == (f"{HERE.name} (T01)",)
        assert received.message == replace(said, way_back="")
        assert await store.ways_back.way_back(said.id) == ""
        assert not await store.installs.end_state("begun")
        assert await store.installs.take_charge("A01", "host.2", lasts_s=9)
        assert await store.installs.installed("slack") == (HERE,)


async def test_the_next_owner_of_a_sqlite_database_has_its_charges(tmp_path: Path) -> None:
    bed = Bed("sqlite:///headway.db", "", tmp_path)
    async with bed.store() as store:
        await store.installs.take_charge("A01", "host.1", lasts_s=600)

    async with bed.store() as store:
        taken = await store.installs.take_charge("A01", "host.2", lasts_s=600)

    assert taken
