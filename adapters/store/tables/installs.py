"""Where an app was installed, installations under way, who serves it, and ways to answer unseen."""

from sqlalchemy import Text
from sqlmodel import Field

from adapters.store.tables.root import Table


class Install(Table, table=True):
    """An app in a workspace, or in an organisation. Its tokens are rows of `secret`.

    `scopes` is a JSON list; `further` is JSON of what else the network gave, without a token.
    """

    __tablename__ = "install"

    network: str = Field(primary_key=True)
    workspace: str = Field(primary_key=True)
    app: str
    bot_user: str
    name: str
    scopes: str = Field(sa_type=Text)
    expires_at: float | None = None
    installed_by: str = ""
    at: float
    organisation: str = ""
    further: str = Field(default="", sa_type=Text)


class InstallState(Table, table=True):
    """An installation under way, by the hash of its state; the row goes when it is used."""

    __tablename__ = "install_state"

    state_hash: str = Field(primary_key=True)
    expires_at: float = Field(index=True)


class WayBack(Table, table=True):
    """Where a message of the inbox can be answered unseen by others, until then."""

    __tablename__ = "way_back"

    message: str = Field(primary_key=True)
    url: str = Field(sa_type=Text)
    expires_at: float = Field(index=True)


class Charge(Table, table=True):
    """Which process serves an app, until then."""

    __tablename__ = "charge"

    app: str = Field(primary_key=True)
    holder: str
    until: float
