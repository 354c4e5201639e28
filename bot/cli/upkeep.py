"""
`headway backup`, `restore` and `db`: the state as a whole, and what a restore asks before it is released.

Rule: results go to standard output, how far it is goes to standard error.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bot.chat.restored import lines
from bot.chat.texts import Texts
from bot.cli.config import shown
from bot.cli.wrapped import wrapped
from bot.errors import BadInput
from bot.ports.restored import RestoreReport
from bot.settings import Settings, read_settings

MIB: Final = 1024 * 1024
SHOWN: Final = 5
"""Names of what was left out, before the rest is a number."""
STEPS: Final = {
    "checking": "Checking the backup",
    "database": "Database",
    "workspaces": "The goals' files",
}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

db = typer.Typer(no_args_is_help=True, help="Look at the database's version, and upgrade it.")


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command(
        epilog="[cyan]headway backup /var/backups/headway-$(date +%F)[/]\n\n"
        "[cyan]headway backup DIR --json | jq .bytes[/]"
    )(backup)
    app.command(
        epilog="[cyan]headway restore /var/backups/headway-2026-11-30[/]\n\n"
        "[cyan]headway restore DIR --into ANOTHER_FOLDER[/]\n\n[cyan]headway restore DIR --replace[/]"
        "\n\nThen [cyan]headway release[/]"
    )(restore)
    app.add_typer(db, name="db")


def backup(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that is not there yet, or is empty.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write database, goals' files and settings to a folder, while Headway may be running.

    No secret is in it in clear, and the key file is not in it: keep that elsewhere.
    """
    from bot.wiring.upkeep import back_up

    settings, found = context.obj.traced()
    context.obj.settings()
    with _progress() as told:
        manifest = back_up(settings, folder, shown(settings, found), told)
    size = sum(entry.size for entry in manifest.entries)
    if as_json:
        told_out = [{"path": entry.path, "why": entry.why} for entry in manifest.left_out]
        _print_json(
            {
                "folder": str(folder.absolute()),
                "made_at": manifest.made_at,
                "headway": manifest.headway,
                "schema": manifest.schema,
                "files": len(manifest.entries),
                "bytes": size,
                "left_out": told_out,
            }
        )
        return
    _print(
        f"Backed up to {folder.absolute()}: {len(manifest.entries)} files, {_mib(size)}, "
        f"schema {manifest.schema}.",
        "The key file is not in it: keep a copy of that elsewhere.",
        *(f"Left out: {entry.path} ({entry.why})." for entry in manifest.left_out[:SHOWN]),
    )
    if len(manifest.left_out) > SHOWN:
        _print(f"And {len(manifest.left_out) - SHOWN} more: see manifest.json.")


def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `headway backup` made.")],
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="A state folder in place of the usual one."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Keep what is there beside, instead of refusing."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the state that of a backup, on hold: nothing runs or is sent until `headway release`.

    The backup is read to its end and checked before anything is written.
    """
    from bot.wiring.upkeep import SETTINGS
    from bot.wiring.upkeep import restore as restore_from

    settings = context.obj.settings()
    if into is not None:
        settings = read_settings(context.obj.config, state_dir=into)
    with _progress() as told:
        done = restore_from(settings, folder, told, replaces=replace)
    if as_json:
        restored = {"state_dir": str(settings.state_dir), "kept": done.kept}
        _print_json({**restored, "report": asdict(done.report)})
        return
    _print(
        f"Restored into {settings.state_dir}.",
        *(f"Kept: {path}" for path in done.kept),
        f"The settings are yours to set: as they were, they are in {folder / SETTINGS}.",
        *_told(done.report, settings),
        Texts()("restore.held", program=_release(context, into)),
    )


def seen_first(settings: Settings, *, yes: bool, as_json: bool) -> tuple[str, ...]:
    """Show what a restore found and ask whether it may go on; returns what was shown.

    Without a restore's hold nothing is shown or asked.

    Raises:
        BadInput: nobody can be asked, and `yes` is not given.
        Exit: the answer is no.
    """
    from bot.wiring import reading

    async def read() -> RestoreReport | None:
        async with reading(settings) as store:
            return await store.restores.report()

    report = asyncio.run(read())
    if report is None:
        return ()
    told = _told(report, settings)
    if not as_json:
        _print(*told)
    if yes:
        return told
    if as_json or not sys.stdin.isatty():
        raise BadInput("After a restore somebody has to look first: give --yes to release it.")
    if not typer.confirm("Release it?"):
        raise typer.Exit(1)
    return told


@db.command(epilog="[cyan]headway db status[/]    [cyan]headway db status --json | jq .schema[/]")
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Print the schema's version, and whether an upgrade is due."""
    from adapters.store import schema
    from adapters.store.look import look

    settings = context.obj.settings()
    found = look(settings.database_url, state_dir=settings.state_dir)
    row = {
        "schema": found.version,
        "head": schema.HEAD,
        "is_there": found.is_there,
        "upgrade_is_due": found.will_be_migrated,
        "owner": found.owner,
    }
    if as_json:
        _print_json(row)
    elif not found.is_there or found.version is None:
        _print("There is no database yet. `headway run` or `headway chat` makes it.")
    elif found.will_be_migrated:
        _print(
            f"Schema {found.version}; this Headway works with {schema.HEAD}. `headway db upgrade` "
            "keeps a copy and brings it there; so does the next start."
        )
    else:
        _print(f"Schema {found.version}, as this Headway works with it.")


@db.command(epilog="[cyan]headway db upgrade[/]    [cyan]headway db upgrade --json[/]")
def upgrade(context: typer.Context, as_json: AsJson = False) -> None:
    """Bring the database to this Headway's schema, after a copy of it has been kept beside."""
    from adapters.store import schema
    from adapters.store.look import look
    from bot.wiring.upkeep import upgrade as upgrade_now

    settings = context.obj.settings()
    found = look(settings.database_url, state_dir=settings.state_dir)
    is_due = found.will_be_migrated
    if is_due:
        if not as_json:
            _print(f"From schema {found.version} to {schema.HEAD}.")
        with _progress() as told:
            kept = upgrade_now(settings, told)
    else:
        kept = ""
    if as_json:
        _print_json({"from": found.version, "to": schema.HEAD, "kept": kept})
    elif not found.is_there or found.version is None:
        _print("There is no database yet. `headway run` or `headway chat` makes it.")
    elif is_due:
        _print(f"Done. As it was before: {kept}")
    else:
        _print(f"Schema {found.version} already.")


def _told(report: RestoreReport, settings: Settings) -> tuple[str, ...]:
    return lines(report, time.time(), settings.tz, Texts())


def _release(context: typer.Context, into: Path | None) -> str:
    """How this program is told to release what it restored."""
    from bot.wiring.program import program

    where = into or context.obj.state_dir
    return program() if where is None else f"{program()} --state-dir {where}"


@contextmanager
def _progress() -> Iterator[Any]:
    """Show on standard error how far it is, where somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True))
    shown = Console(stderr=True)
    hides = not shown.is_terminal
    with Progress(*columns, console=shown, transient=True, disable=hides) as progress:
        bars: dict[str, Any] = {}

        def told(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = progress.add_task(STEPS.get(step, step), total=None)
            progress.update(bars[step], completed=done, total=total or None)

        yield told


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"


def _print(*each: str) -> None:
    sys.stdout.write("".join(f"{wrapped(line, sys.stdout)}\n" for line in each))


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
