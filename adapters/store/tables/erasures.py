"""Who is to be forgotten, until it is done."""

from sqlalchemy import Index, text
from sqlmodel import Field

from adapters.store.tables.root import Table


class Erasure(Table, table=True):
    """A person whose texts are to be blanked: begun at `due_at`, again until `done_at` is there."""

    __tablename__ = "erasure"
    __table_args__ = (
        Index("erasure_waiting", "due_at",
              sqlite_where=text("done_at IS NULL"), postgresql_where=text("done_at IS NULL")),
    )  # fmt: skip

    person: str = Field(primary_key=True, foreign_key="person.id")
    asked_at: float
    due_at: float
    keeps_mentions: bool = False
    done_at: float | None = None
