"""`write`: make or replace one file."""

from bot.tools.tool import Tool, a_path, one_object, without_nul

CONTENT_CHARS = 4_000_000

TOOL = Tool(
    name="write",
    description=(
        "Make a file of the workspace, or replace all that it holds. Missing folders are made. To "
        "change a part of a file use edit. Finished work belongs in artifacts/, work in progress in "
        "drafts/, your own notes in notes/."
    ),
    input_schema=one_object(
        ("path", "content"),
        path=a_path("Path from the workspace's top."),
        content={"type": "string", "maxLength": CONTENT_CHARS, "description": "The whole text."},
    ),
    effects="workspace",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("write", arguments, "path"),
)
