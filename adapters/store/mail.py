"""Messages in and out, as rows."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, exists, select, text

from adapters.store import queries
from adapters.store.arrivals import read_waiting, take_in
from adapters.store.attachments import read_files
from adapters.store.incidents import open_incident
from adapters.store.journal import check_waiting, write_handled
from adapters.store.moves import write_reply
from adapters.store.people import write_notes
from adapters.store.places import find_room, place_of
from adapters.store.positions import write_position
from adapters.store.readers import Readers
from adapters.store.removals import take_back
from adapters.store.roots import IS_SENDABLE, REVIVE, ROOT, settle_root
from adapters.store.statements import Row, Writes
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Arrival, Incoming, Network, Place, Removed
from bot.ports.incidents import Alert
from bot.ports.mail import Due, Received
from bot.ports.people import NOTHING, Answer
from bot.ports.positions import Position

CLAIM_S: Final = 60.0
"""A claim older than this is of unknown outcome."""
FAILINGS: Final = 3

_I, _O, _S, _R = queries.INBOX, queries.OUTBOX, queries.SESSION, queries.ROOM
_G = queries.GOAL

_FAIL: Final = queries.set_in(_I, "state", "attempts", "why").where(_I.c.id == bindparam("of_id"))

_OPEN: Final = "{0}.state IN ('pending', 'claimed', 'unknown')"
_STALE: Final = queries.set_in(_O, "state").where(
    text(_OPEN.format("outbox")),
    text("outbox.state = 'claimed'"),
    _O.c.claimed_at < bindparam("of_before"),
)
_ahead: Final = _O.alias("ahead")
_CLAIM: Final = (
    select(
        _O.c.key, _O.c.kind, _O.c.goal, _O.c.session, _R.c.network, _R.c.workspace, _R.c.name,
        _S.c.thread, _O.c.reason, _O.c.only_for, _O.c.content, _O.c.remote, _O.c.state, _O.c.created_at,
        text(
            "outbox.goal IS NOT NULL AND EXISTS"
            " (SELECT 1 FROM restored WHERE restored.at > session.opened_at) AS may_differ"
        ),
    )
    .join(_S, _S.c.id == _O.c.session)
    .join(_R, _R.c.id == _S.c.room)
    .where(
        _R.c.network == bindparam("of_network"),
        text(_OPEN.format("outbox")),
        text("outbox.state <> 'claimed'"),
        text("NOT EXISTS (SELECT 1 FROM hold WHERE hold.scope = 'restore')"),
        _O.c.not_before <= bindparam("of_now"),
        IS_SENDABLE,
        ~exists().where(
            _ahead.c.session == _O.c.session,
            text(_OPEN.format("ahead")),
            text(
                "(ahead.state = 'claimed' OR (ahead.sequence < outbox.sequence"
                " AND outbox.kind <> 'root' AND (ahead.state = 'unknown' OR ahead.kind <> 'status')))"
            ),
        ),
    )
    .order_by(_O.c.sequence)
    .limit(bindparam("of_limit"))
)  # fmt: skip
"""What is due and has nothing of its thread before it. A status edit holds nothing up, and whatever was
queued before its thread's root follows it."""
_CLAIM_OF: Final = _CLAIM.where(_R.c.workspace == bindparam("of_workspace"))

