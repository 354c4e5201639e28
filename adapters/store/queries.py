"""
The hot path's statements: what a unit of a goal reads and writes.

Parameters that pick rows are named `of_*`; all others are column values.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    Insert,
    String,
    Table,
    Update,
    bindparam,
    delete,
    exists,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from adapters.store.tables import METADATA

_T: Final = METADATA.tables
CONTENT, EVENT, GOAL, LEASE = _T["content"], _T["event"], _T["goal"], _T["lease"]
INBOX, OUTBOX, STEP, SESSION = _T["inbox"], _T["outbox"], _T["step"], _T["session"]
TURN, AUDIT, WAIT, DECISION = _T["turn"], _T["audit"], _T["wait"], _T["decision"]
PERSON, ROOM, ENDPOINT = _T["person"], _T["room"], _T["endpoint"]
TASK, CHECKPOINT, RESERVATION = _T["task"], _T["checkpoint"], _T["reservation"]
TALLY = _T["tally"]
HOLD, INCIDENT, TOLD = _T["hold"], _T["incident"], _T["told"]


def into(table: Table, *columns: str, without: tuple[str, ...] = ()) -> Any:
    """An INSERT of the named columns, or of all but `without`, each a parameter of its name."""
    names = columns or tuple(c.name for c in table.columns if c.name not in without)
    return insert(table).values({name: bindparam(name) for name in names}).inline()


def set_in(table: Table, *columns: str) -> Update:
    """An UPDATE of the named columns, each a parameter of its name."""
    return update(table).values({name: bindparam(name) for name in columns})


def upsert(insertion: Any, keys: tuple[str, ...], *columns: str, **more: Any) -> Insert:
    """An INSERT that, where the keys are there already, sets the named columns instead."""
    changed = {name: getattr(insertion.excluded, name) for name in columns}
    upsert: Insert = insertion.on_conflict_do_update(index_elements=keys, set_={**changed, **more})
    return upsert


AT_ONCE: Final = 64
"""Names looked for in one query."""


def among(column: Any) -> Any:
    """The column is one of the names of a group of `groups`."""
    return column.in_([bindparam(f"of_{n}") for n in range(AT_ONCE)])


def groups(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """The names as parameters of `among`, so many at a time; a last group is filled with nobody's."""
    for start in range(0, len(names), AT_ONCE):
        asked = [*names[start : start + AT_ONCE], *[""] * AT_ONCE]
        yield {f"of_{n}": asked[n] for n in range(AT_ONCE)}


_above: Final = ROOM.alias("above")


def is_workspace_of(above: Any, room: Table) -> Any:
    """The row of the empty room name holds what is set for a workspace."""
    same = (above.c.network == room.c.network) & (above.c.workspace == room.c.workspace)
    return same & text("above.name = ''")


def there(query: Any) -> Any:
    """A SELECT of a goal or a session with the columns of where it is charged: its room, the room's
    settings, and those of its workspace."""
    return (
        query.add_columns(SESSION.c.room, ROOM.c.settings, _above.c.settings)
        .join(ROOM, ROOM.c.id == SESSION.c.room)
        .outerjoin(_above, is_workspace_of(_above, ROOM))
    )


LOAD_GOAL: Final = (
    there(
        select(GOAL.c.data, LEASE.c.epoch, LEASE.c.worker)
        .join(LEASE, LEASE.c.goal == GOAL.c.id)
        .join(SESSION, SESSION.c.id == GOAL.c.session)
    )
    .where(GOAL.c.id == bindparam("of_goal"))
    .with_for_update(of=(GOAL, SESSION, LEASE))
)
"""PostgreSQL locks the goal first; the session's lock keeps its positions in order of commit."""

INSERT_GOAL: Final = into(GOAL)
INSERT_LEASE: Final = into(LEASE)
UPDATE_GOAL: Final = set_in(
    GOAL, "state", "revision", "seq", "turn", "objective", "closed_at", "due_at", "data"
).where(GOAL.c.id == bindparam("of_goal"))
OWN_GOAL: Final = set_in(GOAL, "owner").where(GOAL.c.id == bindparam("of_goal"))
"""Apart from the rest, because the column has an index and hardly ever changes."""
DELETE_OFFER: Final = delete(_T["offer"]).where(_T["offer"].c.goal == bindparam("of_goal"))
GO_ON_GOAL: Final = set_in(GOAL, "seq", "data").where(GOAL.c.id == bindparam("of_goal"))
"""Of a move that changes no column which a query asks for: no index has to follow."""

