"""
`headway init`: from nothing to settings that work.

Rule 1: few questions, each with a default that holds; an answer is tried out before the next one.
Rule 2: nothing is written before the last answer, then all of it at once.
Rule 3: a key is neither shown nor kept where another may read it.
"""

import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bot.cli import init_file
from bot.errors import BadSettings
from bot.settings import PREFIX, Settings, read_settings
from bot.settings_sources import found_file, of_the_user

INTERRUPTED: Final = 130
FIRST_GOAL: Final = "write a haiku about tides into tides.txt"
EPILOG: Final = (
    "For example:\n\n[cyan]headway init[/]    asks\n\n"
    "[cyan]headway init --yes --rehearsed[/]    a try-out without a key\n\n"
    "[cyan]headway init --yes --api-key-file /run/secrets/key --state-dir /var/lib/headway[/]"
)


@dataclass(frozen=True, slots=True)
class Flags:
    """What was said on the command line; None and false where nothing was."""

    config: Path | None = None
    state_dir: Path | None = None
    api_key_file: Path | None = None
    base_url: str | None = None
    model: str | None = None
    audit_model: str | None = None
    budget: float | None = None
    zone: str | None = None
    rehearsed: bool = False
    untested: bool = False
    slack_bot_token_file: Path | None = None
    slack_app_token_file: Path | None = None

    def values(self) -> dict[str, Any]:
        """The settings that the flags name."""
        given: dict[str, Any] = {
            "state_dir": self.state_dir and str(self.state_dir.expanduser().absolute()),
            "api_key_file": self.api_key_file and str(self.api_key_file.expanduser().absolute()),
            "base_url": self.base_url,
            "model": self.model,
            "audit_model": self.audit_model,
            "budget_usd": self.budget,
            "zone": self.zone,
            "provider": "rehearsed" if self.rehearsed else None,
            "slack_bot_token": _token_in(self.slack_bot_token_file),
            "slack_app_token": _token_in(self.slack_app_token_file),
        }
        if self.api_key_file or self.base_url:
            given["provider"] = "anthropic"
        return {name: value for name, value in given.items() if value is not None}


def init(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for programs.")] = False,
    rehearsed: Annotated[
        bool, typer.Option("--rehearsed", help="No model: a script answers, to try things out.")
    ] = False,
    api_key_file: Annotated[
        Path | None, typer.Option("--api-key-file", help="The file that holds the model's key.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Another address of the Messages API.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model of the agent.")] = None,
    audit_model: Annotated[
        str | None, typer.Option("--audit-model", help="Model of the auditor.")
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option("--state-dir", help="The folder that holds everything.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="What a goal may spend, dollars.")
    ] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="IANA zone, Europe/Berlin.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="The settings file to write.")
    ] = None,
    untested: Annotated[
        bool, typer.Option("--untested", help="Write without trying anything out.")
    ] = False,
    slack_bot_token_file: Annotated[
        Path | None,
        typer.Option("--slack-bot-token-file", help="The file that holds Slack's xoxb-... token."),
    ] = None,
    slack_app_token_file: Annotated[
        Path | None,
        typer.Option("--slack-app-token-file", help="The file that holds Slack's xapp-... token."),
    ] = None,
) -> None:
    """Ask what is needed, try each answer out, and write headway.toml. May be run again."""
    above = context.obj
    flags = Flags(
        config or (above and above.config),
        state_dir or (above and above.state_dir),
        api_key_file,
        base_url,
        model,
        audit_model,
        budget,
        zone,
        rehearsed,
        untested,
        slack_bot_token_file,
        slack_app_token_file,
    )
    _until_left(flags, asks=not yes)


def _until_left(flags: Flags, *, asks: bool) -> None:
    # A closed terminal ends it as Ctrl-C does: what it tries out is a copy of settings and key.
    for ending in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    try:
        _run(flags, asks=asks)
    except (KeyboardInterrupt, typer.Abort):
        sys.stdout.write("\nEnded by you. Nothing was written.\n")
        raise typer.Exit(INTERRUPTED) from None


