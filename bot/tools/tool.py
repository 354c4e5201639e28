"""What a tool is, for the model that calls it and for the turn that runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.errors import BadInput
from bot.goals.hands import GrantKind
from bot.tools.arguments import Json, checked, unread

Effects = Literal["none", "workspace", "external", "conversation"]
"""What a call may change. `none` can be run again when its result was lost."""

PATH_CHARS = 4_096


def _as_it_is(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of the agent."""

    name: str
    description: str
    """For the model."""
    input_schema: Json
    effects: Effects
    where: Literal["sandbox", "bot", "both", "kit"]
    """`both`: the bot takes it out of the sandbox, and its events are staged with its result. `kit`: it
    is one of a toolbox."""
    reads_outside: bool
    """It reads or changes something outside the conversation (the stall rule counts these)."""
    further: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is
    """Rules that a schema cannot say; raises BadInput."""
    is_foreign: bool = False
    """A stranger wrote its schema: whoever runs it checks the arguments, and here only their size."""
    is_repeatable: bool = False
    """Done twice it is done once: whatever its effects, it runs again when its result was lost."""
    grants: Callable[[dict[str, Any]], tuple[GrantKind, str]] | None = None
    """What an approval of such a call may allow further, in plain text; None: the tool itself."""

    def check(self, arguments: object) -> dict[str, Any]:
        """The arguments, fit to be run.

        Raises:
            BadInput: they are not; the message is the call's result.
        """
        if self.is_foreign:
            return self.further(unread(self.name, arguments))
        return self.further(checked(self.name, self.input_schema, arguments))

    def as_json(self) -> Mapping[str, Any]:
        """The tool in a Messages API request."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


def one_object(required: tuple[str, ...], **properties: Json) -> Json:
    """The schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def a_path(description: str) -> Json:
    """The schema of a workspace path."""
    return {"type": "string", "minLength": 1, "maxLength": PATH_CHARS, "description": description}


def without_nul(tool: str, arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    """The arguments, when none of those named holds a NUL.

    Raises:
        BadInput: one does.
    """
    for name in names:
        if "\0" in arguments.get(name, ""):
            raise BadInput(f"{tool}: {name} holds a NUL character. Leave it out.")
    return arguments
