"""`ask_person`: a question that only a person can answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.errors import BadInput
from bot.tools.tool import Tool, one_object

OPTIONS = 5
OPTION_CHARS = 75
"""As many as a Slack button's text may have."""
QUESTION_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for the goal's owner, with answers to choose from where there are any."""

    question: str
    options: tuple[str, ...] = ()


def ask(arguments: Mapping[str, Any]) -> Ask:
    """The question in checked arguments."""
    return Ask(arguments["question"].strip(), tuple(arguments.get("options", ())))


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    options = [option.strip() for option in arguments.get("options", ())]
    if len({option.casefold() for option in options}) < len(options):
        raise BadInput("ask_person: two options are the same. Give each once.")
    return {**arguments, "options": options} if options else arguments


TOOL = Tool(
    name="ask_person",
    description=(
        "Ask the person whose goal this is, when only they can decide or know something and the "
        "work cannot go on without it. One question at a time, with what they need to answer it. "
        "End your turn after it; the answer opens the next one. Do not ask what you can find out, "
        "and do not ask again what was asked."
    ),
    input_schema=one_object(
        ("question",),
        question={"type": "string", "minLength": 1, "maxLength": QUESTION_CHARS},
        options={
            "type": "array",
            "maxItems": OPTIONS,
            "items": {"type": "string", "minLength": 1, "maxLength": OPTION_CHARS},
            "description": "Answers to choose from; another answer in words is always possible.",
        },
    ),
    effects="conversation",
    where="bot",
    reads_outside=False,
    further=_further,
)
