"""
The form behind a link in which a secret's value is typed, as whoever serves it sees it.

Rule: who asks is known by the link's word alone; looking at a form uses nothing up.
"""

from typing import Final, Protocol

from bot.ports.gateway import InUse
from bot.ports.secret_uses import FormLink

VALUE: Final = "value"
"""Name of the input that is sealed, in every form."""
MOST: Final = 65_536
"""Characters of a value, as on the command line."""


class SecretForm(Protocol):
    """Forms behind links."""

    @property
    def language(self) -> str:
        """Of the page."""

    def say(self, key: str, **values: object) -> str:
        """A sentence of the page: `title`, `about`, `about.given`, `label`, `button`, `done`, `gone` ..."""

    def hosts(self, secret: InUse) -> str:
        """Where a secret may go, as it is read."""

    async def open(self, token: str) -> FormLink | None:
        """The form of a link, where it works still and whoever has it may do what it does."""

    async def take(self, token: str, value: str) -> bool:
        """Keep a value that was typed; False where the link does not work any more.

        Raises:
            ByPerson: it is none; the link still works.
        """
