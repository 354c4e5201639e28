"""Homeservers that want another consent to the bot's identity than a password, and such that fail."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nio
import pytest
from aiohttp import web

from adapters.matrix.cross_signing import NotSigned, new_seeds, publish
from adapters.matrix.errors import LoggedOut
from bot.errors import Wait
from tests.adapters.matrix.encrypted_bot import client_of
from tests.peers.synapse import Account, Synapse

USER = "@bot:here"
Json = dict[str, Any]


@dataclass
class Homeserver:
    """What it says to an upload of an identity; it keeps what it was given."""

    asks: Json = field(default_factory=dict)
    refuses: tuple[int, object] = (0, {})
    failures: Json = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    """Sessions that a person approved."""
    device: Json = field(default_factory=dict)
    identity: Json = field(default_factory=dict)
    consents: list[Json] = field(default_factory=list)

    async def upload(self, request: web.Request) -> web.Response:
        body = await request.json()
        status, said = self.refuses
        if status and isinstance(said, str):
            return web.Response(text=said, status=status, content_type="text/html")
        if status:
            return web.json_response(said, status=status)
        consent = body.pop("auth", None)
        if consent is not None:
            self.consents.append(consent)
        if self.asks and (consent or {}).get("session") not in self.approved:
            return web.json_response({"session": "s", **self.asks}, status=401)
        self.identity = body
        return web.json_response({})

    async def query(self, request: web.Request) -> web.Response:
        kinds = ("master_key", "self_signing_key", "user_signing_key")
        told = {f"{kind}s": {USER: self.identity[kind]} for kind in kinds if kind in self.identity}
        devices = {USER: {"DEVICE": self.device}} if self.device else {}
        return web.json_response({"device_keys": devices, **told})

    async def keys(self, request: web.Request) -> web.Response:
        self.device = (await request.json())["device_keys"]
        return web.json_response({"one_time_key_counts": {"signed_curve25519": 50}})

    async def signatures(self, request: web.Request) -> web.Response:
        if self.failures:
            return web.json_response({"failures": {USER: self.failures}})
        self.device = (await request.json())[USER]["DEVICE"]
        return web.json_response({"failures": {}})


@asynccontextmanager
async def asking(folder: Path, **how: Any) -> AsyncIterator[tuple[Homeserver, nio.AsyncClient]]:
    """The homeserver, and a client that is logged in there."""
    server, app = Homeserver(**how), web.Application()
    below = "/_matrix/client/v3/keys"
    app.router.add_post(f"{below}/device_signing/upload", server.upload)
    app.router.add_post(f"{below}/signatures/upload", server.signatures)
    app.router.add_post(f"{below}/query", server.query)
    app.router.add_post(f"{below}/upload", server.keys)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    bed = Synapse(folder, port, "none")
    client = client_of(bed, Account(USER, "", "token", "DEVICE"), folder)
    try:
        yield server, client
    finally:
        await client.close()
        await runner.cleanup()


OAUTH = {
    "flows": [{"stages": ["m.oauth"]}],
    "params": {"m.oauth": {"url": "https://account.here/reset"}},
}
OLDER = {
    "flows": [{"stages": ["org.matrix.cross_signing_reset"]}],
    "params": {"org.matrix.cross_signing_reset": {"url": "https://account.here/older"}},
}
EITHER = {"flows": [{"stages": ["m.login.password"]}, {"stages": ["m.login.sso"]}]}
SSO = {"flows": [{"stages": ["m.login.sso"]}, {"stages": ["m.login.email.identity"]}]}


@pytest.mark.parametrize(
    ("asks", "page"),
    [
        (OAUTH, "https://account.here/reset"),
        (OLDER, "https://account.here/older"),
        (EITHER, "/_matrix/client/v3/auth/m.login.sso/fallback/web?session=s"),
        (SSO, "/_matrix/client/v3/auth/m.login.sso/fallback/web?session=s"),
    ],
)
async def test_what_a_person_approves_in_a_browser_goes_on(
    tmp_path: Path, asks: Json, page: str
) -> None:
    shown = []
    async with asking(tmp_path, asks=asks) as (server, client):

        async def approve(address: str) -> None:
            shown.append(address)
            server.approved.add("s")

        await publish(client, new_seeds(), approve=approve)

    assert shown[0].endswith(page)
    assert server.consents == [{"session": "s"}]
    assert len(server.device["signatures"][USER]) == 2


async def test_what_was_not_approved_is_said(tmp_path: Path) -> None:
    async def forget(address: str) -> None:
        await asyncio.sleep(0)

    async with asking(tmp_path, asks=OAUTH) as (server, client):
        with pytest.raises(NotSigned, match="still asks for consent") as refused:
            await publish(client, new_seeds(), approve=forget)
        with pytest.raises(NotSigned, match="open https://account") as unattended:
            await publish(client, new_seeds(), password="of no use")

    assert (refused.value.kind, unattended.value.kind) == ("approval", "approval")
    assert not server.identity


@pytest.mark.parametrize(
    "asks",
    [
        {"flows": [{"stages": ["m.login.email.identity"]}]},
        {"flows": []},
        {"flows": [None, {"stages": None}, {"stages": ["m.login.password", "m.login.terms"]}]},
        {"flows": [{"stages": ["m.oauth"]}], "params": None},
    ],
)
async def test_a_consent_that_the_bot_cannot_give_is_said(tmp_path: Path, asks: Json) -> None:
    async with asking(tmp_path, asks=asks) as (_, client):
        with pytest.raises(NotSigned) as refused:
            await publish(client, new_seeds(), password="secret")

    assert refused.value.kind == "unsupported"


@pytest.mark.parametrize(
    ("refuses", "kind"),
    [
        ((404, {"errcode": "M_UNRECOGNIZED", "error": "?"}), "unsupported"),
        ((403, {"errcode": "M_FORBIDDEN", "error": "no"}), "refused"),
    ],
)
async def test_a_homeserver_that_refuses_is_told_apart(
    tmp_path: Path, refuses: tuple[int, object], kind: str
) -> None:
    async with asking(tmp_path, refuses=refuses) as (_, client):
        with pytest.raises(NotSigned) as refused:
            await publish(client, new_seeds())

    assert refused.value.kind == kind


@pytest.mark.parametrize(
    "refuses",
    [
        (502, "<html>Bad Gateway</html>"),
        (200, "<html>Log in to this network</html>"),
        (401, "<html>Who are you?</html>"),
        (500, {}),
        (429, {"errcode": "M_LIMIT_EXCEEDED", "error": "slow", "retry_after_ms": 1500}),
    ],
)
async def test_a_homeserver_in_trouble_is_waited_for(
    tmp_path: Path, refuses: tuple[int, object]
) -> None:
    async with asking(tmp_path, refuses=refuses) as (_, client):
        with pytest.raises(Wait) as wait:
            await publish(client, new_seeds())

    assert wait.value.retry_after_s == (1.5 if refuses[0] == 429 else None)


async def test_a_token_that_is_not_known_is_no_question(tmp_path: Path) -> None:
    said = (401, {"errcode": "M_UNKNOWN_TOKEN", "error": "?", "soft_logout": True})
    async with asking(tmp_path, refuses=said) as (_, client):
        with pytest.raises(LoggedOut):
            await publish(client, new_seeds())


async def test_a_signature_that_is_refused_is_said(tmp_path: Path) -> None:
    failures = {"DEVICE": {"errcode": "M_INVALID_SIGNATURE", "error": "no"}}
    async with asking(tmp_path, failures=failures) as (_, client):
        with pytest.raises(NotSigned, match="refuses the signature"):
            await publish(client, new_seeds())


async def test_a_device_whose_keys_were_swapped_by_the_homeserver_is_not_signed(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path) as (server, client):
        seeds = new_seeds()
        await publish(client, seeds)
        server.device["keys"]["ed25519:DEVICE"] = "a key of the homeserver's"
        server.device["signatures"] = {}

        with pytest.raises(NotSigned, match="other keys for the device"):
            await publish(client, seeds)
