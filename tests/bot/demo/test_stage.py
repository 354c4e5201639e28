"""The demo's folder: its settings are those of the person, and hold no secret."""

import os
from pathlib import Path

import pytest

from bot.demo.stage import REAL_BUDGET_USD, Stage
from bot.settings import ModelPrice, Settings, read_settings


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def own(**given: object) -> Settings:
    return read_settings(None, api_key="sk-secret", **given)


def test_a_persons_model_and_prices_are_taken_and_the_budget_is_small(tmp_path: Path) -> None:
    prices = {'my "own" model': ModelPrice(input=1.5, output=7)}
    stage = Stage(own(model='my "own" model', prices=prices, region="eu"), tmp_path / "demo")
    stage.folder.mkdir()

    stage.prepare()

    written = read_settings(stage.config)
    assert (written.model, written.region) == ('my "own" model', "eu")
    assert written.prices == prices
    assert written.budget_usd == REAL_BUDGET_USD
    assert written.state_dir == stage.folder / "state"


def test_the_key_is_written_nowhere_and_the_file_is_the_persons_alone(tmp_path: Path) -> None:
    stage = Stage(own(), tmp_path / "demo")
    stage.folder.mkdir()

    settings = stage.prepare()

    assert settings.key() == "sk-secret"
    assert "sk-secret" not in stage.config.read_text("utf-8")
    assert stage.config.stat().st_mode & 0o077 == 0


def test_without_a_key_a_written_script_answers_on_this_machine(tmp_path: Path) -> None:
    stage = Stage(read_settings(None), tmp_path / "demo")
    stage.folder.mkdir()
    try:
        settings = stage.prepare()
    finally:
        stage.close(keep=False)

    assert stage.is_rehearsed
    assert settings.base_url.startswith("http://127.0.0.1:")
    assert not stage.folder.exists()
