"""A model's arguments are taken as they should be, or refused with a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import BadInput
from bot.tools.table import TOOL_BY_NAME, TOOLS
from bot.tools.tool import Tool

GOOD: dict[str, dict[str, Any]] = {
    "read": {"path": "a.txt", "offset": 1, "limit": 10},
    "write": {"path": "a.txt", "content": ""},
    "edit": {"path": "a.txt", "old": "a", "new": "", "all": True},
    "glob": {"pattern": "**/*.py"},
    "grep": {"pattern": "a+", "path": "src", "glob": "*.py"},
    "bash": {"command": "ls", "timeout_s": 600},
    "poll": {"id": "bg-1a2b3c4d", "wait_s": 30},
    "kill": {"id": "bg-1a2b3c4d"},
    "share_file": {"path": "artifacts/a.md", "caption": "The report."},
    "ask_person": {"question": "Which?", "options": ["a", "b"]},
    "wait_for": {
        "kind": "time",
        "ref": "the build",
        "until": "2030-01-31T09:00:00+01:00",
        "reason": "It takes an hour.",
    },
    "plan": {"tasks": [{"title": "look", "state": "done", "evidence": "notes/a.md"}]},
    "finish_note": {"text": "Done."},
    "propose_plan": {"text": "How it can be done.", "steps": ["look", "do it"]},
}

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_good_arguments_are_taken_as_they_are(tool: Tool) -> None:
    assert tool.check(GOOD[tool.name]) == GOOD[tool.name]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_optional_argument_may_be_null(tool: Tool) -> None:
    optional = set(tool.input_schema["properties"]) - set(tool.input_schema["required"])
    needed = {key: GOOD[tool.name][key] for key in tool.input_schema["required"]}
    if tool.name == "wait_for":
        needed["kind"] = "message"

    assert tool.check({**needed, **dict.fromkeys(optional)}) == needed


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("given_", [None, [], "text", 1, True])
def test_what_is_no_object_is_refused(tool: Tool, given_: object) -> None:
    with pytest.raises(BadInput, match=f"{tool.name}: the input must be an object"):
        tool.check(given_)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_missing_argument_is_named(tool: Tool) -> None:
    for key in tool.input_schema["required"]:
        lacking = {name: value for name, value in GOOD[tool.name].items() if name != key}

        with pytest.raises(BadInput, match=f"{key} is missing"):
            tool.check(lacking)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_unknown_argument_is_named_beside_the_known_ones(tool: Tool) -> None:
    with pytest.raises(BadInput, match=r"unknown 'colour'.*Known are"):
        tool.check({**GOOD[tool.name], "colour": "red"})


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("read", {"path": ""}, "path is empty"),
        ("read", {"path": 7}, "path must be a string, not 7"),
        ("read", {"path": "a\0"}, "NUL"),
        ("read", {"path": "\ud800"}, "lone surrogate"),
        ("read", {"path": "x" * 5_000}, "may have 4096"),
        ("read", {"path": "a", "offset": 0}, "offset must be from 1"),
        ("read", {"path": "a", "offset": True}, "a whole number, not True"),
        ("read", {"path": "a", "offset": 1.5}, "a whole number, not 1.5"),
        ("write", {"path": "a", "content": None}, "content is missing"),
        ("edit", {"path": "a", "old": "a", "new": "b", "all": "yes"}, "true or false"),
        ("grep", {"pattern": ""}, "pattern is empty"),
        ("bash", {"command": "  "}, "command is empty"),
        ("bash", {"command": "a\0b"}, "NUL"),
        ("bash", {"command": "a", "timeout_s": 601}, "timeout_s must be from 1 to 600"),
        ("bash", {"command": "x" * 100_001}, "may have 100000"),
        ("ask_person", {"question": "?", "options": list("abcdef")}, "holds 6 and may hold 5"),
        ("ask_person", {"question": "?", "options": ["Yes", "yes "]}, "two options are the same"),
        ("ask_person", {"question": "?", "options": "yes"}, "a list"),
        ("ask_person", {"question": "?", "options": ["a", 1]}, r"options\[1\] must be a string"),
        ("wait_for", {"kind": "rain", "ref": "a", "reason": "b"}, "one of time, process"),
        ("wait_for", {"kind": "time", "ref": "a", "reason": "b"}, "needs `until`"),
        (
            "wait_for",
            {"kind": "time", "ref": "a", "reason": "b", "until": "tomorrow"},
            "until is no time",
        ),
        (
            "wait_for",
            {"kind": "time", "ref": "a", "reason": "b", "until": "2030-01-31T09:00:00"},
            "names no zone",
        ),
        (
            "wait_for",
            {"kind": "time", "ref": "a", "reason": "b", "until": "2030-01-31"},
            "names no zone",
        ),
        ("plan", {"tasks": [{"title": "a", "state": "done"}]}, "done without evidence"),
        ("plan", {"tasks": [{"title": "a", "state": "open"}] * 2}, "there twice"),
        ("plan", {"tasks": [{"title": "a", "state": "lost"}]}, r"tasks\[0\].state must be one of"),
        ("plan", {"tasks": [{"state": "open"}]}, r"tasks\[0\].title is missing"),
        ("finish_note", {"text": "x" * 6_001}, "may have 6000"),
    ],
)
def test_what_does_not_fit_is_said(tool: str, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        TOOL_BY_NAME[tool].check(arguments)


def test_a_whole_number_written_as_a_float_is_taken() -> None:
    assert TOOL_BY_NAME["read"].check({"path": "a", "offset": 3.0})["offset"] == 3


@given(tool=st.sampled_from(TOOLS), arguments=anything, data=st.data())
def test_nothing_but_a_refusal_comes_of_anything(
    tool: Tool, arguments: object, data: st.DataObject
) -> None:
    good = GOOD[tool.name]
    key = data.draw(st.sampled_from(sorted(good)))

    for tried in (arguments, {**good, key: arguments}):
        taken, refusal = _taken_or_refused(tool, tried)

        assert refusal is None or (refusal.startswith(tool.name) and len(refusal) < 1_000)
        assert taken is None or tool.check(taken) == taken
        json.dumps(taken).encode("ascii")


def _taken_or_refused(tool: Tool, tried: object) -> tuple[dict[str, Any] | None, str | None]:
    try:
        return tool.check(tried), None
    except BadInput as refusal:
        return None, str(refusal)
