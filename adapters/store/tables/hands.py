"""What rooms give their agents: servers of tools, repositories, secrets in use, and forms behind a link."""

from sqlalchemy import Text
from sqlmodel import Field

from adapters.store.tables.root import Table


class McpServer(Table, table=True):
    """A server of tools that speaks MCP, of one room; `how` is JSON: its command line or its address.

    `digest` is the hash of the tools that it offered when an admin last took it: others are not used. `tools`
    are those, as agents get them (JSON).
    """

    __tablename__ = "mcp_server"

    room: str = Field(primary_key=True, foreign_key="room.id")
    name: str = Field(primary_key=True)
    how: str = Field(sa_type=Text)
    tools: str = Field(default="[]", sa_type=Text)
    digest: str = ""
    set_by: str
    set_at: float


class Repository(Table, table=True):
    """A repository that goals of a room may start from; `secret` names its credential, or nothing."""

    __tablename__ = "repository"

    room: str = Field(primary_key=True, foreign_key="room.id")
    name: str = Field(primary_key=True)
    url: str = Field(sa_type=Text)
    branch: str = ""
    secret: str = ""
    set_by: str
    set_at: float


class SecretUse(Table, table=True):
    """How a room's goals have a secret: `proxied`, put into requests to its hosts, or `given`, readable."""

    __tablename__ = "secret_use"

    room: str = Field(primary_key=True, foreign_key="room.id")
    name: str = Field(primary_key=True)
    mode: str = "proxied"
    variable: str = ""
    set_by: str
    set_at: float


class FormLink(Table, table=True):
    """A form behind a link that works once; the link itself is not kept, only its hash.

    `how` is JSON of what is typed in it: of a secret its name, hosts, variable and mode.
    """

    __tablename__ = "form_link"

    link_hash: str = Field(primary_key=True)
    purpose: str
    name: str
    room: str | None = Field(default=None, foreign_key="room.id")
    person: str = Field(foreign_key="person.id")
    how: str = Field(sa_type=Text)
    expires_at: float = Field(index=True)
    used_at: float | None = None
