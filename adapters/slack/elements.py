"""
Elements of rich text: what stands in them is shown as it is, nothing is read. Pure.

Rule: no element is empty: Slack refuses the whole message for one.
"""

from collections.abc import Sequence
from typing import Any

from adapters.slack.text import Piece

Block = dict[str, Any]


def elements(found: Sequence[Piece]) -> list[Block]:
    """Pieces of text as elements of a rich text."""
    return [_element(piece) for piece in found]


def preformatted(code: str) -> list[Block]:
    """Code as it is; nothing where there is none."""
    whole = code.removesuffix("\n")
    if not whole:
        return []
    return [{"type": "rich_text_preformatted", "elements": [text(whole)]}]


def rich(parts: list[Block]) -> Block:
    """A block of these sections, lists, quotations and code."""
    return {"type": "rich_text", "elements": parts}


def text(said: str) -> Block:
    """A text in no style."""
    return {"type": "text", "text": said}


def shown(found: Sequence[Piece]) -> str:
    """What people see of pieces of text, without their styles."""
    return "".join(piece.text or piece.url for piece in found)


def _element(piece: Piece) -> Block:
    style = {"style": dict.fromkeys(sorted(piece.styles), True)} if piece.styles else {}
    if not piece.url:
        return {**text(piece.text), **style}
    label = {"text": piece.text} if piece.text else {}
    return {"type": "link", "url": piece.url, **label, **style}
