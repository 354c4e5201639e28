"""
Where an app was installed by workspaces, and who of several processes serves it.

Rule 1: tokens are sealed under the secret key; a row names none in clear.
Rule 2: what was uninstalled is erased, tokens first; what was said there stays as it is.
Rule 3: of the processes on one database one serves an app at a time. Whoever dies is followed by
        another when its charge has lapsed.
"""

from dataclasses import dataclass
from typing import Protocol

from bot.ports.chat import Network


@dataclass(frozen=True, slots=True)
class Install:
    """An app in one workspace, or in all of an organisation."""

    network: Network
    workspace: str
    """As in `Place.workspace`: of an install for a whole organisation, the organisation's id."""
    app: str
    bot_user: str
    name: str
    """Of the workspace, as people know it."""
    scopes: tuple[str, ...]
    token: str
    refresh_token: str = ""
    """Empty where tokens do not run out."""
    expires_at: float | None = None
    installed_by: str = ""
    """Speaker id of who did it: by that it is found when they are to be forgotten."""
    at: float = 0.0
    organisation: str = ""
    """Id of the organisation that the workspace belongs to; empty for none."""
    further: str = ""
    """JSON of what else the network gave with it; no token."""


class Installs(Protocol):
    """Installs, the states of those under way, and charges."""

    async def installed(self, network: Network) -> tuple[Install, ...]:
        """All of them. Raises SecretsUnusable."""

    async def install(self, network: Network, workspace: str) -> Install | None:
        """That of one workspace. Raises SecretsUnusable."""

    async def keep(self, install: Install) -> None:
        """Add it, or put it in the place of the workspace's former one. Raises SecretsUnusable."""

    async def renew(self, install: Install) -> bool:
        """Put it in the place of the former one; False where that was erased meanwhile.

        Raises:
            SecretsUnusable: its tokens cannot be sealed; the former one stays.
        """

    async def erase(self, network: Network, workspace: str) -> bool:
        """Erase its tokens and itself; False where there is none."""

    async def begin_state(self, state: str, *, lasts_s: float) -> None:
        """Keep the state of an installation under way; its hash alone."""

    async def end_state(self, state: str) -> bool:
        """Use it up; False where it is unknown, was used, or is too old."""

    async def take_charge(self, app: str, holder: str, *, lasts_s: float) -> bool:
        """Take or keep the charge of an app until `lasts_s` from now; False where another holds it."""

    async def leave_charge(self, app: str, holder: str) -> None:
        """Give it up, where it is held."""


class WaysBack(Protocol):
    """Where what was said can be answered unseen by others: `Incoming.way_back`."""

    async def way_back(self, message: str) -> str:
        """The address of a message; empty where it has none, or it has lapsed."""

    async def workspace_of(self, network: Network, room: str) -> str | None:
        """The workspace under which a room is known; None where nothing was ever said there.

        Of a room that several share it is one in which the app is installed, and of those the first
        that was heard from: so a message that several may see has one place.
        """
