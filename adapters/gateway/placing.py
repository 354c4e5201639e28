"""
Secrets put into requests.

Rule: inside the sandbox a secret is a word of ours that nobody can guess, another one for each goal. Toward
        the secret's hosts, and over TLS alone, the value stands in its place: in headers, in the account of
        `Basic`, in the address. Nothing is put into a body.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from adapters.gateway.verdicts import Denied

Headers = Sequence[tuple[bytes, bytes]]
_BASIC: Final = re.compile(rb"(basic\s+)([A-Za-z0-9+/=_-]+)\s*", re.IGNORECASE)


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
        self.held, self._host = tuple(held), host
        self.used: set[str] = set()
        """Names of those that were put in."""

    def target(self, target: bytes) -> bytes:
        """The address below the host, with the values."""
        for one in self.held:
            if one.placeholder in target:
                self.used.add(one.name)
                target = target.replace(one.placeholder, quote(one.value, safe="").encode())
        return target

    def headers(self, headers: Headers) -> Headers:
        """The headers, with the values. Raises Denied: one cannot stand in a header."""
        return [(name, self._value(name, value)) for name, value in headers]

    def _value(self, name: bytes, value: bytes) -> bytes:
        basic = _BASIC.fullmatch(value) if name == b"authorization" else None
        if basic is not None:
            return basic[1] + self._account(basic[2])
        for one in self.held:
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
        for one in self.held:
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
