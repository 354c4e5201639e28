"""The questions of `headway init` on a terminal, each asked again until its answer works."""

import getpass
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from bot.cli.init_tried import Tried
from bot.errors import HeadwayError
from bot.settings import Settings

ANTHROPIC: Final = "https://api.anthropic.com"
KINDS: Final = ("anthropic", "address", "rehearsed", "kept")
WORDS: Final = (
    "Anthropic: a key is needed",
    "another address that speaks the Messages API",
    "none: a rehearsed model, to try things out without a key",
    "as it is: {provider}",
)

SettingsOf = Callable[[dict[str, Any]], Settings]


@dataclass(slots=True)
class Asking:
    """The answers so far, over what the file and the flags said."""

    settings_of: SettingsOf
    tried: Tried
    values: dict[str, Any]

    def asked(self, target: Path, *, exists: bool) -> dict[str, Any]:
        """All answers. Raises typer.Abort where the person leaves."""
        self.tried.say(
            f"Headway's settings, for {target.absolute()}. Enter takes what stands in brackets; "
            "Ctrl-C leaves everything as it is.\n"
        )
        if exists and not typer.confirm(
            "That file is there. Its values are the defaults here. Change it?", default=True
        ):
            raise typer.Abort
        self._model()
        self._folder()
        self._ask("budget_usd", "3 of 4  What a goal may spend, dollars", float)
        self._zone()
        return self.values

    def _now(self) -> Settings:
        return self.settings_of(self.values)

    def _model(self) -> None:
        while True:
            self._which()
            try:
                self.tried.model(self._now())
            except HeadwayError as error:
                self.tried.bad(str(error))
                if not typer.confirm("Another answer?", default=True):
                    return
            else:
                return

    def _which(self) -> None:
        now = self._now()
        kinds = KINDS if now.provider in ("bedrock", "vertex") else KINDS[:3]
        self.tried.say("1 of 4  Which model?")
        for number, words in enumerate(WORDS[: len(kinds)], 1):
            self.tried.say(f"  {number}  {words.format(provider=now.provider)}")
        default = str(kinds.index(_kind(now)) + 1)
        numbers = [str(number) for number in range(1, len(kinds) + 1)]
        while (answer := typer.prompt("Number", default=default).strip()) not in numbers:
            self.tried.bad(f"Give a number, 1 to {len(kinds)}.")
        match kinds[int(answer) - 1]:
            case "anthropic":
                self.values |= {"provider": "anthropic", "base_url": ""}
                self._key()
            case "address":
                self.values |= {"provider": "anthropic"}
                shown = now.base_url or ANTHROPIC
                self.values["base_url"] = typer.prompt("Address", default=shown).strip()
                self._key()
                self.values["model"] = typer.prompt("Model of the agent", default=now.model)
                self.values["audit_model"] = typer.prompt(
                    "Model of the auditor, a small one", default=now.audit_model
                )
            case "rehearsed":
                self.values["provider"] = "rehearsed"
            case _:
                pass

    def _key(self) -> None:
        """A key that is typed goes into the file, which is the owner's alone."""
        held = _held(self._now())
        hint = f"Enter keeps the one {held}" if held else "what you type is not shown"
        while True:
            # Not typer's: it shows the prompt before it stops the terminal from showing what is typed.
            typed = hidden(f"Key ({hint}): ").strip()
            if typed or held:
                break
            self.tried.bad("A key is needed here. Without one: Ctrl-C, then number 3.")
        if typed:
            self.values["api_key"] = typed
            if "api_key_file" in self.values or self._now().api_key_file:
                self.values["api_key_file"] = None

    def _folder(self) -> None:
        while True:
            shown = str(self._now().state_dir)
            answer = typer.prompt("2 of 4  Folder for all that Headway keeps", default=shown)
            self.values["state_dir"] = str(Path(answer.strip()).expanduser().absolute())
            try:
                self.tried.folder(self._now())
                self.tried.sandbox(self._now())
            except HeadwayError as error:
                self.tried.bad(str(error))
                if not typer.confirm("Another folder? (no keeps this one)", default=False):
                    return
            else:
                return

    def _zone(self) -> None:
        """The machine's own is the default, and then stays unwritten."""
        now = self._now()
        shown = now.zone or str(now.tz)
        self._ask("zone", "4 of 4  Time zone of what people read", str, shown)
        if not now.zone and self.values["zone"] == shown:
            self.values["zone"] = ""

    def _ask(self, name: str, words: str, kind: type[Any], default: Any = None) -> None:
        shown = getattr(self._now(), name) if default is None else default
        while True:
            answer = typer.prompt(words, default=shown, type=kind)
            try:
                self.settings_of({**self.values, name: answer})
            except HeadwayError as error:
                # It came from here, not from one of the places that the sentence names.
                told = re.sub(r" \(in .* or a flag\)", "", str(error))
                self.tried.bad(told.removesuffix(" Mend it."))
            else:
                self.values[name] = answer
                return


def hidden(prompt: str) -> str:
    """What is typed at a terminal and not shown. Raises typer.Abort where it is closed."""
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise typer.Abort from None


def _kind(settings: Settings) -> str:
    if settings.provider == "anthropic":
        return "address" if settings.base_url else "anthropic"
    return "rehearsed" if settings.provider == "rehearsed" else "kept"


def _held(settings: Settings) -> str:
    """Where the key is that is set already, or nothing."""
    try:
        if not settings.key():
            return ""
    except HeadwayError:
        return ""
    if settings.api_key_file is not None:
        return f"in {settings.api_key_file}"
    if settings.api_key.get_secret_value():
        return "in HEADWAY_API_KEY" if "HEADWAY_API_KEY" in os.environ else "that is set"
    return "in ANTHROPIC_API_KEY"
