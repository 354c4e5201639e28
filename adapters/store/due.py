"""
What is to be sent now: rows of the outbox, claimed before a network is touched.

Rule: what was claimed and never answered for is of unknown outcome; it is looked up.
"""

from typing import Any, Final

from sqlalchemy import bindparam, exists, select, text

from adapters.store import queries
from adapters.store.attachments import read_files
from adapters.store.places import place_of
from adapters.store.roots import IS_SENDABLE, REVIVE, ROOT
from adapters.store.statements import Row
from adapters.store.transaction import Transaction
from bot.ports.chat import Network
from bot.ports.mail import Due

CLAIM_S: Final = 60.0
"""A claim older than this is of unknown outcome."""
ROOT_EDIT: Final = ":card:root:"
"""What stands in the key of an edit of a thread's first message, which stands in the main timeline."""
OPEN: Final = "{0}.state IN ('pending', 'claimed', 'unknown')"
"""Spelt as the partial index `outbox_open` is, so that it is used."""

_O, _S, _R = queries.OUTBOX, queries.SESSION, queries.ROOM

_STALE: Final = queries.set_in(_O, "state").where(
    text(OPEN.format("outbox")),
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
        text(OPEN.format("outbox")),
        text("outbox.state <> 'claimed'"),
        text("NOT EXISTS (SELECT 1 FROM hold WHERE hold.scope = 'restore')"),
        _O.c.not_before <= bindparam("of_now"),
        IS_SENDABLE,
        ~exists().where(
            _ahead.c.session == _O.c.session,
            text(OPEN.format("ahead")),
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

_OF_KEY: Final = _O.c.key == bindparam("of_key")
_TAKE: Final = queries.set_in(_O, "state", "claimed_at", "looked_up").where(_OF_KEY)
_OF_NETWORK: Final = (
    select(_S.c.id).join(_R, _R.c.id == _S.c.room).where(_R.c.network == bindparam("of_network"))
)
_VOID: Final = queries.set_in(_O, "state").where(
    text(OPEN.format("outbox")), text("outbox.state = 'claimed'")
)
_VOID_ALL: Final = _VOID.where(_O.c.session.in_(_OF_NETWORK))
_VOID_OF: Final = _VOID.where(
    _O.c.session.in_(_OF_NETWORK.where(_R.c.workspace == bindparam("of_workspace")))
)
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


def claim_due(
    tx: Transaction, network: Network, limit: int, workspace: str | None
) -> tuple[Due, ...]:
    """Take what is due, oldest first, one row a thread at a time; of one workspace or of all."""
    query = _CLAIM if workspace is None else _CLAIM_OF
    of = {} if workspace is None else {"of_workspace": workspace}
    tx.alone(f"outbox.{network}")
    now = tx.now()
    tx.run(_STALE, of_before=now - CLAIM_S, state="unknown")
    tx.run(REVIVE, state="pending")
    # Two rows of a thread can be free at once (a status edit and a post).
    rows = tx.all(query, of_network=network, of_now=now, of_limit=2 * limit, **of)
    first = {row[3]: row for row in reversed(rows)}
    chosen = [row for row in rows if first[row[3]] is row]
    return tuple(_take(tx, row, now) for row in chosen[:limit])


def doubt_claims(tx: Transaction, network: Network, workspace: str | None) -> int:
    """What was being sent there, or anywhere in the network, may be there or not."""
    if workspace is None:
        return tx.run(_VOID_ALL, of_network=network, state="unknown")
    return tx.run(_VOID_OF, of_network=network, of_workspace=workspace, state="unknown")


def void_claims(tx: Transaction) -> int:
    """What the former owner was sending when it died may be there or not."""
    return tx.run(_STALE, of_before=float("inf"), state="unknown")


def _take(tx: Transaction, row: Row, now: float) -> Due:
    key, kind, goal, session, network, workspace, room, thread, reason, *rest = row
    only_for, content, remote, state, created_at, may_differ = rest
    was_unknown = state == "unknown" or bool(may_differ)
    tx.run(_TAKE, of_key=key, state="claimed", claimed_at=now, looked_up=was_unknown)
    is_above = kind == ROOT or ROOT_EDIT in key
    place = place_of(network, workspace, room, "" if is_above else thread)
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
    if (kind == "removal" and key.endswith(":root")) or ROOT_EDIT in key:
        row = tx.one(_BEGAN, of_goal=goal)
    elif kind == "removal" and not key.endswith(":status"):
        row = tx.one(_REMOTE, of_key=key.replace(":removal:", ":", 1))
    elif kind in ("status", "removal"):
        row = tx.one(_SHOWN, of_goal=goal)
    elif kind == "card":
        row = tx.one(_REMOTE, of_key=f"{goal}:decision:{key.rpartition(':')[2]}")
    return row[0] if row else ""
