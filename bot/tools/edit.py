"""`edit`: replace a piece of one file."""

from bot.tools.tool import Tool, a_path, one_object, without_nul
from bot.tools.write import CONTENT_CHARS

TOOL = Tool(
    name="edit",
    description=(
        "Replace a piece of text in a file of the workspace. `old` must occur exactly once, spaces "
        "included, or set `all` to replace each. Read the file first. Line endings are kept."
    ),
    input_schema=one_object(
        ("path", "old", "new"),
        path=a_path("Path from the workspace's top."),
        old={
            "type": "string",
            "maxLength": CONTENT_CHARS,
            "description": "The text as it stands, without line numbers.",
        },
        new={
            "type": "string",
            "maxLength": CONTENT_CHARS,
            "description": "What takes its place; empty to delete.",
        },
        all={"type": "boolean", "description": "Replace each occurrence."},
    ),
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("edit", arguments, "path"),
)
