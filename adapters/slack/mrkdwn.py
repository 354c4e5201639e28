"""
Slack's own markup, `mrkdwn`, of tokens of Markdown: for what stands in sections and contexts. Pure.

Rule 1: `&`, `<` and `>` are escaped in every text; what stands in `<...>` is a link or a call of ours.
Rule 2: no section is longer than Slack takes, counted after escaping; code that is cut is closed and
        opened again.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it.token import Token

from adapters.slack.text import CALLS, JOINER, Parsed, Piece, line, pieces
from bot.ports.plain import printable

SECTION_MOST: Final = 3_000
"""Characters of a section's text. https://docs.slack.dev/reference/block-kit/blocks/section-block"""
FENCE: Final = "`" * 3
QUOTED: Final = "> "
_MARKS: Final = {"bold": "*", "italic": "_", "strike": "~"}
_SPECIAL: Final = re.compile(r"(?<!\w)[*_~`](?=\S)|(?<=\S)[*_~`](?!\w)|`")
_EMOJI: Final = re.compile(r":(?=[a-z0-9_+'-]+:)")
_ENTITY: Final = re.compile(r"&[a-z]{0,3}$")


def escaped(text: str) -> str:
    """A text in which Slack finds no call, link or entity."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def of_line(markdown: str) -> str:
    """A text as one line of mrkdwn."""
    return of_pieces(line(markdown))


def of_pieces(found: Sequence[Piece]) -> str:
    """Pieces of text, with their styles and links."""
    return "".join(
        _marked(piece, _before(found, at), _after(found, at)) for at, piece in enumerate(found)
    )


def link(url: str, label: str) -> str:
    """A link of ours."""
    shown = escaped(label).replace("|", "¦")
    return f"<{_address(url)}|{shown}>" if shown else f"<{_address(url)}>"


def literal(text: str) -> str:
    """A text without any markup, its line ends kept."""
    return _tame(escaped(printable(text)))


def is_plain_sailing(found: Sequence[Piece]) -> bool:
    """Whether mrkdwn says exactly this: no sign in the text means something else there."""
    for at, piece in enumerate(found):
        is_code = "code" in piece.styles
        if "`" in piece.text or (not is_code and re.search(r"[*_~]|:[a-z0-9_+'-]+:", piece.text)):
            return False
        styled = piece.styles - {"code"} or is_code
        if styled and (_is_word(_before(found, at)[-1:]) or _is_word(_after(found, at)[:1])):
            return False
        if styled and piece.text != piece.text.strip():
            return False
    return True


def sections(text: Parsed) -> Iterator[str]:
    """A whole text as texts of sections: where Slack takes no richer block."""
    if text.tokens is None:
        yield from cut(literal(text.source))
        return
    waiting: list[str] = []
    for part, is_code in _parts(text.tokens):
        size = sum(len(one) + 2 for one in waiting) + len(part)
        if is_code or size > SECTION_MOST:
            yield from _together(waiting)
            waiting = []
        if is_code:
            yield from fenced(part)
        else:
            waiting.append(part)
    yield from _together(waiting)


def fenced(code: str, most: int = SECTION_MOST) -> Iterator[str]:
    """Code between fences, in as many texts as it takes; lines stay whole where they fit."""
    room = most - 2 * len(FENCE) - 2
    shown = escaped(code.removesuffix("\n")).replace(FENCE, f"``{JOINER}`")
    for part in cut(shown, room):
        yield f"{FENCE}\n{part}\n{FENCE}"


def cut(text: str, most: int = SECTION_MOST) -> Iterator[str]:
    """An escaped text in parts of at most `most` characters: between lines, words, at last letters."""
    while len(text) > most:
        at = text.rfind("\n", 1, most + 1)
        at = at if at > 0 else text.rfind(" ", most // 2, most + 1)
        if at <= 0:
            entity = _ENTITY.search(text[:most])
            at = entity.start() if entity and entity.start() > 0 else most
            yield text[:at]
            text = text[at:]
        else:
            yield text[:at]
            text = text[at + 1 :]
    if text.strip():
        yield text


def _together(parts: list[str]) -> Iterator[str]:
    yield from cut("\n\n".join(parts)) if parts else ()


def _parts(tokens: Sequence[Token]) -> Iterator[tuple[str, bool]]:
    """Each block's text, and whether it is code."""
    marks: list[str] = []
    numbers: list[int] = []
    cells: list[str] | None = None
    for token in tokens:
        match token.type:
            case "bullet_list_open":
                numbers.append(-1)
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1) or 0))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open":
                depth = "    " * (len(numbers) - 1)
                marks.append(f"{depth}{numbers[-1]}. " if numbers[-1] >= 0 else f"{depth}•  ")
                numbers[-1] += 1 if numbers[-1] >= 0 else 0
            case "blockquote_open":
                marks.append(QUOTED)
            case "list_item_close" | "blockquote_close":
                marks.pop()
            case "tr_open":
                cells = []
            case "tr_close":
                yield " | ".join(cells or ()), False
                cells = None
            case "inline":
                text = of_pieces(pieces(token.children or ()))
                if cells is not None:
                    cells.append(text)
                    continue
                yield _led(text, marks), False
            case "fence" | "code_block":
                yield token.content, True
            case "hr":
                yield "———", False
            case _:
                pass


def _led(text: str, marks: list[str]) -> str:
    """A paragraph behind what it stands in; an item's mark stands before its first one alone."""
    mark = marks[-1] if marks else ""
    if mark == QUOTED:
        return QUOTED + text.replace("\n", f"\n{QUOTED}")
    if marks:
        marks[-1] = " " * len(mark)
    return mark + text


def _marked(piece: Piece, before: str, after: str) -> str:
    if "code" in piece.styles:
        text = f"`{escaped(piece.text).replace('`', JOINER + chr(0x2CB))}`"
    else:
        text = _tame(escaped(piece.text))
    if piece.url:
        label = text.replace("|", "¦")
        text = f"<{_address(piece.url)}|{label}>" if piece.text else f"<{_address(piece.url)}>"
    for style, mark in _MARKS.items():
        if style in piece.styles and text.strip():
            inner = text.strip()
            lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            text = f"{lead}{mark}{inner}{mark}{tail}"
    styled = bool(piece.styles)
    left = JOINER if styled and _is_word(before[-1:]) else ""
    right = JOINER if styled and _is_word(after[:1]) else ""
    return f"{left}{text}{right}"


def _tame(text: str) -> str:
    """The text with no sign that begins or ends a style, and no word that becomes an emoji."""
    text = _SPECIAL.sub(lambda found: f"{JOINER}{found.group()}{JOINER}", text)
    return _EMOJI.sub(f":{JOINER}", text)


def _address(url: str) -> str:
    """An address in which nothing ends the mark, and nothing stands as a call."""
    return CALLS.sub("%40", escaped(url).replace("|", "%7C"))


def _before(found: Sequence[Piece], at: int) -> str:
    return found[at - 1].text if at else ""


def _after(found: Sequence[Piece], at: int) -> str:
    return found[at + 1].text if at + 1 < len(found) else ""


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
