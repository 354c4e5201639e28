"""`headway secret`: what it takes, what it prints, and that no value is printed."""

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
import termios
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from bot.cli import main
from bot.cli.exits import KNOWN
from bot.settings import Settings
from bot.wiring.folder import owned
from bot.wiring.secrets import own_secrets
from tests.peers.messages_api import ROOT

VALUE = "planted-value-of-a-token"


class Shell:
    """`headway secret` typed in a folder of its own."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: Path
    ) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        # What one command learns, the next process does not know.
        monkeypatch.setattr(KNOWN, "_values", {})
        self.file = file

    def __call__(self, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        """Run it; returns exit code, standard output, standard error."""
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["headway", "secret", *arguments])
        stdin = io.TextIOWrapper(io.BytesIO(typed.encode("utf-8", "surrogateescape")))
        self._monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit) as end:
            main()
        told = self._capsys.readouterr()
        assert VALUE not in told.out + told.err
        return int(end.value.code or 0), told.out, told.err


@pytest.fixture
def secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    file = tmp_path / "config" / "secret.key"
    monkeypatch.setenv("HEADWAY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HEADWAY_SECRET_KEY_FILE", str(file))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys, file)


def rows(secret: Shell) -> list[dict[str, object]]:
    code, out, _ = secret("list", "--json")
    assert code == 0
    found: list[dict[str, object]] = json.loads(out)
    return found


def test_nothing_is_listed_before_anything_is_made(secret: Shell, tmp_path: Path) -> None:
    code, out, _ = secret("list")

    assert (code, out) == (0, "No secrets yet. Keep one: headway secret set NAME\n")
    assert rows(secret) == []
    assert not (tmp_path / "state").exists()


def test_a_value_is_read_from_standard_input_and_listed_without_it(secret: Shell) -> None:
    code, out, _ = secret("set", "TOKEN", "--host", "API.example.com", typed=VALUE + "\n")

    [row] = rows(secret)
    assert code == 0
    assert "[secret TOKEN]" in out
    assert (row["name"], row["kind"], row["hosts"], row["opens"]) == (
        "TOKEN", "secret", ["api.example.com"], True,
    )  # fmt: skip
    assert secret.file.stat().st_mode & 0o777 == 0o600
    table = secret("list")[1]
    assert "api.example.com" in table
    assert str(row["key_id"]) in table


def test_a_removed_one_is_gone_and_an_unknown_one_is_said(secret: Shell) -> None:
    secret("set", "TOKEN", typed=VALUE)

    assert secret("remove", "TOKEN")[:2] == (0, "TOKEN is forgotten.\n")
    code, _, err = secret("remove", "TOKEN")
    assert code == 2
    assert "There is no secret TOKEN. `headway secret list`" in err
    assert rows(secret) == []


def test_a_rotation_says_what_became_of_the_keys(secret: Shell) -> None:
    secret("set", "TOKEN", typed=VALUE)
    first = rows(secret)[0]["key_id"]

    kept = secret("rotate", "--keep-old")[1]
    second = rows(secret)[0]["key_id"]
    dropped = secret("rotate")[1]
    third = rows(secret)[0]["key_id"]

    assert len({first, second, third}) == 3
    assert f"1 sealed again. The key is {second} now. The old ones stay in the file." in kept
    assert f"The key is {third} now. The old ones are gone" in dropped


@pytest.mark.parametrize(
    ("arguments", "typed", "said"),
    [
        (["set", "TOKEN"], "", "No value was given"),
        (["set", "TOKEN"], "\n", "No value was given"),
        (["set", "TOKEN"], "short", "fewer than 6 characters"),
        (["set", "TOKEN"], "s h o r t", "fewer than 6 characters"),
        (["set", "TOKEN"], "x" * 65_537, "more than 65536 characters"),
        (["set", "TOKEN"], "\udcff\udcfe not text", "not UTF-8"),
        (["set", "1TOKEN"], VALUE, "no name for a secret"),
        (["set", VALUE + " " + VALUE], VALUE, "no name for a secret"),
        (["set", "A" * 65], VALUE, "no name for a secret"),
        (["set", "TOKEN", "--host", "https://x"], VALUE, "is no host"),
        (["set", "TOKEN", "--host", "x..y"], VALUE, "is no host"),
        (["set", "TOKEN", "--host", "*"], VALUE, "is no host"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_with_the_mend(
    secret: Shell, arguments: list[str], typed: str, said: str
) -> None:
    code, _, err = secret(*arguments, typed=typed)

    assert code == 2
    assert said in err
    assert rows(secret) == []


@pytest.mark.parametrize(
    "value", ["two\nlines\n\n", " spaces around ", "é\U0001f600-value", "x" * 65_536]
)
def test_a_value_is_kept_to_the_character(secret: Shell, value: str) -> None:
    secret("set", "TOKEN", typed=value + "\n")

    async def kept() -> str:
        async with own_secrets(Settings()) as secrets:
            return await secrets.get("secret", "TOKEN")

    assert asyncio.run(kept()) == value


def test_a_command_waits_for_another_one_that_has_the_folder(secret: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    held = ExitStack()
    held.enter_context(owned(folder))
    is_free = threading.Event()
    held.callback(is_free.set)
    let_go = threading.Timer(0.5, held.close)
    let_go.start()

    code, out, _ = secret("set", "TOKEN", typed=VALUE)
    has_waited = is_free.is_set()
    let_go.join()

    assert (code, out[:13]) == (0, "TOKEN is kept")
    assert has_waited


def test_a_plain_word_is_kept_and_said_to_be_one(secret: Shell) -> None:
    plain, long = (secret("set", "TOKEN", typed=value)[2] for value in ("message", "messages-42"))

    assert "TOKEN is one plain word or number" in plain
    assert long == ""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bytes_that_are_no_text_are_refused_in_any_locale(secret: Shell, locale: str) -> None:
    code = "import sys; sys.argv[1:] = ['secret', 'set', 'TOKEN']; from bot.cli import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, input=b"\xff\xfe\0abcdefgh", capture_output=True,
        env={**os.environ, "LC_ALL": locale}, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr
    assert rows(secret) == []


def test_a_closed_standard_input_gives_no_value(secret: Shell) -> None:
    code = "import sys; sys.argv[1:] = ['secret', 'set', 'TOKEN']; from bot.cli import main; main()"

    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, code], cwd=ROOT, capture_output=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert b"No value was given" in done.stderr


def test_a_terminal_is_asked_without_an_echo(secret: Shell) -> None:
    ours, theirs = pty.openpty()
    code = (
        "import os, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    )
    code += "sys.argv[1:] = ['secret', 'set', 'TOKEN']; from bot.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = _until(ours, b"(not shown): ")
        while termios.tcgetattr(ours)[3] & termios.ECHO:
            time.sleep(0.01)
        os.write(ours, VALUE.encode() + b"\n")
        shown += _until(ours, b"from now on.")
        assert process.wait(20) == 0
    os.close(ours)

    assert VALUE.encode() not in shown
    assert [row["name"] for row in rows(secret)] == ["TOKEN"]


def _until(terminal: int, words: bytes) -> bytes:
    shown = b""
    while words not in shown:
        try:
            shown += os.read(terminal, 4096)
        except OSError as error:
            raise AssertionError(shown.decode()) from error
    return shown
