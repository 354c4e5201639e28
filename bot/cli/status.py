"""`headway status`: the operator's one look, from the running process or else from the database."""

import asyncio
import json
import sys
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from bot.settings import Settings
from scheduler.control import ask_owner

HALTED: Final = 3
"""Exit code while no process runs, so that a script can tell."""


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(epilog="[cyan]headway status[/]    [cyan]headway status --json | jq .goals[/]")(
        status
    )


def status(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how Headway is: process, goals, mail, model, holds, incidents, spend. 3: none runs."""
    told = asyncio.run(look(context.obj.settings()))
    if as_json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        from rich.console import Console

        from bot.cli.status_table import table

        Console().print(table(told))
    raise typer.Exit(0 if told["stage"] != "stopped" else HALTED)


async def look(settings: Settings) -> dict[str, Any]:
    """What the process that owns the state folder says of itself, else what the database holds.

    Raises:
        StoreBusy, StoreUnusable: no process runs, and there is no database that can be read.
    """
    running = await ask_owner(settings.state_dir, {"do": "status"})
    if running is not None:
        return running
    from adapters.telemetry.details import figures
    from bot.wiring import reading

    today = datetime.now(settings.tz).date().isoformat()
    async with reading(settings) as store:
        found = figures(await store.figures.now(), await store.figures.totals(), today)
    return {"status": "stopped", "stage": "stopped", "ready": ["No process runs here."], **found}
