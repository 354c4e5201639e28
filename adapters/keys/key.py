"""
Keys as text: one a line, 32 bytes in base64, the newest first. Lines that begin with `#` are remarks.
"""

import base64
import binascii
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from bot.errors import SecretsUnusable

KEY_BYTES: Final = 32
"""AES-256."""
_HEADER: Final = (
    "# Headway's secret key: tokens, seeds and secrets in the database are sealed under it.\n"
    "# Keep a copy where no backup of the database lies. The newest key stands first.\n"
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key and its id, which tells it from others and says nothing of it."""

    raw: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """First 8 hex digits of a hash of the key."""
        return sha256(b"headway key id\0" + self.raw).hexdigest()[:8]


def new_key() -> Key:
    """A key of the system's randomness."""
    return Key(secrets.token_bytes(KEY_BYTES))


def read_keys(text: str, where: str) -> tuple[Key, ...]:
    """The keys in a text, newest first.

    Args:
        where: what the text stands in, as a sentence names it.

    Raises:
        SecretsUnusable: it holds something else, or none.
    """
    words = [
        word for line in text.splitlines() if not line.startswith("#") for word in line.split()
    ]
    keys = tuple(_read(word) for word in words)
    if not keys or None in keys:
        raise SecretsUnusable(
            f"{where} holds no key as Headway writes one (32 bytes in base64, one a line). "
            "Put the right one in its place, or make one: "
            "head -c 32 /dev/urandom | base64"
        )
    return tuple(dict.fromkeys(key for key in keys if key is not None))


def write_keys(keys: Sequence[Key]) -> str:
    """The text of a key file."""
    return _HEADER + "".join(base64.b64encode(key.raw).decode("ascii") + "\n" for key in keys)


def _read(word: str) -> Key | None:
    try:
        raw = base64.b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Key(raw) if len(raw) == KEY_BYTES else None
