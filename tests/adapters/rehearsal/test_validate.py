"""What is refused, and what is not: the pure checks, and a few through the real client."""

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.rehearsal.script import linear, say
from adapters.rehearsal.signing import sign
from adapters.rehearsal.validate import Headers, Refused, check, parse
from tests.adapters.rehearsal.conversation import FORCED, GLOB, MODEL, VERDICT, asking
from tests.peers.messages_api import in_loop

HEADERS = Headers(version="2026-10-21")
COMPACTING = Headers(version="2026-10-21", betas=frozenset({"compact-2026-01-12"}))


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def words(text: str = "Hello.") -> dict[str, Any]:
    return {"type": "text", "text": text}


def use(id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "glob", "input": {"pattern": "*"}, **more}


def result(id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "a.txt", **more}


def thought(text: str = "Hm.") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": sign("thinking", text)}


GOOD: dict[str, dict[str, Any]] = {
    "a plain request": asking(),
    "a text as content": asking(messages=[{"role": "user", "content": "Hi."}]),
    "consecutive roles": asking(messages=[user(words()), user(words())]),
    "calls and results": asking(
        tools=[GLOB],
        messages=[
            user(words()),
            assistant(words(), use("a"), use("b")),
            user(result("b"), result("a"), words("And now?")),
        ],
    ),
    "results over two user messages": asking(
        messages=[
            user(words()),
            assistant(use("a")),
            assistant(use("b")),
            user(result("a")),
            user(result("b")),
        ]
    ),
    "a result with nothing in it": asking(
        messages=[user(words()), assistant(use()), user(result(content=""))]
    ),
    "signed thinking": asking(
        messages=[user(words()), assistant(thought(), words()), user(words())]
    ),
    "a forced tool": asking(tools=[VERDICT], tool_choice=FORCED),
    "four marks": asking(
        system=[{**words(), "cache_control": {"type": "ephemeral"}}] * 4, tools=[GLOB]
    ),
    "NUL": asking("a\0b"),
    "a prefill for an older model": asking(
        model="claude-haiku-4-5", messages=[user(words()), assistant(words("{"))]
    ),
    "a system message in between": asking(
        messages=[user(words()), {"role": "system", "content": "Be short."}, user(words())]
    ),
    "metadata": asking(metadata={"user_id": "goal-1"}),
}

