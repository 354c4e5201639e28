"""The settings file that init writes: whatever it held stays, and what was meant is in it."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.cli import init_file
from bot.errors import BadSettings
from bot.settings import Settings, default_state_dir

NAMES = ("provider", "base_url", "model", "budget_usd", "zone", "api_key")
VALUES = some.dictionaries(
    some.sampled_from(NAMES),
    some.one_of(some.none(), some.text(max_size=20), some.floats(0, 100), some.integers(0, 9)),
)
OWN = some.sampled_from(
    [
        "",
        "# a note\n",
        'model = "mine" # why\n',
        'zone = "UTC"\n\n[limits]\nstall_turns = 4\n',
        'provider = "rehearsed"\n# of prices\n[prices."a"]\ninput = 1\noutput = 2\n',
        "[limits]\nquiet_s = 1\nmodel = 2\n",
    ]
)


@given(OWN, VALUES, VALUES)
def test_any_answers_are_in_the_file_and_nothing_else_changes(
    own: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    once = init_file.edited(own, first)
    twice = init_file.edited(once, second)

    meant = {**tomllib.loads(own), **first, **second}
    assert tomllib.loads(twice) == {name: v for name, v in meant.items() if v is not None}
    assert [line for line in own.splitlines() if line.startswith("# ")] == [
        line for line in twice.splitlines() if line in own.splitlines() and line.startswith("# ")
    ]


def test_what_was_set_and_taken_out_leaves_no_trace() -> None:
    own = "# a note\n\n[limits]\nstall_turns = 4\n"

    there = init_file.edited(own, {"zone": "UTC"})
    back = init_file.edited(there, {"zone": None})

    assert "# IANA zone" in there
    assert back == own


def test_a_file_written_in_a_way_that_cannot_be_changed_is_left_to_its_owner() -> None:
    own = 'fallback_models = [\n  "a",\n]\n'

    with pytest.raises(BadSettings, match="by hand"):
        init_file.edited(own, {"fallback_models": ["b"]})


def test_only_what_differs_from_the_default_is_written() -> None:
    values = {"budget_usd": 2.0, "zone": "", "state_dir": default_state_dir(), "model": "x"}

    assert init_file.differing(values) == {
        "budget_usd": None,
        "zone": None,
        "state_dir": None,
        "model": "x",
    }


def test_the_file_is_its_owners_alone_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "headway.toml"
    init_file.replace(path, "zone = 'UTC'\n")
    path.chmod(0o644)

    init_file.replace(path, "zone = 'Asia/Tokyo'\n")

    assert path.read_text() == "zone = 'Asia/Tokyo'\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["headway.toml"]


def test_what_a_killed_init_left_is_removed_by_the_next(tmp_path: Path) -> None:
    old, new = tmp_path / ".headway.toml.old", tmp_path / ".headway.toml.new"
    for left in (old, new):
        left.touch()
    os.utime(old, (1e9, 1e9))

    init_file.replace(tmp_path / "headway.toml", "zone = 'UTC'\n")

    assert (old.exists(), new.exists()) == (False, True)


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "kept" / "real.toml"
    real.parent.mkdir()
    real.touch()
    link = tmp_path / "headway.toml"
    link.symlink_to(real)

    init_file.replace(link, "zone = 'UTC'\n")

    assert link.is_symlink()
    assert real.read_text() == "zone = 'UTC'\n"


def test_every_setting_that_init_writes_is_one() -> None:
    from bot.cli.init import Flags

    flags = Flags(
        None, Path("s"), Path("k"), "http://x", "m", "a", 1.0, "UTC", rehearsed=True, untested=True
    )

    assert set(flags.values()) <= set(Settings.model_fields)
