"""
How the command is typed on a network: with another sign where a client takes `/` for commands of its own.
Pure.

Rule: only sentences of ours are written anew, and in them only what stands as code; the rest is not ours.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bot.chat.parse import COMMAND
from bot.ports.chat import Button, Network, Shape

_SIGNS: Final[Mapping[Network, str]] = {"matrix": "!"}
"""Clients of Matrix refuse a `/` command that they do not know."""
_SHOWN: Final = re.compile(rf"(?<=`)/(?={COMMAND}[ `])")
_VERB: Final = re.compile(rf"^/(?={COMMAND}\b)")


def as_typed(shape: Shape, network: Network, *, is_ours: bool) -> Shape:
    """The shape with commands as they are typed there; `is_ours`: its body is."""
    sign = _SIGNS.get(network)
    if sign is None:
        return shape
    return replace(
        shape,
        body=_SHOWN.sub(sign, shape.body) if is_ours else shape.body,
        notes=tuple(_SHOWN.sub(sign, note) for note in shape.notes),
        buttons=tuple(Button(_VERB.sub(sign, one.verb), one.label) for one in shape.buttons),
    )
