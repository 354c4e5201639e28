"""Tokens, counted once and in their classes."""

from adapters.claude.usage import usage_of
from bot.goals.money import Usage


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
