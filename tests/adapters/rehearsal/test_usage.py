"""Tokens and the simulated prompt cache."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.rehearsal.usage import PromptCache, billed, estimate
from tests.adapters.rehearsal.conversation import asking


def _talk(*texts: str, marked: int | None = None, ttl: str | None = None) -> dict[str, Any]:
    mark: dict[str, Any] = {"cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}
    content = [
        {"type": "text", "text": words, **(mark if place == marked else {})}
        for place, words in enumerate(texts)
    ]
    return asking(messages=[{"role": "user", "content": content}])


def test_without_a_mark_everything_is_plain_input() -> None:
    prompt = PromptCache().take(_talk("a" * 400), 480)

    assert (prompt.input, prompt.written, prompt.read) == (120, 0, 0)


def test_a_moving_mark_reads_what_was_written_and_writes_the_rest() -> None:
    cache = PromptCache()

    first = cache.take(_talk("a" * 400, marked=0), 0)
    second = cache.take(_talk("a" * 400, "b" * 200, marked=1), 0)

    assert first.written == second.read > 0
    assert 0 < second.written < first.written


def test_another_model_and_another_text_read_nothing() -> None:
    cache = PromptCache()
    cache.take(_talk("a" * 400, marked=0), 0)

    other = cache.take({**_talk("a" * 400, marked=0), "model": "claude-opus-5"}, 0)
    changed = cache.take(_talk("b" * 400, marked=0), 0)

    assert other.read == changed.read == 0


def test_the_hour_is_counted_apart() -> None:
    prompt = PromptCache().take(_talk("a" * 400, marked=0, ttl="1h"), 0)

    assert prompt.written_1h == prompt.written > 0


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=6), st.data())
def test_every_token_is_in_exactly_one_class(texts: list[str], data: st.DataObject) -> None:
    cache = PromptCache()
    marks = st.integers(0, len(texts) - 1)

    for _ in range(3):
        request = _talk(*texts, marked=data.draw(marks))
        prompt = cache.take(request, 0)

        assert min(prompt.input, prompt.written, prompt.read) >= 0
        assert abs(prompt.total - estimate(request)) <= 2


def test_iterations_are_billed_instead_of_the_top_level() -> None:
    usage: dict[str, Any] = {
        "input_tokens": 5,
        "output_tokens": 5,
        "iterations": [
            {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 7},
            {"input_tokens": 5, "output_tokens": 5, "cache_creation_input_tokens": None},
        ],
    }

    assert billed(usage) == {"input": 105, "cache_write": 0, "cache_read": 7, "output": 15}
