"""`git_push`: one commit of the checkout to a branch of the server's, once somebody has allowed it."""

from typing import Any, Final

from bot.errors import BadInput
from bot.ports.git_names import OURS, checked_commit, is_ours
from bot.tools.tool import Tool, one_object


def _checked(arguments: dict[str, Any]) -> dict[str, Any]:
    checked_commit(arguments["commit"])
    branch = arguments.get("branch")
    if branch and not is_ours(branch):
        raise BadInput(f"{branch[:80]!r} is no branch of yours: they begin with `{OURS}`.")
    return arguments


TOOL: Final = Tool(
    name="git_push",
    description=(
        "Push a commit of this goal's checkout to the server, to a branch that begins with headway/. "
        "Commit first, and give the whole id (git rev-parse HEAD): that very commit is what somebody "
        "allows and what is pushed. A branch is only moved forward, never overwritten."
    ),
    input_schema=one_object(
        ("commit",),
        commit={
            "type": "string",
            "description": "The whole id of the commit, 40 hexadecimal digits.",
        },
        branch={
            "type": "string",
            "maxLength": 200,
            "description": "headway/NAME; where it is not given, headway/g and the goal's number.",
        },
    ),
    effects="external",
    where="kit",
    reads_outside=True,
    further=_checked,
    is_repeatable=True,
)
