"""What a process and its folders are called on a database that several processes share."""

import socket
from dataclasses import dataclass

from adapters.store.open import Store, is_shared
from bot.ports.chat import Place
from bot.settings import Settings
from bot.wiring.folder import identity


@dataclass(frozen=True, slots=True)
class Names:
    """Names are empty where the database is this process's alone."""

    is_shared: bool
    """Several processes may work on the database."""
    console: str = ""
    """Of the state folder: the workspace of its console."""
    home: str = ""
    """Of the folder of workspaces."""

    @property
    def worker(self) -> str:
        """What the names of its worker and of its forerunners' begin with."""
        return f"{self.console or socket.gethostname()}."

    def is_ours(self, place: Place) -> bool:
        """Whether this process handles what is said there: a console belongs to its state folder."""
        return place.network != "console" or place.workspace == self.console


def names_of(settings: Settings) -> Names:
    """The names of this process, kept in its folders.

    Raises:
        BadSettings: they cannot be.
    """
    if not is_shared(settings.database_url):
        return Names(is_shared=False)
    return Names(True, identity(settings.state_dir), identity(settings.workspaces_dir))


async def take_over(store: Store, names: Names) -> None:
    """Free what a former process of the state folder held: this one owns it, so that one is gone."""
    if names.is_shared:
        await store.leases.void(names.worker)
        await store.outbox.void("console", names.console)
