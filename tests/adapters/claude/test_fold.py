"""Events folded into blocks: whole, raw, and marked where they were cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.claude.fold import Fold

Event = dict[str, Any]


def start(**message: Any) -> Event:
    usage = {"input_tokens": 10, "output_tokens": 1}
    return {
        "type": "message_start",
        "message": {"id": "m", "model": "x", "usage": usage, **message},
    }


def opened(**block: Any) -> Event:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def delta(type: str, **more: Any) -> Event:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": type, **more}}


CLOSED: Event = {"type": "content_block_stop", "index": 0}


def end(reason: str = "end_turn", **more: Any) -> list[Event]:
    usage = {"output_tokens": 9}
    settle = {"type": "message_delta", "delta": {"stop_reason": reason, **more}, "usage": usage}
    return [settle, {"type": "message_stop"}]


def folded(*events: Event) -> Fold:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold


def test_text_is_joined_and_told_as_it_comes() -> None:
    fold = Fold()

    told = [
        fold.feed(event)
        for event in (
            start(),
            opened(type="text", text="", citations=None),
            delta("text_delta", text="Hel"),
            delta("text_delta", text="lo"),
            CLOSED,
            *end(),
        )
    ]

    assert fold.blocks == [{"type": "text", "text": "Hello", "citations": None}]
    assert "".join(told) == "Hello"
    assert fold.is_whole


def test_thinking_keeps_its_signature() -> None:
    fold = folded(
        start(),
        opened(type="thinking", thinking="", signature=""),
        delta("thinking_delta", thinking="so "),
        delta("thinking_delta", thinking="it is"),
        delta("signature_delta", signature="c2ln"),
        CLOSED,
        *end(),
    )

    assert fold.blocks == [{"type": "thinking", "thinking": "so it is", "signature": "c2ln"}]


def test_a_call_s_input_is_read_at_its_end() -> None:
    fold = folded(
        start(),
        opened(type="tool_use", id="t", name="read", input={}, caller={"type": "direct"}),
        delta("input_json_delta", partial_json=""),
        delta("input_json_delta", partial_json='{"path": "a'),
        delta("input_json_delta", partial_json='.txt"}'),
        CLOSED,
        *end("tool_use"),
    )

    assert fold.blocks[0]["input"] == {"path": "a.txt"}
    assert fold.blocks[0]["caller"] == {"type": "direct"}


def test_a_call_without_arguments_keeps_its_empty_input() -> None:
    fold = folded(
        start(),
        opened(type="tool_use", id="t", name="look", input={}),
        delta("input_json_delta", partial_json=""),
        CLOSED,
        *end("tool_use"),
    )

    assert fold.blocks == [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("written", ['{"path": "a', '{"path": "a"}', ""])
def test_a_call_cut_by_a_limit_is_marked_even_if_it_can_be_read(reason: str, written: str) -> None:
    fold = folded(
        start(),
        opened(type="tool_use", id="t", name="write", input={}),
        delta("input_json_delta", partial_json=written),
        CLOSED,
        *end(reason),
    )

    assert fold.blocks[0]["_partial"] is True
    assert fold.blocks[0]["input"] == {}


def test_only_the_last_block_is_cut() -> None:
    fold = folded(
        start(),
        opened(type="tool_use", id="t", name="look", input={}),
        delta("input_json_delta", partial_json='{"a": 1}'),
        CLOSED,
        opened(type="text", text=""),
        delta("text_delta", text="and th"),
        CLOSED,
        *end("max_tokens"),
    )

    assert "_partial" not in fold.blocks[0]
    assert fold.blocks[1] == {"type": "text", "text": "and th"}


def test_a_compaction_keeps_all_that_came_with_it() -> None:
    fold = folded(
        start(),
        opened(type="compaction", content=None, encrypted_content=None),
        delta("compaction_delta", content="short", encrypted_content="ZW5j"),
        CLOSED,
        *end("compaction"),
    )

    assert fold.blocks == [{"type": "compaction", "content": "short", "encrypted_content": "ZW5j"}]


def test_citations_are_gathered() -> None:
    fold = folded(
        start(),
        opened(type="text", text="", citations=None),
        delta("text_delta", text="so"),
        delta("citations_delta", citation={"type": "a"}),
        delta("citations_delta", citation={"type": "b"}),
        delta("text_delta", text=" it is"),
        CLOSED,
        *end(),
    )

    assert fold.blocks[0]["text"] == "so it is"
    assert fold.blocks[0]["citations"] == [{"type": "a"}, {"type": "b"}]


def test_blocks_and_deltas_of_the_future_are_kept() -> None:
    fold = folded(
        start(),
        {"type": "ping"},
        {"type": "an_event_of_the_future"},
        opened(type="dream", picture="", parts=[1], seen=None),
        delta("picture_delta", picture="a"),
        delta("picture_delta", picture="b"),
        delta("parts_delta", parts=[2]),
        delta("seen_delta", seen=True),
        CLOSED,
        *end("a_reason_of_the_future"),
    )

    assert fold.blocks == [{"type": "dream", "picture": "ab", "parts": [1, 2], "seen": True}]
    assert fold.stop_reason == "a_reason_of_the_future"


def test_running_totals_replace_what_the_start_said() -> None:
    fold = folded(
        start(usage={"input_tokens": 10, "output_tokens": 1, "service_tier": "standard"}),
        *end(container={"id": "c1"}, stop_details={"type": "refusal"}),
    )

    assert fold.usage == {"input_tokens": 10, "output_tokens": 9, "service_tier": "standard"}
    assert fold.container == "c1"
    assert fold.stop_details == {"type": "refusal"}


@given(
    words=st.text(max_size=200),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    ),
    size=st.integers(1, 9),
)
def test_however_a_reply_is_cut_into_deltas_it_is_the_same(
    words: str, value: Any, size: int
) -> None:
    written = json.dumps({"value": value})
    fold = folded(
        start(),
        opened(type="text", text=""),
        *(delta("text_delta", text=words[i : i + size]) for i in range(0, len(words), size)),
        CLOSED,
        opened(type="tool_use", id="t", name="n", input={}),
        *(
            delta("input_json_delta", partial_json=written[i : i + size])
            for i in range(0, len(written), size)
        ),
        CLOSED,
        *end("tool_use"),
    )

    assert fold.blocks[0]["text"] == words
    assert fold.blocks[1]["input"] == {"value": value}


@pytest.mark.parametrize(
    "given",
    ["[1]", "\"text\"", "NaN", '{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}',
     '{"a": ' * 100 + "1" + "}" * 100, "[" * 100_000, '{"a": 1' + "0" * 5_000 + "}"],
    ids=lambda given: given[:12],
)  # fmt: skip
def test_an_input_that_the_endpoint_would_not_take_back_is_unreadable(given: str) -> None:
    fold = folded(
        start(),
        opened(type="tool_use", id="t", name="bash", input={}),
        delta("input_json_delta", partial_json=given),
        CLOSED,
        *end("tool_use"),
    )

    assert fold.blocks[0]["_partial"] is True
    assert fold.blocks[0]["input"] == {}


def test_surrogates_are_joined_and_lone_ones_replaced() -> None:
    fold = folded(
        start(),
        opened(type="text", text=""),
        delta("text_delta", text="\ud83d"),
        delta("text_delta", text="\ude00 \ud800"),
        CLOSED,
        opened(type="tool_use", id="t", name="bash", input={}),
        delta("input_json_delta", partial_json='{"a": "\\ud83d'),
        delta("input_json_delta", partial_json='\\ude00", "b\\udc00": ["\\ud800"]}'),
        CLOSED,
        *end("tool_use"),
    )

    assert fold.blocks[0]["text"] == "\N{GRINNING FACE} \ufffd"
    assert fold.blocks[1]["input"] == {"a": "\N{GRINNING FACE}", "b\ufffd": ["\ufffd"]}
