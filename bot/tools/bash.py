"""`bash`: one command."""

from typing import Any

from bot.errors import BadInput
from bot.tools.tool import Tool, one_object, without_nul

COMMAND_CHARS = 100_000
"""The kernel takes at most 128 KiB in one argument."""
LONGEST_S = 600
USUAL_S = 120


def _further(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("background") and "timeout_s" in arguments:
        raise BadInput("bash: timeout_s is for what is waited for. Leave it out with background.")
    return without_nul("bash", arguments, "command")


TOOL = Tool(
    name="bash",
    description=(
        "Run a command with bash in the sandbox. The directory and exported variables are kept for "
        "the next call. Only the workspace and /tmp can be written; of the network only those hosts "
        "are there that people have allowed, by way of a proxy. When the command ends, what it left "
        "running is ended too; set background for what shall run on. There is no terminal and no "
        "input: pass -y and the like. Output is cut in the middle at 30,000 characters."
    ),
    input_schema=one_object(
        ("command",),
        command={
            "type": "string",
            "minLength": 1,
            "maxLength": COMMAND_CHARS,
            "description": "What to run.",
        },
        timeout_s={
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_S,
            "description": f"Seconds until it is ended; {USUAL_S} without it.",
        },
        background={
            "type": "boolean",
            "description": "Return at once with an id, for poll, kill and wait_for, and let it run on.",
        },
    ),
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=_further,
)
