"""Tokens of Markdown as a text that reads well without HTML. Pure; see `adapters.matrix.text`."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from markdown_it.token import Token

from adapters.matrix.markup import followed

Quiet = Callable[[str], str]

WIDEST: Final = 40
"""Columns of a table are padded up to this many characters; a longer cell stands out."""
RULE: Final = "———"
_LINE: Final = re.compile(r"(?<=\n)(?=[^\n])")
"""The beginning of each line that is not empty, but for the first one."""
_CONTAINERS: Final = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote", "table"})


def plain(tokens: Sequence[Token], quiet: Quiet) -> str:
    """A whole text."""
    open_blocks = [_Block("text")]
    for token in tokens:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        inner = open_blocks[-1]
        if token.nesting > 0 and kind in _CONTAINERS:
            open_blocks.append(_Block(kind, number=int(token.attrs.get("start", 1) or 0)))
        elif token.nesting < 0 and kind in _CONTAINERS:
            open_blocks.pop()
            open_blocks[-1].add(inner.text)
        else:
            _into(inner, token, quiet)
    return open_blocks[0].text


def of_line(children: Iterable[Token], quiet: Quiet) -> str:
    """What stands in one line, or in a paragraph."""
    spoken = _Spoken(quiet)
    links: list[tuple[str, int]] = []
    for child in children:
        match child.type:
            case "softbreak" | "hardbreak":
                spoken.say("\n")
            case "code_inline":
                spoken.quote(_ticked(child.content))
            case "image":
                spoken.say(_labelled(child.content, followed(str(child.attrs.get("src", "")))))
            case "link_open":
                links.append((str(child.attrs.get("href", "")), spoken.length))
            case "link_close" if links:
                url, start = links.pop()
                spoken.lead(start, url)
            case _:
                spoken.say(child.content)
    return spoken.text


class _Spoken:
    """A text that grows; what is quoted in it stays as it is, the rest is made quiet as a whole."""

    def __init__(self, quiet: Quiet) -> None:
        self._quiet = quiet
        self._done: list[str] = []
        self._saying: list[str] = []
        self._said: list[str] = []
        """Everything, for the labels of links."""

    @property
    def length(self) -> int:
        return len(self._said)

    @property
    def text(self) -> str:
        self._hush()
        return "".join(self._done)

    def say(self, text: str) -> None:
        self._saying.append(text)
        self._said.append(text)

    def quote(self, code: str) -> None:
        self._hush()
        self._done.append(code)
        self._said.append(code)

    def lead(self, start: int, url: str) -> None:
        """Add where the label that began at `start` leads."""
        label = "".join(self._said[start:])
        address = url if followed(url) or "://" not in url else ""
        if not label:
            self.say(address)
        elif address and label not in (address, address.removeprefix("mailto:")):
            self.say(f" ({address})")

    def _hush(self) -> None:
        self._done.append(self._quiet("".join(self._saying)))
        self._saying = []


@dataclass
class _Block:
    """One that holds others: a list, an item, a quotation, a table or the whole text."""

    kind: str
    number: int = 1
    is_tight: bool = False
    parts: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def add(self, text: str) -> None:
        match self.kind:
            case "bullet_list":
                self.parts.append(_hung("- ", text))
            case "ordered_list":
                self.parts.append(_hung(f"{self.number}. ", text))
                self.number += 1
            case _:
                self.parts += [text] if text else []

    @property
    def text(self) -> str:
        match self.kind:
            case "table":
                return _table(self.rows)
            case "blockquote":
                inner = "\n\n".join(self.parts)
                return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))
            case "bullet_list" | "ordered_list":
                return "\n".join(self.parts)
            case "list_item" if self.is_tight:
                return "\n".join(self.parts)
            case _:
                return "\n\n".join(self.parts)


def _into(block: _Block, token: Token, quiet: Quiet) -> None:
    match token.type:
        case "inline" if block.kind == "table":
            block.rows[-1].append(of_line(token.children or (), quiet))
        case "inline":
            block.add(of_line(token.children or (), quiet))
        case "tr_open":
            block.rows.append([])
        case "paragraph_open" if token.hidden:
            block.is_tight = True
        case "fence" | "code_block":
            block.add(_fenced(token))
        case "hr":
            block.add(RULE)
        case _:
            pass


def _fenced(token: Token) -> str:
    fence = "`" * max(3, _longest_ticks(token.content) + 1)
    code = token.content if token.content.endswith("\n") else f"{token.content}\n"
    return f"{fence}{token.info.strip()}\n{code}{fence}"


def _ticked(code: str) -> str:
    ticks = "`" * (_longest_ticks(code) + 1)
    space = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{space}{code}{space}{ticks}"


def _longest_ticks(code: str) -> int:
    return max((len(run) for run in re.findall("`+", code)), default=0)


def _labelled(label: str, url: str) -> str:
    return f"{label} ({url})" if label and url else label or url


def _hung(marker: str, text: str) -> str:
    """The text behind its marker, its further lines under the first one."""
    return (marker + _LINE.sub(" " * len(marker), text)) if text else marker.rstrip()


def _table(rows: list[list[str]]) -> str:
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [
        max((width for row in cells if (width := _width(row[at])) <= WIDEST), default=0)
        for at in range(len(cells[0]) if cells else 0)
    ]
    lines = [" | ".join(_padded(cell, widths[at]) for at, cell in enumerate(row)) for row in cells]
    lines.insert(1, "-+-".join("-" * max(width, 1) for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Columns that it takes in letters of one width."""
    return sum(
        0
        if unicodedata.combining(letter)
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in text
    )
