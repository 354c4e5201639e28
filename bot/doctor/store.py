"""The check of the database: looked at, never opened for writing, made or migrated."""

from pathlib import Path
from urllib.parse import urlsplit

from adapters.store.look import Look, look
from bot.doctor.finding import wrong
from bot.settings import Settings
from bot.wiring.folder import LOCK


def database(settings: Settings) -> str:
    """Whether the database can be read and is of this version.

    Raises:
        StoreBusy, StoreUnusable: as found.
        BadSettings: no such kind of database.
    """
    found = look(settings.database_url, state_dir=settings.state_dir)
    if found.owner is not None and _is_elsewhere(settings, found.owner):
        raise wrong(
            f"{_shown(settings)} is owned by process {found.owner}, which works for another state "
            "folder. Stop that process, or give this state folder a database of its own."
        )
    return _told(found, _shown(settings)) + _elsewhere(found, settings)


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


def _is_elsewhere(settings: Settings, owner: int) -> bool:
    """Whether the process that owns a database outside of the state folder is not this folder's."""
    path = Path("/", urlsplit(settings.database_url).path.lstrip("/"))
    if path.parent == settings.state_dir:
        return False
    try:
        return (settings.state_dir / LOCK).read_text("ascii", "replace").strip() != str(owner)
    except OSError:
        return True


def _elsewhere(found: Look, settings: Settings) -> str:
    """Which goals no process of this folder of workspaces can work at."""
    if not found.homes:
        return ""
    from bot.wiring.folder import known_identity

    home = known_identity(settings.workspaces_dir)
    away = {name: count for name, count in found.homes.items() if name != home}
    if not away:
        return ""
    count = sum(away.values())
    have = "1 live goal has its" if count == 1 else f"{count} live goals have their"
    return (
        f"; {have} files in another folder of workspaces ({', '.join(away)}): they are worked at "
        "where that folder is, by a headway whose `workspaces` names it"
    )


def _shown(settings: Settings) -> str:
    """The database's name without a password."""
    parts = urlsplit(settings.database_url)
    if parts.scheme == "sqlite":
        return parts.path.removeprefix("/")
    return f"PostgreSQL {parts.hostname or ''}{parts.path}"
