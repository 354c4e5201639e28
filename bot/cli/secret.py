"""
`headway secret`: values that goals use and nobody reads. None is ever printed or given as an argument.

Rule: where a process owns the state folder, it makes the change, so that it knows the value at once;
otherwise this one does.
"""

import asyncio
import getpass
import json
import re
import sys
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from bot.cli.exits import KNOWN
from bot.cli.owner import answered
from bot.cli.wrapped import wrapped
from bot.errors import BadInput, HeadwayError
from bot.hosts import read_rule, rule_text
from bot.ports.secret_form import MOST
from bot.ports.secrets import Kind, Named
from bot.redaction import LEAST, mark
from bot.settings import Settings
from scheduler.control import Request

NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
PLAIN_MOST: Final = 12
"""Characters from which on a plain word or number is none that is said by chance."""

app = typer.Typer(
    no_args_is_help=True, help="Keep values sealed that goals use and nobody should read."
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as GITHUB_TOKEN.")]


@app.command(
    "set",
    epilog="[cyan]headway secret set GITHUB_TOKEN --host api.github.com[/]    asks for the value\n\n"
    "[cyan]headway secret set GITHUB_TOKEN < token.txt[/]    reads it",
)
def set_(
    context: typer.Context,
    name: Name,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A host that it may be sent to. Can be given again."),
    ] = None,
) -> None:
    """Keep a value, in place of the one of that name; it is asked for, or read from standard input."""
    settings = _settings(context)
    _check_name(name)
    hosts = tuple(dict.fromkeys(_checked_host(each) for each in host or ()))
    value = _checked_value(name, _given_value(name))
    by = getpass.getuser()
    request = {"do": "secret.set", "name": name, "value": value, "hosts": hosts, "by": by}
    _asked(settings, request)
    told = f"{name} is kept. Where its value would show, there is {mark(name)} from now on."
    sys.stdout.write(wrapped(told, sys.stdout) + "\n")
    if value.isalnum() and (value.isalpha() or value.isdigit()) and len(value) < PLAIN_MOST:
        sys.stderr.write(
            f"{name} is one plain word or number: it is taken out of every sentence and list that "
            "it happens to stand in. A longer value, or one of letters and digits, is not.\n"
        )


