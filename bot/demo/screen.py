"""
The demo's words on a terminal, or as plain lines in a pipe.

Rule 1: a glyph never stands without its word, and nothing is told by colour alone.
Rule 2: without a terminal nothing is redrawn and nothing is cut: the status, which repeats what
        the other lines tell, is left out.
"""

import io
import sys
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from adapters.console import render
from bot.demo.story import Told
from bot.ports.chat import Shape

WIDEST: Final = 100
STYLES: Final = {"turn": "bold", "tool": "", "audit": "magenta", "lost": "yellow"}
WORDS: Final = {"turn": "", "tool": "tool", "audit": "audit", "lost": "lost reply charged"}


class Screen:
    """Everything that the demo shows."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        console = Console(highlight=False)
        self.console = Console(highlight=False, width=min(console.width, WIDEST))
        self.is_live = self.console.is_interactive
        self._live: Live | None = None

    def opening(self, lines: list[str]) -> None:
        """What the demo is, before it begins."""
        self.still()
        text = "\n".join(lines)
        if self.is_live:
            self.console.print(Panel(text, title="Headway demo", title_align="left"))
        else:
            self.console.print(f"Headway demo\n{text}\n", soft_wrap=True)

    def doing(self, what: str) -> None:
        """Something that takes a moment."""
        self._below(Spinner("dots", text=f"{what} ..."), f"{what} ...")

    def waiting(self, what: str) -> None:
        """What goes on while there is nothing to tell; only where it can be taken away again."""
        self._below(Spinner("dots", text=f"{what} ..."), "")

    def say(self, text: str, style: str = "") -> None:
        """A line of the demo's own; `text` is Rich markup."""
        self.console.print(text, style=style or None, soft_wrap=not self.is_live)

    def said(self, who: str, text: str) -> None:
        """What somebody said in the room."""
        self.still()
        self.say(f"\n[bold cyan]{escape(who)}[/] {escape(text)}\n")

    def told(self, told: Told) -> None:
        """A line of the journal."""
        style, word = STYLES[told.kind], WORDS[told.kind]
        if told.kind == "turn":
            self.say(told.head, style)
            return
        line = f"  {word}: {told.head}" if word else f"  {told.head}"
        between = " — " if told.kind in ("audit", "lost") else "  "
        text = Text(line, style=style)
        if told.text:
            text.append(f"{between}{told.text}", style="dim" if told.kind == "tool" else style)
        self.console.print(text, soft_wrap=not self.is_live)

    def status(self, shape: Shape) -> None:
        """The goal's status message, edited in place."""
        if self.is_live:
            self._below(Padding(render.status(shape, self.console.width), (1, 0, 0, 0)), "")

    def post(self, shape: Shape) -> None:
        """A post of Headway, whole."""
        self.still()
        if self.is_live:
            style = render.STYLES.get(shape.state, "")
            self.console.print(Panel(render.post(shape), border_style=style))
        else:
            self.console.print(f"\n{render.lines(shape)}\n", soft_wrap=True, markup=False)

    def text(self, title: str, text: str) -> None:
        """A file's text, whole."""
        self.say(f"\n[bold]{escape(title)}[/]")
        if self.is_live:
            self.console.print(Padding(Text(text.rstrip()), (0, 2)))
        else:
            self.console.print(text.rstrip(), markup=False, soft_wrap=True)

    def table(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Names and values, side by side."""
        self.say(f"\n[bold]{escape(title)}[/]")
        if not self.is_live:
            for name, value in rows:
                self.console.print(f"{name}: {value}", markup=False, soft_wrap=True)
            return
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for name, value in rows:
            table.add_row(name, Text(value))
        self.console.print(table)

    def commands(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Commands, each whole on a line of its own, and what they do."""
        self.say(f"\n[bold]{escape(title)}[/]")
        for command, what in rows:
            self.say(f"  [cyan]{escape(command)}[/]\n      {escape(what)}")

    def failed(self, sentence: str) -> None:
        """Why it did not work, and the mend."""
        self.say("\n[bold red]✗ The demo did not reach its goal.[/]")
        self.console.print(sentence, markup=False, soft_wrap=not self.is_live)

    def still(self) -> None:
        """Take away what is redrawn."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _below(self, what: RenderableType, line: str) -> None:
        if not self.is_live:
            if line:
                self.console.print(line, markup=False)
            return
        if self._live is None:
            self._live = Live(
                console=self.console, transient=True, refresh_per_second=8, redirect_stdout=False
            )
            self._live.start()
        self._live.update(what)
