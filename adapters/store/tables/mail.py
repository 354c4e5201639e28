"""Messages in and out, and model endpoints in trouble."""

from sqlalchemy import Identity, Index, Text, false, text
from sqlmodel import Field

from adapters.store.tables.root import SERIAL, Table

_OPEN = "state IN ('pending', 'claimed', 'unknown')"
_THERE = "remote <> ''"
_REFUSED = "kind = 'root' AND state = 'failed'"
_ANSWERS = "reply_to <> ''"
_ONE_STATUS = "kind = 'status' AND state = 'pending'"


class Inbox(Table, table=True):
    """A message in, by its own identity; its text is content of the room's mail session.

    `form` is JSON of a form's short fields, in their order; empty for all else.
    """

    __tablename__ = "inbox"
    __table_args__ = (
        Index("inbox_waiting", "sequence",
              sqlite_where=text("state = 'waiting'"), postgresql_where=text("state = 'waiting'")),
        Index("inbox_reply_to", "reply_to",
              sqlite_where=text(_ANSWERS), postgresql_where=text(_ANSWERS)),
    )  # fmt: skip

    sequence: int | None = Field(
        default=None, primary_key=True, sa_type=SERIAL, sa_column_args=(Identity(),)
    )
    id: str = Field(unique=True)
    session: str = Field(foreign_key="session.id")
    room: str = Field(foreign_key="room.id")
    thread: str
    person: str = Field(foreign_key="person.id")
    content: str
    reply_to: str = ""
    is_aside: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    via: str = Field(default="message", sa_column_kwargs={"server_default": "message"})
    form: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": ""})
    at: float
    received_at: float
    state: str = "waiting"
    attempts: int = 0
    why: str = ""
    handled_at: float | None = None


class Outbox(Table, table=True):
    """A message out. `content` is a hash; `looked_up` marks one whose outcome was unknown.

    `only_for` is the id of the person whom alone it concerns.
    """

    __tablename__ = "outbox"
    __table_args__ = (
        Index("outbox_open", "session", "sequence",
              sqlite_where=text(_OPEN), postgresql_where=text(_OPEN)),
        Index("one_pending_status", "goal", unique=True,
              sqlite_where=text(_ONE_STATUS), postgresql_where=text(_ONE_STATUS)),
        Index("outbox_goal", "goal", "kind"),
        Index("refused_root", "session",
              sqlite_where=text(_REFUSED), postgresql_where=text(_REFUSED)),
        Index("outbox_remote", "remote",
              sqlite_where=text(_THERE), postgresql_where=text(_THERE)),
    )  # fmt: skip

    sequence: int | None = Field(
        default=None, primary_key=True, sa_type=SERIAL, sa_column_args=(Identity(),)
    )
    key: str = Field(unique=True)
    goal: str | None = Field(default=None, foreign_key="goal.id")
    session: str = Field(foreign_key="session.id")
    kind: str
    reason: str = ""
    only_for: str = Field(default="", sa_column_kwargs={"server_default": ""})
    content: str = ""
    state: str = "pending"
    remote: str = ""
    not_before: float
    created_at: float
    claimed_at: float = 0.0
    looked_up: bool = False
    why: str = ""


class Endpoint(Table, table=True):
    """A model endpoint in trouble."""

    __tablename__ = "endpoint"

    name: str = Field(primary_key=True)
    kind: str
    since: float
    attempts: int
    closed_until: float
    last_success: float | None = None
