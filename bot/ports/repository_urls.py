"""
Addresses of repositories: what is taken of what people type. Pure.

Rule: https and http alone, by name, with no credential, query or fragment in it: what git would take for an
option, a command, a file of this machine or another transport is no address.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from bot.hosts import host_name

URL_CHARS: Final = 500
PORTS: Final = {"https": 443, "http": 80}
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@/%-]*")
_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


class NoUrl(ValueError):
    """It cannot be taken; `code` says why: `scheme`, `credential`, `form`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class RepositoryUrl:
    """An address in its canonical form."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def entry(self) -> str:
        """The host as an entry of what may be reached (`bot.hosts`)."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def name(self) -> str:
        """What the repository is called where nobody says: the last part of its path."""
        last = self.url.rstrip("/").rpartition("/")[2].removesuffix(".git")
        return _NAME.sub("-", last).strip("-._")[:40] or "repository"


def read_url(text: str) -> RepositoryUrl:
    """The address that somebody typed. Raises NoUrl."""
    text = text.strip().removeprefix("<").removesuffix(">")
    scheme, separator, _ = text.partition("://")
    if not separator or scheme.lower() not in PORTS:
        raise NoUrl("scheme")
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS[parts.scheme]
        named = parts.hostname or ""
        host = host_name(f"[{named}]" if ":" in named else named)
    except ValueError:
        raise NoUrl("form") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise NoUrl("credential")
    if not _is_plain(text, parts):
        raise NoUrl("form")
    shown = f"[{host}]" if ":" in host else host
    at = shown if port == PORTS[parts.scheme] else f"{shown}:{port}"
    return RepositoryUrl(f"{parts.scheme}://{at}{parts.path}", parts.scheme, host, port)


def _is_plain(text: str, parts: SplitResult) -> bool:
    if len(text) > URL_CHARS or parts.query or parts.fragment or "?" in text or "#" in text:
        return False
    has_dots = any(part in (".", "..") for part in parts.path.split("/"))
    return bool(_PATH.fullmatch(parts.path)) and len(parts.path) > 1 and not has_dots
