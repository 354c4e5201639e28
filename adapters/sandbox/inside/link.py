"""
Frames between the bot and the tool server: four bytes of length, then JSON.

Rule 1: an empty frame is a heartbeat. Silence for the limit, or a closed socket, is `BotGone`.
Rule 2: one call at a time; while it runs only heartbeats and its cancellation arrive. News, which nobody
        has asked for, may go out at any time.
"""

import json
import os
import select
import time
from typing import Any, Protocol

_LARGEST = 64 * 1024 * 1024
_BLOCK = 1024 * 1024
NEWS = -1
"""In place of a call's number: nobody has asked."""


class BotGone(Exception):
    """The other side is silent or has closed."""


class Beside(Protocol):
    """What goes on while the bot has nothing to ask."""

    def fds(self) -> set[int]:
        """What can become readable."""

    def pause_s(self, most: float) -> float:
        """How long nobody need look otherwise, at most so long."""

    def look(self, ready: set[int]) -> None:
        """See what has happened."""

    def settle(self) -> None:
        """Do what waits until no call runs."""


class Link:
    """The server's end of the socket, or of the two pipes that an engine makes of it."""

    def __init__(self, fd: int, out: int, heartbeat_s: float) -> None:
        self.fd, self._out = fd, out
        self._heartbeat_s = heartbeat_s
        self._heard = time.monotonic()
        self._buffer = bytearray()
        self._waiting: list[dict[str, Any]] = []
        self._cancelled: set[int] = set()
        for each in (fd, out):
            os.set_blocking(each, False)

    def next_call(self, beside: Beside) -> dict[str, Any]:
        """The next call's frame, however long it takes; meanwhile `beside` is looked after.

        Raises:
            BotGone: nothing was heard for the limit, or the socket is closed.
        """
        while not self._waiting:
            beside.settle()
            ready = ready_of({self.fd, *beside.fds()}, beside.pause_s(self.left_s()))
            beside.look(ready)
            if self.fd in ready:
                self.take()
            self.check()
        return self._waiting.pop(0)

    def take(self) -> None:
        """Read what has arrived, without waiting."""
        try:
            block = os.read(self.fd, _BLOCK)
        except BlockingIOError:
            return
        except OSError as error:
            raise BotGone from error
        if not block:
            raise BotGone
        self._heard = time.monotonic()
        self._buffer += block
        self._split()

    def left_s(self) -> float:
        """Seconds until silence counts as the bot's end; never negative."""
        return max(0.0, self._heard + self._heartbeat_s - time.monotonic())

    def check(self) -> None:
        """Raise BotGone when the silence has lasted too long."""
        if self.left_s() <= 0:
            raise BotGone

    def is_cancelled(self, call: int) -> bool:
        """True when the bot has withdrawn this call."""
        return call in self._cancelled

    def send(self, frame: dict[str, Any]) -> None:
        """Answer a call, waiting for room no longer than the heartbeat's limit."""
        self.post(frame)
        self._cancelled.clear()

    def post(self, frame: dict[str, Any]) -> None:
        """Write one frame, as `send`."""
        body = json.dumps(frame, separators=(",", ":")).encode("ascii")
        left = memoryview(len(body).to_bytes(4, "big") + body)
        poller = select.poll()
        poller.register(self._out, select.POLLOUT)
        while left:
            try:
                left = left[os.write(self._out, left) :]
            except BlockingIOError:
                if not poller.poll(1000 * self._heartbeat_s):
                    raise BotGone from None
            except OSError as error:
                raise BotGone from error

    def _split(self) -> None:
        buffer = self._buffer
        at = 0
        while len(buffer) - at >= 4:
            size = int.from_bytes(buffer[at : at + 4], "big")
            if size > _LARGEST:
                raise BotGone
            if len(buffer) - at - 4 < size:
                break
            if size:
                self._sort(json.loads(buffer[at + 4 : at + 4 + size]))
            at += 4 + size
        if at:
            del buffer[:at]

    def _sort(self, frame: dict[str, Any]) -> None:
        if "cancel" in frame:
            self._cancelled.add(frame["cancel"])
        else:
            self._waiting.append(frame)


def ready_of(fds: set[int], within_s: float) -> set[int]:
    """Which of these can be read, as soon as one can."""
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    return {fd for fd, _ in poller.poll(1000 * within_s + 1)}