_ENTRY: Final = tuple(c.name for c in EVENT.columns if c.name != "position")


@cache
def insert_events(count: int) -> Insert:
    """So many entries at once, in order; a parameter is called `COLUMN_NUMBER`, from 0 on."""
    rows: list[dict[str, Any]] = [
        {name: bindparam(f"{name}_{n}") for name in _ENTRY} for n in range(count)
    ]
    return insert(EVENT).values(rows).inline()


_content: Final = into(CONTENT)
INSERT_CONTENT: Final = _content.on_conflict_do_update(
    index_elements=("session", "hash"),
    set_={name: _content.excluded[name] for name in ("text", "author", "message", "at")},
    where=CONTENT.c.text.is_(None),
)
"""The first one stays; a text that was erased and is said anew is there again, as whose and when it is
said now: by these it is found when it is to go."""

INSERT_RESERVATION: Final = into(RESERVATION).on_conflict_do_nothing()
DELETE_RESERVATION: Final = delete(RESERVATION).where(
    RESERVATION.c.goal == bindparam("of_goal"), RESERVATION.c.call == bindparam("of_call")
)

_KEY: Final = ("goal", "ref")
_OF_STEP: Final = (STEP.c.goal == bindparam("of_goal"), STEP.c.ref == bindparam("of_ref"))
START_STEP: Final = upsert(
    into(STEP),
    _KEY, "name", "turn", "seq", "state", "model", "effects", "content", "started_at", "ended_at",
    runs=STEP.c.runs + 1,
)  # fmt: skip
SETTLE_STEP: Final = upsert(
    into(STEP),
    _KEY, "state", "input", "cache_write_5m", "cache_write_1h", "cache_read", "output",
    "server_tools", "nano_usd", "content", "stop_reason", "ended_at",
)  # fmt: skip
END_STEP: Final = upsert(into(STEP), _KEY, "state", "content", "ended_at")
RELEASE_STEP: Final = set_in(STEP, "state", "ended_at").where(*_OF_STEP)
LOSE_STEP: Final = set_in(
    STEP, "state", "nano_usd", "estimated_tokens", "estimated_nano_usd", "ended_at"
).where(*_OF_STEP)
REFUND_STEP: Final = set_in(STEP, "estimated_tokens", "estimated_nano_usd").where(*_OF_STEP)

START_TURN: Final = upsert(into(TURN), ("goal", "number"), "started_at")
END_TURN: Final = set_in(TURN, "ended_at", "how", "failed", "reply", "active_s", "progress").where(
    TURN.c.goal == bindparam("of_goal"), TURN.c.number == bindparam("of_number")
)

INSERT_AUDIT: Final = into(AUDIT)
_OF_WAIT: Final = (WAIT.c.goal == bindparam("of_goal"), WAIT.c.id == bindparam("of_id"))
OPEN_WAIT: Final = upsert(
    into(WAIT), ("goal", "id"), "kind", "ref", "until", "reason", "state", "opened_at", "closed_at"
)
CLOSE_WAIT: Final = set_in(WAIT, "state", "closed_at").where(*_OF_WAIT)

_OF_DECISION: Final = (
    DECISION.c.goal == bindparam("of_goal"),
    DECISION.c.id == bindparam("of_id"),
)
OPEN_DECISION: Final = upsert(
    into(DECISION), ("goal", "id"), "number", "expires_at", "state", "opened_at", "closed_at"
)
CLOSE_DECISION: Final = set_in(DECISION, "state", "closed_at", "by", "answer", "scope").where(
    *_OF_DECISION
)
MOVE_DECISION: Final = set_in(DECISION, "expires_at", "reminded", "answered").where(*_OF_DECISION)

INSERT_CHECKPOINT: Final = into(CHECKPOINT)
DELETE_TASKS: Final = delete(TASK).where(TASK.c.goal == bindparam("of_goal"))
INSERT_TASK: Final = into(TASK)

