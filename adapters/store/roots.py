"""
Threads whose first message is ours.

Rule 1: until that message is there, a session's thread is a word of ours, and of what is to be said in
        it nothing is sent but the root.
Rule 2: the root's remote id becomes the session's thread in the transaction that settles the root.
Rule 3: a root that was refused is tried again when something is to be said after it, once for each.
"""

from secrets import token_hex
from typing import Any, Final

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.moves import write_content
from adapters.store.places import see_room, see_session
from adapters.store.posts import queue
from adapters.store.statements import Writes
from adapters.store.transaction import Transaction
from bot.ports.chat import Place
from bot.ports.journal import Content
from bot.ports.mail import NEW

MOVED: Final = f"{NEW}moved:"
ROOT: Final = "root"

_I, _O, _S = queries.INBOX, queries.OUTBOX, queries.SESSION

IS_SENDABLE: Final = text(
    f"(substr(session.thread, 1, {len(NEW)}) <> '{NEW}' OR outbox.kind = '{ROOT}')"
)
_later: Final = _O.alias("later")
REVIVE: Final = queries.set_in(_O, "state").where(
    text("outbox.kind = 'root' AND outbox.state = 'failed'"),
    select(_later.c.key)
    .where(
        _later.c.session == _O.c.session,
        # Spelt as the partial index `outbox_open` is, so that it is used.
        text("later.state IN ('pending', 'claimed', 'unknown') AND later.state <> 'claimed'"),
        _later.c.created_at > _O.c.claimed_at,
    )
    .exists(),
)
_THREAD: Final = (
    select(_S.c.room, _S.c.thread).where(_S.c.id == bindparam("of_session")).with_for_update()
)
_SET_THREAD: Final = queries.set_in(_S, "thread").where(_S.c.id == bindparam("of_session"))
_SET_KIND: Final = queries.set_in(_S, "kind").where(_S.c.id == bindparam("of_session"))
_AT: Final = select(_S.c.id).where(
    _S.c.room == bindparam("of_room"),
    _S.c.thread == bindparam("of_thread"),
    text("session.kind = 'thread'"),
)
_SAY_AGAIN: Final = queries.set_in(_I, "thread").where(
    _I.c.room == bindparam("of_room"), _I.c.thread == bindparam("of_thread")
)


def see_new(tx: Transaction, place: Place, of: str) -> str:
    """The session of a thread that is to begin because of the message `of`."""
    return see_session(tx, see_room(tx, place), f"{NEW}{of}", "thread", tx.now())


def moved_thread() -> str:
    """The thread of a session that needs a new root in another room."""
    return f"{MOVED}{token_hex(8)}"


def write_root(
    writes: Writes, session: str, thread: str, said: str, at: float, goal: str | None = None
) -> None:
    """Queue the first message of a thread that has none; it is queued once."""
    if not thread.startswith(NEW):
        return
    content = Content(said)
    write_content(writes, session, content, content.hash, at)
    key = f"{ROOT}:{thread.removeprefix(NEW)}"
    queue(writes, key, ROOT, session, at, goal=goal, content=content.hash)


def settle_root(tx: Transaction, session: str, remote: str) -> None:
    """The session lives under that message from now on.

    Somebody may have answered under it before it was known to be there. What began with that stays
    a session of its own, in the same thread, where nothing new finds it.
    """
    row: Any = tx.one(_THREAD, of_session=session)
    room, thread = row
    if not thread.startswith(NEW):
        return
    for [other] in tx.all(_AT, of_room=room, of_thread=remote):
        set_beside(tx, other)
    tx.run(_SET_THREAD, of_session=session, thread=remote)
    if thread.startswith(MOVED):
        tx.run(_SAY_AGAIN, of_room=room, of_thread=thread, thread=remote)


def set_beside(tx: Transaction, session: str) -> None:
    """Let another session be the one that is found in this one's place."""
    tx.run(_SET_KIND, of_session=session, kind=f"beside:{session}")
