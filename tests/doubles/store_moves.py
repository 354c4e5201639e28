"""A room that was replaced by another one, over the rows of the store's double."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.holds import of_room
from bot.ports.mail import NEW
from bot.ports.people import Entry
from bot.ports.room_settings import read_kept, write_kept
from tests.doubles.guard import room_id

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore

EDITS = ("status", "card", "removal")
OPEN = ("pending", "claimed", "unknown")
REFUSED_S = 600.0


def move_room(
    store: "MemoryStore", old: Place, to: str, root: Callable[[Goal], str]
) -> tuple[Goal, ...]:
    """Take all of the old room to the room `to`; returns the live goals that came along."""
    rows = store.rows
    source = (old.network, old.workspace, old.room)
    own = [
        id
        for id, place in rows.sessions.items()
        if (place.network, place.workspace, place.room) == source
    ]
    if to == old.room:
        return ()
    goals: list[Goal] = []
    for session in own:
        goals += _move_session(store, session, to, root)
    for row in rows.inbox.values():
        message = row.received.message
        if (message.place.network, message.place.workspace, message.place.room) == source:
            place = replace(message.place, room=to)
            row.received = replace(row.received, message=replace(message, place=place))
    _move_rights(store, replace(old, thread=""), replace(old, room=to, thread=""))
    return tuple(goals)


def _move_session(
    store: "MemoryStore", session: str, to: str, root: Callable[[Goal], str]
) -> list[Goal]:
    rows = store.rows
    was = rows.sessions[session]
    now = replace(was, room=to)
    all_of_it = [goal for goal in rows.goals.values() if goal.session == session]
    ours = [goal for goal in all_of_it if goal.kind == "goal"]
    live = [goal for goal in ours if not goal.is_final]
    for one in rows.outbox.values():
        if one.due.session == session:
            _begin_anew(store, one)
    says = any(one.due.session == session and one.state in OPEN for one in rows.outbox.values())
    says = says or any(not goal.is_final for goal in all_of_it if goal.kind == "ask")
    if was.thread == "":
        now = _in_main(store, session, now, is_live=bool(live))
    elif ours and not was.thread.startswith(NEW):
        now = replace(now, thread=f"{NEW}moved:{rows.next()}")
    elif says and not ours:
        now = replace(now, thread="")
        rows.beside.add(session)
    rows.sessions[session] = now
    rows.say_again(was, replace(was, thread=now.thread))
    if ours and (live or says):
        last = (live or ours)[-1]
        store.outbox.begin(session, root(last), last.id)
    for goal in live:
        store.outbox.show_status(None, goal, store.clock.now())
        if goal.decision is not None:
            card = rows.outbox[f"{goal.id}:decision:{goal.decision.number}"]
            card.state, card.due = "pending", replace(card.due, remote="")
    return live


def _in_main(store: "MemoryStore", session: str, now: Place, *, is_live: bool) -> Place:
    rows = store.rows
    there = [id for id, place in rows.sessions.items() if place == now and id not in rows.beside]
    if there and not is_live:
        rows.beside.add(session)
    elif there and any(g.session == there[0] and not g.is_final for g in rows.goals.values()):
        return replace(now, thread=f"{NEW}moved:{rows.next()}")
    elif there:
        rows.beside.add(there[0])
    return now


def _begin_anew(store: "MemoryStore", row: Any) -> None:
    is_refused = row.state == "failed" and row.claimed_at > store.clock.now() - REFUSED_S
    if row.due.kind == "status" and row.state in ("sent", "claimed", "unknown"):
        row.state, row.due = "superseded", replace(row.due, remote="")
    elif row.due.kind in ("card", "removal") and row.state in OPEN:
        row.state = "superseded"
    elif row.due.kind not in EDITS and (row.state in ("claimed", "unknown") or is_refused):
        row.state, row.looked_up = "pending", False
        row.due = replace(row.due, remote="")


def _move_rights(store: "MemoryStore", old: Place, new: Place) -> None:
    store.mcp_servers.move(old, new)
    store.secret_uses.move(old, new)
    kept, names = store.people.rows, [(one.network, one.workspace, one.room) for one in (old, new)]
    text = kept.settings.get(names[1], "{}")
    known = read_kept(text)
    for key, value in read_kept(kept.settings.pop(names[0], "{}")).items():
        if key not in known:
            text = write_kept(text, key, value)
    kept.settings[names[1]] = text
    entries: list[Entry] = []
    for entry in kept.entries:
        if entry.room == old:
            entry = replace(entry, room=new)
        subject = entry.subject
        if (subject.kind, subject.network, subject.workspace, subject.id) == ("room", *names[0]):
            entry = replace(entry, subject=replace(subject, id=new.room))
        line = (entry.subject, entry.role, entry.room)
        if line not in [(one.subject, one.role, one.room) for one in entries]:
            entries.append(entry)
    kept.entries[:] = entries
    holds = store.guard.holds
    hold = holds.pop(of_room(room_id(old)), None)
    scope = of_room(room_id(new))
    if hold is not None and scope not in holds:
        holds[scope] = replace(hold, scope=scope)
