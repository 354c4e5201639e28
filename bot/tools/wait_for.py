"""`wait_for`: park the goal until something outside has happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from bot.errors import BadInput
from bot.goals.goal import WaitKind
from bot.tools.tool import Tool, one_object, without_nul


@dataclass(frozen=True, slots=True)
class WaitFor:
    """What to wait for. `until` is the time itself, or the latest to wait, seconds since 1970."""

    kind: WaitKind
    ref: str
    reason: str
    until: float | None = None


def wait_for(arguments: Mapping[str, Any]) -> WaitFor:
    """The wait in checked arguments."""
    until = arguments.get("until")
    return WaitFor(
        kind=arguments["kind"],
        ref=arguments["ref"].strip(),
        reason=arguments["reason"].strip(),
        until=None if until is None else _moment(until).timestamp(),
    )


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    until = arguments.get("until")
    if until is not None:
        _moment(until)
    elif arguments["kind"] == "time":
        raise BadInput("wait_for: a wait for a time needs `until`, such as 2030-01-31T09:00:00Z.")
    return without_nul("wait_for", arguments, "ref")


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        moment.timestamp()
    except (ValueError, OverflowError):
        raise BadInput(
            "wait_for: until is no time. Write it as 2030-01-31T09:00:00+01:00."
        ) from None
    if moment.tzinfo is None:
        raise BadInput("wait_for: until names no zone. End it with Z or an offset such as +01:00.")
    return moment


TOOL = Tool(
    name="wait_for",
    description=(
        "Park this goal until something outside has happened, instead of checking again and again. "
        "time: at `until`. process: a background command ends, by its id in ref; it runs on meanwhile. "
        "probe: a command, in ref, succeeds "
        "(exit code 0) when run from time to time. message: a person writes in the thread. End your "
        "turn after it; you are woken when it has happened, or at `until` as the latest."
    ),
    input_schema=one_object(
        ("kind", "ref", "reason"),
        kind={"type": "string", "enum": list(get_args(WaitKind))},
        ref={
            "type": "string",
            "minLength": 1,
            "maxLength": 2_000,
            "description": "The background command's id, the probe's command, or what the time or message is for.",
        },
        until={
            "type": "string",
            "maxLength": 64,
            "description": "ISO 8601 with zone, such as 2030-01-31T09:00:00Z.",
        },
        reason={
            "type": "string",
            "minLength": 1,
            "maxLength": 300,
            "description": "One sentence that people see.",
        },
    ),
    effects="conversation",
    where="bot",
    reads_outside=False,
    further=_further,
)
