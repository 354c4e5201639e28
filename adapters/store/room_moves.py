"""
A room that was replaced by another one: what was in it lives there from now on.

Rule 1: the old room's row stays, with nothing in it: what comes from it still has a place.
Rule 2: what both rooms have of their own stays the new one's; sums are added up.
Rule 3: no thread and no post can be taken along. Whatever has a live goal or something to say begins a
        thread anew; another goal's thread begins anew when a goal is opened in it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Table, bindparam, delete, select, text

from adapters.store import codec, queries
from adapters.store.places import find_room, see_room
from adapters.store.posts import STATUS_AFTER_S, queue
from adapters.store.roots import moved_thread, set_beside, write_root
from adapters.store.statements import Row, Writes
from adapters.store.tables import METADATA
from adapters.store.tallies import BOOK
from adapters.store.tallies import LOCK as CAPS
from adapters.store.transaction import Transaction
from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.holds import of_room
from bot.ports.mail import NEW
from bot.ports.room_settings import read_kept, write_kept

REFUSED_S: Final = 600.0
"""What was refused so long ago at most was refused because the room had been replaced."""
_T: Final = METADATA.tables
_C, _G, _H, _I = queries.CONTENT, queries.GOAL, queries.HOLD, queries.INBOX
_O, _R, _S = queries.OUTBOX, queries.ROOM, queries.SESSION
_GR: Final = _T["grant"]

_OPEN: Final = "outbox.state IN ('pending', 'claimed', 'unknown')"
_OF_SESSION: Final = _O.c.session == bindparam("of_session")

_SESSIONS: Final = (
    select(_S.c.id, _S.c.thread, _S.c.kind)
    .where(_S.c.room == bindparam("of_room"))
    .order_by(_S.c.opened_at, _S.c.id)
    .with_for_update()
)
"""Locked: no goal is opened in one of them meanwhile."""
_LAST: Final = (
    select(_G.c.data)
    .where(_G.c.session == bindparam("of_session"), text("number > 0"))
    .order_by(_G.c.number.desc())
    .limit(1)
)
_LIVE: Final = select(_G.c.data).where(
    _G.c.session == bindparam("of_session"),
    text("kind = 'goal' AND state NOT IN ('complete', 'cancelled')"),
)
_HAS_TO_SAY: Final = select(_O.c.key).where(_OF_SESSION, text(_OPEN)).limit(1)
_IS_ASKED: Final = select(_G.c.id).where(
    _G.c.session == bindparam("of_session"),
    text("kind = 'ask' AND state NOT IN ('complete', 'cancelled')"),
)
"""What is asked there is answered still."""
_MAIN: Final = select(_S.c.id).where(
    _S.c.room == bindparam("of_room"), text("session.thread = '' AND session.kind = 'thread'")
)
_SET_SESSION: Final = queries.set_in(_S, "room", "thread", "kind").where(
    _S.c.id == bindparam("of_session")
)
_SAID_IN: Final = queries.set_in(_I, "thread").where(
    _I.c.room == bindparam("of_room"), _I.c.thread == bindparam("of_thread")
)
_PASS: Final = queries.set_in(_O, "state", "remote").where(
    _OF_SESSION,
    text(
        "(outbox.kind = 'status' AND outbox.state IN ('sent', 'claimed', 'unknown')"
        f" OR outbox.kind IN ('card', 'removal') AND {_OPEN})"
    ),
)
"""Edits of what stands in the old room."""
_ANEW: Final = queries.set_in(_O, "state", "remote", "looked_up").where(
    _OF_SESSION,
    text(
        "(outbox.state IN ('claimed', 'unknown')"
        " OR outbox.state = 'failed' AND outbox.claimed_at > :of_since)"
    ),
    text("outbox.kind NOT IN ('status', 'card', 'removal')"),
)
_ASK_AGAIN: Final = queries.set_in(_O, "state", "remote", "not_before").where(
    _O.c.key == bindparam("of_key"), text("outbox.state IN ('sent', 'failed')")
)

_SETTINGS: Final = select(_R.c.settings).where(_R.c.id == bindparam("of_room")).with_for_update()
_SET: Final = queries.set_in(_R, "settings").where(_R.c.id == bindparam("of_room"))
_HOLD: Final = select(_H.c.scope).where(_H.c.scope == bindparam("of_scope"))
_RENAME_HOLD: Final = queries.set_in(_H, "scope").where(_H.c.scope == bindparam("of_scope"))
_END_HOLD: Final = delete(_H).where(_H.c.scope == bindparam("of_scope"))
_SAME: Final = (_GR.c.person, _GR.c.subject, _GR.c.kind, _GR.c.role, _GR.c.rule)
_GRANTS: Final = select(_GR.c.id, _GR.c.room, *_SAME).where(
    (_GR.c.room == bindparam("of_room")) | (_GR.c.subject == bindparam("of_subject"))
)
_SET_GRANT: Final = queries.set_in(_GR, "room", "subject").where(_GR.c.id == bindparam("of_id"))
_END_GRANT: Final = delete(_GR).where(_GR.c.id == bindparam("of_id"))
_ALL_GRANTS: Final = select(_GR.c.room, *_SAME)
_SUMS: Final = select(queries.TALLY).where(queries.TALLY.c.room == bindparam("of_room"))
_END_SUMS: Final = delete(queries.TALLY).where(queries.TALLY.c.room == bindparam("of_room"))


def _named_in(table: Table) -> Any:
    return queries.set_in(table, "room").where(table.c.room == bindparam("of_room"))


_NAMED: Final = tuple(
    map(_named_in, (_I, queries.RESERVATION, _T["schedule"], _T["watch"], _T["form_link"]))
)
"""Tables whose rows name their room and have nothing like it in the other one."""


def _kept_there(table: Table) -> tuple[Any, Any]:
    """What takes a row along where the other room has none of its name, and what ends the rest."""
    there = table.alias("there")
    has_one = (
        select(there.c.name)
        .where(there.c.room == bindparam("of_target"), there.c.name == table.c.name)
        .exists()
    )
    of_old = table.c.room == bindparam("of_room")
    return queries.set_in(table, "room").where(of_old, ~has_one), delete(table).where(of_old)


_GIVEN: Final = tuple(map(_kept_there, (_T["mcp_server"], _T["repository"], _T["secret_use"])))
"""What rooms give their agents, by name."""


def move_room(
    tx: Transaction, old: Place, to: str, root: Callable[[Goal], str]
) -> tuple[Goal, ...]:
    """Take all of the old room to the room `to`; returns the live goals that came along."""
    source = find_room(tx, old)
    if source is None or to == old.room:
        return ()
    target = see_room(tx, replace(old, room=to, thread=""))
    goals: list[Goal] = []
    writes = Writes()
    for session in tx.all(_SESSIONS, of_room=source):
        goals += _move_session(tx, writes, source, target, session, root)
    tx.write(writes)
    for statement in _NAMED:
        tx.run(statement, of_room=source, room=target)
    for take, end in _GIVEN:
        tx.run(take, of_room=source, of_target=target, room=target)
        tx.run(end, of_room=source)
    _move_settings(tx, source, target)
    _move_hold(tx, source, target)
    _move_grants(tx, source, target)
    # After the sessions' rows, as a goal's unit takes it.
    tx.alone(CAPS)
    for row in tx.all(_SUMS, of_room=source):
        sums = dict(zip(queries.TALLY.columns.keys(), row, strict=True))
        tx.run(BOOK, **{**sums, "room": target})
    tx.run(_END_SUMS, of_room=source)
    return tuple(goals)


def _move_session(
    tx: Transaction,
    writes: Writes,
    source: str,
    target: str,
    row: Row,
    root: Callable[[Goal], str],
) -> list[Goal]:
    """One session; returns its live goal."""
    session, thread, kind = row
    at = tx.now()
    tx.run(_PASS, of_session=session, state="superseded", remote="")
    tx.run(
        _ANEW, of_session=session, of_since=at - REFUSED_S, state="pending", remote="",
        looked_up=False,
    )  # fmt: skip
    live = [codec.load_goal(data) for [data] in tx.all(_LIVE, of_session=session)]
    ours = live or [codec.load_goal(data) for [data] in tx.all(_LAST, of_session=session)]
    says = any(tx.one(query, of_session=session) for query in (_HAS_TO_SAY, _IS_ASKED))
    if kind == "mail":
        kind = f"mail:{session}"
    elif thread == "" and kind == "thread":
        thread, kind = _in_main(tx, target, session, is_live=bool(live))
    elif ours and not thread.startswith(NEW):
        was, thread = thread, moved_thread()
        tx.run(_SAID_IN, of_room=source, of_thread=was, thread=thread)
    elif says and not ours:
        thread, kind = "", f"beside:{session}"
    tx.run(_SET_SESSION, of_session=session, room=target, thread=thread, kind=kind)
    if ours and (live or says):
        write_root(writes, session, thread, root(ours[0]), at, ours[0].id)
    for goal in live:
        _show_anew(tx, writes, goal, at)
    return live


def _in_main(tx: Transaction, target: str, session: str, *, is_live: bool) -> tuple[str, str]:
    """The thread and the kind of what was in the old room's main timeline."""
    there = tx.one(_MAIN, of_room=target)
    if there is None:
        return "", "thread"
    if not is_live:
        return "", f"beside:{session}"
    if tx.one(_LIVE, of_session=there[0]) is not None:
        return moved_thread(), "thread"
    set_beside(tx, there[0])
    return "", "thread"


