"""Tokens, counted once and in their classes."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.claude.usage import COUNT_MOST, uncounted, usage_of
from bot.goals.money import Usage
from bot.ports.model import ModelRequest

NAMES = st.sampled_from(
    [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_creation",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
        "server_tool_use",
        "web_search_requests",
        "iterations",
        "model",
    ]
)


def test_the_four_classes_are_read_apart() -> None:
    usage, parts = usage_of(
        {
            "input_tokens": 5,
            "output_tokens": 7,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 60,
            "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40},
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
        },
        "m",
    )

    assert usage == Usage(5, 20, 40, 100, 7, 3)
    assert parts == (("m", usage),)


def test_a_cache_write_without_a_time_to_live_is_of_five_minutes() -> None:
    usage, _ = usage_of({"input_tokens": 1, "cache_creation_input_tokens": 9}, "m")

    assert usage == Usage(input=1, cache_write_5m=9)


def test_iterations_go_before_the_top_level() -> None:
    usage, parts = usage_of(
        {
            "input_tokens": 23,
            "output_tokens": 11,
            "iterations": [
                {"type": "compaction", "input_tokens": 180, "output_tokens": 35},
                {"type": "message", "input_tokens": 23, "output_tokens": 10},
                {
                    "type": "advisor_message",
                    "model": "other",
                    "input_tokens": 4,
                    "output_tokens": 2,
                    "cache_creation_input_tokens": 3,
                },
            ],
            "server_tool_use": {"web_search_requests": 1},
        },
        "m",
    )

    assert usage == Usage(207, 3, 0, 0, 47, 1)
    assert [model for model, _ in parts] == ["m", "m", "other"]


def test_empty_iterations_and_nulls_count_for_nothing() -> None:
    usage, _ = usage_of({"input_tokens": 3, "output_tokens": None, "iterations": []}, "m")

    assert usage == Usage(input=3)


def test_a_part_of_the_model_asked_is_known_by_the_name_asked_for() -> None:
    _, parts = usage_of(
        {"iterations": [{"model": "claude-x-20260101", "input_tokens": 1}]},
        "eu.anthropic.claude-x",
        also="claude-x-20260101",
    )

    assert parts == (("eu.anthropic.claude-x", Usage(input=1)),)


def test_a_reply_that_was_not_counted_is_estimated_and_one_that_was_is_not() -> None:
    request = ModelRequest("m", 500, ({"role": "user", "content": "word " * 300},))
    said = ({"type": "text", "text": "word " * 30},)

    nothing = uncounted(Usage(), request, said)
    no_output = uncounted(Usage(cache_read=400), request, said)

    assert nothing.input > 300
    assert nothing.output == no_output.output > 30
    assert no_output.input == 0
    assert uncounted(Usage(cache_read=400), request, ()) == Usage()
    assert uncounted(Usage(input=400, output=30), request, said) == Usage()


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSONS, max_size=6))
def test_whatever_stands_in_a_usage_gives_counts_that_can_be_kept(raw: dict[str, object]) -> None:
    usage, parts = usage_of(raw, "m")

    for counted in (usage, *(part for _, part in parts)):
        assert all(0 <= getattr(counted, name) < 2**40 for name in Usage.__slots__)
    assert all(isinstance(model, str) and model for model, _ in parts)


def test_a_count_that_no_reply_can_have_is_cut_to_one_that_can_be_kept() -> None:
    usage, _ = usage_of({"input_tokens": 10**30, "output_tokens": 1e400}, "m")

    assert usage == Usage(input=COUNT_MOST, output=COUNT_MOST)
