"""The key file: who may read it, what it may hold, and what is said of one that cannot be used."""

import base64
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.keys.key import new_key, read_keys, write_keys
from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile, KeySetting
from bot.errors import SecretsUnusable
from bot.ports.secrets import Named
from tests.peers.messages_api import ROOT

OF = Named("secret", "A")


def key_file(folder: Path) -> KeyFile:
    return KeyFile(folder / "config" / "secret.key", apart_from=folder / "state")


def test_a_file_is_made_at_first_need_for_its_owner_alone(tmp_path: Path) -> None:
    source = key_file(tmp_path)

    nothing = source.read()
    [key] = source.make()

    assert nothing == ()
    assert source.path.stat().st_mode & 0o777 == 0o600
    assert source.path.parent.stat().st_mode & 0o777 == 0o700
    assert source.read() == source.make() == (key,)
    assert [path.name for path in source.path.parent.iterdir()] == ["secret.key"]


def test_two_that_make_it_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: key_file(tmp_path).make(), range(24)))

    assert len(keys) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o700 | 0o010])
def test_a_file_that_others_can_read_is_refused_with_the_command_that_closes_it(
    tmp_path: Path, mode: int
) -> None:
    source = key_file(tmp_path)
    source.make()
    source.path.chmod(mode)

    with pytest.raises(SecretsUnusable, match=rf"mode 0?{mode:o}.*chmod 600 {source.path}"):
        source.read()


@pytest.mark.parametrize(
    "text", ["", "\n", "# a remark\n", "c2hvcnQ=\n", "not base64!\n", "x" * 10_000, "\x00\xff"]
)
def test_a_file_that_holds_no_key_is_refused_with_how_to_make_one(
    tmp_path: Path, text: str
) -> None:
    source = key_file(tmp_path)
    source.make()
    source.path.write_text(text)

    with pytest.raises(SecretsUnusable, match=r"holds no key.*head -c 32 /dev/urandom"):
        source.read()


def test_what_is_wrong_with_a_key_is_said_without_the_key(tmp_path: Path) -> None:
    source = key_file(tmp_path)
    raw = base64.b64encode(b"almost a key of thirty-two byte").decode()
    source.make()
    source.path.write_text(raw)

    with pytest.raises(SecretsUnusable) as raised:
        source.read()

    assert raw not in str(raised.value)


def test_a_file_in_the_state_folder_is_refused(tmp_path: Path) -> None:
    source = KeyFile(tmp_path / "state" / "secret.key", apart_from=tmp_path / "state")

    with pytest.raises(SecretsUnusable, match=r"lies in the state folder.*secret_key_file"):
        source.make()

    assert not source.path.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file, no folder")

    with pytest.raises(SecretsUnusable, match=r"cannot be made .*secret_key_file"):
        key_file(tmp_path).make()


def test_a_setting_holds_keys_too_and_says_how_they_are_changed() -> None:
    old, new = new_key(), new_key()
    text = " ".join(base64.urlsafe_b64encode(key.raw).decode() for key in (new, old))
    source = KeySetting(text)

    sealed = KeySealing(source).seal(OF, "a-value")

    assert source.read() == source.make() == (new, old)
    assert sealed.key_id == new.id
    with pytest.raises(SecretsUnusable, match="headway secret rotate --no-new-key"):
        KeySealing(source).add_key()


def test_keys_are_read_as_they_are_written() -> None:
    keys = (new_key(), new_key())

    assert read_keys(write_keys(keys), "it") == keys
    assert repr(keys[0]) == "Key()"


def test_the_key_file_is_whole_whenever_the_process_is_killed(tmp_path: Path) -> None:
    """`kill -9` at each line that touches the disk, while keys are added and dropped again."""
    source = key_file(tmp_path)
    sealed = KeySealing(source).seal(OF, "a-value")
    command = [sys.executable, "-c", _DRILL, str(tmp_path), sealed.key_id, sealed.text]

    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 20, "lines at which it was killed"
    assert source.path.stat().st_mode & 0o777 == 0o600


_DRILL = """
import os, sys
from pathlib import Path
from adapters.keys import source
from adapters.keys.sealing import KeySealing
from bot.ports.secrets import Named

folder, id, sealed = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sealing = KeySealing(source.KeyFile(folder / "config" / "secret.key", apart_from=folder / "state"))

def killed_at(line):
    left = line
    def trace(frame, event, arg):
        nonlocal left
        if frame.f_code.co_filename != source.__file__:
            return None
        if event == "line" and frame.f_code.co_name in ("write", "_draft", "_sync"):
            left -= 1
            if not left:
                os.kill(os.getpid(), 9)
        return trace
    child = os.fork()
    if not child:
        sys.settrace(trace)
        sealing.add_key()
        sealing.drop_keys(frozenset([id]))
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

at = 1
while killed_at(at):
    assert sealing.unseal(Named("secret", "A", key_id=id), sealed) == "a-value"
    at += 1
assert sealing.unseal(Named("secret", "A", key_id=id), sealed) == "a-value"
print(at)
"""
