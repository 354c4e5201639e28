"""
The store's part of forgetting a person.

Rule 1: reads are made beside the writer; each write is a few rows in a transaction of its own.
Rule 2: what repeats the person's words goes before the words do, and their name goes last: whatever
        ends the work in between, what is left can still be found.
Rule 3: rows stay, and so do their ids, hashes and numbers.
"""

import re
from collections.abc import AsyncIterator, Sequence
from functools import partial
from secrets import token_hex
from typing import Final

from sqlalchemy import bindparam, select, text, tuple_

from adapters.store import queries
from adapters.store.forgotten import (
    BITES,
    Change,
    Slice,
    bites,
    blank,
    blank_bite,
    in_bites,
    refs_of,
)
from adapters.store.journal import check_waiting
from adapters.store.mail_traces import forget_mail
from adapters.store.people import write_notes
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Statement
from adapters.store.tables import METADATA
from adapters.store.trails import GOALS, KNOWN, trail_of
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.forgetting import Known, Spot, Step, Trail, Wanted
from bot.ports.people import NOTHING, Answer
from bot.ports.words import Words

_T: Final = METADATA.tables
_C, _E, _G, _I = queries.CONTENT, queries.EVENT, queries.GOAL, queries.INBOX
_L, _O, _P, _R, _S = queries.LEASE, queries.OUTBOX, queries.PERSON, queries.ROOM, queries.SESSION
_X: Final = _T["erasure"]
_GRANT: Final = _T["grant"]

_NAMED: Final = KNOWN.where(
    (_P.c.id == bindparam("of_name"))
    | (_P.c.external == bindparam("of_name"))
    | (_P.c.name == bindparam("of_name"))
).order_by(_P.c.id)
_WANT: Final = queries.upsert(
    queries.into(_X), ("person",), "asked_at", "due_at", "keeps_mentions", "done_at"
)
_WANTED: Final = (
    select(_X.c.person, _X.c.keeps_mentions)
    .where(text("erasure.done_at IS NULL"), _X.c.due_at <= bindparam("of_now"))
    .order_by(_X.c.due_at)
)
_DONE: Final = queries.set_in(_X, "done_at").where(_X.c.person == bindparam("of_person"))

_TEXTS: Final = (
    select(_C.c.session, _C.c.hash, _C.c.text, _C.c.author, _P.c.id)
    .outerjoin(_P, _P.c.id == _C.c.author)
    .where(
        tuple_(_C.c.session, _C.c.hash) > tuple_(bindparam("of_session"), bindparam("of_hash")),
        _C.c.text.is_not(None),
    )
    .order_by(_C.c.session, _C.c.hash)
    .limit(bindparam("of_limit"))
)
_OTHERS: Final = select(_G.c.id).where(
    _G.c.session == bindparam("of_session"), _G.c.owner != bindparam("of_person")
)
_DATA: Final = select(_E.c.data).where(_E.c.goal == bindparam("of_goal"))
_HELD: Final = select(_L.c.goal).where(
    _L.c.goal == bindparam("of_goal"), text("lease.worker <> ''"), _L.c.until > bindparam("of_now")
)
_POSTS: Final = queries.set_in(_O, "state").where(
    _O.c.session == bindparam("of_session"), text("outbox.state IN ('pending', 'unknown')")
)
_NOTES: Final = select(_O.c.key, _O.c.reason).where(text("outbox.goal IS NULL"))
_SET_NOTE: Final = queries.set_in(_O, "key", "reason").where(_O.c.key == bindparam("of_key"))
_TOLD_KEYS: Final = select(queries.TOLD.c.key)
_UNGRANT: Final = _GRANT.delete().where(_GRANT.c.person == bindparam("of_person"))
_UNOFFER: Final = _T["offer"].delete().where(_T["offer"].c.to_person == bindparam("of_person"))
_RENAME: Final = queries.set_in(_P, "external", "name", "gone_at").where(
    _P.c.id == bindparam("of_person")
)
_HASH: Final = re.compile('"([0-9a-f]{64})"')

