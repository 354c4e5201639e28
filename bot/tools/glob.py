"""`glob`: names of files."""

from bot.tools.tool import Tool, a_path, one_object, without_nul

TOOL = Tool(
    name="glob",
    description=(
        "List the workspace's files whose path matches, sorted. `*` stands for anything within a "
        "name, `**` for any number of folders: **/*.py finds all Python files. Links are not "
        "followed; .git, node_modules and .venv are entered only when the pattern names them."
    ),
    input_schema=one_object(("pattern",), pattern=a_path("Pattern from the workspace's top.")),
    effects="none",
    where="sandbox",
    reads_outside=True,
    further=lambda arguments: without_nul("glob", arguments, "pattern"),
)
