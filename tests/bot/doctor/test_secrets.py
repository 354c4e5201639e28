"""What the doctor says of the secret key."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.doctor.finding import Found
from bot.doctor.secrets import sealed
from bot.errors import SecretsUnusable
from bot.settings import Settings
from bot.wiring.keys import key_source, sealing_of
from bot.wiring.secrets import own_secrets


def settings_in(folder: Path) -> Settings:
    return Settings(state_dir=folder / "state", secret_key_file=folder / "config" / "k")


async def keep(settings: Settings, values: Mapping[str, str]) -> None:
    async with own_secrets(settings) as secrets:
        for name, value in values.items():
            await secrets.put("secret", name, value)


def test_nothing_set_is_well_and_needs_no_key(tmp_path: Path) -> None:
    assert "none; the key is made in" in sealed(settings_in(tmp_path))


async def test_what_opens_is_counted_with_the_keys_id(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await keep(settings, {"A": "a-value", "B": "b-value"})
    [key] = key_source(settings).read()

    told = await _in_a_thread(settings)

    assert told == f"2 sealed under the key {key.id} in {tmp_path / 'config' / 'k'}"


async def test_a_key_that_is_lost_is_wrong_and_says_what_to_set_again(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await keep(settings, {"A": "a-value"})
    settings.key_file.unlink()

    with pytest.raises(Found, match=r"is sealed under the key.*headway secret set A") as raised:
        await _in_a_thread(settings)

    assert raised.value.state == "wrong"


async def test_a_key_file_open_to_others_is_wrong(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await keep(settings, {"A": "a-value"})
    settings.key_file.chmod(0o644)

    with pytest.raises(SecretsUnusable, match="chmod 600"):
        await _in_a_thread(settings)


async def test_older_keys_are_told(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await keep(settings, {"A": "a-value"})
    sealing_of(settings).add_key()

    with pytest.raises(Found, match="1 sealed; 2 keys") as raised:
        await _in_a_thread(settings)

    assert raised.value.state == "warning"


async def _in_a_thread(settings: Settings) -> str:
    return await asyncio.to_thread(sealed, settings)
