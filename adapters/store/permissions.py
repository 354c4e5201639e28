"""Standing permissions of rooms, as rows; see `adapters.store.standing`."""

import json
import math
from collections.abc import Callable
from typing import Final, get_args

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.places import find_room
from adapters.store.readers import Readers
from adapters.store.standing import GRANT, KIND
from adapters.store.statements import Reader, Row
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.goals.hands import GrantKind
from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer
from bot.ports.permissions import Permission

_G: Final = GRANT
_HERE: Final = (_G.c.room == bindparam("of_room"), text(f"\"grant\".kind = '{KIND}'"))
_OF: Final = (
    select(_G.c.id, _G.c.rule, _G.c.given_by, _G.c.given_at, _G.c.expires_at, _G.c.uses)
    .where(*_HERE)
    .order_by(_G.c.given_at.desc(), _G.c.id)
)
_ONE: Final = select(_G.c.expires_at).where(*_HERE, _G.c.id == bindparam("of_id"))
_TIME: Final = select(text("CAST(extract(epoch FROM clock_timestamp()) AS float8)"))
_END: Final = queries.set_in(_G, "expires_at", "person").where(_G.c.id == bindparam("of_id"))
"""`person`: who took it back."""


class StorePermissions:
    """Port Permissions."""

    def __init__(self, writer: Writer, readers: Readers, now: Callable[[], float]) -> None:
        """`now`: of our clock, which counts where the database has none of its own."""
        self._writer, self._readers, self._now = writer, readers, now

    async def of(self, room: Place) -> tuple[Permission, ...]:
        """As in the port."""

        def query(reader: Reader) -> tuple[Permission, ...]:
            id = find_room(reader, room)
            if id is None:
                return ()
            found = [_permission(room, row) for row in reader.all(_OF, of_room=id)]
            if not any(found):
                return ()
            now = self._now() if self._readers.is_near else (reader.one(_TIME) or (math.inf,))[0]
            return tuple(one for one in found if one is not None and one.expires_at > now)

        return await self._readers.do(query)

    async def revoke(self, room: Place, id: str, by: str, answer: Answer = NOTHING) -> bool:
        """As in the port."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            there, now = find_room(tx, room), tx.now()
            row = tx.one(_ONE, of_room=there, of_id=id) if there is not None else None
            if row is None or row[0] <= now:
                return False
            tx.run(_END, of_id=id, expires_at=now, person=by)
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)


def _permission(room: Place, row: Row) -> Permission | None:
    """The row's permission; None where nobody can read its rule any more."""
    id, rule, by, given_at, expires_at, uses = row
    try:
        read = json.loads(rule)
        kind, what = read["kind"], read["what"]
    except (ValueError, LookupError, TypeError):
        return None
    if kind not in get_args(GrantKind):
        return None
    said = what if isinstance(what, str) else json.dumps(what)
    where = Place(room.network, room.workspace, room.room)
    return Permission(id, where, kind, said, by or "", given_at, expires_at, uses)
