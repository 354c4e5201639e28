"""
A homeserver before there is a session, and what makes, renews and ends one. Knows nothing of nio.

Rule 1: a password and a token go to the homeserver's address and nowhere else: no redirect is
        followed with them.
Rule 2: an answer that lacks what was asked for is `NotMatrix`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import aiohttp

from adapters.matrix.errors import NotMatrix, refusal, translated
from bot.errors import BadInput, Refused, Wait

CALL_S: Final = 30.0
LOGIN: Final = "/_matrix/client/v3/login"
WELL_KNOWN: Final = "/.well-known/matrix/client"
MOST_BYTES: Final = 1_000_000
"""Of an answer; none of these has a hundredth of it."""


@dataclass(frozen=True, slots=True)
class Login:
    """What a login or a renewal gave. `lasts_s` is None where the token does not run out."""

    access_token: str = field(repr=False)
    user_id: str = ""
    device_id: str = ""
    refresh_token: str = field(default="", repr=False)
    lasts_s: float | None = None


@dataclass(frozen=True, slots=True)
class Who:
    """Whose token it is. `device_id` is empty where the homeserver does not say."""

    user_id: str
    device_id: str


class Homeserver:
    """Calls to one homeserver. Every one raises Wait, NotMatrix, LoggedOut, AccountClosed, Refused."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.url = url.rstrip("/")
        self._http = http

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str) -> AsyncIterator[Self]:
        """A homeserver at this URL; nothing is asked of it yet."""
        timeout = aiohttp.ClientTimeout(total=CALL_S)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            yield cls(url, http)

    async def versions(self) -> tuple[str, ...]:
        """The versions of Matrix that it speaks."""
        body = await self._call("GET", "/_matrix/client/versions")
        versions = body.get("versions")
        if not isinstance(versions, list):
            raise _lacking("versions")
        return tuple(str(version) for version in versions)

    async def ways_in(self) -> frozenset[str]:
        """How people log in there, such as m.login.password."""
        flows = (await self._call("GET", LOGIN)).get("flows")
        if not isinstance(flows, list):
            raise _lacking("flows")
        return frozenset(str(flow.get("type")) for flow in flows if isinstance(flow, dict))

    async def login(self, user: str, password: str, device_id: str, name: str) -> Login:
        """Log in on a device, new or not. Refused with M_FORBIDDEN: the user or the password is wrong.

        A token that never runs out is preferred: one that was renewed since is worth nothing in a
        backup. Where all run out, one that can be renewed is asked for.

        Args:
            user: a full user id, or the localpart alone.
            name: what the device is called in lists of devices.
        """
        wish: dict[str, Any] = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": user},
            "password": password,
            "device_id": device_id,
            "initial_device_display_name": name,
        }
        login = _login(await self._call("POST", LOGIN, wish), is_whole=True)
        if login.lasts_s is None or login.refresh_token:
            return login
        wish |= {"device_id": login.device_id, "refresh_token": True}
        return _login(await self._call("POST", LOGIN, wish), is_whole=True)

    async def refresh(self, refresh_token: str) -> Login:
        """A new access token. LoggedOut, Refused: the refresh token is not valid any more."""
        wish = {"refresh_token": refresh_token}
        return _login(await self._call("POST", "/_matrix/client/v3/refresh", wish), is_whole=False)

    async def whoami(self, token: str) -> Who:
        """Whose token it is."""
        body = await self._call("GET", "/_matrix/client/v3/account/whoami", token=token)
        return Who(_text(body, "user_id"), str(body.get("device_id") or ""))

    async def logout(self, token: str) -> None:
        """End the session; the homeserver forgets the device and its keys."""
        await self._call("POST", "/_matrix/client/v3/logout", {}, token=token)

    async def device_keys(self, token: str, user_id: str, device_id: str) -> dict[str, str] | None:
        """The public keys that a device has there, by algorithm; None where it has none."""
        wish = {"device_keys": {user_id: [device_id]}}
        body = await self._call("POST", "/_matrix/client/v3/keys/query", wish, token=token)
        found: Any = body.get("device_keys")
        for name in (user_id, device_id, "keys"):
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return None
        return {str(name).partition(":")[0]: str(key) for name, key in found.items()}

    async def set_name(self, token: str, user_id: str, name: str) -> None:
        """Set how the user is shown."""
        path = f"/_matrix/client/v3/profile/{quote(user_id, safe='')}/displayname"
        await self._call("PUT", path, {"displayname": name}, token=token)

    async def knows(self, token: str, user_id: str) -> bool:
        """Whether there is such a user, as far as the homeserver says."""
        path = f"/_matrix/client/v3/profile/{quote(user_id, safe='')}"
        try:
            await self._call("GET", path, token=token)
        except Refused as error:
            return error.code not in ("M_NOT_FOUND", "M_UNKNOWN")
        return True

    async def _call(
        self, method: str, path: str, body: object = None, *, token: str = ""
    ) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with translated(f"{urlsplit(self.url).netloc} does not answer"):
            asked = self._http.request(
                method, self.url + path, json=body, headers=headers, allow_redirects=False
            )
            async with asked as answer:
                raw = await answer.content.read(MOST_BYTES)
        said = _object(raw)
        if said is None or not 200 <= answer.status < 300:
            raise refusal(answer.status, said, answer.headers)
        return said


