"""
The ear of one account, put together.

Rule: what people on the list may do, what is said in rooms, and where files go is brought in.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import nio

from adapters.matrix.asking import LATE_S, POLL_S, Asking
from adapters.matrix.completing import Completing, Fetch, IsHeard, Unfetched
from adapters.matrix.invites import Invites, IsClaimOpen, MayInvite
from adapters.matrix.keys import ask_for_key
from adapters.matrix.members import RoomMembers
from adapters.matrix.patience import Patience, Renewing
from adapters.matrix.reading import Reader
from adapters.matrix.sealed import SealedEvents, TellUnreadable
from adapters.matrix.syncing import Parts, Syncing, name_of
from bot.ports.chat import Attachment, Place, Speaker
from bot.ports.clock import Clock
from bot.ports.positions import Positions


class Session(Renewing, Protocol):
    """A session and its client, which stays the same one."""

    client: nio.AsyncClient


async def _nobody(speaker: Speaker) -> bool:
    return False


async def _no() -> bool:
    return False


async def _anybody(place: Place, speaker: Speaker) -> bool:
    return True


async def _nothing(content: object) -> Attachment | None:
    return None


async def _untold(place: Place, speaker: Speaker, key: str) -> None:
    return None


def _named(name: str, why: str) -> str:
    return f"[{name}] {why}"


def _unheard(text: str = "") -> None:
    return None


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is brought in."""

    may_invite: MayInvite = _nobody
    """Whether somebody may ask the bot into rooms."""
    is_claim_open: IsClaimOpen = _no
    """Whether the bot has no admin yet and may be claimed."""
    is_heard: IsHeard = _anybody
    """Whether somebody's files are fetched."""
    fetch: Fetch = _nothing
    """Fetches the file of a message's content."""
    unfetched: Unfetched = _named
    """What a message says whose file did not come: of the file's name, and why."""
    tell_unreadable: TellUnreadable = _untold
    """Says that a message cannot be read yet; the same key is told once."""
    heard: Callable[[], None] = _unheard
    """Called with each answer of the homeserver."""
    trouble: Callable[[str], None] = _unheard
    """Called with the reason why the bot is deaf for the moment."""


def listening(
    session: Session,
    positions: Positions,
    clock: Clock,
    wishes: Wishes,
    *,
    members: RoomMembers | None = None,
    poll_s: float = POLL_S,
    late_s: float = LATE_S,
) -> Syncing:
    """What reads for the account of a session; `run` it."""
    client = session.client
    reader, members = Reader(client), members or RoomMembers(client, clock)
    patience = Patience(session, clock, wishes.trouble)
    ask: Callable[[nio.MegolmEvent], Awaitable[object]] = partial(ask_for_key, client)
    parts = Parts(
        asking=Asking(client, session.ready, poll_s=poll_s, late_s=late_s),
        reader=reader,
        patience=patience,
        members=members,
        invites=Invites(
            client,
            clock,
            may_invite=wishes.may_invite,
            is_claim_open=wishes.is_claim_open,
            members_of=members.of,
        ),
        sealed=SealedEvents(
            reader,
            positions,
            clock,
            client.user_id,
            ask_for_key=ask,
            tell=wishes.tell_unreadable,
            name_of=partial(name_of, client),
        ),
        completing=Completing(
            client,
            reader,
            patience,
            clock,
            fetch=wishes.fetch,
            unfetched=wishes.unfetched,
            is_heard=wishes.is_heard,
        ),
    )
    return Syncing(client, parts, positions, clock, wishes.heard)
