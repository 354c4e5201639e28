"""Messages in, as rows."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam

from adapters.store import queries
from adapters.store.arrivals import read_waiting, take_in
from adapters.store.incidents import open_incident
from adapters.store.journal import check_waiting, write_handled
from adapters.store.people import write_notes
from adapters.store.positions import write_position
from adapters.store.readers import Readers
from adapters.store.removals import take_back
from adapters.store.statements import Writes
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Arrival, Incoming, Removed
from bot.ports.incidents import Alert
from bot.ports.mail import Received
from bot.ports.people import NOTHING, Answer
from bot.ports.positions import Position

FAILINGS: Final = 3

_I: Final = queries.INBOX

_FAIL: Final = queries.set_in(_I, "state", "attempts", "why").where(_I.c.id == bindparam("of_id"))


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
