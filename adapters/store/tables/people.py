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
    """A person as one network knows them; the name is what they are shown as.

    `gone_at` is when their network said that they had left or were deactivated.
    """

    __tablename__ = "person"
    __table_args__ = (UniqueConstraint("network", "external"),)

    id: str = Field(primary_key=True)
    network: str
    external: str
    name: str
    gone_at: float | None = None


class Grant(Table, table=True):
    """A role of a person or a group, in one room or (None) in all; or a standing permission of a room.

    Of a permission: `subject` is the decision that gave it, `person` who took it back, `uses` how many
    calls ran because of it.
    """

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
    uses: int = 0


class Claim(Table, table=True):
    """A one-time code that makes whoever sends it the first admin; the code itself is not kept."""

    __tablename__ = "claim"

    code_hash: str = Field(primary_key=True)
    made_at: float
    expires_at: float
    tries: int = 0
    """Wrong codes that came while this one was open."""
    used_at: float | None = None
    used_by: str | None = Field(default=None, foreign_key="person.id")


class Offer(Table, table=True):
    """A goal that its owner has offered to somebody, who has not said yes or no."""

    __tablename__ = "offer"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    to_person: str = Field(foreign_key="person.id", index=True)
    by: str = Field(foreign_key="person.id")
    at: float


class Told(Table, table=True):
    """What is said once in a while was said then, under a key such as `stranger:PERSON`."""

    __tablename__ = "told"

    key: str = Field(primary_key=True)
    at: float
