"""`poll`: what a background command has printed, and whether it still runs."""

from bot.tools.tool import Tool, one_object, without_nul

MOST_S = 30
ID_CHARS = 64

TOOL = Tool(
    name="poll",
    description=(
        "See what a background command has printed since you looked last, and whether it runs or how "
        "it ended. With wait_s it waits until it ends, at most so long. For what takes longer use "
        "wait_for with kind process."
    ),
    input_schema=one_object(
        ("id",),
        id={
            "type": "string",
            "minLength": 1,
            "maxLength": ID_CHARS,
            "description": "As bash gave it, such as bg-1a2b3c4d.",
        },
        wait_s={
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_S,
            "description": "Seconds to wait for its end; 0 without it.",
        },
    ),
    # What it has given once it does not give again.
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("poll", arguments, "id"),
)
