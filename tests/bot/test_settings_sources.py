"""The order of the settings' sources, and where each value is said to come from."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.errors import BadSettings
from bot.settings import PREFIX, Settings, read_settings, traced
from bot.settings_sources import Leaf, Origin, line_of, origin_of

LEAVES = (
    ("budget_usd", "BUDGET_USD", "9.5"),
    ("zone", "ZONE", "Asia/Tokyo"),
    ("fallback_models", "FALLBACK_MODELS", '["a", "b"]'),
    ("limits", "LIMITS__STALL_TURNS", "9"),
    ("prices", "PRICES", '{"x": {"input": 1, "output": 2}}'),
)


@pytest.fixture(autouse=True)
def _no_other_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [*os.environ]:
        if name.startswith((PREFIX, "ANTHROPIC_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def shown(*words: str) -> dict[str, dict[str, Any]]:
    """What `headway config show --json` prints, by setting."""
    done = CliRunner().invoke(app, [*words, "config", "show", "--json"])
    assert done.exit_code == 0, done.output
    return {row["setting"]: row for row in json.loads(done.output)}


@pytest.mark.parametrize(("setting", "variable", "text"), LEAVES)
def test_a_file_that_a_variable_names_holds_any_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str, variable: str, text: str
) -> None:
    monkeypatch.setenv(PREFIX + variable, text)
    wanted = getattr(read_settings(), setting)
    monkeypatch.delenv(PREFIX + variable)
    (tmp_path / "value").write_text(f"{text}\n")

    monkeypatch.setenv(f"{PREFIX}{variable}_FILE", str(tmp_path / "value"))

    assert getattr(read_settings(), setting) == wanted


def test_each_source_goes_before_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: dict[str, str] = {}
    (tmp_path / "headway.toml").write_text('model = "of toml"\n')
    told["toml"] = read_settings().model
    (tmp_path / "named").write_text("of a file")
    monkeypatch.setenv("HEADWAY_MODEL_FILE", str(tmp_path / "named"))
    told["file"] = read_settings().model
    monkeypatch.setenv("HEADWAY_MODEL", "of a variable")
    told["variable"] = read_settings().model
    told["flag"] = read_settings(model="of a flag").model

    assert told == {
        "toml": "of toml",
        "file": "of a file",
        "variable": "of a variable",
        "flag": "of a flag",
    }


def test_only_the_last_lines_end_is_taken_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("two\nlines \r\n")
    monkeypatch.setenv("HEADWAY_MODEL_FILE", str(tmp_path / "key"))

    assert read_settings().model == "two\nlines "


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "value"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("HEADWAY_MODEL_FILE", str(path))

    with pytest.raises(BadSettings, match=r"The file .*value that HEADWAY_MODEL_FILE names"):
        read_settings()


def test_a_wrong_value_in_a_file_is_as_wrong_as_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "value").write_text("-1")
    monkeypatch.setenv("HEADWAY_BUDGET_USD_FILE", str(tmp_path / "value"))

    with pytest.raises(BadSettings, match="budget_usd is wrong"):
        read_settings()


def test_an_empty_name_of_a_file_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODEL_FILE", "")

    assert read_settings().model == Settings.model_fields["model"].default


def test_a_misspelt_variable_of_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODLE_FILE", "x")

    with pytest.raises(BadSettings, match="HEADWAY_MODLE_FILE is not a setting"):
        read_settings()


def test_the_key_file_stays_a_setting_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("first\n")
    monkeypatch.setenv("HEADWAY_API_KEY_FILE", str(tmp_path / "key"))
    settings = read_settings()

    (tmp_path / "key").write_text("second\n")

    assert settings.key() == "second"


def test_every_value_is_shown_with_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toml = tmp_path / "headway.toml"
    toml.write_text('# mine\nzone = "UTC"\n\n[limits]\nstall_turns = 4\n')
    (tmp_path / "budget").write_text("3")
    monkeypatch.setenv("HEADWAY_BUDGET_USD_FILE", str(tmp_path / "budget"))
    monkeypatch.setenv("HEADWAY_LIMITS__QUIET_S", "2")

    rows = shown("--state-dir", str(tmp_path / "state"))

    where = {name: (row["origin"], row["where"]) for name, row in rows.items()}
    assert where["state_dir"] == ("flag", "--state-dir")
    assert where["zone"] == ("toml", f"{toml}:2")
    assert where["limits.stall_turns"] == ("toml", f"{toml}:5")
    assert where["limits.quiet_s"] == ("variable", "HEADWAY_LIMITS__QUIET_S")
    assert where["budget_usd"] == ("file", f"{tmp_path}/budget (HEADWAY_BUDGET_USD_FILE)")
    assert where["model"] == ("default", "")
    assert rows["budget_usd"]["value"] == 3.0
    assert {name.split(".")[0] for name in rows} == set(Settings.model_fields)


def test_a_secret_is_only_said_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HEADWAY_DATABASE", "postgresql://ann:s3cret@db/headway?password=s3cret&a=b")

    after = shown()

    assert before["api_key"]["value"] == "not set"
    assert (after["api_key"]["value"], after["api_key"]["where"]) == ("set", "ANTHROPIC_API_KEY")
    assert after["database"]["value"] == "postgresql://ann:***@db/headway?password=***&a=b"
    assert "very-secret" not in json.dumps(after)
    assert "s3cret" not in json.dumps(after)


def test_a_person_reads_a_table(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text('zone = "UTC"\n')

    table = CliRunner().invoke(app, ["config", "show", "--changed"]).output
    path = CliRunner().invoke(app, ["config", "path"])

    assert len(table.splitlines()) == 2
    assert "zone" in table
    assert f"{tmp_path}/headway.toml:1" in table
    assert (path.exit_code, path.output) == (0, f"{tmp_path}/headway.toml\n")


def test_where_no_file_is_read_it_says_where_it_looked(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["config", "path"])

    assert done.exit_code == 1
    assert f"{tmp_path}/.config/headway/headway.toml" in done.output
    assert "/etc/headway/headway.toml" in done.output


def test_the_table_of_a_value_says_where_the_value_comes_from() -> None:
    found: dict[Leaf, Origin] = {("prices",): Origin("variable", "HEADWAY_PRICES")}

    assert origin_of(("prices", "x", "input"), found).where == "HEADWAY_PRICES"
    assert origin_of(("zone",), found).kind == "default"


@pytest.mark.parametrize(
    ("text", "leaf", "line"),
    [
        ('a = 1\nzone = "x"', ("zone",), 2),
        ("[limits]\n\nquiet_s=1", ("limits", "quiet_s"), 3),
        ("limits.quiet_s = 1", ("limits", "quiet_s"), 1),
        ("\nlimits = { quiet_s = 1 }", ("limits", "quiet_s"), 2),
        ('[prices."a.b"]\ninput = 1', ("prices", "a.b", "input"), 2),
        ("zone = 1", ("absent",), 1),
    ],
)
def test_the_line_that_sets_a_value_is_found(text: str, leaf: tuple[str, ...], line: int) -> None:
    assert line_of(text, leaf) == line


def test_tracing_changes_nothing_of_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_ZONE", "UTC")

    settings, found = traced(model="x")

    assert settings.model_dump() == read_settings(model="x").model_dump()
    assert found == {
        ("model",): Origin("flag", "--model"),
        ("zone",): Origin("variable", "HEADWAY_ZONE"),
    }
