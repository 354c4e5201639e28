"""`reach`: a host beyond what the goal may reach, asked of whoever may allow it."""

from typing import Any, Final

from bot.errors import BadInput
from bot.goals.hands import GrantKind
from bot.hosts import read_rule, rule_text
from bot.tools.tool import Tool, one_object

HOST_CHARS: Final = 260
WHY_CHARS: Final = 300


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    """The host in its canonical form: what people read and allow is what is compared."""
    said = arguments["host"].strip()
    try:
        rule = read_rule(said)
    except (ValueError, UnicodeError) as error:
        raise BadInput(
            f"reach: {said[:60]!a} is no host. Give its name alone, such as api.example.org, "
            "or with a port that is neither 80 nor 443: git.example.org:8443."
        ) from error
    if rule.is_below:
        raise BadInput("reach: ask for one host at a time, by its full name.")
    return {**arguments, "host": rule_text(rule)}


def _grants(arguments: dict[str, Any]) -> tuple[GrantKind, str]:
    return "host", arguments["host"]


TOOL: Final = Tool(
    name="reach",
    description=(
        "Ask to reach a host over the network which the proxy has refused. One host a call, with "
        "the reason: a person decides, or the room's rules do. Ask only for what the work needs. "
        "After a yes its ports 80 and 443 are there at once (another port only where you name "
        "it); after a no, go on without it or say what is missing."
    ),
    input_schema=one_object(
        ("host", "why"),
        host={
            "type": "string",
            "minLength": 1,
            "maxLength": HOST_CHARS,
            "description": "Its name, such as api.example.org or git.example.org:8443.",
        },
        why={
            "type": "string",
            "minLength": 1,
            "maxLength": WHY_CHARS,
            "description": "What it is needed for, in a sentence that a person can judge.",
        },
    ),
    effects="external",
    where="kit",
    reads_outside=True,
    further=_further,
    grants=_grants,
)