async def discover(name: str) -> str:
    """The URL of the client API of a server name or a URL, with all that is said there checked.

    Args:
        name: such as example.org, matrix.example.org:8448, or http://127.0.0.1:8008.

    Raises:
        BadInput: that is no name and no URL, or names a server that says it has no such thing.
        Wait: nobody answers; NotMatrix: somebody else does.
    """
    name = name.strip()
    if "://" in name:
        return await _checked(_url(name))
    name = name.rstrip("/")
    _url(f"https://{name}")
    try:
        found = await _well_known(name)
    except Wait as error:
        # Many have their client API there where their name is, and no such page.
        try:
            return await _checked(f"https://{name}")
        except Wait:
            raise error from None
    return await _checked(_url(found) if found else f"https://{name}")


async def _well_known(name: str) -> str:
    """What the server says of its client API; empty where it has no such page."""
    timeout = aiohttp.ClientTimeout(total=CALL_S)
    with translated(f"{name} does not answer"):
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(f"https://{name}{WELL_KNOWN}") as answer,
        ):
            raw = await answer.content.read(MOST_BYTES)
    if answer.status == 404:
        return ""
    said = _object(raw)
    if said is None or answer.status != 200:
        raise refusal(answer.status, said, answer.headers)
    found = said.get("m.homeserver")
    url = found.get("base_url") if isinstance(found, dict) else None
    if not isinstance(url, str) or not url:
        raise BadInput(
            f"{name} does not say where its homeserver is ({WELL_KNOWN}). Give the homeserver's URL."
        )
    return url.rstrip("/")


async def _checked(url: str) -> str:
    async with Homeserver.at(url) as server:
        await server.versions()
    return url


def _url(text: str) -> str:
    """A URL that can be one of a homeserver. Raises BadInput."""
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
        parts = urlsplit("")
    if not is_one or parts.query or parts.fragment or parts.username or " " in text:
        raise BadInput(
            f"{text!r} is no server's name and no address. Give one such as example.org or "
            "https://matrix.example.org."
        )
    return text.rstrip("/")


def _login(body: dict[str, Any], *, is_whole: bool) -> Login:
    lasts_ms = body.get("expires_in_ms")
    is_number = isinstance(lasts_ms, int | float) and not isinstance(lasts_ms, bool)
    return Login(
        _text(body, "access_token"),
        _text(body, "user_id") if is_whole else "",
        _text(body, "device_id") if is_whole else "",
        str(body.get("refresh_token") or ""),
        float(lasts_ms) / 1000 if is_number and lasts_ms is not None else None,
    )


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise _lacking(name)
    return value


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        read = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _lacking(name: str) -> NotMatrix:
    return NotMatrix(
        f"The homeserver's answer lacks `{name}`: what answers there is no homeserver."
    )
