"""
The form behind a link in which a secret's value is typed, as whoever serves it sees it.

Rule: who asks is known by the link's word alone; looking at a form uses nothing up.
"""

from typing import Final, Protocol

from bot.ports.secret_uses import FormLink

VALUE: Final = "value"
"""Name of the input that is sealed, in every form."""
MOST: Final = 65_536
"""Characters of a value, as on the command line."""


class Say(Protocol):
    """The sentences of a page, by key."""

    language: str

    def __call__(self, key: str, /, **values: object) -> str:
        """One of them."""


class SecretForm(Protocol):
    """Forms behind links."""

    @property
    def texts(self) -> Say:
        """The sentences of the page: `page.secret.*`."""

    async def open(self, token: str) -> FormLink | None:
        """The form of a link, where it works still and whoever has it may do what it does."""

    async def take(self, token: str, value: str) -> bool:
        """Keep a value that was typed; False where the link does not work any more.

        Raises:
            ByPerson: it is none; the link still works.
        """
