"""What was spent as a table on a terminal. Pure: rows in, Rich out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from adapters.console.render import clean
from adapters.console.tables import dollars

Row = Mapping[str, Any]


def table(rows: Sequence[Row], by: str) -> RenderableType:
    """A line a name and the sum under them."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_footer=True)
    *lines, everything = clean(list(rows))
    columns = (by.capitalize(), "Cost", "Estimated", "Unpriced", "Calls", "Tokens")
    for column, foot in zip(columns, _cells(everything), strict=True):
        is_name = column == columns[0]
        justify: Any = "left" if is_name else "right"
        style = "bold cyan" if is_name else ""
        shown.add_column(column, footer=Text(foot), justify=justify, style=style, no_wrap=True)
    for line in lines:
        shown.add_row(*(Text(cell) for cell in _cells(line)))
    return shown


def _cells(row: Row) -> tuple[str, ...]:
    unpriced = row["unpriced_tokens"]
    cost = dollars(row["cost_usd"])
    return (
        str(row["name"]),
        f"at least {cost}" if row["cost_is_at_least"] else cost,
        dollars(row["estimated_usd"]) if row["estimated_usd"] else "",
        f"{unpriced:,} tokens" if unpriced else "",
        f"{row['calls']:,}",
        f"{row['tokens']:,}",
    )
