"""How far networks were read, what came sealed, and files that came or go with messages."""

from sqlalchemy import Index, Text
from sqlmodel import Field

from adapters.store.tables.root import BIG, Table


class NetworkPosition(Table, table=True):
    """Where an account of a network goes on reading."""

    __tablename__ = "network_position"

    network: str = Field(primary_key=True)
    workspace: str = Field(primary_key=True)
    token: str = Field(sa_type=Text)
    at: float


class SealedEvent(Table, table=True):
    """An event whose key is missing, as it came: nothing of it can be read here."""

    __tablename__ = "sealed_event"
    __table_args__ = (Index("sealed_of_account", "network", "workspace"),)

    id: str = Field(primary_key=True)
    network: str
    workspace: str
    room: str
    key: str
    body: str = Field(sa_type=Text)
    at: float
    is_told: bool = False


class Attachment(Table, table=True):
    """A file of a message: `owner` is the identity of one that came, or the key of one that goes."""

    __tablename__ = "attachment"

    owner: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    name: str
    media_type: str
    size: int = Field(sa_type=BIG)
    hash: str = Field(index=True)
    at: float
