"""Incidents as the command line lists them."""

from typing import Any

from bot.chat.projections import iso
from bot.settings import Settings

LISTED_MOST = 50


async def listed(settings: Settings) -> list[dict[str, Any]]:
    """The open ones, then the last of those that are over, newest first."""
    from bot.wiring import reading

    async with reading(settings) as store:
        found = await store.incidents.listed(limit=LISTED_MOST)
    return [
        {
            "id": one.id,
            "kind": one.kind,
            "subject": one.subject,
            "detail": one.detail,
            "is_open": one.is_open,
            "at": iso(one.at),
            "recovered_at": iso(one.recovered_at),
        }
        for one in found
    ]


def table(rows: list[dict[str, Any]]) -> None:
    """Print them for people."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        Console().print("No incidents.")
        return
    shown = Table(box=None, pad_edge=False)
    for name in ("Incident", "Of", "Since", "Until", "What"):
        shown.add_column(name, overflow="fold")
    for row in rows:
        until = row["recovered_at"] or "open"
        shown.add_row(row["kind"], row["subject"], row["at"], until, row["detail"])
    Console(markup=False).print(shown)
