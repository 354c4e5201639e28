"""Settings: their order, and what is said of wrong ones."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.errors import BadSettings
from bot.settings import PREFIX, Settings, read_settings


@pytest.fixture(autouse=True)
def _no_other_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [*os.environ]:
        if name.startswith((PREFIX, "ANTHROPIC_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_what_is_passed_in_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "headway.toml").write_text('model = "file"\naudit_model = "file"\nzone = "UTC"\n')
    monkeypatch.setenv("HEADWAY_MODEL", "environment")
    monkeypatch.setenv("HEADWAY_AUDIT_MODEL", "environment")

    settings = read_settings(model="flag")

    assert (settings.model, settings.audit_model, settings.zone) == ("flag", "environment", "UTC")


@pytest.mark.parametrize(
    ("name", "near"),
    [("HEADWAY_MODLE", "HEADWAY_MODEL"), ("HEADWAY_LIMIT__STALL_TURNS", "HEADWAY_LIMITS")],
)
def test_a_misspelt_variable_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    monkeypatch.setenv(name, "5")

    with pytest.raises(BadSettings, match=f"{name} is not a setting. Did you mean {near}"):
        read_settings()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("modl = 1", r"modl is not a setting \(in .*headway.toml.*Did you mean model\?"),
        ("[limits]\nstall = 1", r"limits.stall is not a setting .*Did you mean limits.stall_turns"),
        ("budget_usd = -1", r"budget_usd is wrong .*greater than 0, not -1"),
        ("budget_tokens = 5", r"budget_tokens is wrong .*20000"),
        ('zone = "Mars/Olympus"', r"zone is wrong .*Europe/Berlin"),
        ("[limits]\nstall_turns = -3", r"limits is wrong .*stall_turns should not be negative.*-3"),
        ("lease_s = 5", r"do not go together .*5 s that is renewed every 10 s.*Mend one of them"),
        ('model = "x', r"cannot be read: .*Mend .*headway.toml"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong_and_the_mend(
    tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "headway.toml").write_text(line + "\n")

    with pytest.raises(BadSettings, match=f"(?s){said}"):
        read_settings()


def test_a_variable_that_should_hold_json_and_does_not_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_PRICES", "cheap")

    with pytest.raises(BadSettings, match="HEADWAY_PRICES is not JSON"):
        read_settings()


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"There is no settings file .*none\.toml"):
        read_settings(tmp_path / "none.toml")


def test_a_key_never_shows_in_a_sentence_about_it(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text("api_key = [1234567890]\n")

    with pytest.raises(BadSettings) as wrong:
        read_settings()

    assert "1234567890" not in str(wrong.value)


def test_a_number_of_the_goals_life_is_set_by_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_LIMITS__STALL_TURNS", "7")

    settings = read_settings()

    assert (settings.limits.stall_turns, settings.limits.continuations) == (7, 20)


def test_a_key_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first\n")
    settings = read_settings(api_key_file=file)
    before = settings.key()

    file.write_text("second\n")

    assert (before, settings.key()) == ("first", "second")


@pytest.mark.parametrize("written", [b"key\n", b"\xef\xbb\xbfkey\r\n", b"  key  "])
def test_a_key_is_taken_from_its_file_however_an_editor_left_it(
    tmp_path: Path, written: bytes
) -> None:
    (tmp_path / "key").write_bytes(written)

    assert read_settings(api_key_file=tmp_path / "key").key() == "key"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"one\ntwo\n", "more than a key"),
        (b"one two", "more than a key"),
        (b"k\x1b[31my", "more than a key"),
        ("ключ".encode(), "more than a key"),
        ("key".encode("utf-16"), "no plain text"),
    ],
)
def test_what_no_header_can_carry_is_refused_as_a_key(
    tmp_path: Path, written: bytes, said: str
) -> None:
    (tmp_path / "key").write_bytes(written)

    with pytest.raises(BadSettings, match=said):
        read_settings(api_key_file=tmp_path / "key").key()


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    settings = read_settings(api_key_file=tmp_path / "gone")

    with pytest.raises(BadSettings, match=r"key file .*gone cannot be read"):
        settings.key()


def test_the_key_is_the_setting_else_the_sdks_own_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sdk")

    assert read_settings().key() == "sdk"
    assert read_settings(api_key="own").key() == "own"


def test_times_are_shown_in_the_zone_that_is_set() -> None:
    assert read_settings(zone="Europe/Berlin").tz == ZoneInfo("Europe/Berlin")


def test_an_unknown_zone_of_the_machine_does_not_keep_headway_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Mars/Olympus")

    assert str(read_settings().tz)


def test_a_price_of_ones_own_is_in_dollars_a_million_tokens(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text('[prices."my-model"]\ninput = 0.25\noutput = 2\n')

    price = read_settings().prices["my-model"].price()

    assert (price.input, price.cache_read, price.output) == (250, 250, 2000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("budget_usd", "cap_all_usd") for value in ("inf", "1e30")),
        ("budget_hours", "inf"),
        ("budget_tokens", "9" * 30),
        ("cap_room_tokens", "9" * 30),
        ("keep_texts_days", "inf"),
        ("keep_workspaces_days", "1e300"),
        ("lease_s", "inf"),
        ("audit_timeout_s", "inf"),
        ("renew_s", "1e300"),
        ("limits__wait_most_s", "inf"),
        ("prices", '{"my-model": {"input": 1e300, "output": 1}}'),
    ],
)
def test_a_number_that_no_column_or_clock_could_hold_is_refused_with_its_name(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"HEADWAY_{name.upper()}", value)

    with pytest.raises(BadSettings, match=name.replace("__", ".")):
        read_settings()


def test_settings_do_not_change() -> None:
    settings = read_settings()

    with pytest.raises(ValueError, match="frozen"):
        settings.model = "other"


def test_every_setting_says_what_it_is() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
