"""Values that a setting may have which are more than a word or a number."""

import os
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from bot.errors import BadSettings
from bot.goals.limits import MOST_USD, Limits
from bot.goals.money import NANO, Price
from bot.hosts import read_vouched, read_words

KEY_FILE: Final = "secret.key"


def default_state_dir() -> Path:
    """`$XDG_STATE_HOME/headway`, else `~/.local/state/headway`, else `.headway` here."""
    root = os.environ.get("XDG_STATE_HOME")
    if root:
        return Path(root) / "headway"
    home = os.environ.get("HOME")
    return Path(home) / ".local/state/headway" if home else Path(".headway")


def default_key_file() -> Path:
    """Where the secret key lies: `secret.key` among systemd's credentials, if it is there; else in
    the user's configuration folder (`$XDG_CONFIG_HOME/headway`, `~/.config/headway`); without one,
    in /etc/headway.
    """
    handed = os.environ.get("CREDENTIALS_DIRECTORY")
    if handed and (Path(handed) / KEY_FILE).is_file():
        return Path(handed) / KEY_FILE
    root, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if root or home:
        return (Path(root) if root else Path(home or "") / ".config") / "headway" / KEY_FILE
    return Path("/etc/headway") / KEY_FILE


def key_in(file: Path) -> str:
    """The model's key in a file. Raises BadSettings: it cannot be read, or holds something else."""
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise BadSettings(
            f"The key file {file} cannot be read ({error.strerror}). Mend its path or its rights."
        ) from error
    except UnicodeDecodeError as error:
        raise BadSettings(
            f"The key file {file} is no plain text. Write the key alone into it, as UTF-8."
        ) from error
    return one_word(text, f"The key file {file}")


def one_word(text: str, where: str) -> str:
    """A key without the white space around it.

    Raises:
        BadSettings: it cannot be sent as the header that carries it (RFC 9110, section 5.5); a
            connection would seem to fail.
    """
    key = text.strip()
    if all("!" <= letter <= "~" for letter in key):
        return key
    raise BadSettings(
        f"{where} holds more than a key: white space inside, or letters that no key has. Put the "
        "key alone in its place."
    )


def a_zone(value: str) -> str:
    """A name of a time zone, or nothing. Raises ValueError."""
    try:
        if value:
            ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("no zone of that name is known, give one such as Europe/Berlin") from error
    return value


def an_address(value: str) -> str:
    """Where something listens, or nothing. Raises ValueError."""
    host, _, port = value.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and int(port) < 65_536
    if value and not value.removeprefix("unix:").startswith("/") and not (host and is_port):
        raise ValueError("give an address and a port, such as 127.0.0.1:8377, or unix:/PATH")
    return value


def a_matrix_id(value: str) -> str:
    """A full Matrix id of a user, or nothing. Raises ValueError."""
    localpart, _, server = value.partition(":")
    is_one = localpart.startswith("@") and len(localpart) > 1 and server and " " not in value
    if value and not is_one:
        raise ValueError("give the full id, such as @headway:example.org")
    return value


def a_command(value: str) -> str:
    """The name of a slash command, without its slash. Raises ValueError."""
    name = value.removeprefix("/")
    if not re.fullmatch(r"[a-z0-9_-]{1,31}", name):
        raise ValueError("give 1 to 31 small letters, digits, - or _, such as goal")
    return name


def a_url(value: str) -> str:
    """An address of the web, or nothing. Raises ValueError."""
    if value and not re.fullmatch(r"https?://[^\s/]+\S*", value):
        raise ValueError("give a whole address, such as https://bot.example.org")
    return value


def some_hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    """Bundles and hosts. Raises ValueError."""
    try:
        return read_words(value)
    except ValueError as error:
        raise ValueError(f"{error}; give such as pypi, api.example.org, *.example.org") from error


def a_private_host(value: str) -> str:
    """A host and its address. Raises ValueError."""
    try:
        read_vouched(value)
    except ValueError as error:
        raise ValueError(f"{error}; give such as git.example.org=10.0.0.5:8443") from error
    return value


def without_negatives(value: Limits) -> Limits:
    """The limits, none of which is negative. Raises ValueError."""
    for name, number in asdict(value).items():
        if number < 0:
            raise ValueError(f"{name} should not be negative, as {number:g} is")
    return value


class ModelPrice(BaseModel):
    """What a model costs, in dollars a million tokens. A cache class that is left out is as input."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0, le=MOST_USD)
    output: float = Field(ge=0, le=MOST_USD)
    cache_read: float | None = Field(default=None, ge=0, le=MOST_USD)
    cache_write: float | None = Field(default=None, ge=0, le=MOST_USD)

    def price(self) -> Price:
        """In nano-dollars a token. An hour's cache costs what five minutes' does."""
        write = _nano(self.input if self.cache_write is None else self.cache_write)
        read = _nano(self.input if self.cache_read is None else self.cache_read)
        return Price(_nano(self.input), write, write, read, _nano(self.output))


def _nano(usd_a_million: float) -> int:
    return round(usd_a_million * NANO / 1_000_000)


def a_command_line(text: str) -> str:
    """A program and its arguments, as a shell would read them."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no command line: {error}") from error
    if not words:
        raise ValueError("a command line names a program")
    return shlex.join(words)
