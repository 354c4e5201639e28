"""
The room without a terminal: lines in, posts out.

Rule 1: what is read is UTF-8; bytes that are not are kept as they are, and refused by the parser.
Rule 2: a post is printed when it is there; of status messages only a change of state.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import BinaryIO, TextIO

from adapters.console.parse import SaidLine
from adapters.console.render import lines
from adapters.console.seat import Seat, post_of
from adapters.console.view import Seen
from bot.ports.plain import head

LOOK_S = 0.05
CHUNK = 65_536
SETTLES_S = 15.0
REFUSED_CODE = 2
ACTIVE = frozenset({"ready", "working", "auditing"})


async def converse(
    seat: Seat,
    source: BinaryIO,
    out: TextIO,
    *,
    until_settled: bool,
    settle: Callable[[], Awaitable[None]],
    is_taken: Callable[[Collection[str]], Awaitable[bool]],
    fit: Callable[[str], str] = str,
) -> int:
    """Read lines and print posts until the input ends, or the goals started here have settled.

    `settle` returns once what was said so far is handled and its answers are delivered; `is_taken`
    says whether anything came of one of these messages, whether or not it has posted yet; `fit`
    breaks what is printed to the width of where it is shown.
    Returns the exit code: 0 complete, 2 nothing was started, 3 blocked, 4 over budget, 5 cancelled,
    6 waits for a person.
    """
    printer = Printer(out, fit)
    typed = _lines_of(source)
    has_more, is_ours = True, False
    while not seat.is_done:
        printer.show_news(seat)
        code = seat.exit_code(has_more_input=has_more)
        if until_settled and code is not None:
            # It is the end only if it still is once all that was said is handled and answered.
            await settle()
            printer.show_news(seat)
            if seat.exit_code(has_more_input=has_more) == code:
                return code
            continue
        if not has_more and not (until_settled and seat.has_started):
            break
        if not has_more and not is_ours:
            is_handled = await _settled_soon(seat, printer, settle)
            is_ours = seat.has_opened or await is_taken(seat.mine)
            if is_handled and not is_ours:
                return REFUSED_CODE
        try:
            line = await asyncio.wait_for(typed.get(), LOOK_S) if has_more else None
        except TimeoutError:
            continue
        if line is None:
            has_more = False
            await asyncio.sleep(LOOK_S)
            continue
        said = await seat.typed(line.decode("utf-8", "surrogateescape").rstrip("\r\n"))
        if said:
            print(said, file=out, flush=True)
    await settle()
    printer.show_news(seat)
    return 0


async def _settled_soon(
    seat: Seat, printer: "Printer", settle: Callable[[], Awaitable[None]]
) -> bool:
    """Whether all that was said is handled. What settles late is not known to be: it waits, on
    hold or behind others."""
    begun = time.monotonic()
    await settle()
    printer.show_news(seat)
    return time.monotonic() - begun < SETTLES_S


class Printer:
    """Prints what is new, once."""

    def __init__(self, out: TextIO, fit: Callable[[str], str] = str) -> None:
        self._out, self._fit = out, fit
        self._states: dict[str, str] = {}

    def show_news(self, seat: Seat) -> None:
        """Print everything that is new to the seat."""
        for seen in seat.news():
            text = self._text(seen)
            if text:
                print(self._fit(text), file=self._out, flush=True)

    def _text(self, seen: Seen) -> str:
        post = post_of(seen)
        if post is not None:
            self._states[seen.thread.id] = seen.thread.state
            return lines(post.shape) + "\n"
        if isinstance(seen.line, SaidLine):
            message = seen.line.message
            return f"{message.speaker.name}: {message.text}"
        return self._changed(seen)

    def _changed(self, seen: Seen) -> str:
        status, thread = seen.thread.status, seen.thread
        kind = "active" if thread.state in ACTIVE else thread.state
        if status is None or self._states.get(thread.id) == kind:
            return ""
        self._states[thread.id] = kind
        # The result follows, under the same head.
        return "" if kind == "complete" else head(status)


def _lines_of(source: BinaryIO) -> asyncio.Queue[bytes | None]:
    """The lines of a stream as they come, then None. The thread that reads dies with the process."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(line: bytes | None) -> bool:
        try:
            loop.call_soon_threadsafe(queue.put_nowait, line)
        except RuntimeError:
            return False
        return True

    def read() -> None:
        for line in _unlocked(source):
            if not put(line):
                return
        put(None)

    threading.Thread(target=read, name="headway-input", daemon=True).start()
    return queue


def _unlocked(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, without its buffer.

    A buffer is locked for as long as a read waits in it. An interpreter that ends meanwhile, as when
    somebody at a terminal has typed nothing, finds `stdin` locked and aborts.
    """
    raw = getattr(source, "raw", source)
    rest = b""
    while some := raw.read(CHUNK):
        *whole, rest = (rest + some).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest
