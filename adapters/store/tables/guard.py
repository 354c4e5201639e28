"""What keeps the bill and the blast radius small: tallies, holds, sealed secrets, incidents."""

from sqlalchemy import Index, Text, text
from sqlmodel import Field

from adapters.store.tables.root import BIG, Table


class Tally(Table, table=True):
    """What one person's goals spent in one room on one day of that room (`2026-11-30`).

    `unpriced_tokens`: those of calls whose price is unknown; they cost at least nothing.
    """

    __tablename__ = "tally"
    __table_args__ = (Index("tally_person", "day", "person"),)

    day: str = Field(primary_key=True)
    room: str = Field(primary_key=True, foreign_key="room.id")
    person: str = Field(primary_key=True, foreign_key="person.id")
    tokens: int = Field(default=0, sa_type=BIG)
    nano_usd: int = Field(default=0, sa_type=BIG)
    unpriced_tokens: int = Field(default=0, sa_type=BIG)


class Hold(Table, table=True):
    """Nothing of this scope runs: `all`, `room:ID`, `person:ID`, or `restore`."""

    __tablename__ = "hold"

    scope: str = Field(primary_key=True)
    by: str = ""
    at: float
    why: str = ""


class Secret(Table, table=True):
    """A value that is kept sealed: a `secret`, a network's `token`, a `seed`.

    `sealed` is nonce and ciphertext, authenticated with kind, name and hosts, under the key `key_id`.
    """

    __tablename__ = "secret"

    kind: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    hosts: str = Field(default="[]", sa_type=Text)
    key_id: str
    sealed: str = Field(sa_type=Text)
    set_by: str = ""
    set_at: float


class Incident(Table, table=True):
    """Something that the operator should mend: told once, and once when it is over."""

    __tablename__ = "incident"
    __table_args__ = (
        Index("one_open_incident", "kind", "subject", unique=True,
              sqlite_where=text("recovered_at IS NULL"),
              postgresql_where=text("recovered_at IS NULL")),
    )  # fmt: skip

    id: str = Field(primary_key=True)
    kind: str
    subject: str
    detail: str = ""
    at: float
    recovered_at: float | None = None
