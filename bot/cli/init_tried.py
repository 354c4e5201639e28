"""What `headway init` tries out of an answer, by the doctor's own checks, and how it shows it."""

import sys
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.markup import escape

from bot.doctor import machine, model, sandbox
from bot.doctor.finding import Found
from bot.errors import BadSettings
from bot.goals.money import NANO
from bot.settings import Settings
from bot.wiring.endpoint import price_table

MILLION: Final = 1_000_000


class Tried:
    """Tries, and prints a line of what came of it."""

    def __init__(self, *, is_off: bool) -> None:
        self._is_off = is_off
        self._console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())

    def model(self, settings: Settings) -> None:
        """One token of each model, and what they cost.

        Raises:
            HeadwayError: they do not answer; what is wrong and the mend.
        """
        if settings.provider == "rehearsed":
            self._good("Rehearsed: a script answers, and nothing is charged.")
            return
        self._try("Asking the model for one token", lambda: model.answers(settings))
        self._good(_costs(settings))

    def folder(self, settings: Settings) -> None:
        """The state folder, and the room on its disk. Raises HeadwayError."""
        self._try("Looking at the state folder", lambda: machine.state_folder(settings))
        self._try("Looking at its disk", lambda: machine.disk(settings))

    def sandbox(self, settings: Settings) -> None:
        """A command is run confined. Raises HeadwayError."""
        self._try("Trying the sandbox", lambda: sandbox.works(settings))

    def slack(self, settings: Settings) -> None:
        """The tokens of Slack, where there are any. Raises HeadwayError."""
        if settings.slack_bot_token.get_secret_value():
            from bot.cli.slack_walk import try_out

            self._try("Asking Slack", lambda: try_out(settings))

    def say(self, text: str) -> None:
        """A line of text as it is."""
        self._console.print(escape(text))

    def bad(self, text: str) -> None:
        """What is wrong."""
        self._console.print(f"[red]✗[/] {escape(text)}")

    def _good(self, text: str) -> None:
        self._console.print(f"[green]✓[/] {escape(text)}")

    def _try(self, doing: str, look: Callable[[], str]) -> None:
        if self._is_off:
            return
        try:
            if self._console.is_interactive:
                with self._console.status(f"{doing} ..."):
                    told = look()
            else:
                told = look()
        except Found as found:
            if found.state != "warning":
                raise BadSettings(str(found)) from found
            self._console.print(f"[yellow]![/] {escape(str(found))}")
        else:
            self._good(told)


def _costs(settings: Settings) -> str:
    """What a million tokens of each model cost."""
    table = price_table(settings)
    told = []
    for name in dict.fromkeys((settings.model, settings.audit_model)):
        price = table.price(name)
        if price is None:
            told.append(f"{name}: its price is not known here (set `prices`)")
        else:
            paid = (price.input * MILLION / NANO, price.output * MILLION / NANO)
            told.append(f"{name}: ${paid[0]:.2f} in, ${paid[1]:.2f} out")
    return f"A million tokens cost: {'; '.join(told)}."
