"""
`headway purge`: take a person, or what is old, out of everything that is kept.

Rule 1: what it will take is shown first, and taken after a yes.
Rule 2: whoever owns the state folder does it; where nobody does, this command takes the folder.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any, Final

import typer

from bot.errors import AlreadyOwned, BadInput, HeadwayError
from bot.settings import Settings
from scheduler.control import Request, ask_owner

Ask = Callable[[Request], Awaitable[dict[str, Any]]]

LOOK_S: Final = 0.1
EPILOG: Final = (
    "[cyan]headway purge --person ann --dry-run[/]\n\n[cyan]headway purge --person ann[/]\n\n"
    "[cyan]headway purge --older 30d --room ops[/]"
)
_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([dhw]?)")
_DAYS: Final = {"": 1.0, "d": 1.0, "h": 1 / 24, "w": 7.0}
_WORDS: Final = {
    "live": ("live goal, cancelled", "live goals, cancelled"),
    "goal": ("goal", "goals in all, whose journals and sums stay"),
    "text": ("text", "texts"),
    "mention": ("text of others that repeats or names them", "texts of others that repeat or name them"),
    "wait": ("wait", "waits' references"),
    "line": ("line of the room's file", "lines of the room's file"),
    "workspace": ("workspace", "workspaces"),
    "file": ("file in others' workspaces", "files in others' workspaces"),
    "attached": ("file of a message", "files of messages"),
    "sealed": ("message that could not be read", "messages that could not be read"),
    "form": (
        "form, or address to answer at, of a message",
        "forms, or addresses to answer at, of messages",
    ),
    "note": ("operator's note", "operators' notes"),
    "right": ("right", "rights"),
    "name": ("name", "names"),
    "copy": ("old copy of the database or the workspaces", "old copies of database and workspaces"),
}  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(epilog=EPILOG)(purge)


def purge(
    context: typer.Context,
    person: Annotated[
        str | None,
        typer.Option("--person", metavar="PERSON", help="Forget this person, by name or id."),
    ] = None,
    older: Annotated[
        str | None,
        typer.Option(
            "--older", metavar="AGE", help="What ended longer ago than this: 30d, 12h, 4w."
        ),
    ] = None,
    room: Annotated[
        str, typer.Option("--room", metavar="ROOM", help="With --older: of this room alone.")
    ] = "",
    keep_mentions: Annotated[
        bool,
        typer.Option(
            "--keep-mentions",
            help="With --person: leave their name where others talk of them among themselves.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what it would take.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Take a person, or what is old, out of everything that is kept. Journals and sums stay."""
    asked = _asked(person, older, room, keep_mentions)
    asyncio.run(_purge(context.obj.settings(), asked, dry_run, yes, as_json))


async def _purge(
    settings: Settings, asked: Request, is_dry: bool, yes: bool, as_json: bool
) -> None:
    async with _desk(settings) as ask:
        told = await ask({**asked, "is_dry": True})
        takes = await _over(ask, told["id"], "Looking")
        if not is_dry:
            if not as_json:
                _show(_head(asked, told["person"], "will take"), takes)
            if not takes or not (yes or _agreed()):
                _print({"taken": {}}, as_json, "Nothing was taken.")
                return
            told = await ask(asked)
            takes = await _over(ask, told["id"], "Forgetting", sum(takes.values()))
    if as_json:
        _print({"would_take" if is_dry else "taken": takes}, as_json, "")
    else:
        _show(_head(asked, told["person"], "would take" if is_dry else "took"), takes)


async def _over(ask: Ask, id: int, what: str, total: int | None = None) -> dict[str, int]:
    """Look at a purge until it is over; returns what it took. Raises what ended it."""
    from rich.console import Console
    from rich.progress import Progress

    shown = Console(stderr=True)
    with Progress(console=shown, transient=True, disable=not shown.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        while True:
            now = await ask({"do": "purging", "id": id})
            progress.update(bar, completed=sum(now["counts"].values()))
            if now["failure"]:
                failed = HeadwayError(now["failure"])
                failed.exit_code = int(now.get("exit_code") or HeadwayError.exit_code)
                raise failed
            if now["is_over"]:
                return dict(now["counts"])
            await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def _desk(settings: Settings) -> AsyncIterator[Ask]:
    """Where purges are asked for: the process that owns the folder, or this one."""
    if await ask_owner(settings.state_dir, {"do": "ping"}) is not None:
        yield lambda request: _far(settings, request)
        return
    from bot.wiring.forgetting import own_purge_desk

    async with AsyncExitStack() as stack:
        try:
            desk = await stack.enter_async_context(own_purge_desk(settings))
        except AlreadyOwned:
            # Another one has started meanwhile.
            yield lambda request: _far(settings, request)
            return

        async def near(request: Request) -> dict[str, Any]:
            told = await desk(request)
            assert told is not None
            return told

        yield near


async def _far(settings: Settings, request: Request) -> dict[str, Any]:
    told = await ask_owner(settings.state_dir, request)
    if told is None:
        raise HeadwayError(
            "The Headway that held this state folder has ended. Say it again: what was begun goes on."
        )
    return told


def _asked(person: str | None, older: str | None, room: str, keep_mentions: bool) -> Request:
    if (person is None) == (older is None):
        raise BadInput("Say one of --person and --older, such as `headway purge --older 30d`.")
    if person is not None:
        if room:
            raise BadInput("--room goes with --older: a person is forgotten everywhere.")
        return {"do": "purge", "person": person, "keeps_mentions": keep_mentions}
    return {"do": "purge", "days": _days(older or ""), "room": room}


def _days(age: str) -> float:
    found = _AGE.fullmatch(age.strip().lower())
    if found is None:
        raise BadInput(f"{age!r} is no age: write it as 30d, 12h or 4w.")
    return float(found[1]) * _DAYS[found[2]]


def _head(asked: Request, person: str, does: str) -> str:
    if person:
        return f"Forgetting {person} {does}:"
    where = f" in {asked['room']}" if asked.get("room") else ""
    return f"Forgetting what ended more than {asked['days']:g} days ago{where} {does}:"


def _show(head: str, counts: Mapping[str, int]) -> None:
    lines = [
        f"  {counts[kind]:>7,}  {_WORDS[kind][counts[kind] > 1]}"
        for kind in _WORDS
        if counts.get(kind)
    ]
    sys.stdout.write("\n".join([head, *(lines or ["  nothing"])]) + "\n")


def _agreed() -> bool:
    sys.stdout.write("Take it? It cannot be brought back. [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print(value: Any, as_json: bool, line: str) -> None:
    sys.stdout.write((json.dumps(value, indent=2) if as_json else line) + "\n")
