"""
A transport of the `mcp` package over a program's standard input and output: one JSON message a line.

As its own `stdio_client`, but over a program that is behind a wall, and with bounds on what it may say.
"""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from adapters.mcp.bounds import Allowance, TooMuch
from bot.ports.programs import Program

_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


@asynccontextmanager
async def pipe(program: Program, allowance: Allowance) -> AsyncIterator[Any]:
    """The streams of a session. Whoever opened the program ends it."""
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_session, to_program = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_read, program, allowance, to_session)
        group.start_soon(_write, program, to_program, to_session)
        try:
            yield from_program, from_session
        finally:
            group.cancel_scope.cancel()
            for stream in (to_session, from_program, from_session, to_program):
                stream.close()


async def _read(program: Program, allowance: Allowance, to_session: Any) -> None:
    buffer = bytearray()
    with contextlib.suppress(*_GONE, OSError, TooMuch):
        while piece := await program.read():
            allowance.take(len(piece))
            buffer += piece
            # Split only where a line ends: a long one would be looked through again and again.
            *lines, buffer = buffer.split(b"\n") if b"\n" in piece else (buffer,)
            for line in lines:
                allowance.line(len(line))
                message = _message(bytes(line), allowance)
                if message is not None:
                    await to_session.send(message)
            allowance.line(len(buffer))
    allowance.has_ended = True
    await to_session.aclose()


async def _write(program: Program, to_program: Any, to_session: Any) -> None:
    try:
        async for message in to_program:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await program.write(text.encode() + b"\n")
    except (*_GONE, OSError):
        # Nothing that is asked from now on is ever answered.
        await to_session.aclose()


def _message(line: bytes, allowance: Allowance) -> SessionMessage | None:
    if not line.strip():
        return None
    allowance.message()
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        allowance.unreadable()
        return None