_SESSION: Final = select(_S.c.id).where(_S.c.id == bindparam("of_session"))
_OF_KEY: Final = _O.c.key == bindparam("of_key")
_TAKE: Final = queries.set_in(_O, "state", "claimed_at", "looked_up").where(_OF_KEY)
_SENT: Final = queries.set_in(_O, "state", "remote").where(_OF_KEY)
_UNKNOWN: Final = queries.set_in(_O, "state", "looked_up").where(_OF_KEY)
_FAILED: Final = queries.set_in(_O, "state", "why").where(_OF_KEY)
_LATER: Final = queries.set_in(_O, "state", "not_before").where(_OF_KEY)
_FOUND: Final = (
    select(_O.c.goal, _O.c.kind, _O.c.looked_up, _O.c.session, _O.c.state, _O.c.claimed_at)
    .where(_OF_KEY)
    .with_for_update()
)
_OF_NETWORK: Final = (
    select(_S.c.id).join(_R, _R.c.id == _S.c.room).where(_R.c.network == bindparam("of_network"))
)
_VOID: Final = queries.set_in(_O, "state").where(
    text(_OPEN.format("outbox")), text("outbox.state = 'claimed'")
)
_VOID_ALL: Final = _VOID.where(_O.c.session.in_(_OF_NETWORK))
_VOID_OF: Final = _VOID.where(
    _O.c.session.in_(_OF_NETWORK.where(_R.c.workspace == bindparam("of_workspace")))
)
_WAITS_IN_ROOM: Final = (
    text(_OPEN.format("outbox")),
    text("outbox.state <> 'claimed'"),
    _O.c.session.in_(select(_S.c.id).where(_S.c.room == bindparam("of_room"))),
)
_REFUSE_ROOTS: Final = queries.set_in(_O, "state", "why", "claimed_at").where(
    *_WAITS_IN_ROOM, text("outbox.kind = 'root'")
)
_WITHDRAW: Final = queries.set_in(_O, "state", "why").where(*_WAITS_IN_ROOM)
_HOLDS: Final = text(
    "(outbox.kind IN ('complete', 'answer', 'file')"
    " OR (outbox.kind IN ('blocked', 'over_budget') AND goal.state = outbox.kind)"
    " OR (outbox.kind = 'decision' AND goal.state IN ('deciding', 'paused')))"
)
"""A row that says what is still true."""
_FAILED_IN_ROOM: Final = (
    select(_O.c.key)
    .join(_G, _G.c.id == _O.c.goal)
    .join(_S, _S.c.id == _O.c.session)
    .where(
        text("outbox.state = 'failed'"),
        _S.c.room == bindparam("of_room"),
        _O.c.created_at > bindparam("of_since"),
        _HOLDS,
    )
    .order_by(_O.c.sequence)
)
_AGAIN: Final = queries.set_in(_O, "state", "not_before", "looked_up", "why").where(_OF_KEY)
_REMOTE: Final = select(_O.c.remote).where(_OF_KEY)
_SHOWN: Final = (
    select(_O.c.remote)
    .where(_O.c.goal == bindparam("of_goal"), text("kind = 'status' AND remote <> ''"))
    .order_by(_O.c.sequence.desc())
    .limit(1)
)
_BEGAN: Final = (
    select(_O.c.remote)
    .where(_O.c.goal == bindparam("of_goal"), text("kind = 'root'"))
    .order_by(_O.c.sequence.desc())
    .limit(1)
)
_PENDING_STATUS: Final = select(_O.c.key).where(
    _O.c.goal == bindparam("of_goal"), text("kind = 'status' AND state = 'pending'")
)
_OLD_STATUS: Final = _O.delete().where(
    _O.c.goal == bindparam("of_goal"),
    text("kind = 'status' AND state IN ('sent', 'superseded')"),
    _O.c.key != bindparam("of_key"),
)


