"""
The way into Slack, as `headway init` shows it: the app is made from a link, and each of its two tokens is
tried as it is given.

Rule 1: a token is neither shown nor kept anywhere but in the settings file, which is its owner's alone.
Rule 2: nothing is written before both work; whoever leaves in the middle leaves things as they were.
"""

from collections.abc import Callable
from typing import Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from bot.cli.exits import KNOWN
from bot.cli.init_asking import SettingsOf, hidden
from bot.cli.people import asked
from bot.doctor.finding import Found
from bot.errors import HeadwayError
from bot.settings import Settings
from bot.settings_values import a_command
from bot.wiring.program import program

APPS: Final = "https://api.slack.com/apps"


class Walk:
    """One walk through it."""

    def __init__(self, settings_of: SettingsOf) -> None:
        self._settings_of = settings_of
        self._values: dict[str, Any] = {}
        self._console = Console(highlight=False, soft_wrap=True)

    def taken(self) -> dict[str, Any]:
        """Walk it; returns the settings to write. Raises typer.Abort where the person leaves."""
        self._app()
        self._token(
            "slack_bot_token",
            "2 of 3  Install the app to your workspace (OAuth & Permissions of its page), and copy the Bot "
            "User OAuth Token, xoxb-...",
            _look_at_bot,
        )
        self._token(
            "slack_app_token",
            "3 of 3  Basic Information, App-Level Tokens: generate one with the scope connections:write, "
            "and copy it, xapp-...",
            _look_at_app,
        )
        return self._values

    def let_in(self, settings: Settings) -> None:
        """Offer to make the person an admin; the settings are written by now."""
        text = (
            "Your own member id there, to be let in as an admin (profile, ⋮, Copy member ID; Enter: "
            "nobody yet)"
        )
        while who := str(typer.prompt(text, default="", show_default=False)).strip():
            request = {"do": "allow.add", "who": who, "role": "admin", "room": None}
            try:
                told = asked(settings, {**request, "network": "slack"})
            except HeadwayError as error:
                self._bad(str(error))
            else:
                self._good(f"{told['who']} may do everything, in all rooms.")
                return

    def next(self, settings: Settings) -> None:
        """What to do now."""
        command = settings.slack_command
        lines = (
            "\nNext, in Slack: invite the bot to a channel with /invite, and say there:",
            f"  /{command} write a haiku about tides into tides.txt",
            f"  {program()} run          works at the goals, and hears what is said there",
            f"  {program()} claim        prints a code by which somebody becomes an admin",
            f"  {program()} doctor       tells why the bot is deaf, should it be",
        )
        self._say("\n".join(lines))

    def _app(self) -> None:
        from adapters.slack.manifest import NAME_MOST, create_link
        from bot.wiring.slack_app import manifest_of, wanted

        name = ""
        while not 0 < len(name) <= NAME_MOST:
            asked_for = typer.prompt("1 of 3  What people call it in Slack", default="Headway")
            name = str(asked_for).strip()
        self._command()
        found = wanted(self._settings_of(self._values))
        app = type(found)(name=name, command=found.command)
        self._say(
            "\nOpen this, choose the workspace, and press Create. (`headway slack manifest` prints what it "
            f"makes, for your eyes or for {APPS}.)\n\n{create_link(manifest_of(app))}\n"
        )

    def _command(self) -> None:
        default = self._settings_of({}).slack_command
        while True:
            try:
                said = typer.prompt("        Its command there", default=f"/{default}")
                name = a_command(str(said).strip())
            except ValueError as error:
                self._bad(f"That is no command: {error}.")
            else:
                self._values["slack_command"] = name
                return

    def _token(self, name: str, words: str, look: Callable[[Settings], tuple[str, str]]) -> None:
        held = getattr(self._settings_of(self._values), name).get_secret_value()
        hint = "Enter keeps the one that is set" if held else "not shown"
        self._say(words)
        while True:
            token = hidden(f"Token ({hint}): ").strip() or held
            KNOWN.learn(name, token)
            try:
                good, warned = look(self._settings_of({**self._values, name: token}))
            except (Found, HeadwayError) as error:
                self._bad(str(error))
                continue
            self._good(good)
            if warned:
                self._warn(warned)
            self._values[name] = token
            return

    def _say(self, text: str) -> None:
        self._console.print(escape(text))

    def _good(self, text: str) -> None:
        self._console.print(f"[green]✓[/] {escape(text)}")

    def _warn(self, text: str) -> None:
        self._console.print(f"[yellow]![/] {escape(text)}")

    def _bad(self, text: str) -> None:
        self._console.print(f"[red]✗[/] {escape(text)}")


def try_out(settings: Settings) -> str:
    """Look at both tokens as they are set.

    Raises:
        HeadwayError, Found: one of them does not work.
    """
    from bot.doctor import slack

    slack.app(settings)
    good, warned = _look_at_bot(settings)
    slack.reached(settings)
    return f"Slack: {good}" + (f". {warned}" if warned else "")


def _look_at_bot(settings: Settings) -> tuple[str, str]:
    """What is good of the bot's token, and what should be known. Raises Found."""
    from bot.doctor import slack

    good = slack.tokens(settings)
    try:
        slack.scopes(settings)
    except Found as found:
        return f"The token is {good}", str(found)
    return f"The token is {good}", ""


def _look_at_app(settings: Settings) -> tuple[str, str]:
    """The same of the app's. Raises Found."""
    from bot.doctor import slack

    told = slack.reached(settings).capitalize()
    slack.apps(settings)
    return told, ""
