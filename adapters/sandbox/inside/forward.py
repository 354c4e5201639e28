"""
Copies connections of the sandbox's loopback to the proxy's Unix socket, in a process of its own.

Rule 1: it looks at no byte that it carries, and holds few of them: who does not read is not written to.
Rule 2: so many connections at a time; a further one waits until one has ended.
"""

import contextlib
import os
import selectors
import socket
from typing import NoReturn

CONNECTIONS = 128
_BLOCK = 64 * 1024
_HELD = 4 * _BLOCK
_FDS = 65_536
_GONE = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 57\r\n\r\nThe way out of the sandbox is gone. Try again in a while."
)


def run(listener: socket.socket, place: str) -> NoReturn:
    """Forward from `listener` to the Unix socket at `place`, for ever."""
    forwarder = Forwarder(listener, place)
    while True:
        forwarder.turn()


class _End:
    """One end of a connection, and what is still to be written to it."""

    def __init__(self, own: socket.socket) -> None:
        self.own = own
        self.other: _End = self
        self.waiting = bytearray()
        self.has_ended = False
        """Nothing more comes from here."""
        self.is_told = False
        """It was told that nothing more comes from the other end."""


class Forwarder:
    """The connections, and which of them can go on."""

    def __init__(self, listener: socket.socket, place: str) -> None:
        self._listener, self._place = listener, place
        self._selector = selectors.DefaultSelector()
        self._open = 0
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def turn(self) -> None:
        """Move what can be moved, waiting until something can."""
        for key, events in self._selector.select():
            end = key.data
            if end is None:
                self._accept()
            elif end.own.fileno() >= 0:
                self._move(end, events)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        proxy = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        proxy.setblocking(False)
        try:
            proxy.connect(self._place)
        except OSError:
            proxy.close()
            _refuse(client)
            return
        near, far = _End(client), _End(proxy)
        near.other, far.other = far, near
        for end in (near, far):
            self._selector.register(end.own, selectors.EVENT_READ, end)
        self._open += 1
        if self._open >= CONNECTIONS:
            self._selector.unregister(self._listener)

    def _move(self, end: _End, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._flush(end)
            if events & selectors.EVENT_READ and not end.has_ended:
                block = end.own.recv(_BLOCK)
                end.has_ended = not block
                end.other.waiting += block
                self._flush(end.other)
        except BlockingIOError:
            pass
        except OSError:
            self._close(end)
            return
        if end.is_told and end.other.is_told:
            self._close(end)
            return
        self._watch(end)
        self._watch(end.other)

    def _flush(self, end: _End) -> None:
        if end.waiting:
            with contextlib.suppress(BlockingIOError):
                del end.waiting[: end.own.send(end.waiting)]
        if not end.waiting and end.other.has_ended and not end.is_told:
            end.is_told = True
            end.own.shutdown(socket.SHUT_WR)

    def _watch(self, end: _End) -> None:
        wanted = 0
        if not end.has_ended and len(end.other.waiting) < _HELD:
            wanted |= selectors.EVENT_READ
        if end.waiting:
            wanted |= selectors.EVENT_WRITE
        is_known = end.own in self._selector.get_map()
        if wanted and is_known:
            self._selector.modify(end.own, wanted, end)
        elif wanted:
            self._selector.register(end.own, wanted, end)
        elif is_known:
            self._selector.unregister(end.own)

    def _close(self, end: _End) -> None:
        for one in (end, end.other):
            if one.own.fileno() >= 0:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(one.own)
                one.own.close()
        self._open -= 1
        if self._listener not in self._selector.get_map():
            self._selector.register(self._listener, selectors.EVENT_READ)


def _refuse(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # What it has asked is read first: to close over unread words would take the answer back.
        client.settimeout(0.2)
        client.recv(_BLOCK)
        client.sendall(_GONE)
        client.shutdown(socket.SHUT_WR)
    client.close()


def start(listener: socket.socket, place: str) -> int:
    """A child that forwards and holds nothing else of the server's. Gives its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        own = listener.fileno()
        os.closerange(3, own)
        os.closerange(own + 1, _FDS)
        run(listener, place)
    finally:
        os._exit(1)
