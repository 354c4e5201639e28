"""The adapter over real HTTP: what a reply holds, what may go wrong with it, and what is sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint import ClaudeModel
from adapters.rehearsal.script import (
    Answer,
    Fault,
    Memory,
    Reply,
    Request,
    compaction,
    refusal,
    say,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.goals.money import Usage
from bot.ports.model import ModelReply
from tests.adapters.claude.clocks import FastClock
from tests.adapters.claude.serving import MODEL, asked, claude, one_by_one, served

TOOLS: Any = (
    {"name": "write", "description": "Write.", "input_schema": {"type": "object"}},
    {"name": "read", "description": "Read.", "input_schema": {"type": "object"}},
)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (say("Done."), "end_turn"),
        (Reply((tool_use("read", {"path": "a"}),)), "tool_use"),
        (Reply((text("so fa"),), stop_reason="max_tokens"), "max_tokens"),
        (Reply((text("a"),), stop_reason="stop_sequence", stop_sequence="b"), "stop_sequence"),
        (
            Reply((server_tool_use("web_search", {"q": "a"}),), stop_reason="pause_turn"),
            "pause_turn",
        ),
        (refusal("cyber", "Declined."), "refusal"),
        (say("a", stop_reason="model_context_window_exceeded"), "model_context_window_exceeded"),
        (say("a", stop_reason="of_the_future"), "of_the_future"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_every_stop_reason_comes_through(reply: Reply, reason: str) -> None:
    async with served(one_by_one(reply)) as (_, model):
        got = await model.call(asked(tools=TOOLS))

    assert got.stop_reason == reason


async def test_a_refusal_says_why() -> None:
    async with served(one_by_one(refusal("cyber", "Declined."))) as (_, model):
        got = await model.call(asked())

    assert got.stop_details is not None
    assert got.stop_details["category"] == "cyber"


async def test_a_call_cut_by_max_tokens_is_marked_partial() -> None:
    long = Reply((text("Writing."), tool_use("write", {"content": "words " * 50})), cut=0.5)

    async with served(one_by_one(replace(long, stop_reason="max_tokens"))) as (_, model):
        got = await model.call(asked(tools=TOOLS))

    assert got.content[1]["_partial"] is True
    assert got.content[1]["input"] == {}
    assert "_partial" not in got.content[0]


async def test_what_came_in_can_be_sent_back_as_it_came() -> None:
    first = Reply((thinking("I should look."), tool_use("read", {"path": "a.txt"})))

    async with served(one_by_one(first)) as (_, model):
        got = await model.call(asked(tools=TOOLS))
        result = {"type": "tool_result", "tool_use_id": got.content[1]["id"], "content": "hello"}
        again = asked(tools=TOOLS)
        messages = (
            *again.messages,
            {"role": "assistant", "content": list(got.content)},
            {"role": "user", "content": [result]},
        )
        after = await model.call(replace(again, messages=messages))

    assert got.content[0]["signature"]
    assert after.content[0]["text"] == "Done."


async def test_the_endpoint_s_count_is_the_usage() -> None:
    async with served(one_by_one()) as (api, model):
        got = await model.call(asked("Count me."))
        totals = await api.totals()

    assert got.usage.tokens == sum(totals["tokens"].values())
    assert got.parts == ((MODEL, got.usage),)
    assert got.service_tier == "standard"
    assert got.request_id


async def test_the_second_call_of_a_conversation_reads_the_cache() -> None:
    system: Any = ({"type": "text", "text": "Rules. " * 3000},)

    async with served(one_by_one()) as (_, model):
        first = await model.call(asked(system=system))
        second = await model.call(asked(system=system))
        once = await model.call(asked("Other.", system=system, is_cached=False))

    assert first.usage.cache_write_5m > 1000
    assert second.usage.cache_read > 1000
    assert once.usage.cache_read == once.usage.cache_write_5m == 0


async def test_compaction_is_asked_for_where_the_model_has_it_and_counted() -> None:
    long = asked("word " * 60_000, compact_at=50_000)

    async with served(one_by_one()) as (_, model):
        got = await model.call(long)
        block = got.content[0]
        messages = (
            *long.messages,
            {"role": "assistant", "content": list(got.content)},
            {"role": "user", "content": "Go on."},
        )
        after = await model.call(replace(long, messages=messages, compact_at=None))

    assert block["type"] == "compaction"
    assert block["encrypted_content"]
    assert len(got.parts) == 2
    assert got.usage == got.parts[0][1] + got.parts[1][1]
    assert after.content[0]["text"] == "Done."


async def test_compaction_is_not_asked_of_a_model_without_it() -> None:
    async with served(one_by_one()) as (_, model):
        got = await model.call(asked("word " * 60_000, model="claude-haiku-4-5", compact_at=50_000))
        knows = model.has_compaction("claude-haiku-4-5")

    assert [block["type"] for block in got.content] == ["text"]
    assert not knows


def test_which_models_compact_is_a_setting_too() -> None:
    def has(model: str, **fields: Any) -> bool:
        claude = ClaudeModel(Endpoint(**fields), model=MODEL, key=lambda: "k", clock=FastClock())
        return claude.has_compaction(model)

    assert has("claude-opus-4-6")
    assert has("global.anthropic.claude-opus-4-6-v1:0")
    assert not has("claude-opus-4-6", compaction_models=("claude-opus-9",))
    assert has("claude-opus-9", compaction_models=("claude-opus-9",))


@pytest.mark.parametrize("status", [400, 413])
async def test_what_is_wrong_with_the_request_is_told_at_once(status: int) -> None:
    async with served(one_by_one(Fault(status=status))) as (api, model):
        with pytest.raises(BadRequest):
            await model.call(asked())
        calls = await api.calls()

    assert len(calls) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_what_passes_is_waited_out_and_tried_again(status: int) -> None:
    faults = [Fault(status=status, error_type="api_error")] * 3

    async with served(one_by_one(*faults)) as (api, model):
        got = await model.call(asked())
        calls = await api.calls()

    assert got.content[0]["text"] == "Done."
    assert len(calls) == 4


async def test_the_endpoint_s_own_time_to_wait_is_kept() -> None:
    clock = FastClock(200.0)

    async with served(one_by_one(Fault(status=429, retry_after=60.0)), clock=clock) as (_, model):
        begin = clock.now()
        await model.call(asked())

    assert clock.now() - begin >= 60


@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut_before_headers"),
        Fault("cut_after_headers"),
        Fault("cut_mid_stream", reply=say("words " * 100), after_deltas=5),
        Fault("reply_lost", reply=say("words")),
        Fault("garbage"),
        Fault("stream_error", status=529, reply=say("words " * 100), after_deltas=3),
    ],
    ids=lambda fault: fault.kind,
)
async def test_a_reply_that_did_not_arrive_whole_may_have_been_served(fault: Fault) -> None:
    async with served(one_by_one(fault)) as (api, model):
        with pytest.raises(ModelBusy) as caught:
            await model.call(asked())
        after = await model.call(asked())
        calls = await api.calls()

    assert caught.value.maybe_served
    assert after.content[0]["text"] == "Done."
    assert len(calls) == 2


async def test_silence_within_a_stream_is_a_time_out() -> None:
    async with served(one_by_one(Fault("hang")), endpoint_idle_timeout_s=0.2) as (_, model):
        with pytest.raises(ModelBusy) as caught:
            await model.call(asked())

    assert (caught.value.kind, caught.value.maybe_served) == ("timeout", True)


async def test_a_stream_that_never_ends_is_a_time_out() -> None:
    slow = say("words " * 100, duration_s=20.0)

    async with served(one_by_one(slow)) as (_, model):
        with pytest.raises(ModelBusy) as caught:
            await model.call(asked(timeout_s=0.3))

    assert (caught.value.kind, caught.value.maybe_served) == ("timeout", True)


async def test_a_slow_stream_is_whole_in_the_end() -> None:
    slow = say("words " * 100, duration_s=1.5, deltas=20)
    told: list[str] = []

    async with served(one_by_one(slow), endpoint_idle_timeout_s=1.0) as (_, model):
        got = await model.call(asked(), on_text=told.append)

    assert "".join(told) == got.content[0]["text"]
    assert len(told) > 5


async def test_an_endpoint_that_nobody_serves_is_waited_for_and_was_not_served() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    endpoint = Endpoint(base_url=f"http://127.0.0.1:{port}")
    model = ClaudeModel(endpoint, model=MODEL, key=lambda: "k", clock=FastClock(100.0))

    call = asyncio.create_task(model.call(asked()))
    await asyncio.sleep(0.3)
    state = model.limiter.state
    is_waiting = not call.done()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    with pytest.raises(ModelBusy) as caught:
        await model.check()
    await model.aclose()

    assert is_waiting
    assert (state.kind, state.attempts > 1) == ("network", True)
    assert not caught.value.maybe_served


async def test_a_defect_on_our_side_is_not_taken_for_the_endpoint_s() -> None:
    broken = asked()
    circle: Any = {"type": "text"}
    circle["self"] = object()

    async with served(one_by_one()) as (_, model):
        with pytest.raises(TypeError):
            await model.call(replace(broken, system=(circle,)))

    assert not model.limiter.state.is_closed


@dataclass
class Holding:
    """A server that begins a reply and then only watches its connections."""

    url: str = ""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def holding() -> AsyncIterator[Holding]:
    state = Holding()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        message = {"id": "m", "model": MODEL, "usage": {"input_tokens": 1, "output_tokens": 1}}
        event = json.dumps({"type": "message_start", "message": message})
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.write(f"event: message_start\ndata: {event}\n\n".encode())
        await writer.drain()
        state.begun.set()
        with suppress(ConnectionError):
            while await reader.read(65_536):
                pass
        state.closed.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield state


async def test_a_cancelled_call_closes_its_stream_at_once() -> None:
    async with holding() as state:
        endpoint = Endpoint(base_url=state.url)
        model = ClaudeModel(endpoint, model=MODEL, key=lambda: "k", clock=FastClock())
        call = asyncio.create_task(model.call(asked()))
        await state.begun.wait()

        call.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(state.closed.wait(), 2)
        assert model.limiter.in_flight == 0
        await model.aclose()


async def test_a_thousand_calls_at_once_are_all_answered_a_hundred_at_a_time() -> None:
    most = 0

    async def script(request: Request, number: int, memory: Memory) -> Answer:
        nonlocal most
        memory["now"] = memory.get("now", 0) + 1
        most = max(most, memory["now"])
        await asyncio.sleep(0.2)
        memory["now"] -= 1
        return say("Done.")

    async with served(script) as (_, model):
        replies = await asyncio.gather(*(model.call(asked()) for _ in range(1000)))

    assert len(replies) == 1000
    assert all(reply.stop_reason == "end_turn" for reply in replies)
    assert 50 < most <= 100


async def test_a_lost_reply_s_caller_can_book_it_and_call_again() -> None:
    script = one_by_one(Fault("reply_lost", reply=say("words")))
    lost = 0

    async with served(script) as (api, model):
        replies: list[ModelReply] = []
        while not replies:
            try:
                replies.append(await model.call(asked()))
            except ModelBusy as busy:
                lost += busy.maybe_served
        calls = await api.calls()

    assert lost == 1
    assert len(calls) == 2
    assert sum((reply.usage for reply in replies), Usage()).tokens > 0


async def test_a_check_goes_past_a_closed_limiter() -> None:
    async with served(one_by_one(Fault(status=529), Fault(status=529))) as (_, model):
        call = asyncio.create_task(model.call(asked()))
        await asyncio.sleep(0.01)
        with suppress(ModelBusy):
            await model.check()
        await model.check()
        await call


async def test_a_compaction_written_by_the_model_alone_is_kept() -> None:
    script = one_by_one(Reply((compaction("So far."),), stop_reason="compaction"))

    async with served(script) as (_, model):
        got = await model.call(asked(compact_at=150_000))

    assert got.stop_reason == "compaction"
    assert got.content[0]["content"] == "So far."


async def test_a_check_tells_a_model_that_is_not_found() -> None:
    async with served(one_by_one(Fault(status=404))) as (_, model):
        with pytest.raises(ModelRefusesUs) as caught:
            await model.check()

    assert caught.value.kind == "not_found"


async def test_a_conversation_goes_on_in_its_container() -> None:
    seen: list[Any] = []

    def script(request: Request, number: int, memory: Memory) -> Answer:
        seen.append((request.get("container"), request["metadata"]["user_id"]))
        return say("Done.")

    async with served(script) as (_, model):
        await model.call(asked(container="container_1", goal="g-1"))

    assert seen == [("container_1", "g-1")]


async def test_two_adapters_do_not_share_a_limiter() -> None:
    async with served(one_by_one(Fault(status=529))) as (api, one), claude(api) as other:
        call = asyncio.create_task(one.call(asked()))
        await asyncio.sleep(0.02)
        await other.call(asked())
        await call

    assert not other.limiter.state.attempts
