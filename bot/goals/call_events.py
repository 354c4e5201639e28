"""What can happen to a model call; part of the union in `bot.goals.events`."""

from dataclasses import dataclass
from typing import Literal

from bot.goals.money import Usage

CallRole = Literal["agent", "audit", "wrap_up", "compaction", "distil"]


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A model call is about to be made, against this reservation.

    `messages` and `revision` are what the request carries of the people's messages and the
    objective; audits carry none and leave both 0. `active_s` is how long its turn has worked so
    far, which is booked when the turn ends.
    """

    call: str
    role: CallRole
    model: str
    tokens: int
    nano_usd: int | None
    messages: int = 0
    revision: int = 0
    active_s: float = 0.0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CapReached:
    """A call did not start: it would pass a day's cap, which holds until `until`.

    Written by the store in place of `CallStarted`. `limit` is the cap, in nano-dollars, or in
    tokens for a call of unknown price; `nano_usd` or `tokens` must be free of it for the call to
    start after all.
    """

    cap: Literal["person", "room", "all"]
    limit: int
    until: float
    nano_usd: int = 0
    tokens: int = 0
    active_s: float = 0.0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CallSettled:
    """The reply came; `nano_usd` is None where the price is unknown."""

    call: str
    usage: Usage
    nano_usd: int | None
    content: str = ""
    """Hash of the raw reply, where it enters the transcript."""
    stop_reason: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CallReleased:
    """The endpoint answered without serving: nothing is owed."""

    call: str
    reason: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CallLost:
    """The reply may have been made and never came: charged by its reservation."""

    call: str
    reason: str = ""
    at: float = 0.0
