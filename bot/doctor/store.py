"""The check of the database: looked at, never opened for writing, made or migrated."""

from typing import Final

from adapters.store.look import Look, look_at_sqlite
from bot.errors import BadSettings
from bot.settings import Settings

_SQLITE: Final = "sqlite:///"


def database(settings: Settings) -> str:
    """Whether the database can be read and is of this version.

    Raises:
        StoreBusy, StoreUnusable: as found.
        BadSettings: no such kind of database.
    """
    url = settings.database_url
    if url.startswith(_SQLITE):
        path = settings.state_dir / url.removeprefix(_SQLITE)
        return _told(look_at_sqlite(path), str(path))
    raise BadSettings("No such kind of database.")


def _told(found: Look, name: str) -> str:
    if not found.is_there:
        return f"{name} (made at the first start)"
    if found.owner is not None:
        return f"{name}, owned by process {found.owner}, which runs"
    if found.version is None:
        return f"{name}, empty (filled at the first start)"
    if found.will_be_migrated:
        return f"{name}, of version {found.version} (backed up and migrated at the next start)"
    return f"{name}, whole, version {found.version}"
