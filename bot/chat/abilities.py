"""What people can do on a network, as far as it changes what is said to them. Pure."""

from typing import Final

from bot.ports.chat import Incoming, Network

HAS_BUTTONS: Final[frozenset[Network]] = frozenset({"slack"})
"""Buttons are pressed there; elsewhere their words are typed."""
WHISPERS: Final[frozenset[Network]] = frozenset({"slack"})
"""What concerns one person alone is shown to them alone there; elsewhere whoever reads there sees it."""
ROOTS_THREADS: Final[frozenset[Network]] = frozenset({"slack"})
"""In private every message begins a thread there: it is answered under it."""


def is_unseen(message: Incoming) -> bool:
    """Whether it is no message: it stands nowhere, so nothing can hang under it."""
    return message.via != "message"
