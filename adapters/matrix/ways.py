"""What a session is renewed by, how fast that is tried, and who is told of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import nio

from adapters.matrix.account import Account

LOOK_S: Final = 2.0
"""How often the account file is looked at while nothing else can be done."""
FIRST_S: Final = 1.0
LONGEST_S: Final = 300.0
SETTLED_S: Final = 60.0
"""A session that was lost again sooner counts as one that was never there."""
EARLY_S: Final = 90.0
"""Before a token runs out it is renewed: more than the 30 s of a sync, so that one sees it."""


class Signing(Protocol):
    """Signs the device again once the homeserver has lost its signature."""

    async def __call__(self, client: nio.AsyncClient, account: Account) -> None:
        """Sign it where that is missing. Raises HeadwayError."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is waited between tries, seconds."""

    look_s: float = LOOK_S
    first_s: float = FIRST_S
    longest_s: float = LONGEST_S
    settled_s: float = SETTLED_S
    early_s: float = EARLY_S


@dataclass(slots=True)
class Ways:
    """What a session may be renewed by, besides the refresh token; and who is told of secrets."""

    password: str = field(default="", repr=False)
    learn: Callable[[str, str], object] = lambda name, value: None
    deaf: Callable[[str], None] = lambda why: None
    """Is told why the bot is deaf, with the mend."""
    signing: Signing | None = None
    pace: Pace = field(default_factory=Pace)
    now: Callable[[], float] = time.time
