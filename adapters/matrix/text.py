"""
Markdown as Matrix shows it: HTML for clients that have it, and a plain body for those that have not.

Rule 1: the text is parsed once, by markdown-it-py; both bodies are made of the same tokens.
Rule 2: the HTML has only tags and attributes that the specification lets clients show, balanced and
        at most 100 deep; HTML that was written is shown as it was written.
        https://spec.matrix.org/v1.11/client-server-api/#mroommessage-msgtypes
Rule 3: code is byte for byte as it was, but for characters that obey nobody's terminal or order.
Rule 4: nobody is called by a text: `@room`, a user id, the bot's own name and links to people lose
        what makes them a call, outside code.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.matrix import bodies, markup
from bot.ports.plain import printable

JOINER: Final = "\N{WORD JOINER}"
"""Has no width; behind an `@` it leaves a word that no client takes for a call."""
MOST_NESTED: Final = 40
"""A text with more in one another (quotes in quotes, lists in lists) is shown as it was written:
the parser drops what lies deeper than its own limit."""
_TASK: Final = re.compile(r"\[([ xX])\][ \n]")
_PARSER: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": MOST_NESTED + 10}).enable(
    ["table", "strikethrough"]
)


@dataclass(frozen=True, slots=True)
class Written:
    """One text, twice."""

    html: str
    plain: str


def written(markdown: str, names: Iterable[str] = ()) -> Written:
    """A text of any length as blocks.

    Args:
        names: what the bot is called: its user id, its localpart, its display name.
    """
    text, quiet = printable(markdown), quieting(names)
    tokens = _parsed(text)
    if tokens is None:
        return Written(markup.lines(quiet(text)), quiet(text))
    return Written(markup.html(tokens, quiet), bodies.plain(tokens, quiet))


def line(markdown: str, names: Iterable[str] = ()) -> Written:
    """A text as one line: without headings, lists and blocks of code, and without line ends."""
    text, quiet = " ".join(printable(markdown).split()), quieting(names)
    [inline] = _PARSER.parseInline(text)
    children = _mended(inline)
    return Written(markup.of_line(children, quiet), bodies.of_line(children, quiet))


def as_is(text: str, names: Iterable[str] = ()) -> Written:
    """A text that is no Markdown, on as many lines as it has."""
    quiet = quieting(names)(printable(text))
    return Written(markup.lines(quiet), quiet)


class _Quiet:
    """Takes from a text what calls somebody."""

    def __init__(self, calls: re.Pattern[str]) -> None:
        self._calls = calls

    def __call__(self, text: str) -> str:
        return self._calls.sub(lambda found: found.group() + JOINER, text)


def quieting(names: Iterable[str]) -> _Quiet:
    """What takes the calls of `@room`, of user ids and of these names from a text."""
    return _quieting(tuple(sorted({name for name in names if name})))


@lru_cache(maxsize=64)
def _quieting(names: tuple[str, ...]) -> _Quiet:
    bare = [re.escape(name.removeprefix("@")) for name in names]
    called = "|".join(["room", *bare])
    calls = [rf"(?<!\w)@(?=(?:{called})\b)", r"(?<!\w)@(?=[\w.=/+-]{1,255}:[\w\[])"]
    # As the first word before a colon or a comma, a name calls whom it names.
    calls += [rf"^{re.escape(name[0])}(?={re.escape(name[1:])}[:,])" for name in names]
    return _Quiet(re.compile("|".join(calls), re.IGNORECASE | re.MULTILINE))


def _parsed(text: str) -> Sequence[Token] | None:
    """Its tokens, or None where it nests too deep."""
    tokens = _PARSER.parse(text)
    if any(token.level > MOST_NESTED for token in tokens):
        return None
    begins_item = False
    for token in tokens:
        if token.type == "inline":
            token.children = _mended(token)
            if begins_item:
                _tick(token.children)
        begins_item = token.type == "list_item_open" or (
            begins_item and token.type == "paragraph_open"
        )
    return tokens


def _tick(children: list[Token]) -> None:
    """`[ ] Write` and `[x] Write` at the beginning of a list's item as boxes."""
    first = children[0] if children else None
    found = _TASK.match(first.content) if first is not None and first.type == "text" else None
    if first is not None and found is not None:
        box = "☐" if found[1] == " " else "☑"
        first.content = f"{box} {first.content[found.end() :]}"


def _mended(inline: Token) -> list[Token]:
    """Its children, with the bold that the parser left as stars (`**Note:**this`) made bold."""
    children = inline.children or []
    if r"\*" in inline.content or not any("**" in child.content for child in children):
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
