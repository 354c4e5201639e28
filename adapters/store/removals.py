"""
A message that was deleted or redacted: its text goes in the transaction that stores the removal.

What was made of a message (an objective, a steering, an answer) was written in the transaction that
handled it, by its author, and is part of it: by that it is found. A text that another message says as
well stays for that one.
"""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import bindparam, select

from adapters.store import queries
from adapters.store.forgotten import Change, blank
from adapters.store.moves import write_content
from adapters.store.statements import Writes
from adapters.store.transaction import Transaction
from bot.ports.chat import Removed
from bot.ports.journal import Content

_C, _I, _O, _S = queries.CONTENT, queries.INBOX, queries.OUTBOX, queries.SESSION

_MESSAGE: Final = select(
    _I.c.session, _I.c.room, _I.c.thread, _I.c.person, _I.c.content, _I.c.handled_at
).where(_I.c.id == bindparam("of_id"))
_TEXT: Final = select(_C.c.text).where(
    _C.c.session == bindparam("of_session"), _C.c.hash == bindparam("of_hash")
)
_TWIN: Final = (
    select(_I.c.id)
    .where(
        _I.c.session == bindparam("of_session"),
        _I.c.content == bindparam("of_hash"),
        _I.c.id != bindparam("of_id"),
    )
    .order_by(_I.c.sequence)
)
_SESSIONS: Final = select(_S.c.id).where(
    _S.c.room == bindparam("of_room"),
    _S.c.thread.in_((bindparam("of_thread"), bindparam("of_id"))),
)
_MADE: Final = select(_C.c.hash, _C.c.text).where(
    _C.c.session == bindparam("of_session"),
    _C.c.author == bindparam("of_person"),
    _C.c.at == bindparam("of_at"),
    _C.c.text.is_not(None),
)
_AS: Final = select(_C.c.session, _C.c.hash).where(_C.c.message == bindparam("of_id"))
_ANSWER: Final = (
    select(_C.c.session, _C.c.hash, _C.c.text)
    .join(_O, (_O.c.session == _C.c.session) & (_O.c.content == _C.c.hash))
    .where(_O.c.key == bindparam("of_key"), _C.c.text.is_not(None))
)
_STORE: Final = queries.into(_I, without=("sequence",)).on_conflict_do_nothing()


def take_back(tx: Transaction, removed: Removed) -> bool:
    """Blank it, and store the removal as a message that waits; False if there is nothing to do."""
    gone = removed.as_message
    row = tx.one(_MESSAGE, of_id=removed.id)
    if row is None or tx.one(queries.INBOX_STATE, of_id=gone.id) is not None:
        return False
    mail, room, thread, person, content, handled_at = row
    known = tx.one(_TEXT, of_session=mail, of_hash=content)
    whole = known[0] if known and known[0] is not None else ""
    made = list(_made(tx, removed.id, room, thread, person, handled_at, whole))
    texts = {text for _, _, text in made} | {whole}
    changes = [Change(session, hash, None) for session, hash, _ in made]
    if not _has_twin(tx, mail, content, removed.id):
        changes.append(Change(mail, content, None))
    for session, hash in tx.all(_AS, of_id=removed.id):
        if (session, hash) != (mail, content):
            changes.append(Change(session, hash, None))
    for session, hash, text in tx.all(_ANSWER, of_key=f"reply:{removed.id}"):
        if any(one and one in text for one in texts):
            changes.append(Change(session, hash, None))
    blank(changes, tx)
    _store(tx, removed, mail, room, person)
    return True


def _made(
    tx: Transaction, id: str, room: str, thread: str, person: str, at: float | None, whole: str
) -> Iterable[tuple[str, str, str]]:
    """Session, hash and text of what was made of the message."""
    if at is None:
        return
    for [session] in tx.all(_SESSIONS, of_room=room, of_thread=thread, of_id=id):
        for hash, text in tx.all(_MADE, of_session=session, of_person=person, of_at=at):
            if text in whole:
                yield session, hash, text


def _has_twin(tx: Transaction, session: str, content: str, id: str) -> bool:
    twins = tx.all(_TWIN, of_session=session, of_hash=content, of_id=id)
    return any(tx.one(queries.INBOX_STATE, of_id=f"removed:{twin}") is None for [twin] in twins)


def _store(tx: Transaction, removed: Removed, mail: str, room: str, person: str) -> None:
    gone, at, writes = removed.as_message, tx.now(), Writes()
    nothing = Content("", person)
    write_content(writes, mail, nothing, nothing.hash, at)
    tx.write(writes)
    row: dict[str, Any] = {
        "id": gone.id, "session": mail, "room": room, "thread": gone.place.thread,
        "person": person, "content": nothing.hash, "reply_to": removed.id, "is_aside": False,
        "at": removed.at,
        "received_at": at, "state": "waiting", "attempts": 0, "why": "", "handled_at": None,
    }  # fmt: skip
    tx.run(_STORE, **row)
