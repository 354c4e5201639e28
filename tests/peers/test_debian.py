"""Programs of Debian's packages: used where they are, and a failure where they cannot be had."""

import shutil
from pathlib import Path

import pytest

from tests.peers.debian import program


def test_a_program_on_the_path_is_used(tmp_path: Path) -> None:
    assert program("sh", "dash", tmp_path / "cache") == shutil.which("sh")

    assert not (tmp_path / "cache").exists()


def test_a_program_in_the_cache_is_used(tmp_path: Path) -> None:
    unpacked = tmp_path / "some-peer" / "usr" / "bin"
    unpacked.mkdir(parents=True)
    (unpacked / "peerctl").touch()

    assert program("peerctl", "some-peer", tmp_path) == str(unpacked / "peerctl")


def test_a_program_that_cannot_be_had_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RuntimeError, match="apt-get install some-peer"):
        program("peerctl", "some-peer", tmp_path / "cache")

    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["some-peer.lock"]
