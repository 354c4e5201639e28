"""Messages out, as rows."""

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.due import OPEN, claim_due, doubt_claims
from adapters.store.incidents import open_incident
from adapters.store.journal import check_waiting, write_handled
from adapters.store.moves import write_reply
from adapters.store.places import is_room_or_all
from adapters.store.roots import ROOT, settle_root
from adapters.store.statements import Writes
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Network, Place
from bot.ports.incidents import Alert
from bot.ports.mail import Due

_G, _O, _R, _S = queries.GOAL, queries.OUTBOX, queries.ROOM, queries.SESSION

_SESSION: Final = select(_S.c.id).where(_S.c.id == bindparam("of_session"))
_OF_KEY: Final = _O.c.key == bindparam("of_key")
_SENT: Final = queries.set_in(_O, "state", "remote").where(_OF_KEY)
_UNKNOWN: Final = queries.set_in(_O, "state", "looked_up").where(_OF_KEY)
_FAILED: Final = queries.set_in(_O, "state", "why").where(_OF_KEY)
_LATER: Final = queries.set_in(_O, "state", "not_before").where(_OF_KEY)
_FOUND: Final = (
    select(_O.c.goal, _O.c.kind, _O.c.looked_up, _O.c.session, _O.c.state, _O.c.claimed_at)
    .where(_OF_KEY)
    .with_for_update()
)
_SESSIONS: Final = (
    select(_S.c.id)
    .join(_R, _R.c.id == _S.c.room)
    .where(
        _R.c.network == bindparam("of_network"),
        _R.c.workspace == bindparam("of_workspace"),
        is_room_or_all(_R),
    )
)
_WAITS_IN_ROOM: Final = (
    text(OPEN.format("outbox")),
    text("outbox.state <> 'claimed'"),
    _O.c.session.in_(_SESSIONS),
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
    .where(
        text("outbox.state = 'failed'"),
        _O.c.session.in_(_SESSIONS),
        _O.c.created_at > bindparam("of_since"),
        _HOLDS,
    )
    .order_by(_O.c.sequence)
)
_AGAIN: Final = queries.set_in(_O, "state", "not_before", "looked_up", "why").where(_OF_KEY)
_PENDING_STATUS: Final = select(_O.c.key).where(
    _O.c.goal == bindparam("of_goal"), text("kind = 'status' AND state = 'pending'")
)
_OLD_STATUS: Final = _O.delete().where(
    _O.c.goal == bindparam("of_goal"),
    text("kind = 'status' AND state IN ('sent', 'superseded')"),
    _O.c.key != bindparam("of_key"),
)


class StoreOutbox:
    """Port Outbox."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def claim(
        self, network: Network, *, limit: int, workspace: str | None = None
    ) -> tuple[Due, ...]:
        """Take what is due, oldest first, one row a thread at a time; of one workspace or of all."""
        return await self._writer.do(lambda tx: claim_due(tx, network, limit, workspace))

    async def void(self, network: Network, workspace: str | None = None) -> int:
        """What a dead process of that workspace, or of all, was sending may be there or not."""
        return await self._writer.do(lambda tx: doubt_claims(tx, network, workspace))

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
        """Withdraw what waits to be said in that room, in whatever thread; empty: in every room."""

        def job(tx: Transaction) -> int:
            of = _of(place)
            roots = tx.run(_REFUSE_ROOTS, **of, state="failed", why=why, claimed_at=tx.now())
            return roots + tx.run(_WITHDRAW, **of, state="superseded", why=why)

        return await self._writer.do(job)

    async def again(
        self, place: Place, *, within_s: float, but: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Try results and questions again that failed in that room lately and still hold."""

        def job(tx: Transaction) -> tuple[str, ...]:
            at = tx.now()
            rows = tx.all(_FAILED_IN_ROOM, **_of(place), of_since=at - within_s)
            keys = tuple(str(key) for [key] in rows if key not in but)
            for key in keys:
                tx.run(_AGAIN, of_key=key, state="unknown", not_before=at, looked_up=True, why="")
            return keys

        return await self._writer.do(job)


def _of(place: Place) -> dict[str, str]:
    return {
        "of_network": place.network, "of_workspace": place.workspace, "of_room": place.room
    }  # fmt: skip


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
