"""What `headway matrix login` asks before another user takes the bot's place."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from adapters.matrix import crypto_store
from adapters.matrix.account import Account
from adapters.matrix.login import Proof
from bot.cli.matrix_kept import live_goals
from bot.cli.matrix_walk import Given, Walk
from bot.errors import BadInput
from bot.settings import Settings, read_settings
from bot.wiring.keys import matrix_account
from bot.wiring.upkeep import upgrade
from scheduler.control import serving
from tests.adapters.store.releases.kept import RELEASES, unpack

ACCOUNT = Account("https://example.org", "@bot:example.org", "D1", 1.0, "token", "pickle")
OTHER = Proof("@other:example.org", "password")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A state whose goals live in the rooms of @bot:example.org."""
    unpack(RELEASES[0], tmp_path / "state")
    settings = read_settings(
        state_dir=tmp_path / "state", database="", secret_key_file=tmp_path / "key"
    )
    upgrade(settings, lambda step, done, total: None)
    with closing(sqlite3.connect(settings.state_dir / "headway.db")) as database:
        database.execute("UPDATE room SET network = 'matrix', workspace = '@bot:example.org'")
        database.commit()
    file = matrix_account(settings)
    crypto_store.make(file.folder, ACCOUNT)
    file.write(ACCOUNT, is_first_secret=True)
    return settings


def test_the_live_goals_of_the_former_user_are_counted_and_asked_about(settings: Settings) -> None:
    count = asyncio.run(live_goals(settings, ACCOUNT.user_id))

    with pytest.raises(BadInput, match=rf"{count} live goals are in rooms of @bot.*--yes"):
        Walk(settings, Given(), asks=False).refuse_other_user(OTHER)
    Walk(settings, Given(yes=True), asks=False).refuse_other_user(OTHER)

    assert count > 1
    assert asyncio.run(live_goals(settings, "@nobody:example.org")) == 0


@pytest.mark.parametrize("user", ["@bot:example.org", "bot", ""])
def test_the_same_user_is_not_asked_about(settings: Settings, user: str) -> None:
    Walk(settings, Given(), asks=False).refuse_other_user(replace(OTHER, user=user))


async def test_another_user_does_not_take_the_place_of_one_that_is_at_work(
    settings: Settings,
) -> None:
    async def answer(request: object) -> dict[str, object]:
        return {"pid": 1}

    async with serving(settings.state_dir, answer):
        with pytest.raises(BadInput, match="Stop it"):
            await asyncio.to_thread(
                Walk(settings, Given(yes=True), asks=False).refuse_other_user, OTHER
            )


def test_who_says_no_leaves_all_as_it_is(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typer, "confirm", lambda text, default: False)

    with pytest.raises(typer.Abort):
        Walk(settings, Given(), asks=True).refuse_other_user(OTHER)

    assert matrix_account(settings).read() == ACCOUNT