class StoreInbox:
    """Port Inbox."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def receive(self, message: Incoming) -> bool:
        """Store it; False when its identity was there already."""
        return await self._writer.do(lambda tx: take_in(tx, (message,))) == 1

    async def receive_all(self, arrivals: Sequence[Arrival], upto: Position | None = None) -> int:
        """Store what came, in its order, with the position that covers it; all of it or nothing."""

        def job(tx: Transaction) -> int:
            new = take_in(tx, arrivals)
            if upto is not None:
                write_position(tx, upto)
            return new

        return await self._writer.do(job)

    async def remove(self, removed: Removed) -> bool:
        """Blank a message's text and what was made of it, and store the removal; False if it was."""
        return await self._writer.do(lambda tx: take_back(tx, removed))

    async def waiting(self) -> tuple[Received, ...]:
        """Everything not handled yet, in order of arrival."""
        return await self._readers.do(read_waiting)

    async def handled(self, message: str) -> None:
        """Mark one that causes nothing else. Raises IllegalMove when it does not wait."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, (message,))
            writes = Writes()
            write_handled(writes, (message,), tx.now())
            tx.write(writes)

        await self._writer.do(job)

    async def failed(
        self, message: str, why: str, answer: Answer = NOTHING, alert: Alert | None = None
    ) -> int:
        """Count one failed handling; at the third it is *failed*, and told. Returns the count."""

        def job(tx: Transaction) -> int:
            attempts = check_waiting(tx, (message,)) + 1
            state = "failed" if attempts >= FAILINGS else "waiting"
            tx.run(_FAIL, of_id=message, state=state, attempts=attempts, why=why)
            if attempts >= FAILINGS:
                write_notes(tx, answer)
                if alert is not None:
                    open_incident(tx, alert)
            return attempts

        return await self._writer.do(job)


class StoreOutbox:
    """Port Outbox."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def claim(
        self, network: Network, *, limit: int, workspace: str | None = None
    ) -> tuple[Due, ...]:
        """Take what is due, oldest first, one row a thread at a time; of one workspace or of all."""
        query = _CLAIM if workspace is None else _CLAIM_OF
        of = {} if workspace is None else {"of_workspace": workspace}

        def job(tx: Transaction) -> tuple[Due, ...]:
            tx.alone(f"outbox.{network}")
            now = tx.now()
            tx.run(_STALE, of_before=now - CLAIM_S, state="unknown")
            tx.run(REVIVE, state="pending")
            # Two rows of a thread can be free at once (a status edit and a post).
            rows = tx.all(query, of_network=network, of_now=now, of_limit=2 * limit, **of)
            first = {row[3]: row for row in reversed(rows)}
            chosen = [row for row in rows if first[row[3]] is row]
            return tuple(_take(tx, row, now) for row in chosen[:limit])

        return await self._writer.do(job)

    async def void(self, network: Network, workspace: str | None = None) -> int:
        """What a dead process of that workspace, or of all, was sending may be there or not."""

        def job(tx: Transaction) -> int:
            if workspace is None:
                return tx.run(_VOID_ALL, of_network=network, state="unknown")
            return tx.run(
                _VOID_OF, of_network=network, of_workspace=workspace, state="unknown"
            )  # fmt: skip

        return await self._writer.do(job)

    async def say(
        self,
        session: str,
        key: str,
        text: str,
        handled: tuple[str, ...] = (),
        *,
        only_for: str = "",
        reason: str = "",
    ) -> None:
        """Queue a `reply` in the session's thread; a key that is there already changes nothing."""

        def job(tx: Transaction) -> None:
            if tx.one(_SESSION, of_session=session) is None:
                raise KeyError(f"There is no session {session}: begin it first.")
            check_waiting(tx, handled)
            at, writes = tx.now(), Writes()
            write_reply(writes, session, key, text, at, reason=reason, only_for=only_for)
            write_handled(writes, handled, at)
            tx.write(writes)

        await self._writer.do(job)

    async def sent(self, key: str, remote: str) -> None:
        """It is there, under this remote id."""

        def job(tx: Transaction) -> None:
            row = _taken(tx, key)
            if row is None:
                return
            tx.run(_SENT, of_key=key, state="sent", remote=remote)
            if row.kind == "status":
                # Only the last one says which message is to be edited.
                tx.run(_OLD_STATUS, of_goal=row.goal, of_key=key)
            if row.kind == ROOT:
                settle_root(tx, row.session, remote)

        await self._writer.do(job)

    async def unknown(self, key: str) -> None:
        """It may be there: the next claim of it looks it up."""

        def job(tx: Transaction) -> None:
            if _taken(tx, key) is not None:
                tx.run(_UNKNOWN, of_key=key, state="unknown", looked_up=True)

        await self._writer.do(job)

    async def failed(self, key: str, why: str, alert: Alert | None = None) -> None:
        """It cannot be sent; later rows pass, and the incident is opened with it."""

        def job(tx: Transaction) -> None:
            if _taken(tx, key) is None:
                return
            tx.run(_FAILED, of_key=key, state="failed", why=why)
            if alert is not None:
                open_incident(tx, alert)

        await self._writer.do(job)

    async def later(self, key: str, delay_s: float) -> None:
        """Try again after `delay_s`; one that was being looked up is looked up again."""

        def job(tx: Transaction) -> None:
            row = _taken(tx, key)
            if row is None:
                return
            state = "unknown" if row.looked_up else "pending"
            is_edit = state == "pending" and row.kind == "status"
            if is_edit and tx.one(_PENDING_STATUS, of_goal=row.goal):
                # A newer edit waits already, and tells all that this one would.
                state = "superseded"
            tx.run(_LATER, of_key=key, state=state, not_before=tx.now() + delay_s)

        await self._writer.do(job)

    async def give_up(self, place: Place, why: str) -> int:
        """Withdraw what waits to be said in that room, in whatever thread."""

        def job(tx: Transaction) -> int:
            of = {"of_room": find_room(tx, place)}
            roots = tx.run(_REFUSE_ROOTS, **of, state="failed", why=why, claimed_at=tx.now())
            return roots + tx.run(_WITHDRAW, **of, state="superseded", why=why)

        return await self._writer.do(job)

    async def again(
        self, place: Place, *, within_s: float, but: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Try results and questions again that failed in that room lately and still hold."""

        def job(tx: Transaction) -> tuple[str, ...]:
            at = tx.now()
            of = {"of_room": find_room(tx, place), "of_since": at - within_s}
            keys = tuple(str(key) for [key] in tx.all(_FAILED_IN_ROOM, **of) if key not in but)
            for key in keys:
                tx.run(_AGAIN, of_key=key, state="unknown", not_before=at, looked_up=True, why="")
            return keys

        return await self._writer.do(job)


def void_claims(tx: Transaction) -> int:
    """What the former owner was sending when it died may be there or not."""
    return tx.run(_STALE, of_before=float("inf"), state="unknown")


def _take(tx: Transaction, row: Row, now: float) -> Due:
    key, kind, goal, session, network, workspace, room, thread, reason, *rest = row
    only_for, content, remote, state, created_at, may_differ = rest
    was_unknown = state == "unknown" or bool(may_differ)
    tx.run(_TAKE, of_key=key, state="claimed", claimed_at=now, looked_up=was_unknown)
    place = place_of(network, workspace, room, "" if kind == ROOT else thread)
    return Due(
        key=key,
        kind=kind,
        goal=goal or "",
        session=session,
        place=place,
        reason=reason,
        content=content,
        remote=_edited(tx, kind, goal, key) or remote,
        state="unknown" if was_unknown else "claimed",
        created_at=created_at,
        may_differ=bool(may_differ),
        files=read_files(tx, (key,)).get(key, ()) if kind == "file" else (),
        only_for=only_for,
    )


def _edited(tx: Transaction, kind: str, goal: str | None, key: str) -> str:
    """The remote id of the message that a row edits, or takes away."""
    row: Any = None
    if kind == "removal" and key.endswith(":root"):
        row = tx.one(_BEGAN, of_goal=goal)
    elif kind == "removal" and not key.endswith(":status"):
        row = tx.one(_REMOTE, of_key=key.replace(":removal:", ":", 1))
    elif kind in ("status", "removal"):
        row = tx.one(_SHOWN, of_goal=goal)
    elif kind == "card":
        row = tx.one(_REMOTE, of_key=f"{goal}:decision:{key.rpartition(':')[2]}")
    return row[0] if row else ""


class _Taken(NamedTuple):
    """A row that was given to somebody to send."""

    goal: str | None
    kind: str
    looked_up: bool
    session: str
    state: str
    claimed_at: float


def _taken(tx: Transaction, key: str) -> _Taken | None:
    """The row; None where it was taken back meanwhile, or is to be sent anew: its room was replaced."""
    row = tx.one(_FOUND, of_key=key)
    if row is None:
        raise KeyError(f"There is no message {key} in the outbox.")
    found = _Taken(*row)
    is_anew = found.state == "pending" and found.claimed_at
    return None if is_anew or found.state == "superseded" else found
