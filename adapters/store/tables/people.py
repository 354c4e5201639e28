"""Rooms, people, and what people may do in rooms."""

from sqlalchemy import Text
from sqlalchemy.schema import UniqueConstraint
from sqlmodel import Field

from adapters.store.tables.root import Table


class Room(Table, table=True):
    """A room of a workspace of a network, with its settings."""

    __tablename__ = "room"
    __table_args__ = (UniqueConstraint("network", "workspace", "name"),)

    id: str = Field(primary_key=True)
    network: str
    workspace: str
    name: str
    settings: str = Field(default="{}", sa_type=Text)


class Person(Table, table=True):
    """A person as one network knows them; the name is what they are shown as."""

    __tablename__ = "person"
    __table_args__ = (UniqueConstraint("network", "external"),)

    id: str = Field(primary_key=True)
    network: str
    external: str
    name: str


class Grant(Table, table=True):
    """A role, or a standing permission, of a person or a group; in one room or (None) in all."""

    __tablename__ = "grant"

    id: str = Field(primary_key=True)
    room: str | None = Field(default=None, foreign_key="room.id", index=True)
    person: str | None = Field(default=None, foreign_key="person.id", index=True)
    subject: str = ""
    kind: str
    role: str = ""
    rule: str = Field(default="", sa_type=Text)
    given_by: str | None = Field(default=None, foreign_key="person.id")
    given_at: float
    expires_at: float | None = None
