"""
The first words of a TLS client: which host it means (RFC 8446, section 4.1.2; RFC 6066, section 3). Pure.

Rule: what is no whole, well-formed ClientHello says nothing, and nothing is let through for it.
"""

import re
from typing import Final

HELLO_MOST: Final = 65_536
"""Bytes that are waited for. Those of today's clients have some 2,000."""
_HANDSHAKE: Final = 0x16
_CLIENT_HELLO: Final = 1
_SERVER_NAME: Final = 0
_RECORD_MOST: Final = 2**14
_NAME: Final = re.compile(rb"[A-Za-z0-9._:-]{0,255}")
"""What may be said of it to people and to the agent."""


class NoHello(Exception):
    """These bytes begin no TLS connection."""


def is_tls(first: bytes) -> bool:
    """Whether a connection that begins so may be TLS."""
    return first[:1] == bytes((_HANDSHAKE,))


def server_name(seen: bytes) -> str | None:
    """The name that a client asks for, empty where it names none; None while more is to come.

    Raises:
        NoHello: it is none, or too long.
    """
    message = _message(seen)
    if message is None:
        if len(seen) >= HELLO_MOST:
            raise NoHello
        return None
    try:
        return _name_in(_Bytes(message))
    except IndexError as error:
        raise NoHello from error


def _message(seen: bytes) -> bytes | None:
    """The ClientHello without its head, out of its records; None while more is to come."""
    held, at = b"", 0
    while True:
        if len(held) >= 4:
            size = int.from_bytes(held[1:4], "big")
            if held[0] != _CLIENT_HELLO or size > HELLO_MOST:
                raise NoHello
            if len(held) >= 4 + size:
                return held[4 : 4 + size]
        head = seen[at : at + 5]
        if (head and head[0] != _HANDSHAKE) or (len(head) > 1 and head[1] != 3):
            raise NoHello
        if len(head) < 5:
            return None
        size = int.from_bytes(head[3:5], "big")
        if not 0 < size <= _RECORD_MOST:
            raise NoHello
        record = seen[at + 5 : at + 5 + size]
        if len(record) < size:
            return None
        held, at = held + record, at + 5 + size


class _Bytes:
    """Bytes read from the left; IndexError where there are too few."""

    def __init__(self, held: bytes) -> None:
        self._held, self._at = held, 0

    @property
    def has_more(self) -> bool:
        return self._at < len(self._held)

    def take(self, size: int) -> bytes:
        taken = self._held[self._at : self._at + size]
        if len(taken) < size:
            raise IndexError
        self._at += size
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def part(self, size: int) -> "_Bytes":
        """What follows after its length in so many bytes."""
        return _Bytes(self.take(self.number(size)))

    def rest(self) -> bytes:
        return self.take(len(self._held) - self._at)


def _name_in(hello: _Bytes) -> str:
    hello.take(2 + 32)
    for size in (1, 2, 1):
        hello.part(size)
    if not hello.has_more:
        return ""
    extensions = hello.part(2)
    names: list[str] = []
    while extensions.has_more:
        kind, content = extensions.number(2), extensions.part(2)
        if kind == _SERVER_NAME:
            names += _names(content.part(2))
    if len(names) > 1:
        raise NoHello
    return names[0] if names else ""


def _names(listed: _Bytes) -> list[str]:
    names = []
    while listed.has_more:
        if listed.number(1) != 0:
            raise NoHello
        name = listed.part(2).rest()
        if _NAME.fullmatch(name) is None:
            raise NoHello
        names.append(name.decode("ascii"))
    return names
