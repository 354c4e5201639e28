"""`grep`: lines of files."""

from bot.tools.tool import Tool, a_path, one_object, without_nul

TOOL = Tool(
    name="grep",
    description=(
        "Find the lines that match a regular expression (Python's) in the workspace's text files. "
        "Gives path:line: text, sorted by path, 500 lines at most."
    ),
    input_schema=one_object(
        ("pattern",),
        pattern={
            "type": "string",
            "minLength": 1,
            "maxLength": 2_000,
            "description": "Regular expression; (?i) at its start ignores case.",
        },
        path=a_path("Folder or file to look in; the whole workspace without it."),
        glob=a_path("Only files of this pattern, such as *.py or src/**/*.ts."),
    ),
    effects="none",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("grep", arguments, "path", "glob"),
)
