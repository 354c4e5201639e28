"""The repositories that goals of a room may start from, as rows."""

from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.places import find_room, see_room
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer
from bot.ports.repositories import Repository

_T: Final = METADATA.tables["repository"]
_COLUMNS: Final = ("name", "url", "branch", "secret", "set_by", "set_at")
_OF: Final = (
    select(*(_T.c[name] for name in _COLUMNS))
    .where(_T.c.room == bindparam("of_room"))
    .order_by(_T.c.name)
)
_PUT: Final = queries.upsert(queries.into(_T), ("room", "name"), *_COLUMNS[1:])
_HERE: Final = (_T.c.room == bindparam("of_room"), _T.c.name == bindparam("of_name"))
_ONE: Final = select(_T.c.name).where(*_HERE)
_REMOVE: Final = delete(_T).where(*_HERE)


class StoreRepositories:
    """Port Repositories."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer, self._readers = writer, readers

    async def of(self, room: Place) -> tuple[Repository, ...]:
        """As in the port."""

        def query(reader: Reader) -> tuple[Repository, ...]:
            id = find_room(reader, room)
            return () if id is None else tuple(map(_repository, reader.all(_OF, of_room=id)))

        return await self._readers.do(query)

    async def put(self, room: Place, repository: Repository, answer: Answer = NOTHING) -> bool:
        """As in the port."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            id = see_room(tx, room)
            was = tx.one(_ONE, of_room=id, of_name=repository.name)
            tx.run(
                _PUT, room=id, name=repository.name, url=repository.url, branch=repository.branch,
                secret=repository.secret, set_by=repository.by, set_at=tx.now(),
            )  # fmt: skip
            write_notes(tx, answer)
            return was is None

        return await self._writer.do(job)

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """As in the port."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            id = find_room(tx, room)
            if id is None or not tx.run(_REMOVE, of_room=id, of_name=name):
                return False
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)


def _repository(row: Row) -> Repository:
    return Repository(*row)
