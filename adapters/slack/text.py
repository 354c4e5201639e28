"""
Markdown, parsed once, by markdown-it-py; every form that Slack shows is made of these tokens. Pure.

Rule 1: HTML that was written is shown as it was written.
Rule 2: code is byte for byte as it was, but for characters that obey nobody's terminal or order.
Rule 3: nobody is called by a text: what Slack takes for a call loses what makes it one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.ports.plain import printable

JOINER: Final = "\N{WORD JOINER}"
"""Has no width; behind an `@` it leaves a word that Slack does not take for a call."""
MOST_NESTED: Final = 30
"""A text with more in one another (quotes in quotes, lists in lists) is shown as it was written."""
SCHEMES: Final = frozenset({"http", "https", "mailto"})
URL_MOST: Final = 2_000
"""Characters of a link's address; a longer one is shown as it was written."""
_TASK: Final = re.compile(r"\[([ xX])\][ \n]")
CALLS: Final = re.compile(r"(?<![^\W_])@(?=here|channel|everyone|group)", re.IGNORECASE)
_PERSON: Final = re.compile(r"<@([A-Z0-9]+):([A-Z0-9]+)(?:\|([^<>|\n]{1,80}))?>")
"""As `markup_in.mention` writes a person."""
_URL: Final = re.compile(r"\bhttps?://[^\s<>|\"`]*[^\s<>|\"`.,:;!?'*_~)\]}]")
_PARSER: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": MOST_NESTED + 10}).enable(
    ["table", "strikethrough"]
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text and what it is made of."""

    source: str
    tokens: tuple[Token, ...] | None
    """None: it nests too deep, and is shown as it was written."""
    is_mended: bool = False
    """Bold was found that other readers of Markdown leave as stars."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Letters in one style. `url` where they are a link; an empty text then stands for the address."""

    text: str
    url: str = ""
    styles: frozenset[str] = frozenset()
    """Of bold, italic, strike and code."""


@lru_cache(maxsize=64)
def parsed(markdown: str) -> Parsed:
    """A text of any length."""
    source = printable(markdown)
    tokens = _PARSER.parse(source)
    if any(token.level > MOST_NESTED for token in tokens):
        return Parsed(source, None)
    begins_item = is_mended = False
    for token in tokens:
        if token.type == "inline":
            children = _mended(token)
            is_mended = is_mended or children is not token.children
            token.children = children
            if begins_item:
                _tick(children)
        begins_item = token.type == "list_item_open" or (
            begins_item and token.type == "paragraph_open"
        )
    return Parsed(source, tuple(tokens), is_mended)


def line(markdown: str) -> tuple[Piece, ...]:
    """A text as one line: without headings, lists and blocks of code, and without line ends."""
    [inline] = _PARSER.parseInline(" ".join(printable(markdown).split()))
    return pieces(_mended(inline))


def pieces(children: Sequence[Token]) -> tuple[Piece, ...]:
    """What stands in a paragraph, as pieces of one style each; none is empty."""
    walk = _Walk()
    for child in children:
        walk.take(child)
    walk.close_links()
    return tuple(piece for piece in walk.found if piece.text or piece.url)


def quiet(text: str) -> str:
    """The text without what calls a channel; people who are mentioned stand there by name."""
    named = _PERSON.sub(lambda found: f"@{found[3] or found[2]}", text) if "<@" in text else text
    return CALLS.sub(lambda found: found.group() + JOINER, named)


def followed(url: str) -> str:
    """The address where a link may lead there, else nothing."""
    try:
        scheme = urlsplit(url).scheme.lower()
    except ValueError:
        return ""
    is_whole = not any(letter in url for letter in "<>|\n ")
    return url if scheme in SCHEMES and is_whole and len(url) <= URL_MOST else ""


