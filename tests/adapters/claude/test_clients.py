"""Which client is built, and what is said when it cannot be."""

import asyncio
import sys
import time
from typing import Any

import anthropic
import pytest

from adapters.claude.clients import Endpoint, build_client
from adapters.claude.date import served_at
from adapters.claude.endpoint import ClaudeModel
from adapters.rehearsal.script import linear, say
from bot.errors import BadSettings, ModelRefusesUs
from tests.adapters.claude.clocks import FastClock
from tests.adapters.claude.serving import asked
from tests.peers.messages_api import in_loop


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, anthropic.AsyncAnthropic),
        ({"provider": "bedrock", "region": "eu-west-1"}, anthropic.AsyncAnthropicBedrock),
        (
            {"provider": "vertex", "region": "europe-west1", "project": "p"},
            anthropic.AsyncAnthropicVertex,
        ),
    ],
)
async def test_each_provider_has_its_client_and_none_retries(
    fields: dict[str, Any], kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token")

    client = build_client(Endpoint(**fields))

    assert type(client) is kind
    assert client.max_retries == 0
    assert type(client._client).__name__ == "_DefaultAioHttpClient"
    await client.close()


@pytest.mark.parametrize(
    ("provider", "module"),
    [("bedrock", "boto3"), ("vertex", "google.auth")],
)
def test_a_missing_extra_says_how_to_install_it(
    provider: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("adapters.claude.clients.find_spec", lambda _: None)

    with pytest.raises(BadSettings, match=r"Install headway\[(bedrock|vertex)\]"):
        build_client(Endpoint(provider=provider, region="eu-west-1", project="p"))


@pytest.mark.parametrize("base_url", ["api.anthropic.com", "ftp://a.b", "http://", ""])
def test_an_address_that_is_none_is_said(base_url: str) -> None:
    with pytest.raises(BadSettings, match="base_url"):
        build_client(Endpoint(base_url=base_url))


def test_an_unknown_provider_is_said() -> None:
    with pytest.raises(BadSettings, match="Set one of"):
        build_client(Endpoint(provider="abacus"))  # type: ignore[arg-type]


def test_vertex_without_a_region_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUD_ML_REGION", raising=False)

    with pytest.raises(BadSettings, match="region"):
        build_client(Endpoint(provider="vertex", project="p"))


@pytest.mark.parametrize("provider", ["bedrock", "vertex"])
async def test_a_cloud_without_credentials_is_the_operator_s_to_mend(
    provider: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    endpoint = Endpoint(
        provider=provider, region="eu-west-1", project="p", base_url="http://127.0.0.1:9"
    )
    model = ClaudeModel(endpoint, model=asked().model, key=lambda: None, clock=FastClock())

    with pytest.raises(ModelRefusesUs) as caught:
        await model.check()
    await model.aclose()

    assert caught.value.kind == "auth"


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async with in_loop(linear([say("Done.")])) as api:
        client = build_client(Endpoint(base_url=api.url)).with_options(api_key=api.key)
        message = await client.messages.create(
            model="claude-sonnet-5-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        )
        date = await asyncio.to_thread(served_at, api.url, timeout_s=5)
        await client.close()

    assert message.content[0].text == "Done."
    assert date == pytest.approx(time.time(), abs=60)
