"""Whether the database is still of this program's version: another process may have migrated it."""

from adapters.store import schema
from adapters.store.readers import Readers
from adapters.store.statements import Reader


class StoreVersion:
    """Looks at the schema's version of a database that is open."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def newer(self) -> str | None:
        """The version that the database has been brought to meanwhile, or None while it is ours.

        Raises:
            StoreBusy, StoreUnusable: it cannot be read.
        """
        found = await self._readers.do(_version)
        return found if found is not None and found > schema.HEAD else None


def _version(reader: Reader) -> str | None:
    row = reader.connection.execute(schema.VERSION_SQL).fetchone()
    return None if row is None else str(row[0])
