"""The list of tools, and what each turn is offered of it."""

import json
from datetime import UTC, datetime

import pytest

from bot.ports.journal import Task
from bot.tools.ask_person import Ask, ask
from bot.tools.finish_note import Note, note
from bot.tools.plan import Plan, plan
from bot.tools.table import TOOL_BY_NAME, TOOLS, offered, tool_schemas
from bot.tools.tool import Tool
from bot.tools.wait_for import WaitFor, wait_for

SANDBOXED = ["read", "write", "edit", "glob", "grep", "bash", "poll", "kill"]
OURS = ["ask_person", "wait_for", "plan", "finish_note", "propose_plan"]


@pytest.mark.parametrize(
    ("sandbox_on", "read_only", "names"),
    [
        (True, False, [*SANDBOXED, "share_file", *OURS]),
        (False, False, OURS),
        (True, True, ["read", "glob", "grep"]),
        (False, True, []),
    ],
)
def test_a_turn_is_offered(sandbox_on: bool, read_only: bool, names: list[str]) -> None:
    assert [tool.name for tool in offered(sandbox_on, read_only)] == names
    assert [schema["name"] for schema in tool_schemas(sandbox_on, read_only)] == names


def test_the_request_s_tools_are_the_same_to_the_byte_each_time() -> None:
    assert json.dumps(tool_schemas(True, False)) == json.dumps(tool_schemas(True, False))


def test_what_runs_in_the_bot_touches_the_conversation_only() -> None:
    for tool in TOOLS:
        assert (tool.where == "sandbox") != (tool.effects == "conversation")
        assert (tool.where == "bot") != tool.reads_outside


def test_only_what_changes_nothing_can_be_run_again() -> None:
    assert [tool.name for tool in TOOLS if tool.effects == "none"] == ["read", "glob", "grep"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_schema_is_closed_and_each_description_short(tool: Tool) -> None:
    schema = tool.input_schema

    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert 20 < len(tool.description) < 600
    json.dumps(tool.as_json())


def test_a_question_has_its_options() -> None:
    arguments = TOOL_BY_NAME["ask_person"].check({"question": " Which? ", "options": [" a", "b"]})

    assert ask(arguments) == Ask("Which?", ("a", "b"))
    assert ask({"question": "Why?"}) == Ask("Why?")


def test_a_wait_has_its_time_in_seconds() -> None:
    moment = datetime(2030, 1, 31, 8, tzinfo=UTC)
    arguments = {"kind": "time", "ref": "build", "reason": "It takes long.", "until": None}

    waits = [
        wait_for({**arguments, "until": until})
        for until in ("2030-01-31T09:00:00+01:00", "2030-01-31T08:00:00Z")
    ]

    assert waits == [WaitFor("time", "build", "It takes long.", moment.timestamp())] * 2
    assert wait_for(arguments).until is None


def test_a_plan_is_the_list_of_its_tasks() -> None:
    arguments = {
        "tasks": [
            {"title": "look ", "state": "done", "evidence": "notes/a.md"},
            {"title": "write", "state": "doing"},
        ]
    }

    assert plan(arguments) == Plan((Task("look", "done", "notes/a.md"), Task("write", "doing")))
    assert plan({"tasks": []}) == Plan(())


def test_a_note_is_its_text() -> None:
    assert note({"text": " Done.\n"}) == Note("Done.")
