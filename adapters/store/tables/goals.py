"""A session, its goals, their journal and what recovery needs."""

from sqlalchemy import Identity, Index, Text, UniqueConstraint, text
from sqlmodel import Field

from adapters.store.tables.root import BIG, SERIAL, Table

_LIVE = "kind = 'goal' AND state NOT IN ('complete', 'cancelled')"


class Session(Table, table=True):
    """A thread's conversation; `mail` holds the texts of a room's messages on their way in.

    `home` names the folder that holds its workspace, once a process that has to say has claimed it.
    """

    __tablename__ = "session"
    __table_args__ = (UniqueConstraint("room", "thread", "kind"),)

    id: str = Field(primary_key=True)
    room: str = Field(foreign_key="room.id")
    thread: str
    kind: str = "thread"
    opened_at: float
    home: str = ""


class Goal(Table, table=True):
    """The goal's row. `data` is all of it; the other columns are what queries ask for."""

    __tablename__ = "goal"
    __table_args__ = (
        Index("one_live_goal", "session", unique=True,
              sqlite_where=text(_LIVE), postgresql_where=text(_LIVE)),
        Index("goal_number", "number", unique=True,
              sqlite_where=text("number > 0"), postgresql_where=text("number > 0")),
        Index("goal_due", "due_at",
              sqlite_where=text("due_at IS NOT NULL"), postgresql_where=text("due_at IS NOT NULL")),
        Index("goal_session", "session", "number"),
    )  # fmt: skip

    id: str = Field(primary_key=True)
    session: str = Field(foreign_key="session.id")
    number: int = Field(sa_type=BIG)
    owner: str = Field(foreign_key="person.id", index=True)
    kind: str
    state: str
    revision: int
    seq: int = Field(sa_type=BIG)
    turn: int
    objective: str
    opened_at: float
    closed_at: float | None = None
    due_at: float | None = None
    reopens: str | None = Field(default=None, foreign_key="goal.id")
    data: str = Field(sa_type=Text)


class Content(Table, table=True):
    """An erasable text under its hash; `text` is None once it is erased."""

    __tablename__ = "content"

    session: str = Field(primary_key=True, foreign_key="session.id")
    hash: str = Field(primary_key=True)
    text: str | None = Field(sa_type=Text)
    author: str = ""
    message: str | None = Field(default=None, index=True)
    size: int = Field(sa_type=BIG)
    at: float
    expires_at: float | None = None


class Event(Table, table=True):
    """One entry of the journal. `position` orders all entries of a session."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("goal", "seq"),
        Index("event_session", "session", "position"),
    )

    position: int | None = Field(
        default=None, primary_key=True, sa_type=SERIAL, sa_column_args=(Identity(),)
    )
    goal: str = Field(foreign_key="goal.id")
    seq: int = Field(sa_type=BIG)
    session: str = Field(foreign_key="session.id")
    kind: str
    at: float
    turn: int
    revision: int
    before: str | None = None
    after: str
    rule: str
    data: str = Field(sa_type=Text)
    changes: str = Field(sa_type=Text)
    limits: str
    version: int


class Checkpoint(Table, table=True):
    """A restorable point: the goal as it was at journal entry `seq`, and its workspace's tree."""

    __tablename__ = "checkpoint"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    seq: int = Field(primary_key=True, sa_type=BIG)
    turn: int
    at: float
    tree: str = ""
    data: str = Field(sa_type=Text)
    tasks: str = Field(default="[]", sa_type=Text)
    """JSON: title and evidence as content hashes, and the state, in their order."""


class Lease(Table, table=True):
    """Who works at a goal, until when. `epoch` only grows; an empty `worker` holds nothing."""

    __tablename__ = "lease"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    epoch: int = Field(default=0, sa_type=BIG)
    worker: str = ""
    until: float = 0.0


class Reservation(Table, table=True):
    """What a call in flight may cost; `nano_usd` is None where the price is unknown.

    `person` and `room` are whom the day's caps charge it to.
    """

    __tablename__ = "reservation"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    call: str = Field(primary_key=True)
    role: str
    tokens: int = Field(sa_type=BIG)
    nano_usd: int | None = Field(default=None, sa_type=BIG)
    at: float
    person: str | None = None
    room: str | None = None
