"""Tokens of Markdown as the HTML that Matrix clients show. Pure; see `adapters.matrix.text`."""

import html as entities
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from markdown_it.token import Token

Quiet = Callable[[str], str]

SCHEMES: Final = frozenset({"http", "https", "mailto"})
MOST_DEEP: Final = 90
"""Tags in one another; clients drop what is deeper than 100."""
MATRIX_TO: Final = "matrix.to"
_TAGS: Final = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li",
    "blockquote": "blockquote", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td", "strong": "strong", "em": "em", "s": "del",
}  # fmt: skip
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9#.+_-]{1,40}")


def html(tokens: Sequence[Token], quiet: Quiet) -> str:
    """A whole text."""
    page = _Page(quiet)
    for token in tokens:
        page.block(token)
    return page.text


def of_line(children: Iterable[Token], quiet: Quiet) -> str:
    """What stands in one line."""
    page = _Page(quiet)
    for child in children:
        page.inline(child)
    return page.text


def lines(text: str) -> str:
    """A text without any markup, its line ends kept."""
    return escaped(text).replace("\n", "<br>")


def escaped(text: str) -> str:
    """A text that is no HTML any more."""
    return entities.escape(text)


def link(url: str, label: str) -> str:
    """A link of ours; the label is HTML already."""
    return f'<a href="{escaped(url)}">{label}</a>'


def link_to(*ids: str) -> str:
    """The address of a user, or of an event in a room, that every client opens in itself."""
    return f"https://{MATRIX_TO}/#/" + "/".join(quote(id, safe="@:!$") for id in ids)


def followed(url: str) -> str:
    """The address where a link may lead there, else nothing.

    Only addresses of the web and of mail are followed, and none that calls a person.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme.lower() not in SCHEMES:
        return ""
    calls = parts.netloc.lower() == MATRIX_TO and unquote(parts.fragment).lstrip("/")[:1] == "@"
    return "" if calls else url


class _Page:
    """Writes tags that are opened and closed in order."""

    def __init__(self, quiet: Quiet) -> None:
        self._quiet = quiet
        self._parts: list[str] = []
        self._open: list[str] = []
        """Tags to close; an empty one was left out."""
        self._links: list[tuple[str, int]] = []
        """Where the links that are open lead, and at which part they began."""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def block(self, token: Token) -> None:
        match token.type:
            case "inline":
                for child in token.children or ():
                    self.inline(child)
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._parts.append("<hr>")
            case _ if token.nesting > 0:
                self._begin(self._tag(token), self._start(token))
            case _ if token.nesting < 0:
                self._end()
            case _:
                self._say(token.content)

    def inline(self, token: Token) -> None:
        match token.type:
            case "softbreak" | "hardbreak":
                self._parts.append("<br>")
            case "code_inline":
                self._parts.append(f"<code>{escaped(token.content)}</code>")
            case "image":
                self._image(token)
            case "link_open":
                self._begin_link(str(token.attrs.get("href", "")))
            case "link_close" if self._links:
                self._end_link(*self._links.pop())
            case _ if token.nesting > 0:
                self._begin(self._tag(token))
            case _ if token.nesting < 0:
                self._end()
            case _:
                self._say(token.content)

    def _say(self, text: str) -> None:
        self._parts.append(escaped(self._quiet(text)))

    def _tag(self, token: Token) -> str:
        if token.hidden:
            return ""
        kind = token.type.removesuffix("_open")
        return token.tag if kind == "heading" else _TAGS.get(kind, "")

    def _start(self, token: Token) -> str:
        start = token.attrs.get("start")
        return f' start="{int(start)}"' if token.type == "ordered_list_open" and start else ""

    def _begin(self, tag: str, attribute: str = "") -> None:
        tag = tag if len(self._open) < MOST_DEEP else ""
        self._open.append(tag)
        if tag:
            self._parts.append(f"<{tag}{attribute}>")

    def _end(self) -> None:
        tag = self._open.pop() if self._open else ""
        if tag:
            self._parts.append(f"</{tag}>")

    def _begin_link(self, url: str) -> None:
        target = followed(url)
        self._begin("a" if target else "", f' href="{escaped(target)}"' if target else "")
        self._links.append((url, len(self._parts)))

    def _end_link(self, url: str, start: int) -> None:
        """Close it; what cannot be followed, such as a file's name, stands behind its label."""
        label = "".join(self._parts[start:])
        shown = "" if "://" in url and not followed(url) else url
        if not label:
            self._say(shown)
        elif shown and not followed(url) and label != escaped(url):
            self._say(f" ({shown})")
        self._end()

    def _code(self, token: Token) -> None:
        words = token.info.split(maxsplit=1)
        named = words[0] if words and _LANGUAGE.fullmatch(words[0]) else ""
        language = f' class="language-{escaped(named)}"' if named else ""
        self._parts.append(f"<pre><code{language}>{escaped(token.content)}</code></pre>")

    def _image(self, token: Token) -> None:
        """A picture from elsewhere is a link: no client fetches what a model chose."""
        url = followed(str(token.attrs.get("src", "")))
        label = escaped(self._quiet(token.content or url))
        self._parts.append(link(url, label) if url else label)
