"""
The buttons under what is said to people and rooms, by the reason that the row carries. Pure.

A reason is a kind and, behind a colon, what its buttons are about: `access:@eve`, `lost:G12`.
"""

from collections.abc import Mapping
from typing import Final

from bot.chat.facts import Manner
from bot.ports.chat import Button

_BUTTONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "stranger": (("/goal access", "button.ask_access"),),
    "access": (("/goal allow {of}", "button.allow"),),
    "offer": (("accept", "button.accept"), ("decline", "button.decline")),
    "lost": (
        ("/goal owner {of} me", "button.take_over"),
        ("/goal cancel {of}", "button.cancel"),
        ("/goal pause {of}", "button.keep_paused"),
    ),
}


def buttons_of(reason: str, manner: Manner) -> tuple[Button, ...]:
    """The buttons of a reply; none for one that has no reason."""
    kind, _, of = reason.partition(":")
    offered = _BUTTONS.get(kind, ())
    return tuple(Button(verb.format(of=of), manner.texts(label)) for verb, label in offered)
