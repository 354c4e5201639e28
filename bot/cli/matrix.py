"""
`headway matrix`: the bot's account on a Matrix homeserver.

Rule 1: a password or a token is never an argument: it is asked for, or read from a file or a pipe.
Rule 2: where a process works with the account, a command leaves its keys alone.
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bot.cli.exits import KNOWN
from bot.cli.wrapped import wrapped
from bot.errors import BadInput, BadSettings
from bot.settings import Settings

INTERRUPTED: Final = 130
MOST: Final = 4_096
"""Bytes of a password or a token in a file."""

app = typer.Typer(no_args_is_help=True, help="Live in Matrix rooms: log in, look, log out.")
keys = typer.Typer(no_args_is_help=True, help="Move the keys of encrypted rooms.")
app.add_typer(keys, name="keys")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Answer questions with yes.")]
Server = Annotated[
    str,
    typer.Option(
        "--homeserver", help="A server's name, example.org, or a URL.", show_default=False
    ),
]
BotId = Annotated[
    str, typer.Option("--user", help="The bot's id, @headway:example.org.", show_default=False)
]
PasswordFile = Annotated[
    str | None,
    typer.Option("--password-file", metavar="FILE", help="`-`: standard input. It is not kept."),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file", metavar="FILE", help="An access token that nobody else uses. `-` as above."
    ),
]
Name = Annotated[
    str, typer.Option("--name", help="What people see the bot called.", show_default=False)
]
Admin = Annotated[
    str,
    typer.Option(
        "--admin", help="Your own id, @you:example.org: you may do all.", show_default=False
    ),
]
NewDevice = Annotated[
    bool, typer.Option("--new-device", help="Begin anew, where the keys are lost.")
]
ResetIdentity = Annotated[
    bool,
    typer.Option(
        "--reset-identity", help="Replace an identity of another client; who verified it is warned."
    ),
]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="As Element exports and imports it.")]
PassphraseFile = Annotated[
    str | None, typer.Option("--passphrase-file", metavar="FILE", help="`-`: standard input.")
]


@app.command(
    epilog="[cyan]headway matrix login[/]    asks, and tries each answer\n\n"
    "[cyan]headway matrix login --homeserver example.org --user @bot:example.org "
    "--password-file - --admin @you:example.org < password.txt[/]"
)
def login(
    context: typer.Context,
    homeserver: Server = "",
    user: BotId = "",
    password_file: PasswordFile = None,
    token_file: TokenFile = None,
    name: Name = "",
    admin: Admin = "",
    new_device: NewDevice = False,
    reset_identity: ResetIdentity = False,
    yes: Yes = False,
) -> None:
    """Log the bot in, also while it runs; the same user goes on with the same device."""
    from bot.cli.matrix_walk import Given, Walk

    settings = _settings(context)
    given = Given(
        homeserver or settings.matrix_homeserver,
        user or settings.matrix_user,
        _read(password_file) or settings.matrix_password.get_secret_value(),
        _read(token_file) or settings.matrix_token.get_secret_value(),
        name,
        admin,
        new_device,
        reset_identity,
        yes,
    )
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    for ending in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    walk = Walk(settings, given, asks=asks)
    try:
        walk.taken()
    except (KeyboardInterrupt, typer.Abort):
        sys.stdout.write(wrapped(f"\nEnded by you. {walk.standing}", sys.stdout) + "\n")
        raise typer.Exit(INTERRUPTED) from None


@app.command()
def logout(
    context: typer.Context,
    keep_keys: Annotated[
        bool | None,
        typer.Option(
            "--keep-keys/--remove-keys",
            help="Whether a later login goes on with this device, or nothing is left of it here.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """End the session of a bot that is not running, and keep or remove its keys here."""
    from adapters.matrix.crypto_store import owned
    from adapters.matrix.login import log_out
    from bot.wiring.keys import matrix_account

    file = matrix_account(_settings(context))
    card = file.card()
    if card is None:
        raise BadInput("There is no Matrix account. Log in: headway matrix login")
    if keep_keys is None:
        if not sys.stdin.isatty():
            raise BadSettings("There is no terminal to ask at: give --keep-keys or --remove-keys.")
        keep_keys = typer.confirm(
            "Keep the device's keys here, so that a later login goes on with it?", default=True
        )
    with owned(file.folder):
        is_ended = asyncio.run(log_out(file, keeps_keys=keep_keys))
    kept = (
        "Its keys are kept."
        if keep_keys
        else "Nothing is left of it here: the next login as this user makes a new device, and "
        "replaces the identity with --reset-identity."
    )
    _say(f"{card.user_id} is logged out. {kept}")
    if not is_ended:
        _warn(
            f"The homeserver did not confirm it. End the device {card.device_id} there with any client."
        )


@app.command(epilog="[cyan]headway matrix status[/]    [cyan]headway matrix status --json[/]")
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Look at the account, its session, its device and its rooms; changes nothing."""
    from bot.doctor import checkup

    given = context.obj
    given.settings()
    raise typer.Exit(checkup.run_matrix(given.config, state_dir=given.state_dir, as_json=as_json))


