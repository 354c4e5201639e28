"""The real SDK client against the server: streams, whole replies, every stop reason."""

import json
import time
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent

from adapters.rehearsal.delivery import Pace
from adapters.rehearsal.script import (
    Reply,
    call,
    compaction,
    linear,
    refusal,
    say,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from adapters.rehearsal.server import Options
from tests.adapters.rehearsal.conversation import (
    GLOB,
    all_of,
    asking,
    assert_known,
    assert_valid,
    joined,
)
from tests.peers.messages_api import KEY, in_loop

COMPACT = "compact-2026-01-12"
EDITS: dict[str, Any] = {"edits": [{"type": "compact_20260112"}]}

STOPS: list[tuple[str, Reply]] = [
    ("end_turn", say("Done.")),
    ("tool_use", call("glob", {"pattern": "*"}, "Looking.")),
    ("max_tokens", Reply((text("A long reply that is cut"),), stop_reason="max_tokens")),
    ("stop_sequence", say("One, two", stop_reason="stop_sequence", stop_sequence="three")),
    (
        "pause_turn",
        Reply((server_tool_use("web_search", {"query": "x"}),), stop_reason="pause_turn"),
    ),
    ("refusal", refusal("cyber", "Not this.")),
    ("model_context_window_exceeded", say("Cut", stop_reason="model_context_window_exceeded")),
]


@pytest.mark.parametrize(("stop_reason", "reply"), STOPS)
async def test_every_stop_reason_streams_as_the_sdk_types_it(
    stop_reason: str, reply: Reply
) -> None:
    async with in_loop(linear([reply])) as api, api.client() as client:
        stream = await client.messages.create(**asking(tools=[GLOB], stream=True))
        events = await all_of(stream)

    assert_valid(events, RawMessageStreamEvent)
    assert events[0].type == "message_start"
    assert events[-1].type == "message_stop"
    assert events[-2].delta.stop_reason == stop_reason


@pytest.mark.parametrize(("stop_reason", "reply"), STOPS)
async def test_every_stop_reason_is_answered_whole_as_the_sdk_types_it(
    stop_reason: str, reply: Reply
) -> None:
    async with in_loop(linear([reply])) as api, api.client() as client:
        message = await client.messages.create(**asking(tools=[GLOB]))

    checked = Message.model_validate(message.model_dump(exclude_unset=True))
    assert_known(checked)
    assert checked.stop_reason == stop_reason


async def test_streamed_text_and_call_are_what_the_script_wrote() -> None:
    pattern = {"pattern": "ä/**", "deep": {"list": [1, "zwei"]}}
    reply = call("glob", pattern, "Schön, ich suche — jetzt.")

    async with in_loop(linear([reply])) as api, api.client() as client:
        events = await all_of(await client.messages.create(**asking(tools=[GLOB], stream=True)))

    assert joined(events, "text_delta", "text") == "Schön, ich suche — jetzt."
    assert json.loads(joined(events, "input_json_delta", "partial_json")) == pattern


async def test_the_accumulating_helper_gets_the_same_message() -> None:
    reply = Reply((thinking("Let me see."), text("I look."), tool_use("glob", {"pattern": "*"})))

    async with (
        in_loop(linear([reply])) as api,
        api.client() as client,
        client.messages.stream(**asking(tools=[GLOB])) as stream,
    ):
        message = await stream.get_final_message()

    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "text", "tool_use"]
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 0


async def test_thinking_comes_back_signed_and_is_accepted_unaltered() -> None:
    script = linear([Reply((thinking("Look first."), text("I look."))), say("Done.")])

    async with in_loop(script) as api, api.client() as client:
        first = await client.messages.create(**asking())
        messages: list[Any] = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": [b.to_dict() for b in first.content]},
            {"role": "user", "content": "Go on."},
        ]
        second = await client.messages.create(**asking(messages=messages))

    assert second.content[0].type == "text"


async def test_altered_thinking_is_refused() -> None:
    script = linear([Reply((thinking("Look first."), text("I look."))), say("Done.")])

    async with in_loop(script) as api, api.client() as client:
        first = await client.messages.create(**asking())
        content: list[Any] = [block.to_dict() for block in first.content]
        content[0]["thinking"] = "Look second."
        messages = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "Go on."},
        ]

        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            await client.messages.create(**asking(messages=messages))


async def test_a_call_cut_by_max_tokens_ends_in_the_middle_of_its_json() -> None:
    reply = Reply(
        (tool_use("glob", {"pattern": "a long pattern " * 20}),), stop_reason="max_tokens"
    )

    async with in_loop(linear([reply])) as api, api.client() as client:
        events = await all_of(await client.messages.create(**asking(tools=[GLOB], stream=True)))

    assert events[-2].delta.stop_reason == "max_tokens"
    with pytest.raises(json.JSONDecodeError):
        json.loads(joined(events, "input_json_delta", "partial_json"))


async def test_a_reply_longer_than_max_tokens_is_cut_there() -> None:
    async with in_loop(linear([say("word " * 400)])) as api, api.client() as client:
        message = await client.messages.create(**asking(max_tokens=50))

    assert message.stop_reason == "max_tokens"
    assert len(message.content[0].text) == 200


async def test_a_request_for_no_tokens_warms_the_cache_and_says_nothing() -> None:
    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        message = await client.messages.create(**asking(max_tokens=0))

    assert (message.content, message.stop_reason) == ([], "max_tokens")


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    async with in_loop(linear([call("bash", {"command": "ls"})])) as api, api.client() as client:
        message = await client.messages.create(**asking(tools=[GLOB]))

    assert message.stop_reason == "end_turn"
    assert message.content[0].text == "I cannot call bash here."


