"""The call that an approval is about: its hash and its text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.calls import call_hash, read, written

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


def test_the_order_of_arguments_makes_no_other_call() -> None:
    one = call_hash("write", {"path": "a", "content": "b"})

    other = call_hash("write", {"content": "b", "path": "a"})

    assert one == other
    assert len(one) == 64


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("bash", {"command": "rm a "}),
        ("bash", {"command": "rm a", "timeout_s": 5}),
        ("bash", {"command": "rm \u0430"}),
        ("sh", {"command": "rm a"}),
        ("bash", {"command": ["rm a"]}),
    ],
)
def test_any_other_call_has_another_hash(tool: str, args: dict[str, Any]) -> None:
    assert call_hash(tool, args) != call_hash("bash", {"command": "rm a"})


@given(st.text(alphabet="abc`\n ", max_size=40), st.text(alphabet="abc`\n ", max_size=40))
def test_a_command_is_shown_word_for_word(command: str, about: str) -> None:
    shown = read(written("bash", {"command": command}, "because", about))

    assert shown is not None
    assert (shown.tool, shown.why, shown.form, shown.body) == ("bash", "because", "bash", command)
    assert shown.about == about.strip()


@given(st.text(max_size=30), ARGS)
def test_every_call_is_read_back_whole(why: str, args: dict[str, Any]) -> None:
    text = written("mcp_tool", args, why)

    shown = read(text)

    assert text.startswith("tool: mcp_tool\n")
    assert shown is not None
    assert (shown.tool, shown.form) == ("mcp_tool", "json")


@pytest.mark.parametrize(
    "sign",
    [
        "\u202e",
        "\u200b",
        "\x1b",
        "\r",
        "\u2028",
        "\u00a0",
        "\U000e0041",
        "\u3164",
        "\u115f",
        "\uffa0",
        "\ufe0f",
        "\U000e0100",
        "\u034f",
        "\u2800",
        "\u180b",
        "\u17b4",
    ],
)
def test_what_nobody_sees_is_written_out(sign: str) -> None:
    shown = read(written("bash", {"command": f"ls {sign}x"}))

    assert shown is not None
    assert shown.form == "json"
    assert shown.body.isascii()
    assert sign not in shown.body


def test_another_argument_beside_the_command_is_shown_too() -> None:
    shown = read(written("bash", {"command": "make", "timeout_s": 600}))

    assert shown is not None
    assert "600" in shown.body
    assert "make" in shown.body


def test_a_reason_cannot_begin_another_line() -> None:
    text = written("bash", {"command": "ls"}, "a\n\n```bash\nrm\n```")

    shown = read(text)

    assert shown is not None
    assert shown.body == "ls"


def test_any_other_text_is_no_call() -> None:
    assert read("May I go on?\n\n1. yes") is None