@keys.command("export", epilog="[cyan]headway matrix keys export keys.txt[/]")
def export(context: typer.Context, file: KeyFile, passphrase_file: PassphraseFile = None) -> None:
    """Write the keys of the encrypted rooms to a new file, also while the bot runs."""
    from adapters.matrix.crypto_store import copied
    from adapters.matrix.keys import export_keys

    account_file, account = _account(context)
    passphrase = _passphrase(passphrase_file, is_new=True)
    with copied(account_file.folder, account) as client:
        count = export_keys(client, file.expanduser(), passphrase)
    _say(f"{count} keys are in {file}. Whoever has it and the passphrase reads those rooms.")


@keys.command("import", epilog="[cyan]headway matrix keys import keys.txt[/]")
def import_(context: typer.Context, file: KeyFile, passphrase_file: PassphraseFile = None) -> None:
    """Add keys that any Matrix client exported. The bot must not be running."""
    from adapters.matrix import crypto_store
    from adapters.matrix.keys import import_keys

    account_file, account = _account(context)
    with crypto_store.owned(account_file.folder):
        passphrase = _passphrase(passphrase_file, is_new=False)
        client = crypto_store.open_client(account_file.folder, account)
        try:
            new, count = import_keys(client, file.expanduser(), passphrase)
        finally:
            crypto_store.close(client)
    _say(f"{new} of {count} keys are new here.")


def _account(context: typer.Context) -> Any:
    from bot.wiring.keys import matrix_account

    file = matrix_account(_settings(context))
    account = file.read()
    if account is None:
        raise BadInput("There is no Matrix account. Log in: headway matrix login")
    for name, value in account.secrets.items():
        KNOWN.learn(name, value)
    return file, account


def _passphrase(file: str | None, *, is_new: bool) -> str:
    from bot.cli.init_asking import hidden

    if file is not None:
        return _read(file)
    if not sys.stdin.isatty():
        raise BadSettings("There is no terminal to ask at: give --passphrase-file FILE.")
    passphrase = hidden("Passphrase of the file (not shown): ")
    if is_new and hidden("Once more: ") != passphrase:
        raise BadInput("The two are not the same. Nothing was written.")
    return passphrase


def _read(file: str | None) -> str:
    """A secret of one line, from a file or standard input."""
    if not file:
        return ""
    try:
        raw = sys.stdin.buffer.read(MOST) if file == "-" else Path(file).expanduser().read_bytes()
        text = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadSettings(
            f"The file {file} cannot be read ({why}). Mend its path or its rights."
        ) from error
    if not text or "\n" in text or len(text) > MOST:
        raise BadSettings(f"The file {file} should hold the secret on one line, and nothing else.")
    return text


def _settings(context: typer.Context) -> Settings:
    settings: Settings = context.obj.settings()
    return settings


def _say(text: str) -> None:
    sys.stdout.write(wrapped(text, sys.stdout) + "\n")


def _warn(text: str) -> None:
    sys.stderr.write(wrapped(text, sys.stderr) + "\n")
