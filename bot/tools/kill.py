"""`kill`: end a background command with all that it has started."""

from bot.tools.poll import ID_CHARS
from bot.tools.tool import Tool, one_object, without_nul

TOOL = Tool(
    name="kill",
    description=(
        "End a background command with everything that it has started, and see what it printed last."
    ),
    input_schema=one_object(
        ("id",),
        id={
            "type": "string",
            "minLength": 1,
            "maxLength": ID_CHARS,
            "description": "As bash gave it, such as bg-1a2b3c4d.",
        },
    ),
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("kill", arguments, "id"),
)
