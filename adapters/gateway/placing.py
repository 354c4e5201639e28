"""
Secrets put into requests, and taken out of what comes back.

Rule 1: inside the sandbox a secret is a word of ours that nobody can guess, another one for each goal. Toward
        the secret's hosts, and over TLS alone, the value stands in its place: in headers, in the account of
        `Basic`, in the address. Nothing is put into a body.
Rule 2: what such a host answers is read for the value in every form that `bot.redaction` knows, whether
        or not it was put in, and the word stands in its place again.
"""

import base64
import binascii
import hmac
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from adapters.gateway.verdicts import Denied
from bot.redaction import forms

Headers = Sequence[tuple[bytes, bytes]]
_LEAST: Final = 8
"""Bytes of a form that is looked for in what may be a picture or an archive."""
_BASIC: Final = re.compile(rb"(basic\s+)([A-Za-z0-9+/=_-]+)\s*", re.IGNORECASE)
_BLOCK: Final = 256 * 1024


def placeholder(key: bytes, goal: str, name: str) -> str:
    """What stands for a secret inside a goal's sandbox."""
    made = hmac.digest(key, f"{goal}\0{name}".encode(), "sha256").hex()
    return f"headway_{made[:40]}"


@dataclass(frozen=True, slots=True)
class Held:
    """A secret on its way to a host."""

    name: str
    placeholder: bytes
    value: bytes


class Placing:
    """The secrets that go to one host."""

    def __init__(self, held: Iterable[Held], host: str) -> None:
        self._held, self._host = tuple(held), host
        self.used: set[str] = set()
        """Names of those that were put in."""

    def target(self, target: bytes) -> bytes:
        """The address below the host, with the values."""
        for one in self._held:
            if one.placeholder in target:
                self.used.add(one.name)
                target = target.replace(one.placeholder, quote(one.value, safe="").encode())
        return target

    def headers(self, headers: Headers) -> Headers:
        """The headers, with the values. Raises Denied: one cannot stand in a header."""
        return [(name, self._value(name, value)) for name, value in headers]

    def told(self) -> Mapping[bytes, bytes]:
        """Each form of each value, and what stands for it in an answer."""
        found = {}
        for one in self._held:
            text = one.value.decode("utf-8", "surrogateescape")
            for form in (one.value, *forms(text)):
                if len(form) >= _LEAST or form == one.value:
                    found[form] = one.placeholder
        return found

    def _value(self, name: bytes, value: bytes) -> bytes:
        basic = _BASIC.fullmatch(value) if name == b"authorization" else None
        if basic is not None:
            return basic[1] + self._account(basic[2])
        for one in self._held:
            if one.placeholder in value:
                value = value.replace(one.placeholder, self._fit(one))
        return value

    def _account(self, encoded: bytes) -> bytes:
        try:
            account = base64.b64decode(
                encoded, altchars=b"-_" if b"-" in encoded or b"_" in encoded else None
            )
        except (binascii.Error, ValueError):
            return encoded
        for one in self._held:
            if one.placeholder in account:
                self.used.add(one.name)
                account = account.replace(one.placeholder, one.value)
                encoded = base64.b64encode(account)
        return encoded

    def _fit(self, one: Held) -> bytes:
        if any(byte < 0x20 or byte == 0x7F for byte in one.value) or one.value != one.value.strip():
            raise Denied(
                self._host, f"the secret {one.name} cannot stand in a header as it is", status=400
            )
        self.used.add(one.name)
        return one.value


class Scrubber:
    """Takes known bytes out of a stream, wherever its pieces end."""

    def __init__(self, told: Mapping[bytes, bytes]) -> None:
        self._told = told
        self._pattern = re.compile(
            b"|".join(re.escape(form) for form in sorted(told, key=len, reverse=True))
        )
        self._most = max(map(len, told), default=1) - 1
        self._held = b""

    def whole(self, text: bytes) -> bytes:
        """A text that is here as a whole."""
        return self._pattern.sub(lambda found: self._told[found[0]], text) if self._told else text

    def is_in_name(self, name: bytes) -> bool:
        """Whether a header's name, which may have lost its capitals, holds one."""
        return any(form.lower() in name.lower() for form in self._told)

    def feed(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """What can be said of the stream by now; of the last piece, all that is left."""
        if not self._told:
            return piece
        held = self._held + piece
        upto = len(held) if is_last else max(0, len(held) - self._most)
        said, at = [], 0
        for found in self._pattern.finditer(held):
            if found.start() >= upto:
                break
            said += [held[at : found.start()], self._told[found[0]]]
            at = found.end()
        upto = max(at, upto)
        said.append(held[at:upto])
        self._held = held[upto:]
        return b"".join(said)


class Unpacking:
    """A body without the compression that it came in, bounded: it is taken out of its server's hands."""

    def __init__(self, coding: bytes, host: str) -> None:
        """Raises Denied: it cannot be read."""
        known = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}
        if coding not in (b"", b"identity") and coding not in known:
            raise Denied(host, "it answers in a compression that is not read here", status=502)
        self._host = host
        self._unpacker = zlib.decompressobj(known[coding]) if coding in known else None

    @property
    def is_needed(self) -> bool:
        """The body is compressed."""
        return self._unpacker is not None

    def feed(self, piece: bytes) -> Iterable[bytes]:
        """The piece unpacked, in pieces of a bounded size. Raises Denied: it is broken."""
        if self._unpacker is None:
            yield piece
            return
        try:
            while piece:
                yield self._unpacker.decompress(piece, _BLOCK)
                piece = self._unpacker.unconsumed_tail
        except zlib.error as error:
            raise Denied(self._host, "its compressed answer is broken", status=502) from error
