"""
Names of hosts as people write them: `api.example.org`, `*.example.org`, `git.example.org:8443`.

Rule 1: a name is compared as DNS means it: in small letters, letters beyond ASCII by IDNA, without a dot
        at its end. What resolvers would take for an address in disguise (`0x7f.1`) is no name.
Rule 2: `*.` stands for all names below and not for the name itself, and never for a whole ending (`*.com`).
Rule 3: without a port an entry is about 80 and 443; with one, about that port alone.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import idna

from bot.bundles import BUNDLES

PORTS: Final = (80, 443)
"""Of an entry that names none."""
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NAME_CHARS: Final = 253


@dataclass(frozen=True, slots=True)
class HostRule:
    """One entry. `port`: None for `PORTS`; `is_below`: all names below `name`."""

    name: str
    port: int | None = None
    is_below: bool = False

    def covers(self, name: str, port: int) -> bool:
        """Whether a host's canonical name and port are meant."""
        if port != self.port and (self.port is not None or port not in PORTS):
            return False
        return name.endswith(f".{self.name}") if self.is_below else name == self.name


def host_name(text: str) -> str:
    """A host's name or address in its one canonical form; an IPv6 address without its brackets.

    Raises:
        ValueError: it is neither.
    """
    if text.startswith("[") and text.endswith("]"):
        return str(_address(ipaddress.IPv6Address(text[1:-1])))
    name = text if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _NAME_CHARS or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text[:60]!r} is no name of a host")
    if _NUMBER.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(name))
    return name


@lru_cache(maxsize=4096)
def read_rule(text: str) -> HostRule:
    """An entry. Raises ValueError: it is none."""
    host, port = split_port(text.strip())
    is_below = host.startswith("*.")
    name = host_name(host.removeprefix("*."))
    if is_below and (_is_address(name) or "." not in name):
        raise ValueError(f"{text[:60]!r} is more than one owner's")
    return HostRule(name, port, is_below)


def rule_text(rule: HostRule) -> str:
    """The entry as it is written in its canonical form."""
    name = f"[{rule.name}]" if ":" in rule.name else rule.name
    port = "" if rule.port is None else f":{rule.port}"
    return f"{'*.' if rule.is_below else ''}{name}{port}"


def split_port(text: str) -> tuple[str, int | None]:
    """`host:port` or `[v6]:port` in its parts; a port from 1 to 65535. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, None
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) < 65_536):
        raise ValueError(f"{text[:60]!r} is no name of a host, or has no port that there is")
    return host, int(port)


def read_words(words: Iterable[str]) -> tuple[str, ...]:
    """Bundles and entries in their canonical form, each once. Raises ValueError with the one that is wrong."""
    return tuple(dict.fromkeys(_canonical(word.strip()) for word in words if word.strip()))


def expanded(words: Iterable[str]) -> frozenset[str]:
    """The entries that bundles and entries stand for; those that cannot be read are left out."""
    found: set[str] = set()
    for word in words:
        if word in BUNDLES:
            found.update(BUNDLES[word])
            continue
        try:
            found.add(_canonical(word))
        except ValueError:
            continue
    return frozenset(found)


def is_covered(rules: Iterable[str], name: str, port: int) -> bool:
    """Whether one of the entries means this host (a canonical name) at this port."""
    return any(read_rule(rule).covers(name, port) for rule in rules)


def is_inside(rule: str) -> bool:
    """Whether an entry is, by its text alone, about this machine or a network of its owner's."""
    name = read_rule(rule).name
    if _is_address(name):
        return not ipaddress.ip_address(name).is_global
    return name == "localhost" or name.endswith(".localhost")


def read_vouched(text: str) -> tuple[HostRule, tuple[str, int | None]]:
    """`name[:port]=address[:port]`: a host, and the address that it has. Raises ValueError."""
    left, equals, right = text.partition("=")
    rule, (host, port) = read_rule(left), split_port(right.strip())
    address = host_name(host) if equals else ""
    if rule.is_below or not _is_address(address):
        raise ValueError(f"{text[:60]!r} is no name=address")
    return rule, (address, port)


def vouched(texts: Iterable[str]) -> Mapping[HostRule, tuple[str, int | None]]:
    """All of them."""
    return dict(map(read_vouched, texts))


def _canonical(word: str) -> str:
    if word.lower() in BUNDLES:
        return word.lower()
    return rule_text(read_rule(word))


def _address(address: ipaddress.IPv6Address) -> ipaddress.IPv6Address:
    if address.scope_id is not None:
        raise ValueError(f"{address} is of one interface alone")
    return address


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
