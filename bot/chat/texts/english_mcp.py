"""The sentences in English about servers of tools; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

MCP: Final[Mapping[str, str]] = {
    "room.server_tools": (
        "whether goals may search and fetch at the model's own endpoint, where the operator lets them: `on` "
        "or `off`"
    ),
    "said.mcp.head": "MCP servers of this room, and what agents get of them:",
    "said.mcp.brief": "MCP servers: {names}; `room mcp` shows them.",
    "said.mcp.line": "- `{name}` {how}: {tools}",
    "said.mcp.line.untaken": "- `{name}` {how}: not used, as nobody has taken its tools",
    "said.mcp.foot": (
        "Each call of theirs asks first, unless the goal's profile is `full`. Admins: `room mcp add NAME "
        "COMMAND or URL [secret NAME]`, `room mcp take NAME`, `room mcp remove NAME`."
    ),
    "said.mcp.none": (
        "This room has no MCP servers. `room mcp add NAME COMMAND` or `room mcp add NAME URL [secret "
        "NAME]` adds one."
    ),
    "said.mcp.added": "The MCP server `{name}` ({how}) is this room's now, set by {by}.",
    "said.mcp.taken": "The tools of the MCP server `{name}` are taken as they are now, by {by}.",
    "said.mcp.removed": "The MCP server `{name}` is no longer this room's, by {by}.",
    "said.mcp.tools": "Agents get {tools}; each call asks first, unless the goal's profile is `full`.",
    "said.mcp.new": "New: {tools}.",
    "said.mcp.changed": "Said otherwise than before: {tools}.",
    "said.mcp.gone": "Gone: {tools}.",
    "said.mcp.left_out": "Left out: {tools}.",
    "mcp.secret": ", secret `{secret}`",
    "mcp.more": "{count} more",
    "mcp.no_tools": "none",
    "bad.mcp": (
        "That is not how MCP servers are named. `room mcp add NAME COMMAND`, `room mcp add NAME URL "
        "[secret NAME]`, `room mcp take NAME`, `room mcp remove NAME`, `room mcp list`."
    ),
    "bad.mcp.name": (
        "A server's name is small letters, digits and `-`, 20 at most, and begins with a letter."
    ),
    "bad.mcp.how": "That is no command line. Give the program and its arguments as a shell would.",
    "bad.mcp.url": "That is no address of a server. Give it like `https://tools.example.org/mcp`.",
    "bad.mcp.credential": (
        "An address with a password or anything behind `?` in it would be read by everybody here. Give "
        "what is secret as a secret bound to the host, and name it: `room mcp add NAME URL secret NAME`."
    ),
    "bad.mcp.many": "A room has at most {most} MCP servers. Remove one first.",
    "bad.mcp.unknown": "This room has no MCP server `{name}`. `room mcp list` shows them.",
    "bad.mcp.look": (
        "The MCP server `{name}` was looked at and nothing is changed: {why}. Mend it, then say it again."
    ),
    "bad.mcp.empty": "None of the tools of `{name}` can be used, and nothing is changed: {why}.",
    "bad.mcp.no_tools": "`{name}` offers no tools, and nothing is changed. Look whether it is the right one.",
    "refused.no_mcp": "Servers of tools are not kept here.",
}
