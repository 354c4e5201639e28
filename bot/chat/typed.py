"""
How the command is typed on a network: by another name where there it has one, with another sign where a
client takes `/` for commands of its own. Pure.

Rule 1: only sentences of ours are written anew, and in them only what stands as code; the rest is not ours.
Rule 2: what people type by the name that it has there is read as `/goal`, and kept so.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bot.chat.abilities import HAS_BUTTONS
from bot.chat.parse import COMMAND
from bot.ports.chat import Button, Network, Place, Shape

Names = Mapping[Network, str]
"""What the command is called on a network where that is not `goal`."""
_SIGN: Final = "!"
_SHOWN: Final = re.compile(rf"(?<=`)/{COMMAND}(?=[ `])")
_VERB: Final = re.compile(rf"^/{COMMAND}\b")


def as_typed(shape: Shape, place: Place, *, is_ours: bool, names: Names | None = None) -> Shape:
    """The shape with commands as they are typed there; `is_ours`: its body is."""
    typed = _typed(place, names or {})
    if typed == f"/{COMMAND}":
        return shape
    # A button that is pressed is typed by nobody.
    buttons = (
        shape.buttons
        if place.network in HAS_BUTTONS
        else tuple(Button(_VERB.sub(typed, one.verb), one.label) for one in shape.buttons)
    )
    return replace(
        shape,
        body=_SHOWN.sub(typed, shape.body) if is_ours else shape.body,
        notes=tuple(_SHOWN.sub(typed, note) for note in shape.notes),
        buttons=buttons,
    )


def sentence_as_typed(text: str, place: Place, names: Names) -> str:
    """A sentence of ours with commands as they are typed there."""
    return _SHOWN.sub(_typed(place, names), text)


def as_read(text: str, network: Network, names: Names) -> str:
    """What was typed, with `goal` for the name that the command has on the network."""
    name = names.get(network, COMMAND)
    if name == COMMAND:
        return text
    return re.sub(
        rf"^(\s*[/!]){re.escape(name)}(?=\s|$)", rf"\g<1>{COMMAND}", text, flags=re.IGNORECASE
    )


def _typed(place: Place, names: Names) -> str:
    """The command's name with its sign, as somebody types it in a place.

    Clients of Matrix refuse a `/` command that they do not know; in Slack's threads there are none.
    """
    name = names.get(place.network, COMMAND)
    takes_none = place.network == "matrix" or (place.network == "slack" and bool(place.thread))
    return f"{_SIGN if takes_none else '/'}{name}"
