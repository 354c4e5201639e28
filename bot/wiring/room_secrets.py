"""
The secrets that a room's repositories and servers of tools name, for whoever reaches these.

Rule: a room gets what is its own, and what an admin of everywhere has named for it; what counts is whose
      admin they are now. A name alone gets nothing: others may have a secret of that name by now.
"""

from collections.abc import Awaitable, Callable

from bot.ports.chat import Place
from bot.ports.secret_uses import SecretUses
from bot.ports.secrets import Secrets

Value = tuple[str, tuple[str, ...]]
"""It, and the hosts that it is bound to."""


async def _nobody(room: Place, person: str) -> bool:
    return False


class RoomSecrets:
    """Values by the room, the name, and who has named it (a person id)."""

    def __init__(self, secrets: Secrets, uses: SecretUses) -> None:
        self._secrets, self._uses = secrets, uses
        self.is_chief: Callable[[Place, str], Awaitable[bool]] = _nobody
        """Whether a person is an admin in all rooms of a network, and not in some alone."""

    async def __call__(self, room: Place, name: str, by: str) -> Value | None:
        """The value, or None: there is none, or it is not for this room. Raises as the store does."""
        room = Place(room.network, room.workspace, room.room)
        own = {use.secret.name for use in await self._uses.of(room)}
        if name not in own and not (by and await self.is_chief(room, by)):
            return None
        for named in await self._secrets.names():
            if (named.kind, named.name) == ("secret", name):
                return await self._secrets.get("secret", name), named.hosts
        return None
