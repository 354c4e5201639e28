"""What outlives a goal or starts one: facts, artifacts, schedules, watches, their occurrences."""

from sqlalchemy import Text, UniqueConstraint
from sqlmodel import Field

from adapters.store.tables.root import BIG, Table


class Fact(Table, table=True):
    """One remembered thing; its text is content of the session that it was learnt in."""

    __tablename__ = "fact"

    id: str = Field(primary_key=True)
    scope: str
    subject: str = Field(index=True)
    session: str = Field(foreign_key="session.id")
    text: str
    source: str
    confidence: float
    observed_at: float
    expires_at: float | None = None
    supersedes: str | None = Field(default=None, foreign_key="fact.id")


class Artifact(Table, table=True):
    """A file that outlives its turn; its name is content of the goal's session."""

    __tablename__ = "artifact"

    id: str = Field(primary_key=True)
    goal: str = Field(foreign_key="goal.id", index=True)
    turn: int
    name: str
    hash: str
    size: int = Field(sa_type=BIG)
    kind: str
    origin: str
    at: float


class Schedule(Table, table=True):
    """What starts goals by the clock: wall-clock time and zone, and the next time."""

    __tablename__ = "schedule"

    id: str = Field(primary_key=True)
    room: str = Field(foreign_key="room.id", index=True)
    session: str = Field(foreign_key="session.id")
    owner: str = Field(foreign_key="person.id")
    objective: str
    calendar: str = Field(sa_type=Text)
    zone: str
    state: str
    next_at: float | None = Field(default=None, index=True)
    created_at: float


class Watch(Table, table=True):
    """What starts a goal when a probe succeeds."""

    __tablename__ = "watch"

    id: str = Field(primary_key=True)
    room: str = Field(foreign_key="room.id", index=True)
    session: str = Field(foreign_key="session.id")
    owner: str = Field(foreign_key="person.id")
    objective: str
    probe: str
    state: str
    next_at: float | None = Field(default=None, index=True)
    created_at: float


class Occurrence(Table, table=True):
    """One firing of a schedule or watch: claimed once, by a lease."""

    __tablename__ = "occurrence"
    __table_args__ = (UniqueConstraint("schedule", "due_at"), UniqueConstraint("watch", "due_at"))

    id: str = Field(primary_key=True)
    schedule: str | None = Field(default=None, foreign_key="schedule.id")
    watch: str | None = Field(default=None, foreign_key="watch.id")
    due_at: float
    state: str
    worker: str = ""
    until: float = 0.0
    goal: str | None = Field(default=None, foreign_key="goal.id")