Refusal = tuple[dict[str, Any], str]
REFUSED: dict[str, Refusal] = {
    "no messages": (asking(messages=[]), "at least one message is required"),
    "an unknown field": (asking(messagse=[]), "messagse: Extra inputs are not permitted"),
    "a temperature": (asking(temperature=0.5), "temperature: Extra inputs are not permitted"),
    "max_tokens of none": (asking(max_tokens=-1), "max_tokens: must be greater than or equal to 1"),
    "max_tokens of nothing, streaming": (asking(max_tokens=0, stream=True), "max_tokens"),
    "max_tokens as text": (asking(max_tokens="12"), "max_tokens: Input should be a valid integer"),
    "max_tokens beyond the model": (asking(max_tokens=10**6), "maximum allowed number of output"),
    "an assistant first": (
        asking(messages=[assistant(words()), user(words())]),
        'first message must use the "user" role',
    ),
    "an unknown role": (asking(messages=[{"role": "tool", "content": "x"}]), "Unexpected role"),
    "an empty message": (asking(messages=[user()]), "all messages must have non-empty content"),
    "an empty text": (asking(messages=[user(words(""))]), "text content blocks must be non-empty"),
    "a blank text": (asking(messages=[user(words(" \n"))]), "must contain non-whitespace text"),
    "an empty system text": (asking(system=[words("")]), "system: text content blocks must be non"),
    "an unknown block": (asking(messages=[user({"type": "txt"})]), "Input tag 'txt' found"),
    "a block without type": (asking(messages=[user({})]), "Input tag 'None' found"),
    "a block with a field too many": (
        asking(messages=[user({**words(), "note": 1})]),
        "messages.0.content.0.text.note: Extra inputs are not permitted",
    ),
    "a block with a field too few": (
        asking(messages=[user({"type": "text"})]),
        "messages.0.content.0.text.text: Field required",
    ),
    "a compaction without its beta": (
        asking(messages=[user(words()), assistant({"type": "compaction", "content": "x"})]),
        "Input tag 'compaction' found",
    ),
    "a call without a result": (
        asking(messages=[user(words()), assistant(use()), user(words())]),
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    "a call at the end": (
        asking(messages=[user(words()), assistant(use())]),
        "`tool_use` ids were found without `tool_result`",
    ),
    "a result after a text": (
        asking(messages=[user(words()), assistant(use()), user(words(), result())]),
        "`tool_use` ids were found without `tool_result`",
    ),
    "two results for one call": (
        asking(messages=[user(words()), assistant(use()), user(result(), result())]),
        "each tool_use must have a single result",
    ),
    "a result for no call": (
        asking(messages=[user(words()), assistant(words()), user(result("toolu_9"))]),
        "unexpected `tool_use_id` found in `tool_result` blocks: toolu_9",
    ),
    "a result for an old call": (
        asking(
            messages=[
                user(words()),
                assistant(use()),
                user(result()),
                assistant(words()),
                user(result()),
            ]
        ),
        "unexpected `tool_use_id`",
    ),
    "one id twice": (
        asking(
            messages=[
                user(words()),
                assistant(use()),
                user(result()),
                assistant(use()),
                user(result()),
            ]
        ),
        "`tool_use` ids must be unique",
    ),
    "an input that is no object": (
        asking(messages=[user(words()), assistant(use(input="*")), user(result())]),
        "tool_use.input: Input should be a valid dictionary",
    ),
    "an empty error": (
        asking(messages=[user(words()), assistant(use()), user(result(content="", is_error=True))]),
        "content cannot be empty if `is_error` is true",
    ),
    "a call of the user": (asking(messages=[user(use())]), "can only be in `assistant` messages"),
    "altered thinking": (
        asking(
            messages=[
                user(words()),
                assistant({**thought(), "thinking": "Hm!"}, words()),
                user(words()),
            ]
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "a prefill": (
        asking(messages=[user(words()), assistant(words("{"))]),
        "does not support assistant message prefill",
    ),
    "a prefill that ends blank": (
        asking(model="claude-haiku-4-5", messages=[user(words()), assistant(words("{ "))]),
        "final assistant content cannot end with trailing whitespace",
    ),
    "a tool without a schema": (
        asking(tools=[{"name": "glob"}]),
        "tools.0.custom.input_schema: Field required",
    ),
    "a tool without a name": (
        asking(tools=[{"input_schema": {"type": "object"}}]),
        "tools.0.custom.name: Field required",
    ),
    "a tool with an odd name": (
        asking(tools=[{**GLOB, "name": "a b"}]),
        "tools.0.custom.name: String should match pattern",
    ),
    "two tools of one name": (asking(tools=[GLOB, GLOB]), "Tool names must be unique"),
    "a schema that is no object": (
        asking(tools=[{**GLOB, "input_schema": {"type": "array"}}]),
        "input_schema.type: Input should be 'object'",
    ),
    "a forced tool that is not there": (
        asking(tools=[GLOB], tool_choice=FORCED),
        "Tool 'verdict' not found in provided tools",
    ),
    "a forced tool without tools": (
        asking(tool_choice=FORCED),
        "only be specified while providing",
    ),
    "an unknown choice": (asking(tool_choice={"type": "some"}, tools=[GLOB]), "tool_choice"),
    "a forced tool while thinking": (
        asking(tools=[VERDICT], tool_choice=FORCED, thinking={"type": "adaptive"}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    "a thinking budget too small": (
        asking(thinking={"type": "enabled", "budget_tokens": 10}),
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a thinking budget over max_tokens": (
        asking(thinking={"type": "enabled", "budget_tokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "five marks": (
        asking(system=[{**words(), "cache_control": {"type": "ephemeral"}}] * 5),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "a context edit without its beta": (
        asking(context_management={"edits": []}),
        "context_management: Extra inputs are not permitted",
    ),
    "an unknown metadata field": (asking(metadata={"goal": "1"}), "metadata.goal: Extra inputs"),
}


@pytest.mark.parametrize("request_", GOOD.values(), ids=GOOD)
def test_a_good_request_is_accepted(request_: dict[str, Any]) -> None:
    check(parse(json.dumps(request_).encode()), HEADERS)


@pytest.mark.parametrize(("request_", "message"), REFUSED.values(), ids=REFUSED)
def test_a_bad_request_is_refused_as_the_real_api_does(
    request_: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused) as caught:
        check(parse(json.dumps(request_).encode()), HEADERS)

    assert message in caught.value.message
    assert (caught.value.status, caught.value.error_type) == (400, "invalid_request_error")


@pytest.mark.parametrize("field", ["model", "messages", "max_tokens"])
def test_a_missing_field_is_named(field: str) -> None:
    request = asking()
    del request[field]

    with pytest.raises(Refused, match=f"{field}: Field required"):
        check(request, HEADERS)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "valid dictionary"),
        (b'{"model": NaN}', "not valid JSON"),
        (b'{"model": "\xff"}', "not valid JSON"),
        (b'{"model": "\\ud800"}', "no low surrogate in string"),
        (b'{"model": "\\uD800x"}', "no low surrogate in string"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse(body)


def test_a_whole_surrogate_pair_and_a_spelt_out_escape_are_fine() -> None:
    assert parse(b'{"a": "\\ud83d\\ude00 \\\\ud800"}') == {"a": "\N{GRINNING FACE} \\ud800"}


def test_the_version_header_is_required() -> None:
    with pytest.raises(Refused, match="anthropic-version: header is required"):
        check(asking(), Headers())


def test_an_older_version_still_takes_a_temperature() -> None:
    check(asking(temperature=0.5), Headers(version="2023-06-01"))


def test_an_odd_beta_is_refused() -> None:
    with pytest.raises(Refused, match="Unexpected value"):
        check(asking(), Headers(version="2026-10-21", betas=frozenset({"compaction"})))


def test_a_compaction_trigger_below_the_least_is_refused() -> None:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100}}

    with pytest.raises(Refused, match="greater than or equal to 50000"):
        check(asking(context_management={"edits": [edit]}), COMPACTING)


def test_a_compaction_for_an_older_model_is_refused() -> None:
    edits = {"edits": [{"type": "compact_20260112"}]}

    with pytest.raises(Refused, match="not supported"):
        check(asking(model="claude-opus-4-5", context_management=edits), COMPACTING)


def test_an_altered_compaction_is_refused() -> None:
    sealed = sign("compaction", "What happened.")
    block = {"type": "compaction", "content": "What else.", "encrypted_content": sealed}
    messages = [user(words()), assistant(block), user(words())]

    with pytest.raises(Refused, match="does not belong to this"):
        check(asking(messages=messages), COMPACTING)


async def test_the_sdk_raises_bad_request_with_the_message() -> None:
    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(**asking(messages=[user(words()), assistant(use())]))

    assert caught.value.type == "invalid_request_error"
    assert "toolu_1" in (caught.value.api_message or "")


_blocks = st.sampled_from([words(), use("a"), use("b"), result("a"), result("b"), thought()])
_messages = st.lists(
    st.builds(
        lambda role, blocks: {"role": role, "content": copy.deepcopy(blocks)},
        st.sampled_from(["user", "assistant"]),
        st.lists(_blocks, max_size=3),
    ),
    max_size=6,
)


@given(_messages)
def test_a_transcript_is_accepted_or_refused_and_never_breaks_the_check(messages: Any) -> None:
    request = {"model": MODEL, "max_tokens": 10, "messages": messages}

    try:
        check(request, HEADERS)
    except Refused:
        return

    assert _answered_at_once(messages)


def _answered_at_once(messages: list[dict[str, Any]]) -> bool:
    open_ids: set[str] = set()
    for message in messages:
        ids: Callable[[str, str], set[str]] = lambda kind, name: {  # noqa: E731
            b[name]
            for b in message["content"]  # noqa: B023
            if b["type"] == kind
        }
        if message["role"] == "assistant":
            open_ids |= ids("tool_use", "id")
        else:
            open_ids -= ids("tool_result", "tool_use_id")
    return not open_ids


_names = st.sampled_from(
    ["role", "content", "type", "text", "id", "name", "input", "tool_use_id", "thinking", "value"]
)
_words = st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "tool", "x", ""])
_anything = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=12,
)
_fields = st.sampled_from(
    ["tools", "system", "tool_choice", "thinking", "metadata", "context_management", "max_tokens"]
)


@given(_anything)
def test_messages_of_any_shape_never_break_the_check(value: Any) -> None:
    for messages in (value, [value], [{"role": "user", "content": value}]):
        _refused_or_accepted({"model": MODEL, "max_tokens": 10, "messages": messages})


@given(_anything, _anything)
def test_calls_of_any_shape_never_break_the_check(one: Any, other: Any) -> None:
    called = {"type": "tool_use", "id": one, "name": "x", "input": {}}
    answered = {"type": "tool_result", "tool_use_id": other, "content": one}
    messages = [user(words()), assistant(called), user(answered)]

    _refused_or_accepted({"model": MODEL, "max_tokens": 10, "messages": messages})


@given(_fields, _anything)
def test_a_field_of_any_shape_never_breaks_the_check(field: str, value: Any) -> None:
    _refused_or_accepted(asking(**{field: value}))


@given(_anything)
def test_a_compaction_of_any_shape_never_breaks_the_check(value: Any) -> None:
    edit = {"type": "compact_20260112", "trigger": value}

    _refused_or_accepted(asking(context_management={"edits": [edit, value]}))


def _refused_or_accepted(request: dict[str, Any]) -> None:
    with contextlib.suppress(Refused):
        check(request, COMPACTING)
