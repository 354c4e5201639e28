"""
A proxy between Unix sockets that cuts connections when it is told to.

`cut()` ends what is open now. `cut_after(n, ...)` lets `n` more bytes through to the server and then
cuts whoever sent them, and so on with the next number: a statement may have arrived, its answer
never will. While `is_down` nobody new gets through.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

CHUNK = 65_536


class CutProxy:
    """Listens at `path`, speaks to `target`. Threads of its own; closed with `close`."""

    def __init__(self, path: Path, target: Path) -> None:
        self.is_down = False
        self.cuts = 0
        self._target = str(target)
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._allowed: int | None = None
        self._sizes: Iterator[int] = iter(())
        self._before_answer: bytes | None = None
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End every open connection at once."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            self._end(pair)

    def cut_after(self, *sent: int, forever: bool = False) -> None:
        """Cut the connection that carries that byte to the server, counted from the last cut."""
        with self._lock:
            self._sizes = cycle(sent) if forever else iter(sent)
            self._allowed = next(self._sizes)

    def cut_answer_to(self, request: bytes) -> None:
        """Let the next request that holds these bytes through, and cut before its answer."""
        with self._lock:
            self._before_answer = request

    def close(self) -> None:
        """Stop listening and end everything."""
        self.is_down = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_down:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._target)
            except OSError:
                client.close()
                server.close()
                continue
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            threading.Thread(target=self._pump, args=(pair, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(pair, False), daemon=True).start()

    def _pump(self, pair: tuple[socket.socket, socket.socket], is_request: bool) -> None:
        source, sink = pair if is_request else pair[::-1]
        with suppress(OSError):
            while data := source.recv(CHUNK):
                passes, cuts = self._judge(data) if is_request else (len(data), False)
                if cuts:
                    # The client is cut first, so that no answer can slip through.
                    with suppress(OSError):
                        source.shutdown(socket.SHUT_RDWR)
                sink.sendall(data[:passes])
                if cuts:
                    break
        self._end(pair)

    def _judge(self, data: bytes) -> tuple[int, bool]:
        with self._lock:
            if self._before_answer is not None and self._before_answer in data:
                self._before_answer = None
                self.cuts += 1
                return len(data), True
            if self._allowed is None:
                return len(data), False
            if len(data) < self._allowed:
                self._allowed -= len(data)
                return len(data), False
            passes, self._allowed = self._allowed, next(self._sizes, None)
            self.cuts += 1
            return passes, True

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def cut_proxy(path: Path, target: Path) -> Iterator[CutProxy]:
    """A proxy for as long as the context lasts."""
    proxy = CutProxy(path, target)
    try:
        yield proxy
    finally:
        proxy.close()
