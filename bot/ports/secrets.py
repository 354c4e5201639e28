"""
Values that are kept sealed: what people give by name, tokens of networks, seeds of keys.

Rule 1: a row holds a value sealed under a key that is kept elsewhere, with that key's id. Kind, name
        and hosts are authenticated with it: a row that was altered or moved does not open.
Rule 2: a value crosses this port only where it is put or used. Lists never hold one.
Rule 3: while keys change, every row opens at every moment: the new key is kept before a row is
        sealed under it, and an old one goes when no row needs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["secret", "token", "seed"]


@dataclass(frozen=True, slots=True)
class Named:
    """A secret without its value. `hosts` are those that it may be sent to; none: nowhere by itself."""

    kind: Kind
    name: str
    hosts: tuple[str, ...] = ()
    key_id: str = ""
    set_by: str = ""
    set_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value as it is kept."""

    key_id: str
    text: str


class Sealing(Protocol):
    """Keys, newest first, and what can be done with them. Blocking: short reads of a file."""

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        """Seal under the newest key, which is made where there is none yet.

        Args:
            is_first: nothing else is sealed, so that a key may be made; otherwise one was lost.

        Raises:
            SecretsUnusable: there is no key, and none can or should be made.
        """

    def unseal(self, of: Named, text: str) -> str:
        """The value sealed under the key `of.key_id`.

        Raises:
            SecretsUnusable: that key is not there, or the row was altered.
        """

    def add_key(self) -> str:
        """Make a key that is the newest from now on; returns its id.

        Raises:
            SecretsUnusable: keys come from where nothing can be written.
        """

    def drop_keys(self, keep: frozenset[str]) -> None:
        """Forget every key but the newest and those of `keep`."""


class Secrets(Protocol):
    """Sealed values by kind and name."""

    async def put(
        self, kind: Kind, name: str, value: str, *, hosts: tuple[str, ...] = (), by: str = ""
    ) -> Named:
        """Keep a value, in place of the one that is there.

        Raises:
            SecretsUnusable, StoreBusy, StoreUnusable.
        """

    async def get(self, kind: Kind, name: str) -> str:
        """The value. Raises KeyError where there is none, SecretsUnusable."""

    async def names(self) -> tuple[Named, ...]:
        """All of them by kind and name, without their values."""

    async def values(self) -> Mapping[Named, str]:
        """All of them. Raises SecretsUnusable for the first one that does not open."""

    async def remove(self, kind: Kind, name: str) -> bool:
        """Forget one; false where there was none."""

    async def rotate(self, *, is_made: bool = True, keeps_old: bool = False) -> int:
        """Seal every value again under a new key, and drop the old ones; returns how many values.

        Args:
            is_made: make that key; otherwise the newest that there is serves.
            keeps_old: leave the old keys: backups made until now need them.

        Raises:
            SecretsUnusable: one does not open, or no key can be made; every one is as it was.
        """
