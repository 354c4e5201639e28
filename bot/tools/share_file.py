"""`share_file`: a file of the workspace, for the people in the thread."""

from bot.tools.tool import Tool, a_path, one_object, without_nul

CAPTION_CHARS = 300

TOOL = Tool(
    name="share_file",
    description=(
        "Post a file of the workspace in the thread, for people to open. Share what they asked for "
        "or need, once it is done."
    ),
    input_schema=one_object(
        ("path",),
        path=a_path("Path from the workspace's top."),
        caption={
            "type": "string",
            "maxLength": CAPTION_CHARS,
            "description": "A line that goes with it.",
        },
    ),
    effects="conversation",
    where="both",
    reads_outside=True,
    further=lambda arguments: without_nul("share_file", arguments, "path"),
)