async def test_the_beta_endpoint_streams_what_the_beta_types_say() -> None:
    reply = Reply((compaction("So far: nothing."), text("Going on.")))

    async with in_loop(linear([reply])) as api, api.client() as client:
        given: dict[str, Any] = {"betas": [COMPACT], "context_management": EDITS}
        stream = await client.beta.messages.create(**asking(stream=True), **given)
        events = await all_of(stream)

    assert_valid(events, BetaRawMessageStreamEvent)
    assert joined(events, "compaction_delta", "content") == "So far: nothing."
    assert joined(events, "text_delta", "text") == "Going on."


async def test_a_compaction_stop_is_answered_and_accepted_back() -> None:
    script = linear([Reply((compaction("So far."),), stop_reason="compaction"), say("Done.")])

    async with in_loop(script) as api, api.client() as client:
        given: dict[str, Any] = {"betas": [COMPACT], "context_management": EDITS}
        first = await client.beta.messages.create(**asking(), **given)
        content = [block.to_dict() for block in first.content]
        messages: list[Any] = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": content},
        ]
        second = await client.beta.messages.create(**asking(messages=messages), **given)

    assert first.stop_reason == "compaction"
    assert second.stop_reason == "end_turn"


async def test_a_full_context_is_compacted_and_its_iterations_are_counted() -> None:
    edits: Any = {
        "edits": [
            {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
        ]
    }

    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        message = await client.beta.messages.create(
            **asking("word " * 50_000), betas=[COMPACT], context_management=edits
        )
        totals = await api.totals()

    assert [block.type for block in message.content] == ["compaction", "text"]
    assert message.usage.iterations is not None
    kinds = [entry.type for entry in message.usage.iterations]
    assert kinds == ["compaction", "message"]
    assert totals["tokens"]["input"] == sum(e.input_tokens for e in message.usage.iterations)
    checked = BetaMessage.model_validate(message.model_dump(exclude_unset=True))
    assert_known(checked)


async def test_a_paused_compaction_stops_before_the_reply() -> None:
    edit: Any = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": 50_000},
        "pause_after_compaction": True,
    }

    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        message = await client.beta.messages.create(
            **asking("word " * 50_000), betas=[COMPACT], context_management={"edits": [edit]}
        )

    assert message.stop_reason == "compaction"
    assert [block.type for block in message.content] == ["compaction"]


async def test_a_pause_goes_back_alone_and_is_continued() -> None:
    paused = Reply(
        (text("Searching."), server_tool_use("web_search", {"query": "x"})),
        stop_reason="pause_turn",
    )

    async with in_loop(linear([paused, say("Found.")])) as api, api.client() as client:
        first = await client.messages.create(**asking())
        content = [block.to_dict() for block in first.content]
        messages: list[Any] = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": content},
        ]
        second = await client.messages.create(**asking(messages=messages))

    assert first.stop_reason == "pause_turn"
    assert second.stop_reason == "end_turn"


@pytest.mark.parametrize("count", [50, 200])
async def test_a_reply_has_as_many_deltas_as_asked_for(count: int) -> None:
    options = Options(keys=(KEY,), pace=Pace(deltas=count))

    async with (
        in_loop(linear([say("word " * 200)]), options=options) as api,
        api.client() as client,
    ):
        events = await all_of(await client.messages.create(**asking(stream=True)))

    deltas = [event for event in events if event.type == "content_block_delta"]
    assert len(deltas) == count


async def test_a_paced_reply_takes_its_time_and_arrives_whole() -> None:
    async with in_loop(linear([say("word " * 50, deltas=20, duration_s=0.3)])) as api:
        async with api.client() as client:
            began = time.monotonic()
            events = await all_of(await client.messages.create(**asking(stream=True)))
            took_s = time.monotonic() - began
        calls = await api.calls()

    assert joined(events, "text_delta", "text") == "word " * 50
    assert took_s >= 0.29
    assert calls[0]["delivered"]


async def test_tokens_are_counted_without_a_reply() -> None:
    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        few = await client.messages.count_tokens(**_counting("Hello."))
        many = await client.messages.count_tokens(**_counting("Hello. " * 100))
        calls = await api.calls()

    assert 0 < few.input_tokens < many.input_tokens
    assert calls == []


async def test_a_marked_prefix_is_written_once_and_then_read() -> None:
    system: list[Any] = [
        {"type": "text", "text": "rules " * 400, "cache_control": {"type": "ephemeral"}}
    ]

    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        first = await client.messages.create(**asking(system=system))
        second = await client.messages.create(**asking("Something else.", system=system))
        totals = await api.totals()

    assert first.usage.cache_read_input_tokens == 0
    assert first.usage.cache_creation_input_tokens
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.cache_creation_input_tokens == 0
    assert totals["tokens"]["cache_read"] == second.usage.cache_read_input_tokens


async def test_the_models_are_listed_and_found() -> None:
    options = Options(keys=(KEY,), models=("claude-sonnet-5",))

    async with in_loop(linear([say("Done.")]), options=options) as api, api.client() as client:
        listed = [model.id async for model in client.models.list()]
        found = await client.models.retrieve("claude-sonnet-5")
        with pytest.raises(anthropic.NotFoundError):
            await client.models.retrieve("claude-nobody")

    assert listed == [found.id] == ["claude-sonnet-5"]


def _counting(words: str) -> dict[str, Any]:
    given = asking(words)
    del given["max_tokens"]
    return given
