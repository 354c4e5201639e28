"""What every table shares: one metadata with named constraints, and the column types."""

from typing import Final

from sqlalchemy import BigInteger, Integer, MetaData
from sqlalchemy.orm import registry
from sqlmodel import SQLModel

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

BIG: Final = BigInteger()
SERIAL: Final = BigInteger().with_variant(Integer, "sqlite")
"""A number that the database gives: SQLite wants its row id to be called INTEGER."""


class Table(SQLModel, registry=registry(metadata=METADATA)):
    """Ours alone: no other SQLModel class shares the metadata."""

    metadata = METADATA