def _run(flags: Flags, *, asks: bool) -> None:
    from bot.wiring.program import program

    target = flags.config or found_file() or of_the_user()
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadSettings(
            "init asks its questions on a terminal, and this is none. For programs: "
            f"`{program()} init --yes --api-key-file FILE`, or `--yes --rehearsed` without a key."
        )
    text = _text_of(target)
    with tempfile.TemporaryDirectory(prefix="headway-init-") as folder:
        base = Path(folder, "headway.toml")
        base.touch(0o600)
        base.write_text(text, "utf-8")
        from bot.cli.init_asking import Asking
        from bot.cli.init_tried import Tried

        def settings_of(values: dict[str, Any]) -> Settings:
            try:
                return read_settings(base, **values)
            except BadSettings as error:
                raise BadSettings(str(error).replace(str(base), str(target))) from error

        settings_of({})
        tried = Tried(is_off=flags.untested)
        values = flags.values()
        if asks:
            values = Asking(settings_of, tried, values).asked(target, exists=bool(text))
        else:
            _without_asking(settings_of, tried, values)
    written = init_file.edited(text, init_file.differing(_plain(values)))
    if written != text or not target.exists():
        init_file.replace(target, written)
    _closing(target, values, is_changed=written != text)
    if asks:
        _offer_slack(target)
        _offer_matrix(target)


def _offer_slack(target: Path) -> None:
    """The way into Slack; the settings stand, whatever becomes of it."""
    from bot.wiring.names import has_slack

    try:
        if has_slack(read_settings(target)) or not typer.confirm(
            "\nLet it live in Slack channels, too? `headway init` asks it again at any time",
            default=False,
        ):
            return
        from bot.cli.slack_walk import Walk

        walk = Walk(lambda values: read_settings(target, **values))
        values = walk.taken()
        text = _text_of(target)
        init_file.replace(target, init_file.edited(text, init_file.differing(values)))
        sys.stdout.write(f"Written: {target.absolute()}\n")
        settings = read_settings(target)
        walk.let_in(settings)
        walk.next(settings)
    except (KeyboardInterrupt, typer.Abort):
        sys.stdout.write("\nThe settings stay as they are written.\n")
        raise typer.Exit(INTERRUPTED) from None


def _offer_matrix(target: Path) -> None:
    """The way into Matrix rooms; the settings stand, whatever becomes of it."""
    from bot.wiring.matrix_account import is_set_up

    standing = "Matrix is as it was."
    try:
        settings = read_settings(target)
        if is_set_up(settings) or not typer.confirm(
            "\nLet it live in Matrix rooms, too? `headway matrix login` asks the same at any time",
            default=False,
        ):
            return
        from bot.cli.matrix_walk import Given, Walk

        given = Given(settings.matrix_homeserver, settings.matrix_user)
        walk = Walk(settings, given, asks=True)
        try:
            walk.taken()
        finally:
            standing = walk.standing
    except (KeyboardInterrupt, typer.Abort):
        sys.stdout.write(f"\nThe settings stay as they are written. {standing}\n")
        raise typer.Exit(INTERRUPTED) from None


def _without_asking(settings_of: Any, tried: Any, values: dict[str, Any]) -> None:
    """Try everything out; the first thing that is wrong ends it."""
    settings = settings_of(values)
    if settings.provider == "anthropic" and not settings.key():
        raise BadSettings(
            "There is no key for the model. Give --api-key-file FILE, set ANTHROPIC_API_KEY, or "
            "try things out without one: --rehearsed."
        )
    tried.model(settings)
    tried.folder(settings)
    tried.sandbox(settings)
    tried.slack(settings)


def _token_in(file: Path | None) -> str | None:
    """A token in a file. Raises BadSettings."""
    if file is None:
        return None
    from bot.cli.exits import KNOWN
    from bot.settings_values import key_in

    return KNOWN.learn("slack_token", key_in(file.expanduser()))


def _text_of(target: Path) -> str:
    try:
        return target.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise BadSettings(
            f"{target} cannot be read ({error}). Mend it, or name another file: `--config FILE`."
        ) from error


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As they stand in a file: a folder that is the default as the default."""
    default = Settings.model_fields["state_dir"].get_default(call_default_factory=True)
    if values.get("state_dir") == str(default.expanduser().absolute()):
        return {**values, "state_dir": default}
    return values


def _closing(target: Path, values: dict[str, Any], *, is_changed: bool) -> None:
    """What was written, what goes before it, and the next two commands."""
    from bot.wiring.program import program

    told = "Written" if is_changed else "Nothing had to change"
    lines = [f"\n{told}: {target.absolute()} (readable by you alone)"]
    lines += [
        f"Note: {PREFIX}{name.upper()} is set, and goes before what the file says."
        for name in values
        if PREFIX + name.upper() in os.environ
    ]
    found = found_file()
    if found is None or found.resolve() != target.resolve():
        where = f"{program()} --config {target}"
    else:
        where = program()
    lines += [
        "\nNext:",
        f'  {where} chat "{FIRST_GOAL}"',
        "      set a goal, and talk in this terminal",
        f"  {where} run",
        "      work at the goals without a terminal; chat then joins it",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
