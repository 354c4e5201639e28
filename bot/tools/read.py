"""`read`: the lines of one file."""

from bot.tools.tool import Tool, a_path, one_object, without_nul

TOOL = Tool(
    name="read",
    description=(
        "Read a text file of the workspace. Lines come numbered, up to 2,000 at a time; go on with "
        "offset. The number and the tab before each line are not part of the file."
    ),
    input_schema=one_object(
        ("path",),
        path=a_path("Path from the workspace's top, such as notes/plan.md."),
        offset={"type": "integer", "minimum": 1, "maximum": 10**9, "description": "First line."},
        limit={"type": "integer", "minimum": 1, "maximum": 10**6, "description": "Lines at most."},
    ),
    effects="none",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("read", arguments, "path"),
)
