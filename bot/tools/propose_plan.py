"""`propose_plan`: a plan that a person approves, changes or rejects before it is worked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.errors import BadInput
from bot.ports.question import written
from bot.tools.plan import TASKS, TITLE_CHARS
from bot.tools.tool import Tool, one_object

TEXT_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class ProposedPlan:
    """A plan in words, and the titles of its steps in order."""

    text: str
    steps: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The one text that people see: the words, then the steps as a numbered list."""
        return written(self.text, self.steps)


def proposed(arguments: Mapping[str, Any]) -> ProposedPlan:
    """The plan in checked arguments."""
    return ProposedPlan(arguments["text"].strip(), tuple(arguments["steps"]))


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    steps = [" ".join(step.split()) for step in arguments["steps"]]
    for step in steps:
        if steps.count(step) > 1:
            raise BadInput(f"propose_plan: the step {step[:60]!r} is there twice. Give each once.")
    return {**arguments, "steps": steps}


TOOL = Tool(
    name="propose_plan",
    description=(
        "Propose the whole plan of this goal to the people who approve it: where they asked for a "
        "plan first, or where the approved plan has to change. End your turn after it. Approved, its "
        "steps become the list of tasks, and you work at those and nothing else."
    ),
    input_schema=one_object(
        ("text", "steps"),
        text={
            "type": "string",
            "minLength": 1,
            "maxLength": TEXT_CHARS,
            "description": (
                "The plan in Markdown, without the list of its steps: what you found, what you will "
                "change and how it is checked, what it will cost or cannot be taken back."
            ),
        },
        steps={
            "type": "array",
            "minItems": 1,
            "maxItems": TASKS,
            "items": {"type": "string", "minLength": 1, "maxLength": TITLE_CHARS},
            "description": "The title of each step, in order.",
        },
    ),
    effects="conversation",
    where="bot",
    reads_outside=False,
    further=_further,
)