_LOOSE: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("hold", ("scope",), ("by", "why")),
    ("incident", ("id",), ("detail",)),
    ("install", ("network", "workspace"), ("installed_by", "further")),
    ("secret", ("kind", "name"), ("set_by",)),
    ("attachment", ("owner", "number"), ("name",)),
    ("grant", ("id",), ("rule",)),
    ("mcp_server", ("room", "name"), ("set_by",)),
    ("inbox", ("id",), ("why",)),
    ("outbox", ("key",), ("why",)),
    ("repository", ("room", "name"), ("url",)),
    ("room", ("id",), ("settings",)),
)
"""Texts of operators and errors outside of `content`: table, key, columns."""


class StoreForgetting:
    """Port Forgetting."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def known(self, name: str) -> tuple[Known, ...]:
        """The people who go by that name, id or network id."""
        return tuple(Known(*row) for row in await self._all(_NAMED, of_name=name))

    async def want(self, wanted: Wanted, in_s: float = 0.0, answer: Answer = NOTHING) -> None:
        """Write down that the person is to be forgotten in `in_s` seconds, and queue the answer."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            write_notes(tx, answer)
            now = tx.now()
            tx.run(
                _WANT, person=wanted.person, asked_at=now, due_at=now + in_s,
                keeps_mentions=wanted.keeps_mentions, done_at=None,
            )  # fmt: skip

        await self._writer.do(job)

    async def wanted(self) -> tuple[Wanted, ...]:
        """Who is to be forgotten now."""
        if not await self._all(_WANTED, of_now=float("inf")):
            return ()
        now = await self._writer.do(lambda tx: tx.now())
        rows = await self._all(_WANTED, of_now=now)
        return tuple(Wanted(person, bool(keeps)) for person, keeps in rows)

    async def done(self, person: str) -> None:
        """They are forgotten."""
        await self._writer.do(lambda tx: tx.run(_DONE, of_person=person, done_at=tx.now()))

    async def trail(self, person: str) -> Trail:
        """Where they were. Raises KeyError: nobody has that id."""
        return await self._readers.do(lambda reader: trail_of(reader, person))

    async def at_work(self, goals: Sequence[str]) -> bool:
        """Whether any of the goals is held by a worker, who may write still."""
        now = await self._writer.do(lambda tx: tx.now())

        def query(reader: Reader) -> bool:
            return any(reader.one(_HELD, of_goal=goal, of_now=now) for goal in goals)

        return await self._readers.do(query)

    async def texts(
        self, trail: Trail, wanted: Wanted, *, is_dry: bool = False
    ) -> AsyncIterator[Step]:
        """Blank their texts, and what was made of them, a little at a time."""
        async for step in self._mentions(trail, wanted, is_dry=is_dry):
            yield step
        for spot in trail.shared:
            for step in await self._of_goals(trail, spot, is_dry=is_dry):
                yield step
        parts = (self._writer, self._readers)
        count = await refs_of(trail.goals, *parts, is_dry=is_dry)
        near = await self._readers.do(lambda reader: _others_near(reader, trail))
        count += await refs_of(near, *parts, trail.words, is_dry=is_dry)
        if count:
            yield Step("wait", count)
        sessions = [spot.session for spot in trail.own]
        for bite in await self._readers.do(lambda reader: bites(reader, sessions)):
            if not is_dry:
                await self._writer.do(in_bites(partial(_end, bite)), lane="forgetting")
            yield Step("text", sum(one.rows for one in bite))
        for step in await forget_mail(trail, *parts, is_dry=is_dry):
            yield step

    async def name(self, trail: Trail, *, is_dry: bool = False) -> AsyncIterator[Step]:
        """Take away their name and their rights. The last step: nothing is told by them after it."""
        for table, keys, columns in _LOOSE:
            count = await self._loose(trail.words, table, keys, columns, is_dry=is_dry)
            if count:
                yield Step("note", count)
        count = await self._keys(trail.words, is_dry=is_dry)
        if count:
            yield Step("note", count)
        person = trail.person.id

        def job(tx: Transaction) -> int:
            count = tx.run(_UNGRANT, of_person=person)
            tx.run(_UNOFFER, of_person=person)
            tx.run(
                _RENAME, of_person=person, external=f"forgotten:{token_hex(8)}", name="",
                gone_at=tx.now(),
            )  # fmt: skip
            return count

        if is_dry:
            yield Step("name", 1)
            return
        count = await self._writer.do(job)
        yield Step("name", 1)
        if count:
            yield Step("right", count)

    async def _mentions(self, trail: Trail, wanted: Wanted, *, is_dry: bool) -> AsyncIterator[Step]:
        """What repeats their words where others spoke, what they said there, and who names them."""
        own, shared = ({one.session for one in spots} for spots in (trail.own, trail.shared))
        after = ("", "")
        theirs: list[Change] = []
        while rows := await self._all(
            _TEXTS, of_session=after[0], of_hash=after[1], of_limit=BITES
        ):  # fmt: skip
            after = (rows[-1][0], rows[-1][1])
            changes: list[Change] = []
            for session, hash, said, author, is_person in rows:
                if session in own:
                    continue
                if author == trail.person.id:
                    theirs.append(Change(session, hash, None))
                elif session in shared or not wanted.keeps_mentions:
                    words = trail.words if session in shared else Words(trail.words.names)
                    changes += _without(words, session, hash, said, is_persons=bool(is_person))
            for step in await self._change("mention", changes, is_dry=is_dry):
                yield step
        for step in await self._change("text", theirs, is_dry=is_dry):
            yield step

    async def _of_goals(self, trail: Trail, spot: Spot, *, is_dry: bool) -> list[Step]:
        """What their goals wrote, and what they were answered, where others spoke as well."""

        def query(reader: Reader) -> list[Change]:
            goals = [row[0] for row in reader.all(GOALS, of_person=trail.person.id)
                     if row[1] == spot.session]  # fmt: skip
            named: set[str] = set()
            for goal in goals:
                for [data] in reader.all(_DATA, of_goal=goal):
                    named.update(_HASH.findall(data))
                named |= _beside(reader, goal)
            for key, content in reader.all(_ANSWERS, of_session=spot.session):
                if key.partition(":")[2] in trail.messages:
                    named.add(content)
            return [
                Change(spot.session, hash, None)
                for hash in sorted(named)
                if _is_erasable(reader, spot.session, hash, trail.person.id)
            ]

        return await self._change("text", await self._readers.do(query), is_dry=is_dry)

    async def _change(self, kind: str, changes: list[Change], *, is_dry: bool) -> list[Step]:
        steps = []
        for first in range(0, len(changes), BITES):
            bite = changes[first : first + BITES]
            if not is_dry:
                await self._writer.do(in_bites(partial(blank, bite)), lane="forgetting")
            steps.append(Step(kind, len(bite)))
        return steps

    async def _loose(
        self, words: Words, table: str, keys: tuple[str, ...], columns: tuple[str, ...],
        *, is_dry: bool,
    ) -> int:  # fmt: skip
        """Take their words out of a table's own texts."""
        read, write = _loose_statements(table, keys, columns)
        found = [row for row in await self._all(read)
                 if any(value and words.are_in(value) for value in row[len(keys) :])]  # fmt: skip

        def job(tx: Transaction) -> None:
            for row in found:
                of = {f"of_{key}": row[place] for place, key in enumerate(keys)}
                now = {
                    column: words.without(value or "")
                    for column, value in zip(columns, row[len(keys) :], strict=True)
                }
                tx.run(write, **of, **now)

        if found and not is_dry:
            await self._writer.do(job)
        return len(found)

    async def _keys(self, words: Words, *, is_dry: bool) -> int:
        """Take their names out of keys under which something was said once."""
        posts = [row for row in await self._all(_NOTES) if any(map(words.names_in, row))]
        told = [key for [key] in await self._all(_TOLD_KEYS) if words.names_in(key)]

        def job(tx: Transaction) -> None:
            for key, reason in posts:
                new = f"forgotten:{token_hex(8)}" if words.names_in(key) else key
                tx.run(_SET_NOTE, of_key=key, key=new, reason=words.without(reason))
            for key in told:
                tx.run(queries.UNTELL, of_key=key)

        if (posts or told) and not is_dry:
            await self._writer.do(job)
        return len(posts) + len(told)

    async def _all(self, statement: Statement, **parameters: object) -> list[Row]:
        return await self._readers.do(lambda reader: reader.all(statement, **parameters))


