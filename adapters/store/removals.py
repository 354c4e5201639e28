"""
A message that was deleted or redacted: its text goes in the transaction that stores the removal, and
with it its files, and what it said after it was edited.

What was made of a message (an objective, a steering, an answer) was written in the transaction that
handled it, by its author, and is part of it: by that it is found. A text that another message says as
well stays for that one.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

from sqlalchemy import bindparam, func, literal, select, text

from adapters.store import queries
from adapters.store.attachments import drop_files
from adapters.store.forgotten import Change, blank
from adapters.store.moves import write_content
from adapters.store.places import see_person
from adapters.store.statements import Row, Writes
from adapters.store.threads import thread_of_message
from adapters.store.transaction import Transaction
from adapters.store.ways_back import drop_way_back
from bot.ports.chat import EDIT, REACTION, REMOVAL, Removed, Unreacted
from bot.ports.journal import Content

_C, _G, _I = queries.CONTENT, queries.GOAL, queries.INBOX
_O, _P, _S = queries.OUTBOX, queries.PERSON, queries.SESSION
_gone: Final = _I.alias("gone")

_ROW: Final = (
    _I.c.id, _I.c.session, _I.c.room, _I.c.thread, _I.c.person, _I.c.content, _I.c.handled_at,
)  # fmt: skip
_MESSAGE: Final = select(*_ROW).where(_I.c.id == bindparam("of_id"))
_UNDER: Final = (
    select(*_ROW, _C.c.text)
    .join(_C, (_C.c.session == _I.c.session) & (_C.c.hash == _I.c.content))
    .where(_I.c.reply_to == bindparam("of_id"), text("inbox.reply_to <> ''"))
    .order_by(_I.c.sequence)
)
_TEXT: Final = select(_C.c.text).where(
    _C.c.session == bindparam("of_session"), _C.c.hash == bindparam("of_hash")
)
_TWIN: Final = (
    select(_I.c.id, _I.c.reply_to)
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
_OPENED: Final = select(_G.c.session).where(
    _G.c.owner == bindparam("of_person"), _G.c.opened_at == bindparam("of_at")
)
"""Of a goal that the message opened, wherever it lives: one transaction wrote both."""
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
_ROOTS: Final = select(_O.c.content).where(
    _O.c.session == bindparam("of_session"), text("outbox.kind = 'root'")
)
_COPY_ROOTS: Final = (
    select(_O.c.content)
    .join(_G, _G.c.session == _O.c.session)
    .where(
        _O.c.session == bindparam("of_session"),
        _G.c.objective == bindparam("of_hash"),
        text("outbox.kind = 'root'"),
    )
)
_SIGNS: Final = (
    select(_I.c.id, _C.c.text, _gone.c.at)
    .join(_P, _P.c.id == _I.c.person)
    .outerjoin(_C, (_C.c.session == _I.c.session) & (_C.c.hash == _I.c.content))
    .outerjoin(_gone, _gone.c.id == literal(REMOVAL) + func.substr(_I.c.id, len(REACTION) + 1))
    .where(
        _I.c.reply_to == bindparam("of_to"),
        text("inbox.reply_to <> ''"),
        text(f"substr(inbox.id, 1, {len(REACTION)}) = '{REACTION}'"),
        _P.c.network == bindparam("of_network"),
        _P.c.external == bindparam("of_external"),
        _I.c.at <= bindparam("of_at"),
    )
    .order_by(_I.c.at.desc(), _I.c.sequence.desc())
)
"""Somebody's reactions under a message, the last one first, each with when it was taken away."""
_BLANK_FORM: Final = queries.set_in(_I, "form").where(
    _I.c.id == bindparam("of_id"), text("inbox.form <> ''")
)
_STORE: Final = queries.into(_I, without=("sequence",)).on_conflict_do_nothing()


def take_back(tx: Transaction, removed: Removed) -> bool:
    """Blank it, and store the removal as a message that waits; False if there is nothing to do."""
    if tx.one(queries.INBOX_STATE, of_id=removed.as_message.id) is not None:
        return False
    said, opening = _about(tx, removed.id)
    if not said:
        sign = tx.one(_MESSAGE, of_id=f"{REACTION}{removed.id}")
        return sign is not None and _take_sign_back(tx, removed, sign)
    _, mail, room, *_ = said[0]
    # First: what is removed is no twin of anything any more.
    _store(tx, removed, thread_of_message(tx, room, removed.id) or "", mail, room)
    wholes = [_text(tx, row) for row in said]
    made = list(_made(tx, removed.id, [*said, *opening], wholes))
    taken = [(session, hash) for session, hash in tx.all(_AS, of_id=removed.id) if session != mail]
    # The first message of a copy's thread repeats its objective.
    taken += [
        (session, root)
        for session, hash in taken
        for [root] in tx.all(_COPY_ROOTS, of_session=session, of_hash=hash)
    ]
    taken += [(session, hash) for session, hash, _ in made]
    blank([Change(session, hash, None) for session, hash in taken], tx)
    texts = {one for one in (*wholes, *(one for _, _, one in made)) if one}
    for row in said:
        _blank(tx, row, texts)
    return True


