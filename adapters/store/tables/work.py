"""What a goal did: turns, steps, audits, and what it waited for."""

from sqlalchemy import Index, text
from sqlmodel import Field

from adapters.store.tables.root import BIG, Table


class Turn(Table, table=True):
    """One run of the agent."""

    __tablename__ = "turn"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    number: int = Field(primary_key=True)
    opening: str
    revision: int
    started_at: float
    ended_at: float | None = None
    how: str = ""
    failed: str = ""
    reply: str = ""
    active_s: float = 0.0
    progress: bool = False


class Step(Table, table=True):
    """One model call or tool call; `seq` is the entry that started it last."""

    __tablename__ = "step"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    ref: str = Field(primary_key=True)
    kind: str
    name: str = ""
    turn: int
    seq: int = Field(sa_type=BIG)
    state: str
    model: str = ""
    effects: str = ""
    input: int = Field(default=0, sa_type=BIG)
    cache_write_5m: int = Field(default=0, sa_type=BIG)
    cache_write_1h: int = Field(default=0, sa_type=BIG)
    cache_read: int = Field(default=0, sa_type=BIG)
    output: int = Field(default=0, sa_type=BIG)
    server_tools: int = 0
    nano_usd: int | None = Field(default=0, sa_type=BIG)
    estimated_tokens: int = Field(default=0, sa_type=BIG)
    estimated_nano_usd: int = Field(default=0, sa_type=BIG)
    content: str = ""
    stop_reason: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    runs: int = 1


class Audit(Table, table=True):
    """The look at one finished turn: a verdict, or why there is none."""

    __tablename__ = "audit"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    seq: int = Field(primary_key=True, sa_type=BIG)
    turn: int
    revision: int
    messages: int
    verdict: str = ""
    failure: str = ""
    rule: str
    note: str = ""
    evidence: str = ""
    at: float


class Decision(Table, table=True):
    """A question that a person must answer, and its end."""

    __tablename__ = "decision"
    __table_args__ = (
        Index("decision_open", "expires_at",
              sqlite_where=text("state = 'open'"), postgresql_where=text("state = 'open'")),
    )  # fmt: skip

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    id: str = Field(primary_key=True)
    number: int
    kind: str
    text: str
    tool_use: str = ""
    state: str = "open"
    expires_at: float
    reminded: bool = False
    answered: bool = False
    opened_at: float
    closed_at: float | None = None
    by: str = ""
    answer: str = ""
    call: str = ""
    scope: str = ""


class Wait(Table, table=True):
    """What a parked goal waits for, and its end."""

    __tablename__ = "wait"
    __table_args__ = (
        Index("wait_open", "until",
              sqlite_where=text("state = 'open'"), postgresql_where=text("state = 'open'")),
    )  # fmt: skip

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    id: str = Field(primary_key=True)
    kind: str
    ref: str
    until: float
    reason: str = ""
    state: str = "open"
    opened_at: float
    closed_at: float | None = None


class Task(Table, table=True):
    """One piece of a goal's plan; title and evidence are content hashes."""

    __tablename__ = "task"

    goal: str = Field(primary_key=True, foreign_key="goal.id")
    position: int = Field(primary_key=True)
    title: str
    state: str
    evidence: str = ""
