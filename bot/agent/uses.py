"""The calls of a reply that can run: their tools, their checked arguments, and which run together. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bot.errors import BadInput
from bot.tools.policy.verdict import Allowed
from bot.tools.tool import Tool

NOW_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Use:
    """One call that can run, its arguments checked. `permit`: why it may, once it has been weighed."""

    id: str
    tool: Tool
    args: dict[str, Any]
    permit: Allowed = field(default_factory=lambda: Allowed(""))

    def allowed(self, permit: Allowed) -> "Use":
        """The same, weighed."""
        return replace(self, permit=permit)


def read_use(use: Mapping[str, Any], tools: Mapping[str, Tool]) -> Use:
    """A block of a reply that calls one of these tools.

    Raises:
        BadInput: there is no such tool, or its arguments do not fit; the message is for the agent.
    """
    name = str(use.get("name"))
    tool = tools.get(name)
    if tool is None:
        has = ", ".join(sorted(tools)) or "none"
        raise BadInput(f"There is no tool {name!r} in this turn. There are: {has}.")
    return Use(use["id"], tool, tool.check(use.get("input")))


def groups(uses: Sequence[Use]) -> Iterator[list[Use]]:
    """Neighbours that change nothing together, every other call alone."""
    together: list[Use] = []
    for use in uses:
        if use.tool.where in ("sandbox", "kit") and use.tool.effects == "none":
            together.append(use)
            continue
        if together:
            yield together
            together = []
        yield [use]
    if together:
        yield together


def doing(use: Use) -> str:
    """What is said of the goal while the call runs."""
    told = use.args.get("path") or use.args.get("command") or use.args.get("pattern") or ""
    first = str(told).strip().split("\n")[0]
    return f"{use.tool.name} {first[:NOW_CHARS]}".strip()
