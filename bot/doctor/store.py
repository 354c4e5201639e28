"""The check of the database: looked at, never opened for writing, made or migrated."""

from urllib.parse import urlsplit

from adapters.store.look import Look, look
from bot.settings import Settings


def database(settings: Settings) -> str:
    """Whether the database can be read and is of this version.

    Raises:
        StoreBusy, StoreUnusable: as found.
        BadSettings: no such kind of database.
    """
    return _told(look(settings.database_url, state_dir=settings.state_dir), _shown(settings))


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


def _shown(settings: Settings) -> str:
    """The database's name without a password."""
    parts = urlsplit(settings.database_url)
    if parts.scheme == "sqlite":
        return parts.path.removeprefix("/")
    return f"PostgreSQL {parts.hostname or ''}{parts.path}"
