"""
A server of the Messages API that says one thing: a text of as many deltas as its path asks for.

It is for measuring a client, so it does as little as a server can, in a process of its own: each
event is a chunk of its own, written at its time, as a model would.

Run it as `python -m tests.peers.sse_server`; it prints its port. `/50/2` answers with 50 deltas over
2 seconds.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_bench\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


@contextmanager
def running() -> Iterator[str]:
    """Start the server in its own process; give its address."""
    command = [sys.executable, "-m", "tests.peers.sse_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def chunk(event: dict[str, object]) -> bytes:
    """One event as one HTTP chunk."""
    sse = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(sse), sse)


_START = chunk(
    {
        "type": "message_start",
        "message": {
            "id": "msg_bench",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1200, "output_tokens": 1},
        },
    }
) + chunk(
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
)
_DELTA = chunk(
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "a few words of an answer "},
    }
)
_END = (
    chunk({"type": "content_block_stop", "index": 0})
    + chunk(
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 300},
        }
    )
    + chunk({"type": "message_stop"})
    + b"0\r\n\r\n"
)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            deltas, seconds = _asked(head)
            writer.write(_HEAD + _START)
            for _ in range(deltas):
                await asyncio.sleep(seconds / deltas)
                writer.write(_DELTA)
            writer.write(_END)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _asked(head: bytes) -> tuple[int, float]:
    path = head.split(b" ", 2)[1].decode().strip("/").split("/")
    return int(path[0]), float(path[1])


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
