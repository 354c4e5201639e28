"""`plan`: the list of tasks that the work consists of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from bot.errors import BadInput
from bot.ports.journal import Task, TaskState
from bot.tools.tool import Tool, one_object

TASKS = 50
TITLE_CHARS = 200
EVIDENCE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """All tasks, in order; it takes the place of the former list."""

    tasks: tuple[Task, ...]


def plan(arguments: Mapping[str, Any]) -> Plan:
    """The list in checked arguments."""
    return Plan(
        tuple(
            Task(each["title"].strip(), each["state"], each.get("evidence", "").strip())
            for each in arguments["tasks"]
        )
    )


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    titles: set[str] = set()
    for each in arguments["tasks"]:
        title = each["title"].strip()
        if title in titles:
            raise BadInput(f"plan: the task {title[:60]!r} is there twice. Give each once.")
        titles.add(title)
        if each["state"] == "done" and not each.get("evidence", "").strip():
            raise BadInput(
                f"plan: the task {title[:60]!r} is done without evidence. "
                "Say what shows it: a file, a command and its result."
            )
    return arguments


TOOL = Tool(
    name="plan",
    description=(
        "Keep the list of tasks, for work of more than two steps. Give the whole list each time; it "
        "takes the place of the former one, and people see it. Keep the title of a task that goes "
        "on. A task that is done needs evidence; one that is not needed is dropped, not left out."
    ),
    input_schema=one_object(
        ("tasks",),
        tasks={
            "type": "array",
            "maxItems": TASKS,
            "items": one_object(
                ("title", "state"),
                title={"type": "string", "minLength": 1, "maxLength": TITLE_CHARS},
                state={"type": "string", "enum": list(get_args(TaskState))},
                evidence={
                    "type": "string",
                    "maxLength": EVIDENCE_CHARS,
                    "description": "What shows that it is done.",
                },
            ),
        },
    ),
    effects="conversation",
    where="bot",
    reads_outside=False,
    further=_further,
)