def sign_of(tx: Transaction, undone: Unreacted) -> Removed | None:
    """The removal of the last such reaction that was put there before; None where there is none.

    Given again, it is found removed at that very moment: then it is no other one's.
    """
    signs = tx.all(
        _SIGNS, of_to=undone.to, of_network=undone.place.network, of_external=undone.speaker.id,
        of_at=undone.at,
    )  # fmt: skip
    for id, said, gone_at in signs:
        is_such = said is not None and said.partition("\n")[0] == undone.emoji
        if gone_at == undone.at and (is_such or said is None):
            return None
        if is_such:
            name = id.removeprefix(REACTION)
            return (
                None
                if gone_at is not None
                else Removed(name, undone.place, undone.speaker, undone.at)
            )
    return None


def _about(tx: Transaction, id: str) -> tuple[list[Row], list[Row]]:
    """What said it: the message, its edits, reactions that quote it; and reactions that made a goal."""
    said, opening = tx.all(_MESSAGE, of_id=id), []
    for *row, quoted in tx.all(_UNDER, of_id=id):
        if row[0].startswith(f"{EDIT}{id}:"):
            said.append(tuple(row))
        elif row[0].startswith(REACTION):
            if "\n" in (quoted or ""):
                said.append(tuple(row))
            if tx.one(_OPENED, of_person=row[4], of_at=row[6]) is not None:
                opening.append(tuple(row))
    return said, opening


def _take_sign_back(tx: Transaction, removed: Removed, row: Row) -> bool:
    """Blank what the reaction said. What came of it is others' words, or tells what was done."""
    id, mail, room, thread, _, content, _ = row
    if not _has_twin(tx, mail, content, id):
        blank((Change(mail, content, None),), tx)
    _store(tx, removed, thread, mail, room)
    return True


def _text(tx: Transaction, row: Row) -> str:
    known = tx.one(_TEXT, of_session=row[1], of_hash=row[5])
    return known[0] if known and known[0] is not None else ""


def _blank(tx: Transaction, row: Row, texts: set[str]) -> None:
    """Take the text out of a message, of what keeps it as that, and of what repeats it in answer."""
    id, mail, _, _, _, content, _ = row
    changes = []
    if not _has_twin(tx, mail, content, id):
        changes.append(Change(mail, content, None))
    for session, hash in tx.all(_AS, of_id=id):
        if (session, hash) != (mail, content):
            changes.append(Change(session, hash, None))
    for session, hash, answer in tx.all(_ANSWER, of_key=f"reply:{id}"):
        if any(one in answer for one in texts):
            changes.append(Change(session, hash, None))
    blank(changes, tx)
    drop_files(tx, (id,))
    drop_way_back(tx, id)
    tx.run(_BLANK_FORM, of_id=id, form="")


def _made(
    tx: Transaction, id: str, rows: Sequence[Row], wholes: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Session, hash and text of what was made of the messages, when they were handled."""
    sessions: set[str] = set()
    begun: set[str] = set()
    for _, _, room, thread, person, _, handled_at in rows:
        near = tx.all(_SESSIONS, of_room=room, of_thread=thread, of_id=id)
        sessions.update(session for [session] in near)
        begun.update(one for [one] in tx.all(_OPENED, of_person=person, of_at=handled_at))
    times = sorted({row[6] for row in rows} - {None})
    people = sorted({row[4] for row in rows})
    for session in sorted(sessions | begun):
        for person, at in product(people, times):
            for hash, said in tx.all(_MADE, of_session=session, of_person=person, of_at=at):
                if any(said in whole for whole in wholes):
                    yield session, hash, said
    for session in sorted(begun):
        # The first message of the goal's thread repeats what the goal is.
        yield from ((session, hash, "") for [hash] in tx.all(_ROOTS, of_session=session))


def _has_twin(tx: Transaction, session: str, content: str, id: str) -> bool:
    """Whether another message that was not taken back says the same."""
    twins = tx.all(_TWIN, of_session=session, of_hash=content, of_id=id)
    return not all(_is_gone(tx, *twin) for twin in twins)


def _is_gone(tx: Transaction, id: str, reply_to: str) -> bool:
    """Whether it was removed. Edits and reactions go with the message that they are about."""
    names = {id.removeprefix(REACTION)}
    if id.startswith((EDIT, REACTION)):
        names.add(reply_to)
    return any(tx.one(queries.INBOX_STATE, of_id=f"{REMOVAL}{name}") for name in names)


def _store(tx: Transaction, removed: Removed, thread: str, mail: str, room: str) -> None:
    gone, at, writes = removed.as_message, tx.now(), Writes()
    person = see_person(tx, gone.place.network, gone.speaker)
    nothing = Content("", person)
    write_content(writes, mail, nothing, nothing.hash, at)
    tx.write(writes)
    row: dict[str, Any] = {
        "id": gone.id, "session": mail, "room": room, "thread": gone.place.thread or thread,
        "person": person, "content": nothing.hash, "reply_to": removed.id, "is_aside": False,
        "via": "message", "form": "", "at": removed.at,
        "received_at": at, "state": "waiting", "attempts": 0, "why": "", "handled_at": None,
    }  # fmt: skip
    tx.run(_STORE, **row)
