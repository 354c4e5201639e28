"""`headway files GOAL`: what lies in a goal's workspace, whether or not a process is at work."""

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from bot.settings import Settings

SHOWN_MOST: Final = 200
"""Files in a table; `--json` has all of them."""


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(epilog="[cyan]headway files G1[/]    [cyan]headway files G1 --json[/]")(files)


def files(
    context: typer.Context,
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="A goal's number, such as G1.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List a goal's files: where they are, how large, and what becomes of them."""
    settings = context.obj.settings()
    found = asyncio.run(_found(settings, goal))
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    _print(found)


async def _found(settings: Settings, name: str) -> dict[str, Any]:
    """The goal's files and what it made. Raises BadInput: there is no such goal."""
    from adapters.sandbox.listing import listed
    from bot.chat.file_words import rule_of
    from bot.chat.texts import Texts
    from bot.cli.reports import named
    from bot.wiring import reading

    async with reading(settings) as store:
        goal = named(await store.records.goals(), name).goal
        made = {one.path: one for one in await store.checkpoints.artifacts(goal.id)}
        points = await store.checkpoints.of_goal(goal.id)
    folder, texts = settings.workspaces_dir / goal.session, Texts()
    rows = [
        {
            "path": one.path,
            "size": one.size,
            "changed": _iso(one.changed_at),
            "is_link": one.is_link,
            "is_artifact": one.path in made,
            "rule": rule_of(one.path, texts),
        }
        for one in await asyncio.to_thread(listed, folder)
    ]
    return {
        "goal": texts("goal", number=goal.number),
        "folder": str(folder),
        "is_to_be_put_back": bool(goal.restore),
        "checkpoints": sum(bool(point.tree) for point in points),
        "files": rows,
    }


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console

    from adapters.console.files_table import table

    rows: Sequence[dict[str, Any]] = found["files"]
    console = Console()
    if not rows:
        console.print(f"{found['goal']} has no files in {found['folder']}.", markup=False)
        return
    console.print(table(rows[:SHOWN_MOST]))
    if len(rows) > SHOWN_MOST:
        console.print(f"{len(rows) - SHOWN_MOST} more: `headway files {found['goal']} --json`.")
    console.print(found["folder"], markup=False, soft_wrap=True)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
