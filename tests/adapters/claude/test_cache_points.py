"""Where a request is marked for the cache."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.claude.cache_points import MARK, with_cache_points
from bot.ports.model import ModelRequest

TOOL = {"name": "read", "input_schema": {"type": "object"}}


def made(**more: Any) -> ModelRequest:
    return ModelRequest(**{"model": "m", "max_tokens": 1, "messages": (), **more})


def marks(request: ModelRequest) -> int:
    blocks: list[Any] = [*request.tools, *request.system]
    for message in request.messages:
        if isinstance(message["content"], list):
            blocks.extend(message["content"])
    return sum("cache_control" in block for block in blocks)


def test_tools_system_and_the_last_two_messages_of_the_user_are_marked() -> None:
    user = {"role": "user", "content": "Go on."}
    assistant = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}

    marked = with_cache_points(
        made(
            tools=(TOOL, TOOL),
            system=({"type": "text", "text": "Rules."},),
            messages=(user, assistant, user, assistant, user),
        )
    )

    assert ["cache_control" in tool for tool in marked.tools] == [False, True]
    assert marked.system[0]["cache_control"] == MARK
    assert marked.messages[0]["content"] == "Go on."
    assert marked.messages[2]["content"] == [
        {"type": "text", "text": "Go on.", "cache_control": MARK}
    ]
    assert "cache_control" in marked.messages[4]["content"][-1]
    assert marks(marked) == 4


def test_a_mark_goes_on_the_last_block_of_a_message() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "hello"}

    marked = with_cache_points(made(messages=({"role": "user", "content": [result, result]},)))

    assert ["cache_control" in block for block in marked.messages[0]["content"]] == [False, True]


def test_marks_that_are_there_stay_and_count() -> None:
    mine = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    messages = ({"role": "user", "content": [mine, mine, mine]},)

    marked = with_cache_points(
        made(tools=(TOOL,), system=({"type": "text", "text": "b"},), messages=messages)
    )

    assert marks(marked) == 4
    assert marked.messages == messages


def test_what_cannot_be_marked_is_not() -> None:
    empty = with_cache_points(made(messages=({"role": "user", "content": ""},)))

    assert empty.messages[0]["content"] == ""


contents = st.one_of(
    st.text(max_size=5),
    st.lists(
        st.fixed_dictionaries(
            {"type": st.just("text"), "text": st.text(max_size=5)},
            optional={"cache_control": st.just(MARK)},
        ),
        max_size=3,
    ),
)


@given(
    messages=st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant"]), "content": contents}
        ),
        max_size=6,
    ),
    tools=st.integers(0, 3),
)
def test_a_request_keeps_its_content_and_never_has_more_marks_than_four(
    messages: list[Any], tools: int
) -> None:
    request = made(messages=tuple(messages), tools=(TOOL,) * tools)
    before = copy.deepcopy(request)

    marked = with_cache_points(request)

    assert request == before
    assert marks(marked) <= max(4, marks(request))
    assert plain(marked) == plain(request)


def plain(request: ModelRequest) -> list[Any]:
    found: list[Any] = []
    for message in request.messages:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        found.append([message["role"], [{**b, "cache_control": None} for b in content]])
    return found
