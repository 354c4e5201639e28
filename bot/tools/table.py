"""
The explicit list of the agent's tools.

Its order is that of the request: it never changes within a conversation, so that the prompt's
prefix stays the same and is read from the cache.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bot.tools import (
    ask_person,
    bash,
    edit,
    finish_note,
    glob,
    grep,
    kill,
    plan,
    poll,
    propose_plan,
    read,
    share_file,
    wait_for,
    write,
)
from bot.tools.arguments import Json
from bot.tools.tool import Tool

TOOLS: Final[tuple[Tool, ...]] = (
    read.TOOL,
    write.TOOL,
    edit.TOOL,
    glob.TOOL,
    grep.TOOL,
    bash.TOOL,
    poll.TOOL,
    kill.TOOL,
    share_file.TOOL,
    ask_person.TOOL,
    wait_for.TOOL,
    plan.TOOL,
    finish_note.TOOL,
    propose_plan.TOOL,
)

TOOL_BY_NAME: Final[Mapping[str, Tool]] = MappingProxyType({tool.name: tool for tool in TOOLS})

_READ_ONLY: Final = frozenset({"read", "glob", "grep"})
"""What a read-only turn has; no command, which could write where the session may."""


def offered(sandbox_on: bool, read_only: bool) -> tuple[Tool, ...]:
    """The tools of one turn. Without a sandbox those that need it are off."""
    return tuple(tool for tool in TOOLS if _is_offered(tool, sandbox_on, read_only))


def tool_schemas(sandbox_on: bool, read_only: bool) -> tuple[Json, ...]:
    """The tools of one turn as Messages API JSON, always in the same order."""
    return tuple(tool.as_json() for tool in offered(sandbox_on, read_only))


def _is_offered(tool: Tool, sandbox_on: bool, read_only: bool) -> bool:
    if tool.where != "bot" and not sandbox_on:
        return False
    return not read_only or tool.name in _READ_ONLY
