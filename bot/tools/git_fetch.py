"""`git_fetch`: what the server of the goal's repository has now, in its checkout."""

from typing import Any, Final

from bot.ports.git_names import checked
from bot.tools.tool import Tool, one_object


def _checked(arguments: dict[str, Any]) -> dict[str, Any]:
    if branch := arguments.get("branch"):
        checked(branch)
    return arguments


TOOL: Final = Tool(
    name="git_fetch",
    description=(
        "Fetch from the server of this goal's repository. The first call makes the checkout, "
        "checkouts/NAME, on a branch of its own; later ones update origin/BRANCH in it and leave your "
        "work as it is. git itself reaches no server from here. Call it before you work on the sources."
    ),
    input_schema=one_object(
        (),
        branch={
            "type": "string",
            "maxLength": 200,
            "description": "A branch; the repository's own where none is named.",
        },
    ),
    effects="workspace",
    where="kit",
    reads_outside=True,
    further=_checked,
    is_repeatable=True,
)
