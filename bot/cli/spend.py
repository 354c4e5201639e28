"""`headway spend`: what was spent, by whatever one asks, from the database."""

import asyncio
import json
import re
import sys
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from bot.errors import BadInput
from bot.settings import Settings

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_SINCE: Final = re.compile(r"([0-9]{1,6})([mhdw])")


class By(StrEnum):
    """What the bills are summed by."""

    GOAL = "goal"
    PERSON = "person"
    ROOM = "room"
    DAY = "day"
    MODEL = "model"
    ROLE = "role"


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(
        epilog="[cyan]headway spend[/]\n\n[cyan]headway spend --by person --since 7d[/]\n\n"
        "[cyan]headway spend --by model --json | jq '.[].cost_usd'[/]"
    )(spend)


def spend(
    context: typer.Context,
    by: Annotated[By, typer.Option("--by", help="What to sum by.")] = By.GOAL,
    since: Annotated[
        str, typer.Option("--since", metavar="AGE", help="Only what is younger: 12h, 7d, 4w.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what was spent, with what is estimated, and "at least" where a price is unknown."""
    rows = asyncio.run(_rows(context.obj.settings(), by.value, since))
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    from rich.console import Console

    from adapters.console.spend_table import table

    Console().print(table(rows, by.value) if len(rows) > 1 else "Nothing was spent.")


async def _rows(settings: Settings, by: str, since: str) -> list[dict[str, Any]]:
    """A row a name, the dearest first unless it is days, and their sum last."""
    from adapters.clock import WallClock
    from bot.chat import spend
    from bot.chat.facts import Manner
    from bot.wiring import reading

    manner = Manner(zone=settings.tz)
    age = _age_s(since)
    async with reading(settings) as store:
        now = WallClock(settings.clock_rate).now()
        bills = await store.spending.bills(None if age is None else now - age)
    rows = spend.summed(bills, spend.keys(manner)[by])
    rows = rows if by == "day" else spend.dearest(rows)
    if not rows:
        return []
    return [spend.row(one) for one in (*rows, spend.total("all", rows))]


def _age_s(since: str) -> float | None:
    """Seconds. Raises BadInput."""
    if not since:
        return None
    match = _SINCE.fullmatch(since.strip().lower())
    if match is None:
        raise BadInput(f"{since!r} is no age. Give a number and a unit: 12h, 7d or 4w.")
    return float(int(match[1]) * _UNITS[match[2]])
