"""
The room on a terminal: posts above, the status of where one sits edited in place, a prompt.

The status is part of the prompt, which is drawn again when it changes and leaves nothing behind;
what is printed above it stays.
"""

import asyncio
import contextlib
import io
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from adapters.console.parse import SaidLine
from adapters.console.render import coded, post, status
from adapters.console.seat import Seat, post_of, without_command
from adapters.console.view import Seen, ThreadView

LOOK_S = 0.1
WIDEST = 100
ROOM_LINES = 5
NAME_CHARS = 24
PART = " · "
STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack"})


class Terminal:
    """A person's screen."""

    def __init__(self, seat: Seat, verbs: Sequence[str]) -> None:
        self._seat = seat
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            auto_suggest=AutoSuggestFromHistory(),
            completer=_Verbs(verbs, lambda: bool(seat.thread)),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            erase_when_done=True,
            style=STYLE,
        )
        self._drawn = ""

    async def run(self, settle: Callable[[], Awaitable[None]], goodbye: str) -> int:
        """Converse until the person leaves, then say `goodbye`."""
        with patch_stdout(raw=True):
            self._greet()
            tail = asyncio.create_task(self._tail())
            try:
                await self._converse()
            finally:
                tail.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await tail
            await settle()
            self._show_news()
            self._print(Text(goodbye, style="dim"))
        return 0

    async def _converse(self) -> None:
        while not self._seat.is_done:
            try:
                text = await self._session.prompt_async(
                    self._prompt, bottom_toolbar=self._hint, handle_sigint=False
                )
            except EOFError:
                return
            except KeyboardInterrupt:
                if not self._session.default_buffer.text:
                    return
                continue
            if text.strip():
                self._print(Text.assemble((self._where(), "bold cyan"), (" › ", "dim"), text))
            was_in = self._seat.thread
            said = await self._seat.typed(text)
            if said:
                hint = coded(said)
                hint.stylize_before("dim")
                self._print(hint)
            if self._seat.thread != was_in:
                self._recall()

    async def _tail(self) -> None:
        while True:
            self._show_news()
            drawn = self._status()
            if drawn != self._drawn:
                self._drawn = drawn
                self._session.app.invalidate()
            await asyncio.sleep(LOOK_S)

    def _recall(self) -> None:
        """Show where the thread stands that was entered: a question may be open in it."""
        latest = self._seat.view.thread(self._seat.thread).latest if self._seat.thread else None
        if latest is not None:
            self._print(Padding(post(latest), (0, 0, 1, 0)))

    def _greet(self) -> None:
        self._print(Rule(self._seat.texts("terminal.title"), style="dim", align="left"))
        # The prompt shows the last ones, and draws them anew.
        for thread in self._seat.view.live()[:-ROOM_LINES]:
            if thread.status is not None:
                self._print(status(thread.status, self._width()))

    def _show_news(self) -> None:
        for seen in self._seat.news():
            self._show(seen)

    def _show(self, seen: Seen) -> None:
        message = post_of(seen)
        if message is not None:
            self._print(Padding(post(message.shape), (0, 0, 1, 0)), seen.thread)
        elif isinstance(seen.line, SaidLine):
            said = seen.line.message
            name = Text.assemble((said.speaker.name, "bold"), (": ", "dim"), said.text)
            self._print(name, seen.thread)

    def _print(self, what: RenderableType, thread: ThreadView | None = None) -> None:
        if thread is not None and thread.id != self._seat.thread and thread.id:
            name = thread.name or _shortened(without_command(thread.opening)) or thread.id[:8]
            sys.stdout.write(self._ansi(Text(f"— {name} —", style="dim")))
        sys.stdout.write(self._ansi(what))

    def _prompt(self) -> ANSI:
        top = self._ansi(Rule(style="dim")) + self._status()
        arrow = Text.assemble((self._where(), "bold cyan"), (" › ", "dim"))
        return ANSI(top + self._ansi(arrow).rstrip("\n") + " ")

    def _status(self) -> str:
        seat, width = self._seat, self._width()
        if seat.thread:
            shape = seat.view.thread(seat.thread).status
            if shape is None:
                begins = self._begins()
                return self._ansi(Text(begins, style="dim")) if begins else ""
            return self._ansi(status(shape, width))
        live = [one for one in seat.view.live() if one.status is not None]
        shown = [self._ansi(_in_one_line(one, width)) for one in live[-ROOM_LINES:]]
        return "".join(shown)

    def _begins(self) -> str:
        """Of a thread that shows no status yet: whether what opened it is stored."""
        seat = self._seat
        thread = seat.view.thread(seat.thread)
        if thread.state or thread.latest is not None:
            return ""
        is_taken = seat.thread in seat.view.taken
        return seat.texts("terminal.taken" if is_taken else "terminal.sent")

    def _where(self) -> str:
        if not self._seat.thread:
            return self._seat.texts("terminal.title").lower()
        thread = self._seat.view.thread(self._seat.thread)
        return thread.name or _shortened(without_command(thread.opening)) or "…"

    def _hint(self) -> ANSI:
        key = "terminal.hint.thread" if self._seat.thread else "terminal.hint.room"
        return ANSI(_fitted(self._seat.texts(key), shutil.get_terminal_size().columns - 1))

    def _width(self) -> int:
        return min(shutil.get_terminal_size().columns, WIDEST)

    def _ansi(self, what: RenderableType) -> str:
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, width=self._width(), highlight=False)
        console.print(what)
        return out.getvalue()


class _Verbs(Completer):
    """Completes the verb: bare in a thread, behind the command's name in the room."""

    def __init__(self, verbs: Sequence[str], in_thread: Callable[[], bool]) -> None:
        self._verbs = verbs
        self._in_thread = in_thread

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Words that what is typed so far may become."""
        typed = document.text_before_cursor
        names = [f"/goal {verb}" for verb in self._verbs]
        names += ["/threads", "/enter ", "/back", "/delete", "/attach ", "/quit"]
        if self._in_thread():
            names += self._verbs
        for name in names:
            if typed and name.startswith(typed):
                yield Completion(name, start_position=-len(typed))


def _shortened(text: str) -> str:
    """The beginning of what opened a thread that has no name."""
    line = " ".join(text.split())
    return line if len(line) <= NAME_CHARS else f"{line[: NAME_CHARS - 1].rstrip()}…"


def _fitted(hint: str, width: int) -> str:
    """A hint whose parts fit the width; the first and the last one are kept longest."""
    parts = hint.split(PART)
    while len(PART.join(parts)) > width and len(parts) > 2:
        parts.pop(-2)
    return PART.join(parts)


def _in_one_line(thread: ThreadView, width: int) -> Text:
    assert thread.status is not None
    objective = " ".join(thread.status.body.split())
    line = status(thread.status, width).split("\n")[0]
    line.append(f" — {objective}", style="italic")
    line.truncate(max(width - 1, 20), overflow="ellipsis")
    return line
