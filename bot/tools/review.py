"""
`review`: a person looks at all that the checkout changes, and applies or discards it.

Rule: git makes a commit of it in the workspace, and may run what the checkout's settings name: where nothing
is written unasked, it is asked for.
"""

from typing import Final

from bot.tools.tool import Tool, one_object

SUMMARY_CHARS: Final = 1_000

TOOL: Final = Tool(
    name="review",
    description=(
        "Ask a person to look at all that this goal's checkout changes, committed or not, and to apply "
        "or discard it. Applied, it is pushed to the goal's own branch; discarded, the checkout is put "
        "back to where it began. End your turn after it: the answer opens the next one."
    ),
    input_schema=one_object(
        ("summary",),
        summary={
            "type": "string",
            "minLength": 1,
            "maxLength": SUMMARY_CHARS,
            "description": "What it changes and why; the first line becomes the commit's.",
        },
    ),
    effects="workspace",
    where="kit",
    reads_outside=True,
    is_repeatable=True,
)