class _Walk:
    """Goes through the tokens of a paragraph, with the styles and links that are open."""

    def __init__(self) -> None:
        self.found: list[Piece] = []
        self._open: list[str] = []
        self._links: list[tuple[str, int]] = []

    def take(self, token: Token) -> None:
        match token.type:
            case "softbreak" | "hardbreak":
                self._say("\n")
            case "code_inline":
                self._add(Piece(token.content, self._url, self._styles | {"code"}))
            case "image":
                self._image(token)
            case "link_open":
                self._links.append((str(token.attrs.get("href", "")), len(self.found)))
            case "link_close" if self._links:
                self._end_link(*self._links.pop())
            case _ if token.nesting > 0:
                self._open.append(_STYLES.get(token.type.removesuffix("_open"), ""))
            case _ if token.nesting < 0:
                del self._open[-1:]
            case _:
                self._say(token.content)

    def close_links(self) -> None:
        while self._links:
            self._end_link(*self._links.pop())

    @property
    def _styles(self) -> frozenset[str]:
        return frozenset(style for style in self._open if style)

    @property
    def _url(self) -> str:
        return followed(self._links[-1][0]) if self._links else ""

    def _say(self, text: str) -> None:
        """Add a text; the addresses in it are links, unless it is one already."""
        if self._links:
            self._add(Piece(quiet(text), self._url, self._styles))
            return
        at = 0
        for url in _URL.finditer(text):
            if followed(url.group()):
                self._add(Piece(quiet(text[at : url.start()]), "", self._styles))
                self._add(Piece("", url.group(), self._styles))
                at = url.end()
        self._add(Piece(quiet(text[at:]), "", self._styles))

    def _add(self, piece: Piece) -> None:
        last = self.found[-1] if self.found else None
        is_same = last is not None and (last.url, last.styles) == (piece.url, piece.styles)
        may_join = last is not None and last.text and piece.text and "code" not in piece.styles
        if last is not None and is_same and may_join:
            # A call may stand in two tokens: `@` and `here`.
            self.found[-1] = Piece(quiet(last.text + piece.text), piece.url, piece.styles)
        elif piece.text or piece.url:
            self.found.append(piece)

    def _end_link(self, url: str, start: int) -> None:
        """What cannot be followed, such as a file's name, stands behind its label."""
        label = "".join(piece.text for piece in self.found[start:])
        target = followed(url)
        if target and not label:
            self._add(Piece("", target, self._styles))
        elif target and label in (target, target.removeprefix("mailto:")):
            del self.found[start:]
            self._add(Piece("" if label == target else label, target, self._styles))
        elif not target and url and "://" not in url and url != label:
            shown = quiet(f" ({url})" if label else url)
            self._add(Piece(shown, "", self._styles))

    def _image(self, token: Token) -> None:
        """A picture from elsewhere is a link: nobody's client fetches what a model chose."""
        url = followed(str(token.attrs.get("src", "")))
        label = quiet(token.content)
        self._add(Piece(label, url or self._url, self._styles))


def _tick(children: list[Token]) -> None:
    """`[ ] Write` and `[x] Write` at the beginning of a list's item as boxes."""
    first = children[0] if children else None
    found = _TASK.match(first.content) if first is not None and first.type == "text" else None
    if first is not None and found is not None:
        box = "☐" if found[1] == " " else "☑"
        first.content = f"{box} {first.content[found.end() :]}"


def _mended(inline: Token) -> list[Token]:
    """Its children, with the bold that the parser left as stars (`**Note:**this`) made bold."""
    children = inline.children if inline.children is not None else []
    if r"\*" in inline.content or not any(
        child.type == "text" and "**" in child.content for child in children
    ):
        return children
    return [part for child in children for part in _unstarred(child)]


def _unstarred(child: Token) -> list[Token]:
    parts = child.content.split("**") if child.type == "text" else []
    if len(parts) < 3:
        return [child]
    found, text, at = [], parts[0], 0
    while at + 2 < len(parts):
        inner = parts[at + 1]
        if inner and inner == inner.strip():
            found += [_text(text), _mark("strong_open"), _text(inner), _mark("strong_close")]
            text, at = parts[at + 2], at + 2
        else:
            text, at = f"{text}**{inner}", at + 1
    rest = "".join(f"**{part}" for part in parts[at + 1 :])
    return [*found, _text(text + rest)]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _mark(kind: str) -> Token:
    return Token(kind, "strong", 1 if kind.endswith("open") else -1)


_STYLES: Final = {"strong": "bold", "em": "italic", "s": "strike"}