INSERT_POST: Final = into(OUTBOX, without=("sequence",)).on_conflict_do_nothing()
"""A key that is there already changes nothing."""

_status: Final = into(OUTBOX, without=("sequence",))
INSERT_STATUS: Final = _status.on_conflict_do_update(
    index_elements=("goal",),
    index_where=text("kind = 'status' AND state = 'pending'"),
    set_={"not_before": _status.excluded.not_before},
    where=text("outbox.claimed_at = 0 AND outbox.not_before > excluded.not_before"),
)
"""One edit of a goal's status is pending at most, at the sooner of two times. One that was tried before
keeps the time that its network asked for."""

_CARD: Final = (
    "key", "goal", "session", "kind", "reason", "only_for", "content", "state", "remote",
    "not_before", "created_at", "claimed_at", "looked_up", "why",
)  # fmt: skip
_card: Final = select(*(bindparam(name, type_=OUTBOX.c[name].type) for name in _CARD))
_of_card: Final = exists().where(OUTBOX.c.key == bindparam("of_key", type_=String()))
INSERT_CARD: Final = (
    insert(OUTBOX).from_select(list(_CARD), _card.where(_of_card)).on_conflict_do_nothing()
)
"""The edit of a decision's card, if the card was ever queued."""
_root: Final = OUTBOX.alias("root")
_of_root: Final = exists().where(
    _root.c.goal == bindparam("goal", type_=OUTBOX.c.goal.type), text("root.kind = 'root'")
)
INSERT_ROOT_EDIT: Final = (
    insert(OUTBOX).from_select(list(_CARD), _card.where(_of_root)).on_conflict_do_nothing()
)
"""The edit of the first message of a goal's thread, if that is one of ours."""

DROP_POSTS: Final = set_in(OUTBOX, "state").where(
    OUTBOX.c.goal == bindparam("of_goal"),
    text("outbox.state = 'pending' AND outbox.kind NOT IN ('status', 'card', 'removal', 'root')"),
)
"""What of a goal was not sent, but for its status, the first message of its thread, and cards' ends."""
_dropped: Final = OUTBOX.alias("dropped")
DROP_CARDS: Final = set_in(OUTBOX, "state").where(
    OUTBOX.c.goal == bindparam("of_goal"),
    text("outbox.state = 'pending' AND outbox.kind = 'card'"),
    exists().where(
        _dropped.c.goal == OUTBOX.c.goal,
        text("dropped.key = replace(outbox.key, ':card:', ':decision:')"),
        text("dropped.state = 'superseded' AND dropped.remote = ''"),
    ),
)
"""The end of a card that was never shown: `DROP_POSTS` was before."""

_shown: Final = OUTBOX.alias("shown")
SUPERSEDE_STATUS: Final = set_in(OUTBOX, "state").where(
    OUTBOX.c.goal == bindparam("of_goal"),
    text("outbox.kind = 'status' AND outbox.state = 'pending'"),
    ~exists().where(
        _shown.c.goal == OUTBOX.c.goal,
        text("shown.kind = 'status' AND shown.state IN ('sent', 'claimed', 'unknown')"),
    ),
)
"""Of a goal whose status message was never sent."""

INBOX_STATE: Final = (
    select(INBOX.c.state, INBOX.c.attempts)
    .where(INBOX.c.id == bindparam("of_id"))
    .with_for_update()
)
HANDLE: Final = set_in(INBOX, "state", "handled_at").where(INBOX.c.id == bindparam("of_id"))

LAST_NUMBER: Final = select(func.max(GOAL.c.number)).where(text("number > 0"))
LIVE_GOAL: Final = select(GOAL.c.id).where(
    GOAL.c.session == bindparam("of_session"),
    text("kind = 'goal' AND state NOT IN ('complete', 'cancelled')"),
)
"""Spelt as the partial index `one_live_goal` is, so that it is used."""

TELL: Final = upsert(into(TOLD), ("key",), "at")
TOLD_AT: Final = select(TOLD.c.at).where(TOLD.c.key == bindparam("of_key"))
UNTELL: Final = delete(TOLD).where(TOLD.c.key == bindparam("of_key"))