@app.command("list", epilog="[cyan]headway secret list[/]    [cyan]headway secret list --json[/]")
def list_(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List what is kept: names and hosts, the key, who set it and when; never a value."""
    from bot.wiring.secrets import listed

    found = asyncio.run(listed(_settings(context)))
    rows = [_row(named, found[named]) for named in found]
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    if not rows:
        sys.stdout.write("No secrets yet. Keep one: headway secret set NAME\n")
        return
    from rich.console import Console

    Console().print(_table(rows))
    for row in rows:
        if row["trouble"]:
            sys.stdout.write(f"{row['trouble']}\n")


@app.command(epilog="[cyan]headway secret remove GITHUB_TOKEN[/]")
def remove(
    context: typer.Context,
    name: Name,
    kind: Annotated[
        Kind, typer.Option("--kind", help="Of a network's token, or of a seed: as it is listed.")
    ] = "secret",
) -> None:
    """Forget a value."""
    request = {"do": "secret.remove", "kind": kind, "name": name}
    answer = _asked(_settings(context), request)
    if not answer.get("removed"):
        raise BadInput(f"There is no {kind} {name}. `headway secret list` shows what there is.")
    sys.stdout.write(f"{name} is forgotten.\n")


@app.command(
    epilog="[cyan]headway secret rotate[/]\n\n"
    "[cyan]headway secret rotate --keep-old[/]    backups made until now can be opened still"
)
def rotate(
    context: typer.Context,
    new_key: Annotated[
        bool, typer.Option(help="Make a key; without one, the first key that there is serves.")
    ] = True,
    keep_old: Annotated[
        bool, typer.Option("--keep-old", help="Leave the old keys in the file, too.")
    ] = False,
) -> None:
    """Seal everything again under a new key. Killed at any moment, everything still opens."""
    settings = _settings(context)
    request = {"do": "secret.rotate", "is_made": new_key, "keeps_old": keep_old}
    answer = _asked(settings, request)
    told = f"{answer['resealed']} sealed again. {_of_keys(settings, new_key, keep_old)}"
    sys.stdout.write(wrapped(told, sys.stdout) + "\n")


def _asked(settings: Settings, request: Request) -> dict[str, Any]:
    return asyncio.run(answered(settings, request, _alone))


async def _alone(settings: Settings, request: Request) -> dict[str, Any] | None:
    from bot.wiring.keys import matrix_account
    from bot.wiring.secrets import SecretDesk, own_secrets

    async with own_secrets(settings) as secrets:
        return await SecretDesk(secrets, KNOWN, matrix_account(settings))(request)


def _given_value(name: str) -> str:
    # Closed from the start, it is None.
    stdin: Any = sys.stdin
    if stdin is not None and stdin.isatty():
        try:
            return getpass.getpass(f"Value of {name} (not shown): ")
        except EOFError:
            return ""
    raw: bytes = b"" if stdin is None else stdin.buffer.read(4 * MOST + 2)
    try:
        # Strictly, whatever the locale: a plain one would let any byte through.
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("The value is not UTF-8 text. Give it in base64.") from error
    return text.removesuffix("\n").removesuffix("\r")


def _checked_value(name: str, value: str) -> str:
    if not value:
        raise BadInput(f"No value was given. Type it, or: headway secret set {name} < FILE")
    if len("".join(value.split())) < LEAST:
        raise BadInput(
            f"The value has fewer than {LEAST} characters, and could not be told from ordinary "
            "words where it shows up. Use a longer one."
        )
    if len(value) > MOST:
        raise BadInput(f"The value has more than {MOST} characters. Keep a key to it instead.")
    return value


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadInput(
            "That is no name for a secret. Take a letter, then letters, digits, _ . or -, "
            "64 at most, such as GITHUB_TOKEN. The value is asked for: it is no argument."
        )


def _checked_host(host: str) -> str:
    try:
        return rule_text(read_rule(host))
    except (ValueError, UnicodeError) as error:
        raise BadInput(
            f"{host!r} is no host. Give its name alone, such as api.example.com or *.example.com, with "
            "its port where that is neither 80 nor 443."
        ) from error


def _settings(context: typer.Context) -> Settings:
    settings: Settings = context.obj.settings()
    return settings


def _row(named: Named, trouble: str) -> dict[str, Any]:
    return {
        "kind": named.kind,
        "name": named.name,
        "hosts": list(named.hosts),
        "key_id": named.key_id,
        "set_by": named.set_by,
        "set_at": named.set_at,
        "opens": not trouble,
        "trouble": trouble,
    }


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("Name", "Kind", "Hosts", "Key", "Set by", "Set", "Opens"):
        table.add_column(title, overflow="fold")
    for row in rows:
        at = datetime.fromtimestamp(row["set_at"]).astimezone()
        hosts = ", ".join(row["hosts"]) or "-"
        opens = "yes" if row["opens"] else "no"
        when = f"{at:%Y-%m-%d %H:%M}"
        table.add_row(
            row["name"], row["kind"], hosts, row["key_id"], row["set_by"] or "-", when, opens
        )
    return table


def _of_keys(settings: Settings, new_key: bool, keep_old: bool) -> str:
    from bot.wiring.keys import key_source

    try:
        keys = key_source(settings).read()
    except HeadwayError:
        return ""
    newest = f"The key is {keys[0].id} now." if keys else ""
    if not new_key:
        return f"{newest} Take older keys away when no backup needs them."
    if keep_old:
        return f"{newest} The old ones stay in the file."
    return f"{newest} The old ones are gone: secrets in older backups do not open any more."