def _show_anew(tx: Transaction, writes: Writes, goal: Goal, at: float) -> None:
    """Its status as a new message, and its open decision as a new card."""
    key = f"{goal.id}:status:{goal.seq}.{round(at * 1000)}"
    queue(
        writes, key, "status", goal.session, at, goal=goal.id,
        not_before=goal.opened_at + STATUS_AFTER_S, statement=queries.INSERT_STATUS,
    )  # fmt: skip
    if goal.decision is not None:
        card = f"{goal.id}:decision:{goal.decision.number}"
        tx.run(_ASK_AGAIN, of_key=card, state="pending", remote="", not_before=at)


def _move_settings(tx: Transaction, source: str, target: str) -> None:
    [old], [new] = (tx.all(_SETTINGS, of_room=room)[0] for room in (source, target))
    known = read_kept(new)
    for key, kept in read_kept(old).items():
        if key not in known:
            new = write_kept(new, key, kept)
    tx.run(_SET, of_room=target, settings=new)
    tx.run(_SET, of_room=source, settings="{}")


def _move_hold(tx: Transaction, source: str, target: str) -> None:
    if tx.one(_HOLD, of_scope=of_room(target)) is not None:
        tx.run(_END_HOLD, of_scope=of_room(source))
    else:
        tx.run(_RENAME_HOLD, of_scope=of_room(source), scope=of_room(target))


def _move_grants(tx: Transaction, source: str, target: str) -> None:
    """Entries of the room, and entries of whoever is in it."""
    members, there = f"room:{target}", set(tx.all(_ALL_GRANTS))
    for id, room, person, subject, *what in tx.all(
        _GRANTS, of_room=source, of_subject=f"room:{source}"
    ):
        room = target if room == source else room
        subject = members if subject == f"room:{source}" else subject
        line = (room, person, subject, *what)
        if line in there:
            tx.run(_END_GRANT, of_id=id)
        else:
            tx.run(_SET_GRANT, of_id=id, room=room, subject=subject)
            there.add(line)
