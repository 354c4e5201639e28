"""The keys of the device: published from the file, and the same ones again where that was cut."""

import json
from pathlib import Path

import pytest
from aiohttp import web

from adapters.matrix import crypto_store
from adapters.matrix.account import Account
from bot.errors import Wait


async def test_keys_whose_publishing_was_cut_are_published_again_after_a_restart(
    tmp_path: Path,
) -> None:
    published: list[dict[str, object]] = []

    async def answer(request: web.Request) -> web.Response:
        published.append(json.loads(await request.text()))
        if len(published) == 1:
            assert request.transport is not None
            request.transport.close()
        return web.json_response({"one_time_key_counts": {"signed_curve25519": 50}})

    app = web.Application()
    app.router.add_post("/_matrix/client/v3/keys/upload", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    account = Account(
        f"http://127.0.0.1:{runner.addresses[0][1]}", "@bot:x", "D1", 1.0, "token", "pickle"
    )
    crypto_store.make(tmp_path, account)

    for is_cut in (True, False):
        client = crypto_store.open_client(tmp_path, account)
        try:
            if is_cut:
                with pytest.raises(Wait):
                    await crypto_store.upload_keys(client)
            else:
                await crypto_store.upload_keys(client)
        finally:
            await client.close()
            crypto_store.close(client)
    await runner.cleanup()

    first, second = (each["one_time_keys"] for each in published)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first.keys() <= second.keys()
    assert all(second[name]["key"] == first[name]["key"] for name in first)
    assert published[0]["device_keys"] == published[1]["device_keys"]


def test_a_homeserver_may_name_devices_as_it_likes(tmp_path: Path) -> None:
    for name in ("../../x", "a/b", "@", "ü ", "." * 3, "CON"):
        path = crypto_store.path_of(tmp_path, name)

        assert path.parent == tmp_path
        assert "/" not in path.name
