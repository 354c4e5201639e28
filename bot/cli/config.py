"""`headway config`: what is set, where each value comes from, and which file is read. Shows no secret."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit, urlunsplit

import typer
from pydantic import BaseModel, SecretStr

from bot.settings import Settings
from bot.settings_sources import Leaf, Origin, origin_of, places

KINDS: Final = {
    "flag": "flag",
    "variable": "variable",
    "file": "file",
    "toml": "settings file",
    "default": "default",
}
SDK_KEY: Final = "ANTHROPIC_API_KEY"
HIDDEN: Final = "***"
PIPE_WIDTH: Final = 200

app = typer.Typer(no_args_is_help=True, help="Show the settings and where they come from.")


@app.command(
    epilog="[cyan]headway config show[/]\n\n[cyan]headway config show --changed[/]\n\n"
    "[cyan]headway config show --json | jq '.[] | select(.origin != \"default\")'[/]"
)
def show(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    changed: Annotated[bool, typer.Option("--changed", help="Leave out the defaults.")] = False,
) -> None:
    """Print each setting with its value and its origin; of a secret only whether it is set."""
    rows = [
        row for row in shown(*context.obj.traced()) if not changed or row["origin"] != "default"
    ]
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("Setting", no_wrap=True)
    table.add_column("Value", overflow="fold")
    table.add_column("From", overflow="fold")
    for row in rows:
        table.add_row(row["setting"], _words(row["value"]), row["where"] or KINDS[row["origin"]])
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(markup=False, width=width).print(table)


@app.command(epilog="[cyan]headway config path[/]")
def path(context: typer.Context) -> None:
    """Print which settings file is read; exit code 1 where there is none."""
    settings, _ = context.obj.traced()
    if settings.config_file is None:
        looked = ", ".join(str(place) for place in places())
        sys.stderr.write(
            f"No settings file is read. `headway init` writes one. Looked at: {looked}\n"
        )
        raise typer.Exit(1)
    sys.stdout.write(f"{settings.config_file.absolute()}\n")


def shown(settings: Settings, found: dict[Leaf, Origin]) -> list[dict[str, Any]]:
    """One row a value: `setting`, `value`, `origin` (a kind) and `where`."""
    rows = []
    for leaf, value in _values(settings):
        origin = origin_of(leaf, found)
        if leaf == ("api_key",) and origin.kind == "default" and os.environ.get(SDK_KEY):
            value, origin = "set", Origin("variable", SDK_KEY)
        rows.append(
            {
                "setting": ".".join(leaf),
                "value": value,
                "origin": origin.kind,
                "where": origin.where,
            }
        )
    return rows


def _values(settings: Settings) -> Iterator[tuple[Leaf, Any]]:
    for name in Settings.model_fields:
        yield from _flat((name,), getattr(settings, name))


def _flat(leaf: Leaf, value: Any) -> Iterator[tuple[Leaf, Any]]:
    if isinstance(value, BaseModel):
        value = dict(value)
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat((*leaf, str(name)), inner)
    else:
        yield leaf, _told(value)


def _told(value: Any) -> Any:
    """The value as JSON has it, without what is secret."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else "not set"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return _without_password(value)
    if isinstance(value, tuple | list | set | frozenset):
        return [_told(each) for each in value]
    return value


def _without_password(text: str) -> str:
    """An address's user stays; its password does not, nor does what its query gives.

    Of a database's query only the password is hidden: the rest says how to connect.
    """
    if "://" not in text or not {"@", "?"} & set(text):
        return text
    parts = urlsplit(text)
    account, _, host = parts.netloc.rpartition("@")
    user, colon, _ = account.partition(":")
    hides_all = parts.scheme.startswith("http")
    query = "&".join(
        f"{pair.partition('=')[0]}={HIDDEN}"
        if pair and (hides_all or pair.lower().startswith("password="))
        else pair
        for pair in parts.query.split("&")
    )
    netloc = f"{user}:{HIDDEN}@{host}" if colon else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))


def _words(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
