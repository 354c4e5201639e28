"""Errors and broken connections, as the real SDK client meets them."""

import asyncio
import contextlib
from typing import Any

import anthropic
import pytest

from adapters.rehearsal.script import ERROR_TYPES, Fault, linear, say
from adapters.rehearsal.server import Options
from tests.adapters.rehearsal.conversation import FORCED, VERDICT, all_of, asking
from tests.peers.messages_api import KEY, MessagesApi, in_loop

CLASSES: dict[int, type[anthropic.APIStatusError]] = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    402: anthropic.PaymentRequiredError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    413: anthropic.ContentTooLargeError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    504: anthropic.GatewayTimeoutError,
    529: anthropic.OverloadedError,
}
DONE = linear([say("word " * 60)])


@pytest.mark.parametrize("status", sorted(ERROR_TYPES))
async def test_each_status_raises_the_class_that_the_sdk_has_for_it(status: int) -> None:
    async with in_loop(linear([Fault(status=status)])) as api, api.client() as client:
        with pytest.raises(CLASSES[status]) as caught:
            await client.messages.create(**asking(stream=True))

    assert caught.value.status_code == status
    assert caught.value.type == ERROR_TYPES[status][0]
    assert caught.value.request_id


async def test_a_rate_limit_says_how_long_to_wait() -> None:
    async with in_loop(linear([Fault(status=429, retry_after=7)])) as api, api.client() as client:
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**asking())

    assert caught.value.response.headers["retry-after"] == "7"


async def test_an_error_code_arrives_in_the_details() -> None:
    fault = Fault(status=400, details={"error_code": "compaction_unavailable"})

    async with in_loop(linear([fault])) as api, api.client() as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(**asking())

    assert caught.value.error_code == "compaction_unavailable"


async def test_a_wrong_key_is_refused_and_a_replaced_one_accepted() -> None:
    async with in_loop(DONE) as api, api.client(api_key="another") as client:
        with pytest.raises(anthropic.AuthenticationError):
            await client.messages.create(**asking())
        await api.keys(accept=("another",), revoke=(KEY,))
        message = await client.messages.create(**asking())
        calls = await api.calls()
        async with api.client() as revoked:
            with pytest.raises(anthropic.AuthenticationError):
                await revoked.messages.create(**asking())

    assert message.stop_reason == "end_turn"
    assert [made["status"] for made in calls] == [401, 200]
    assert calls[1]["key"] == "another"


async def test_an_unknown_model_is_not_found() -> None:
    options = Options(keys=(KEY,), models=("claude-opus-5",))

    async with in_loop(DONE, options=options) as api, api.client() as client:
        with pytest.raises(anthropic.NotFoundError) as caught:
            await client.messages.create(**asking())

    assert caught.value.type == "not_found_error"


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_request_over_32_megabytes_is_too_large() -> None:
    async with in_loop(DONE) as api, api.client() as client:
        with pytest.raises(anthropic.ContentTooLargeError) as caught:
            await client.messages.create(**asking("x" * (32 * 1024 * 1024)))

    assert caught.value.status_code == 413


@pytest.mark.parametrize("kind", ["cut_before_headers", "reply_lost"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_cut_before_the_headers_is_a_connection_error(kind: Any, stream: bool) -> None:
    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": kind})
        with pytest.raises(anthropic.APIConnectionError):
            await client.messages.create(**asking(stream=stream))
        totals = await api.totals()

    assert totals["delivered"] == 0
    assert totals["served"] == (1 if kind == "reply_lost" else 0)
    assert (totals["tokens"]["output"] > 0) is (kind == "reply_lost")


@pytest.mark.parametrize("kind", ["cut_after_headers", "cut_mid_stream"])
async def test_a_cut_stream_never_ends_well(kind: str) -> None:
    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": kind, "after_deltas": 3})
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is the transport's
            await all_of(await client.messages.create(**asking(stream=True)))
        totals = await api.totals()

    assert not isinstance(caught.value, anthropic.APIStatusError)
    assert totals["delivered"] == 0


async def test_a_stream_breaks_after_the_delta_that_was_named() -> None:
    seen = []

    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": "cut_mid_stream", "after_deltas": 3})
        stream = await client.messages.create(**asking(stream=True))
        with contextlib.suppress(Exception):  # the class is the transport's
            async for event in stream:
                seen.append(event.type)  # noqa: PERF401 - kept when the stream breaks

    assert seen.count("content_block_delta") == 3


async def test_an_error_inside_a_stream_keeps_its_type_and_is_billed() -> None:
    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": "stream_error", "status": 529, "after_deltas": 2})
        with pytest.raises(anthropic.APIStatusError) as caught:
            await all_of(await client.messages.create(**asking(stream=True)))
        totals = await api.totals()

    assert caught.value.type == "overloaded_error"
    assert caught.value.status_code == 200
    assert (totals["served"], totals["delivered"]) == (1, 0)


async def test_garbage_with_a_200_yields_no_message() -> None:
    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": "garbage"}, count=2)
        events = await all_of(await client.messages.create(**asking(stream=True)))
        whole: Any = await client.messages.create(**asking())

    assert events == []
    assert not isinstance(whole, anthropic.types.Message)


async def test_a_hang_lasts_until_it_is_released() -> None:
    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"kind": "hang"})
        held = asyncio.create_task(client.messages.create(**asking(stream=True)))
        await _until_held(api)

        assert not held.done()
        await api.clear_faults()
        with pytest.raises(anthropic.APIConnectionError):
            await held


async def test_a_hang_runs_into_the_clients_time_limit() -> None:
    async with in_loop(DONE) as api, api.client(timeout=0.3) as client:
        await api.fault({"kind": "hang"})
        with pytest.raises(anthropic.APITimeoutError):
            await client.messages.create(**asking())


async def test_a_fault_hits_only_the_role_and_the_text_it_is_for() -> None:
    audit: dict[str, Any] = {"tools": [VERDICT], "tool_choice": FORCED}

    async with in_loop(DONE) as api, api.client() as client:
        await api.fault({"status": 529}, count=None, role="audit", contains="goal A")
        await client.messages.create(**asking("goal A"))
        await client.messages.create(**asking("goal B", **audit))
        with pytest.raises(anthropic.OverloadedError):
            await client.messages.create(**asking("goal A", **audit))
        calls = await api.calls()

    assert [made["role"] for made in calls] == ["agent", "audit", "audit"]


async def test_a_client_that_dies_in_the_stream_was_served_and_not_delivered() -> None:
    slow = linear([say("word " * 60, deltas=30, duration_s=1.0)])

    async with in_loop(slow) as api:
        async with api.client() as client:
            stream = await client.messages.create(**asking(stream=True))
            await anext(aiter(stream))
            await stream.close()
        await asyncio.sleep(0.3)
        totals = await api.totals()

    assert (totals["served"], totals["delivered"]) == (1, 0)
    assert totals["tokens"]["output"] > 0


async def test_a_script_that_raises_is_a_500() -> None:
    def script(request: Any, number: int, memory: Any) -> Any:
        raise KeyError("nothing here")

    async with in_loop(script) as api, api.client() as client:
        with pytest.raises(anthropic.InternalServerError, match="script failed"):
            await client.messages.create(**asking())


async def _until_held(api: MessagesApi) -> None:
    for _ in range(100):
        if (await api.totals())["in_flight"]:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the call never arrived")
