"""
The control socket: how other commands speak to the process that owns the database.

Rule 1: the socket lies in the state folder, readable by its owner alone (0600).
Rule 2: one JSON object a line in, one out; a request that is no JSON object gets an error object,
        and so does one longer than 1 MiB, which ends the conversation.
"""

import asyncio
import contextlib
import json
import logging
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bot.errors import HeadwayError

log = logging.getLogger(__name__)

Request = dict[str, Any]
Answer = Callable[[Request], Awaitable[dict[str, Any]]]

SOCKET = "control.sock"
LINE_LIMIT = 1024 * 1024
_TOO_LONG: Final = {
    "error": "That is longer than 1 MiB. Put it into a file, and say where the file is."
}
PATH_LIMIT = 100
"""A socket's path holds 107 bytes on Linux; longer ones go by way of /proc."""
CONNECT_TIMEOUT_S = 5.0


@contextlib.asynccontextmanager
async def serving(state_dir: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer requests on the folder's socket for the life of the context."""

    conversations: set[asyncio.Task[None]] = set()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.create_task(_converse(reader, writer, answer))
        conversations.add(conversation)
        conversation.add_done_callback(conversations.discard)

    with _short(state_dir) as folder:
        path = folder / SOCKET
        path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(serve, str(path), limit=LINE_LIMIT)
        finally:
            os.umask(mask)
        try:
            yield
        finally:
            server.close()
            path.unlink(missing_ok=True)
            for conversation in conversations:
                conversation.cancel()
            await asyncio.gather(*conversations, return_exceptions=True)


async def ask_owner(
    state_dir: Path, request: Request, *, timeout_s: float = 30.0
) -> dict[str, Any] | None:
    """Ask the owner of this state folder, or return None when nobody owns it.

    Raises:
        HeadwayError: the owner answered with an error or not in time, or that is too long to ask.
    """
    asked = json.dumps(request).encode() + b"\n"
    if len(asked) > LINE_LIMIT:
        raise HeadwayError(_TOO_LONG["error"])
    path = state_dir / SOCKET
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return None
    with _short(state_dir) as folder:
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_unix_connection(str(folder / SOCKET), limit=LINE_LIMIT),
                CONNECT_TIMEOUT_S,
            )
        except (ConnectionError, FileNotFoundError):
            return None
    try:
        writer.write(asked)
        line = await asyncio.wait_for(reader.readline(), timeout_s)
    except ConnectionError:
        return None
    except TimeoutError as error:
        raise HeadwayError(
            f"The running Headway did not answer within {timeout_s:g} s. Look at its log."
        ) from error
    finally:
        writer.close()
    if not line:
        return None
    reply = json.loads(line)
    if "error" in reply:
        refused = HeadwayError(str(reply["error"]))
        refused.exit_code = int(reply.get("exit_code", HeadwayError.exit_code))
        raise refused
    return dict(reply)


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer
) -> None:
    try:
        while (line := await _line(reader)) != b"":
            answered = _TOO_LONG if line is None else await _answered(line, answer)
            writer.write(json.dumps(answered).encode() + b"\n")
            await writer.drain()
            if line is None:
                break
    except ConnectionError:
        pass
    finally:
        writer.close()


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """The next line, nothing at the end, or None for one that is too long."""
    try:
        return await reader.readline()
    except ValueError:
        return None


async def _answered(line: bytes, answer: Answer) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"error": "That line is no JSON. Send one JSON object a line."}
    if not isinstance(request, dict):
        return {"error": "A request is one JSON object a line. Send one."}
    try:
        return await answer(request)
    except HeadwayError as error:
        return {"error": str(error), "exit_code": error.exit_code}
    except Exception as error:
        log.exception("A request over the control socket cannot be answered")
        what = type(error).__name__
        return {"error": f"The running Headway met a defect of its own ({what}). Look at its log."}


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[Path]:
    """The folder under a name short enough for a socket's address."""
    if len(os.fsencode(folder / SOCKET)) <= PATH_LIMIT:
        yield folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
