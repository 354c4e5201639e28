"""The estimate of a prompt: never too low."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.goals.estimate import IMAGE_TOKENS, estimate_tokens


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_english_is_counted_by_three_characters() -> None:
    assert estimate_tokens(messages=[user("a" * 300)]) == 104


@pytest.mark.parametrize(
    ("words", "least"), [("目标已经完成", 9), ("цель достигнута", 14), ("🎯" * 10, 20)]
)
def test_other_scripts_count_for_more(words: str, least: int) -> None:
    assert estimate_tokens(messages=[user(words)]) - 4 >= least


def test_an_image_counts_the_same_whatever_its_bytes() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 1_000_000}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image]}

    assert estimate_tokens(messages=[user([image])]) == IMAGE_TOKENS + 4
    assert IMAGE_TOKENS < estimate_tokens(messages=[user([result])]) < IMAGE_TOKENS + 50


def test_tools_and_system_count() -> None:
    tool = {"name": "read", "description": "d" * 300, "input_schema": {"type": "object"}}
    system = {"type": "text", "text": "s" * 300}

    assert estimate_tokens(tools=[tool], system=[system], messages=[]) > 700


def test_a_lone_surrogate_is_counted_too() -> None:
    assert estimate_tokens(messages=[user("\ud800")]) > 4


@given(st.lists(st.text(max_size=50), max_size=5), st.text(max_size=50))
def test_more_text_is_never_fewer_tokens(texts: list[str], more: str) -> None:
    blocks = [{"type": "text", "text": words} for words in texts]
    longer = [*blocks, {"type": "text", "text": more}]

    assert estimate_tokens(messages=[user(longer)]) > estimate_tokens(messages=[user(blocks)])
    assert estimate_tokens(messages=[user(blocks)]) >= len(json.dumps(blocks)) // 12
