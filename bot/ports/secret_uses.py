"""
Which secrets a room's goals have, and how; and forms behind links that work once, in which they are typed.

Rule 1: a value is never here: it is sealed among the secrets, under the name that stands here.
Rule 2: without an entry of its room a goal has no secret, whatever is kept.
Rule 3: with a form the hash of its link is kept. It is one person's, about one secret of one room, works once, and
        ends by itself. The link itself stands in what is said to that person, so among the texts, too: it is
        worth nothing once it was used or has ended, and until then what is typed behind it is kept, never shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.people import NOTHING, Answer


@dataclass(frozen=True, slots=True)
class Use:
    """An entry: the secret with its hosts and its variable, who set it for the room, and when."""

    secret: InUse
    by: str = ""
    """A person id; empty: the operator, by the command line."""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class FormLink:
    """A form that is open: who was given it, for which room, and what is typed in it."""

    room: Place
    person: str
    secret: InUse
    expires_at: float


@dataclass(frozen=True, slots=True)
class Value:
    """Where a secret's value comes from; nothing of it: the one that is kept stays.

    `entered`: it was sealed as it came, under this name, which goes. `link`: the hash of the form's link.
    """

    text: str = ""
    entered: str = ""
    link: str = ""


class SecretUses(Protocol):
    """Those of rooms, and the forms."""

    async def of(self, room: Place) -> Sequence[Use]:
        """A room's entries by name, with the hosts that each secret is bound to now.

        Of a secret that is no longer kept there is none.
        """

    async def elsewhere(self, room: Place, name: str) -> tuple[str, ...] | None:
        """The hosts of a secret of that name that is not this room's alone: others have it, or nobody yet.

        The operator's is never a room's alone, whichever have it. None: there is none, or it is.
        """

    async def keep(
        self,
        room: Place,
        secret: InUse,
        value: Value,
        *,
        by: str,
        is_chief: bool = False,
        answer: Answer = NOTHING,
    ) -> bool:
        """Seal the value with its hosts, and let the room's goals have it, in place of how they had it.

        False: the link was used, has ended, or was none; then nothing is done. Whose the value that is
        kept was, it stays.

        Args:
            is_chief: whoever sets it may set what others have, too.

        Raises:
            KeyError: there is no value.
            Refused: it is not this room's alone (`elsewhere`), and may not be set.
            SecretsUnusable, StoreBusy, StoreUnusable.
        """

    async def stop(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Take it from the room's goals; its value goes where no other room has it, and it is no operator's.

        False: they had none of that name.
        """

    async def open_link(self, link_hash: str, link: FormLink, answer: Answer = NOTHING) -> None:
        """Open a form. Those that ended a day ago go."""

    async def link(self, link_hash: str) -> FormLink | None:
        """The form, where it is open still."""

    async def rooms_of(self, person: str) -> Sequence[Place]:
        """Rooms in which somebody has said something, the last first; a few."""
