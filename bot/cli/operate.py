"""
What an operator does to a Headway that may be running: hold, release, drain, see incidents.

Rule: whoever owns the state folder does it; where nobody does, this command takes the folder.
"""

import asyncio
import getpass
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from bot.cli.owner import answered
from bot.cli.wrapped import wrapped
from bot.errors import AlreadyOwned, BadInput, HeadwayError
from bot.settings import Settings
from scheduler.control import Request, ask_owner

LOOK_S: Final = 0.2
GONE_S: Final = 20.0
"""How long a drained process may take to end once nothing runs."""

All = Annotated[bool, typer.Option("--all", help="Everything.")]
Room = Annotated[
    str | None,
    typer.Option("--room", metavar="ROOM", help="One room, by name (`ops` or `console:ops`)."),
]
Person = Annotated[
    str | None,
    typer.Option("--person", metavar="PERSON", help="The goals that one person owns, by name."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command(
        epilog='[cyan]headway hold --all --why "the key is being changed"[/]\n\n'
        "[cyan]headway hold --room ops[/]\n\n[cyan]headway hold[/]\n\n"
        "[cyan]headway hold --json[/]"
    )(hold)
    app.command(
        epilog="[cyan]headway release --all[/]\n\n[cyan]headway release --person ben[/]\n\n"
        "[cyan]headway release[/] (the only one, or a restore's)"
    )(release)
    app.command(
        epilog="[cyan]headway drain[/]    [cyan]headway drain --timeout 60 && headway run[/]"
    )(drain)
    app.command(epilog="[cyan]headway incidents[/]    [cyan]headway incidents --json[/]")(incidents)


def hold(
    context: typer.Context,
    everything: All = False,
    room: Room = None,
    person: Person = None,
    why: Annotated[str, typer.Option("--why", help="Shown to whoever asks.")] = "",
    as_json: AsJson = False,
) -> None:
    """Stop everything, a room or a person: nothing of it runs until it is released. Or list holds."""
    settings = context.obj.settings()
    asked = _scope(everything, room, person)
    if asked is None:
        told = _asked(settings, {"do": "holds"})
        _print(told["holds"], as_json, _listed(told["holds"]))
        return
    kind, name = asked
    request = {"do": "hold", "kind": kind, "name": name, "by": getpass.getuser(), "why": why}
    told = _asked(settings, request)
    words = f"{_what(told['hold'])} is on hold" if told["is_new"] else _line(told["hold"])
    line = f"{words}. `{_release_of(told['hold'])}` lets it go on."
    _print(told["hold"], as_json, [line])


def release(
    context: typer.Context,
    everything: All = False,
    room: Room = None,
    person: Person = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Release a restored state without asking.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let what is on hold go on. After a restore it first says what was found, and asks."""
    from bot.cli.upkeep import seen_first

    settings = context.obj.settings()
    kind, name = _scope(everything, room, person) or ("", "")
    seen = seen_first(settings, yes=yes, as_json=as_json) if kind in ("", "all") else ()
    told = _asked(settings, {"do": "release", "kind": kind, "name": name})
    told["report"] = [*seen]
    lines = [*(f"{_what(one)} goes on." for one in told["released"])]
    if not told["released"]:
        lines.append("That is not on hold." if kind or told["holds"] else "Nothing is on hold.")
    lines += [f"Still: {_line(one)}." for one in told["holds"]]
    _print(told, as_json, lines)


def drain(
    context: typer.Context,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0, help="Seconds that running turns may take to end."),
    ] = 600.0,
) -> None:
    """End the running Headway once its turns have ended; those that take longer go on later."""
    asyncio.run(_drained(context.obj.settings(), timeout))


def incidents(context: typer.Context, as_json: AsJson = False) -> None:
    """List what is wrong, and what was lately."""
    from bot.cli.incident_rows import listed, table

    rows = asyncio.run(listed(context.obj.settings()))
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        table(rows)


def _asked(settings: Settings, request: Request) -> dict[str, Any]:
    return asyncio.run(answered(settings, request, _alone))


async def _alone(settings: Settings, request: Request) -> dict[str, Any] | None:
    from bot.wiring.holding import HoldDesk, own_store

    async with own_store(settings) as store:
        return await HoldDesk(store.holds, store.rooms)(request)


async def _drained(settings: Settings, timeout_s: float) -> None:
    begun = await ask_owner(settings.state_dir, {"do": "drain", "timeout_s": timeout_s})
    if begun is None:
        sys.stdout.write("Nothing runs in this state folder.\n")
        return
    asked = ask_owner(settings.state_dir, {"do": "drained"}, timeout_s=timeout_s + GONE_S)
    drained = asyncio.create_task(asked)
    turns = begun["turns"]
    _progress(turns)
    while not drained.done():
        await asyncio.wait({drained}, timeout=LOOK_S)
        now = await _draining(settings)
        if now is not None and now["turns"] != turns:
            turns = now["turns"]
            _progress(turns)
    ended = await drained
    await _until_gone(settings)
    left = ended["turns"] if ended else 0
    rest = f"; {_turns(left)} will go on from where they were" if left else ""
    sys.stdout.write(f"Drained: the process has ended{rest}.\n")


async def _until_gone(settings: Settings) -> None:
    """Wait until nobody owns the folder any more. Raises HeadwayError where that takes too long."""
    from bot.wiring.folder import owned

    until = asyncio.get_running_loop().time() + GONE_S
    while True:
        try:
            with owned(settings.state_dir):
                return
        except AlreadyOwned as error:
            if asyncio.get_running_loop().time() > until:
                raise HeadwayError(f"It has drained and does not end. {error}") from error
        await asyncio.sleep(LOOK_S / 4)


async def _draining(settings: Settings) -> dict[str, Any] | None:
    try:
        return await ask_owner(settings.state_dir, {"do": "draining"})
    except (OSError, ValueError):
        return None


def _progress(turns: int) -> None:
    text = f"{_turns(turns)} still running" if turns else "sending what is left"
    sys.stderr.write(f"Draining: {text}\n")
    sys.stderr.flush()


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"


def _scope(everything: bool, room: str | None, person: str | None) -> tuple[str, str] | None:
    """Kind and name of what is meant. Raises BadInput for more than one."""
    asked = [("all", "")] if everything else []
    asked += [(kind, name) for kind, name in (("room", room), ("person", person)) if name]
    if len(asked) > 1:
        raise BadInput("Say one of --all, --room and --person. Several holds are several commands.")
    return asked[0] if asked else None


def _listed(holds: Sequence[dict[str, Any]]) -> list[str]:
    return [_line(one) for one in holds] or ["Nothing is on hold."]


def _line(row: dict[str, Any]) -> str:
    since = datetime.fromtimestamp(row["at"]).astimezone().strftime("%a %d %b %H:%M")
    by = f" by {row['by']}" if row["by"] else ""
    why = f": {row['why']}" if row["why"] else ""
    return f"{_what(row)} is on hold{by} since {since}{why}"


def _what(row: dict[str, Any]) -> str:
    match row["scope"]:
        case "all":
            return "Everything"
        case "restore":
            return "Everything, as restored,"
        case kind:
            return f"The {kind} {row['of']}"


def _release_of(row: dict[str, Any]) -> str:
    if row["scope"] in ("all", "restore"):
        return "headway release --all"
    return f"headway release --{row['scope']} {row['of']}"


def _print(value: Any, as_json: bool, lines: Sequence[str]) -> None:
    text = json.dumps(value, indent=2) if as_json else wrapped("\n".join(lines), sys.stdout)
    sys.stdout.write(text + "\n")
