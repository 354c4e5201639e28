"""
Server-sent events, from bytes to the JSON of each event, without IO.

Read here rather than by the SDK's decoder because every delta of every goal comes through: five
generators less an event. The format: https://html.spec.whatwg.org/multipage/server-sent-events.html

Rule 1: an event is whole only at its blank line; what follows waits for more bytes.
Rule 2: a line ends with LF, CRLF or CR. Comments, ids and unknown fields are passed over.
"""

import json
from typing import Any


class EventReader:
    """Feed it the bytes of a response as they come."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The events that `chunk` completes, each as its JSON.

        Raises:
            json.JSONDecodeError, UnicodeDecodeError: an event holds no JSON.
        """
        data = self._rest + chunk if self._rest else chunk
        if b"\r" in data:
            data = _with_line_feeds(data)
        *whole, self._rest = data.split(b"\n\n")
        found = []
        for block in whole:
            text = _data_of(block)
            if text:
                found.append(_read(text))
        return found


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text[:80], 0) from error


def _with_line_feeds(data: bytes) -> bytes:
    # A CR at the very end may be the first half of a CRLF.
    held = data[-1:] if data.endswith(b"\r") else b""
    body = data[: len(data) - len(held)]
    return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held


def _data_of(block: bytes) -> str:
    lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line[:5] == b"data:"]
    return b"\n".join(lines).decode()
