"""A goal's files as a table for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console.render import clean
from bot.ports.attached import size_of


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line a file, in the order of their paths."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("File", overflow="fold")
    made.add_column("Size", justify="right", no_wrap=True)
    made.add_column("Changed", no_wrap=True)
    made.add_column("Folder")
    before = ""
    for row in clean(list(rows)):
        # Said once for each folder.
        rule = "" if row["rule"] == before else str(row["rule"])
        before = str(row["rule"])
        shown = str(row["path"]) + (" (link)" if row["is_link"] else "")
        at = str(row["changed"])[:16].replace("T", " ")
        made.add_row(Text(shown), size_of(int(row["size"])), at, Text(rule))
    return made
