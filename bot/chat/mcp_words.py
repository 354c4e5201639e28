"""How a room's MCP servers are named in words: `mcp add calc npx calc-server`, `mcp take calc`. Pure."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.hosts import host_name
from bot.ports.mcp_servers import How, Listing, McpServer, TakenTool

Doing = Literal["list", "add", "remove", "take"]
NOWHERE: Final = How()
NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
"""Without `_`, which stands between a server's name and a tool's."""
_SECRET: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_VERBS: Final = frozenset({"", "list", "add", "remove", "take"})
_HOW_CHARS: Final = 2_000
_SHOWN_CHARS: Final = 200
_TOOLS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class McpWords:
    """What is wanted, of which server, and (to add) how it is reached."""

    doing: Doing = "list"
    name: str = ""
    how: How = NOWHERE


def is_about_mcp(text: str) -> bool:
    """Whether what follows `room` is about MCP servers, and not rather an objective."""
    words = [*text.lower().split(maxsplit=2), "", ""]
    return words[0] == "mcp" and words[1] in _VERBS


def read_mcp(text: str, texts: Texts) -> McpWords | None:
    """What was said behind `room`, or None where it is not about MCP servers.

    Raises:
        BadInput: it is, and cannot be taken as it is.
    """
    if not is_about_mcp(text):
        return None
    _, verb, name, rest, *_ = [*text.split(maxsplit=3), "", "", ""]
    match (verb.lower(), name, rest):
        case ("" | "list", "", ""):
            return McpWords()
        case ("remove" | "take" as doing, _, "") if name:
            return McpWords("take" if doing == "take" else "remove", name)
        case ("add", _, _) if rest:
            if not NAME.fullmatch(name):
                raise BadInput(texts("bad.mcp.name"))
            return McpWords("add", name, _how(rest, texts))
        case _:
            raise BadInput(texts("bad.mcp"))


def listed(servers: Sequence[McpServer], texts: Texts) -> str:
    """A line each, with the tools that agents get."""
    if not servers:
        return texts("said.mcp.none")
    lines = [
        texts(
            "said.mcp.line" if one.digest else "said.mcp.line.untaken",
            name=one.name,
            how=shown(one.how, texts),
            tools=_names(one.tools, texts),
        )
        for one in servers
    ]
    return "\n".join([texts("said.mcp.head"), *lines, "", texts("said.mcp.foot")])


def shown(how: How, texts: Texts) -> str:
    """How a server is reached, as people read it."""
    if not how.url:
        return f"`{_cut(shlex.join(how.command)).replace('`', ' ')}`"
    secret = texts("mcp.secret", secret=how.secret) if how.secret else ""
    return f"{_cut(how.url)}{secret}"


def taken(name: str, new: Listing, old: tuple[TakenTool, ...], texts: Texts) -> str:
    """What an admin is told of the tools that count from now on, and of how they differ."""
    lines = [texts("said.mcp.tools", name=name, tools=_names(new.tools, texts))]
    was, is_now = ({one.name: one for one in tools} for tools in (old, new.tools))
    differing = {
        "said.mcp.new": [one for key, one in is_now.items() if key not in was],
        "said.mcp.changed": [one for key, one in is_now.items() if was.get(key, one) != one],
        "said.mcp.gone": [one for key, one in was.items() if key not in is_now],
    }
    if old:
        lines += [
            texts(key, tools=_names(tuple(tools), texts))
            for key, tools in differing.items()
            if tools
        ]
    if new.left_out:
        lines.append(texts("said.mcp.left_out", tools="; ".join(new.left_out[:_TOOLS_SHOWN])))
    return "\n".join(lines)


def _names(tools: tuple[TakenTool, ...], texts: Texts) -> str:
    names = [f"`{one.name}`" for one in tools[:_TOOLS_SHOWN]]
    more = [texts("mcp.more", count=len(tools) - _TOOLS_SHOWN)] if len(tools) > _TOOLS_SHOWN else []
    return texts("list_of").join([*names, *more]) or texts("mcp.no_tools")


def _how(text: str, texts: Texts) -> How:
    if len(text) > _HOW_CHARS or any(not each.isprintable() for each in text):
        raise BadInput(texts("bad.mcp.how"))
    if text.lower().startswith(("http://", "https://")):
        return _address(text.split(), texts)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(texts("bad.mcp.how")) from error
    if not words or not words[0]:
        raise BadInput(texts("bad.mcp.how"))
    return How(words)


def _address(words: list[str], texts: Texts) -> How:
    url, secret = words[0], ""
    if len(words) == 3 and words[1].lower() == "secret" and _SECRET.fullmatch(words[2]):
        secret = words[2]
    elif len(words) > 1:
        raise BadInput(texts("bad.mcp"))
    try:
        parts = urlsplit(url)
        named = parts.hostname or ""
        host_name(f"[{named}]" if ":" in named else named)
        parts.port  # noqa: B018 - it raises where there is none that can be
    except ValueError as error:
        raise BadInput(texts("bad.mcp.url")) from error
    # What stands behind `?` is a key as often as not, and everybody would be shown it.
    if parts.username or parts.password or "?" in url or "#" in url:
        raise BadInput(texts("bad.mcp.credential"))
    return How(url=url, secret=secret)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
