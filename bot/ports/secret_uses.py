"""
Which secrets a room's goals have, and how.

Rule 1: a value is never here: it is sealed among the secrets, under the name that stands here.
Rule 2: without an entry of its room a goal has no secret, whatever is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.ports.chat import Place
from bot.ports.gateway import InUse, Mode
from bot.ports.people import NOTHING, Answer


@dataclass(frozen=True, slots=True)
class Use:
    """An entry: the secret with its hosts and its variable, who set it for the room, and when."""

    secret: InUse
    by: str = ""
    """A person id; empty: the operator, by the command line."""
    at: float = 0.0


class SecretUses(Protocol):
    """Those of rooms. Of a secret that is no longer kept there is no entry."""

    async def of(self, room: Place) -> Sequence[Use]:
        """A room's entries by name, with the hosts that each secret is bound to now."""

    async def use(
        self,
        room: Place,
        name: str,
        *,
        mode: Mode,
        variable: str,
        by: str,
        answer: Answer = NOTHING,
    ) -> None:
        """Let a room's goals have a secret, in place of how they had it."""

    async def stop(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Take it from them; false where they had none of that name."""
