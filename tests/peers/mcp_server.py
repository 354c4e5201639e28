"""A server of tools by the `mcp` package itself: over stdio, or over streamable HTTP at 127.0.0.1.

`python -m tests.peers.mcp_server [http PORT]`; what it was asked is appended to the file MCP_LOG names.
"""

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

SERVER = MCPServer("Tools for tests", log_level="CRITICAL")


def _note(text: str) -> None:
    if os.environ.get("MCP_LOG"):
        with Path(os.environ["MCP_LOG"]).open("a") as file:
            file.write(f"{text}\n")


@SERVER.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    _note(f"add {a} {b}")
    return a + b


@SERVER.tool(structured_output=False)
def say(text: str, times: int = 1) -> str:
    """Say a text."""
    return text * times


@SERVER.tool(structured_output=False)
async def sleep(seconds: float) -> str:
    """Take a while."""
    _note("sleeps")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        _note("cancelled")
        raise
    return "awake"


@SERVER.tool(structured_output=False)
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@SERVER.tool(structured_output=False)
def picture() -> Image:
    """Give a picture."""
    return Image(data=b"\x89PNG" + b"0" * 2_000, format="png")


@SERVER.tool(structured_output=False)
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@SERVER.tool(structured_output=False)
async def change(ctx: Context) -> str:
    """Offer another tool from now on."""

    def further() -> str:
        """A tool that nobody has taken."""
        return "x"

    SERVER.add_tool(further, name="further")
    await ctx.session.send_tool_list_changed()
    return "changed"


def main() -> None:
    """Serve."""
    if sys.argv[1:2] == ["http"]:
        SERVER.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        SERVER.run("stdio")


if __name__ == "__main__":
    main()