def _others_near(reader: Reader, trail: Trail) -> list[str]:
    """Other people's goals in threads in which they spoke."""
    return [
        goal
        for spot in trail.shared
        for [goal] in reader.all(_OTHERS, of_session=spot.session, of_person=trail.person.id)
    ]


def _end(bite: Sequence[Slice], tx: Transaction) -> None:
    """Blank what was said in threads of theirs, and say nothing more there."""
    blank_bite(bite, tx)
    for session in {one.session for one in bite}:
        tx.run(_POSTS, of_session=session, state="superseded")


def _without(words: Words, session: str, hash: str, said: str, *, is_persons: bool) -> list[Change]:
    """What becomes of somebody else's text. JSON of the agent is not mended but goes whole."""
    quotes = words.quotes_in(said)
    if not quotes and not words.names_in(said):
        return []
    is_whole = not is_persons and (quotes or said[:1] in ("[", "{"))
    return [Change(session, hash, None if is_whole else words.without(said))]


_TASKS: Final = select(queries.TASK.c.title, queries.TASK.c.evidence).where(
    queries.TASK.c.goal == bindparam("of_goal")
)
_ANSWERS: Final = select(_O.c.key, _O.c.content).where(
    _O.c.session == bindparam("of_session"), text("outbox.goal IS NULL"), _O.c.content != ""
)
_POINTS: Final = select(queries.CHECKPOINT.c.tasks).where(
    queries.CHECKPOINT.c.goal == bindparam("of_goal")
)
_MADE: Final = select(_T["artifact"].c.name).where(_T["artifact"].c.goal == bindparam("of_goal"))
_SENT: Final = select(_O.c.content).where(_O.c.goal == bindparam("of_goal"))
_AUTHOR: Final = (
    select(_C.c.author, _P.c.id)
    .outerjoin(_P, _P.c.id == _C.c.author)
    .where(
        _C.c.session == bindparam("of_session"),
        _C.c.hash == bindparam("of_hash"),
        _C.c.text.is_not(None),
    )
)


def _beside(reader: Reader, goal: str) -> set[str]:
    """Texts that a goal's rows name beside its journal."""
    rows = [row for one in (_TASKS, _SENT, _MADE) for row in reader.all(one, of_goal=goal)]
    listed = [
        hash for [tasks] in reader.all(_POINTS, of_goal=goal) for hash in _HASH.findall(tasks)
    ]
    return {hash for row in rows for hash in row if hash} | set(listed)


def _is_erasable(reader: Reader, session: str, hash: str, person: str) -> bool:
    row = reader.one(_AUTHOR, of_session=session, of_hash=hash)
    return row is not None and (row[0] == person or row[1] is None)


_loose_known: dict[str, tuple[Statement, Statement]] = {}


def _loose_statements(
    table: str, keys: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[Statement, Statement]:
    # Kept: statements are compiled once and remembered by identity.
    known = _loose_known.get(table)
    if known is None:
        of = _T[table]
        read = select(*(of.c[name] for name in (*keys, *columns)))
        write = queries.set_in(of, *columns).where(
            *(of.c[key] == bindparam(f"of_{key}") for key in keys)
        )
        known = _loose_known[table] = (read, write)
    return known
