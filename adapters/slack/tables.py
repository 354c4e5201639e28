"""
Tables: as Slack's own where it takes them, else as columns of letters of one width. Pure.

https://docs.slack.dev/reference/block-kit/blocks/table-block
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

from adapters.slack.elements import Block, elements, rich, shown
from adapters.slack.text import Piece

ROWS_MOST: Final = 100
COLUMNS_MOST: Final = 20
TABLE_MOST: Final = 9_000
"""Characters of a table's cells; 10,000 are refused."""
WIDEST: Final = 40
"""Columns of a table without lines are padded up to this many letters; a longer cell stands out."""


class Table:
    """A table that is read cell by cell."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[Piece, ...]]] = []
        """Cells of each row that has begun."""
        self._aligned: list[str] = []
        self._at = 0

    def begin_cell(self, style: str) -> None:
        """A cell begins; `style` says how its column is aligned."""
        self._at = len(self.rows[-1])
        if len(self.rows) == 1:
            self._aligned.append(style.removeprefix("text-align:"))

    def end_cell(self) -> None:
        """The cell has ended, whether anything stood in it or not."""
        if len(self.rows[-1]) == self._at:
            self.rows[-1].append(())

    @property
    def fits(self) -> bool:
        """Whether Slack takes it as a table."""
        size = sum(len(shown(cell)) + 1 for row in self.rows for cell in row)
        is_small = len(self.rows) <= ROWS_MOST and len(self._aligned) <= COLUMNS_MOST
        return is_small and bool(self._aligned) and size <= TABLE_MOST

    @property
    def block(self) -> Block:
        """It as Slack's own."""
        settings: list[Block] = [
            {"align": align, "is_wrapped": True}
            if align in ("left", "center", "right")
            else {"is_wrapped": True}
            for align in self._aligned
        ]
        rows = [[_cell(cell) for cell in row] for row in self.rows]
        return {"type": "table", "column_settings": settings, "rows": rows}

    @property
    def text(self) -> str:
        """It as columns of letters."""
        return columns([[" ".join(shown(cell).split()) for cell in row] for row in self.rows])


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells in columns, for letters of one width; the first row is the head."""
    widths = [
        max((width for row in rows if (width := _width(row[at])) <= WIDEST), default=0)
        for at in range(len(rows[0]) if rows else 0)
    ]
    lines = [" | ".join(_padded(cell, widths[at]) for at, cell in enumerate(row)) for row in rows]
    lines.insert(1, "-+-".join("-" * max(width, 1) for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _cell(cell: Sequence[Piece]) -> Block:
    if all(not piece.url and not piece.styles for piece in cell):
        return {"type": "raw_text", "text": shown(cell) or " "}
    return rich([{"type": "rich_text_section", "elements": elements(cell)}])


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Columns that it takes in letters of one width."""
    return sum(_columns_of(letter) for letter in text)


def _columns_of(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
