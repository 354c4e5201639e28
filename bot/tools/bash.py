"""`bash`: one command."""

from bot.tools.tool import Tool, one_object, without_nul

COMMAND_CHARS = 100_000
"""The kernel takes at most 128 KiB in one argument."""
LONGEST_S = 600
USUAL_S = 120

TOOL = Tool(
    name="bash",
    description=(
        "Run a command with bash in the sandbox. The directory and exported variables are kept for "
        "the next call. Only the workspace and /tmp can be written, and there is no network. When "
        "the command ends, what it left running in the background is ended too. There is no "
        "terminal and no input: pass -y and the like. Output is cut in the middle at 30,000 "
        "characters."
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
    ),
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("bash", arguments, "command"),
)
