"""
Who may do what, and what rooms are set to, from the command line: `allow`, `claim`, `room`.

Rule: whoever owns the state folder makes the change, so that it counts at once; where nobody does, this
command takes the folder. Whoever can open the folder is the operator and may do all of it.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from bot.cli.owner import answered
from bot.cli.wrapped import wrapped
from bot.ports.room_settings import KEYS
from bot.settings import Settings
from scheduler.control import Request

allow = typer.Typer(
    help="Say who may do what: users start goals, approvers approve, admins do all.",
    epilog="[cyan]headway allow add @ben[/]\n\n[cyan]headway allow add @ben approver[/]\n\n"
    "[cyan]headway allow[/]\n\n[cyan]headway allow remove @ben[/]",
)

Who = Annotated[
    str,
    typer.Argument(
        metavar="WHO",
        help="@NAME, in Slack @MEMBER_ID; or room:NAME (its members), server:NAME (Matrix), "
        "group:ID (Slack).",
    ),
]
Room = Annotated[
    str | None,
    typer.Option("--room", metavar="ROOM", help="In this room alone. Without it: in all rooms."),
]
Network = Annotated[
    str, typer.Option("--network", help="Whose @NAME it is: console, slack or matrix.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.add_typer(allow, name="allow")
    app.command(epilog="[cyan]headway claim[/]    then, to the bot: [cyan]claim CODE[/]")(claim)
    app.command(
        epilog="[cyan]headway room[/]\n\n[cyan]headway room console budget_usd 5[/]\n\n"
        "[cyan]headway room console goals off[/]\n\n[cyan]headway room '*' zone Europe/Berlin[/]"
    )(room)


@allow.callback(invoke_without_command=True)
def _list_by_default(context: typer.Context, as_json: AsJson = False) -> None:
    if context.invoked_subcommand is None:
        _list(context.obj.settings(), as_json)


@allow.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List who may do what where."""
    _list(context.obj.settings(), as_json)


@allow.command(
    epilog="[cyan]headway allow add @ben[/]\n\n[cyan]headway allow add @ben admin[/]\n\n"
    "[cyan]headway allow add server:example.org user[/]"
)
def add(
    context: typer.Context,
    who: Who,
    role: Annotated[str, typer.Argument(help="user, approver or admin.")] = "user",
    room: Room = None,
    network: Network = "console",
    as_json: AsJson = False,
) -> None:
    """Let somebody in, seen before or not."""
    from bot.wiring.matrix_account import is_set_up

    request = {"do": "allow.add", "who": who, "role": role, "room": room, "network": network}
    told = asked(context.obj.settings(), request)
    where = f"in {told['room']}" if told["room"] else "in all rooms"
    was = "is" if told["is_new"] else "was already"
    line = f"{told['who']} {was} {told['role']} {where}."
    if told.get("network") == "console" and is_set_up(context.obj.settings()):
        line += " That is somebody at the console; on Matrix, give the full id: @NAME:SERVER."
    _print(told, as_json, line)


@allow.command(
    epilog="[cyan]headway allow remove @ben[/]    [cyan]headway allow remove @ben admin[/]"
)
def remove(
    context: typer.Context,
    who: Who,
    role: Annotated[str | None, typer.Argument(help="This role alone.", show_default=False)] = None,
    room: Room = None,
    network: Network = "console",
    as_json: AsJson = False,
) -> None:
    """Take somebody off the list. Their goals rest, and the room's admins are told."""
    request = {"do": "allow.remove", "who": who, "role": role, "room": room, "network": network}
    told = asked(context.obj.settings(), request)
    line = f"{told['who']} is removed. Their goals rest until somebody takes them."
    if told["keeps"]:
        line = f"That is taken from {told['who']}. They are on the list otherwise: `headway allow`."
    _print(told, as_json, line)


def claim(context: typer.Context, as_json: AsJson = False) -> None:
    """Print a one-time code: who sends it to the bot within 15 minutes is an admin."""
    told = asked(context.obj.settings(), {"do": "claim.new"})
    minutes = round(told["lasts_s"] / 60)
    line = (
        f"{told['code']}\n\nSend `claim {told['code']}` to the bot in a direct message within "
        f"{minutes} minutes: whoever does is an admin. Older codes have ended."
    )
    _print(told, as_json, line)


def room(
    context: typer.Context,
    room: Annotated[
        str,
        typer.Argument(
            metavar="ROOM",
            help="A room by name, NETWORK:ROOM, or '*' for all rooms of a workspace.",
            show_default=False,
        ),
    ] = "console",
    key: Annotated[
        str | None,
        typer.Argument(metavar="KEY", help=f"What to set: {', '.join(KEYS)}.", show_default=False),
    ] = None,
    value: Annotated[
        str | None,
        typer.Argument(metavar="VALUE", help="`default` leaves it open again.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set what a room is set to: goals, mentions, models, budget, caps, zone, keeping."""
    settings = context.obj.settings()
    if key is None or value is None:
        told = asked(settings, {"do": "room.show", "room": room, "key": key})
        if as_json:
            _print(told, as_json, None)
        else:
            _settings(told["settings"])
        return
    told = asked(settings, {"do": "room.set", "room": room, "key": key, "value": value})
    _print(told, as_json, f"{told['key']} of {told['room']} is {told['shown']} now.")


def _list(settings: Settings, as_json: bool) -> None:
    told = asked(settings, {"do": "allow.list"})
    if as_json:
        _print(told["entries"], True, None)
        return
    if not told["entries"]:
        sys.stdout.write("The list is empty. Let somebody in: headway allow add @NAME\n")
        return
    rows = [
        (one["who"], one["network"], one["role"], one["room"] or "all rooms",
         one["given_by"] or "the operator", _day(one["given_at"]))
        for one in told["entries"]
    ]  # fmt: skip
    _table(("Who", "Network", "Role", "Where", "Given by", "Since"), rows)


def _settings(rows: list[dict[str, Any]]) -> None:
    lines = []
    for row in rows:
        by = (
            row["from"]
            if row["at"] is None
            else f"{row['by'] or 'the operator'}, {_day(row['at'])}"
        )
        lines.append((row["key"], row["shown"], by, row["help"]))
    _table(("Setting", "Value", "Set by", "Meaning"), lines)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(head, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, width=None if sys.stdout.isatty() else 200).print(table)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%d %b %Y %H:%M")


def _print(told: Any, as_json: bool, line: str | None) -> None:
    text = json.dumps(told, indent=2) if as_json else wrapped(line or "", sys.stdout)
    sys.stdout.write(text + "\n")


def asked(settings: Settings, request: Request) -> dict[str, Any]:
    """What whoever owns the state folder answers, or this process where nobody does."""
    return asyncio.run(answered(settings, request, _alone))


async def _alone(settings: Settings, request: Request) -> dict[str, Any] | None:
    from bot.wiring.holding import own_store
    from bot.wiring.keys import sealing_of
    from bot.wiring.people_desk import alone

    async with own_store(settings, sealing_of(settings)) as store:
        return await (await alone(settings, store))(request)
