"""
Core statements over the tables, as SQL text with named parameters.

Rule 1: a statement is compiled once for each dialect and then runs on the bare driver: that is what
        makes the writer fast.
Rule 2: texts are escaped on their way in and unescaped on their way out, here and nowhere else.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from sqlalchemy import Delete, Dialect, Insert, Select, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg

from adapters.store.codec import escape, unescape

Statement = Select[Any] | Insert | Update | Delete
Row = tuple[Any, ...]

SQLITE: Final[Dialect] = sqlite.dialect(paramstyle="named")
POSTGRES: Final[Dialect] = psycopg.dialect()  # type: ignore[no-untyped-call]


class Cursor(Protocol):
    """What both drivers give back."""

    @property
    def rowcount(self) -> int:
        """Rows that an UPDATE or DELETE met."""

    def fetchall(self) -> list[Any]:
        """All rows."""


class Connection(Protocol):
    """What both drivers' connections can do."""

    def execute(self, query: Any, parameters: Any = ..., /) -> Any:
        """Run one statement."""


class Compiler:
    """SQL text and constant parameters of statements, remembered by statement."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[Statement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        """Return the SQL and the parameters that the statement brings itself."""
        known = self._known.get(statement)
        if known is None:
            compiled = statement.compile(dialect=self._dialect)
            constants = {k: v for k, v in compiled.params.items() if v is not None}
            known = self._known[statement] = (str(compiled), constants)
        return known


class Reader:
    """Selects on one connection."""

    def __init__(self, connection: Connection, compiler: Compiler) -> None:
        self.connection = connection
        self.compiler = compiler

    def all(self, statement: Statement, **parameters: Any) -> list[Row]:
        """Every row of the answer."""
        cursor = self.execute(statement, parameters)
        return [_unescaped(row) for row in cursor.fetchall()]

    def one(self, statement: Statement, **parameters: Any) -> Row | None:
        """The first row, or None."""
        rows = self.all(statement, **parameters)
        return rows[0] if rows else None

    def execute(self, statement: Statement, parameters: Mapping[str, Any]) -> Cursor:
        """Run it with escaped texts."""
        sql, constants = self.compiler(statement)
        bound = {k: escape(v) if type(v) is str else v for k, v in parameters.items()}
        cursor: Cursor = self.connection.execute(
            sql, {**constants, **bound} if constants else bound
        )
        return cursor


class Writes:
    """The rows that a unit writes, gathered in order; nothing has run yet."""

    def __init__(self) -> None:
        self.rows: list[tuple[Statement, dict[str, Any]]] = []

    def add(self, statement: Statement, **parameters: Any) -> None:
        """Run `statement` when the unit is written."""
        self.rows.append((statement, parameters))


def _unescaped(row: Iterable[Any]) -> Row:
    return tuple(unescape(value) if type(value) is str else value for value in row)
