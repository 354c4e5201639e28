"""HTML as a strict reader sees it: what the specification lets clients show, balanced, and no more."""

from html.parser import HTMLParser
from typing import Final

ALLOWED: Final = {
    "p": set(), "h1": set(), "h2": set(), "h3": set(), "h4": set(), "h5": set(), "h6": set(),
    "blockquote": set(), "a": {"href"}, "ul": set(), "ol": {"start"}, "li": set(), "strong": set(),
    "em": set(), "del": set(), "code": {"class"}, "hr": set(), "br": set(), "table": set(),
    "thead": set(), "tbody": set(), "tr": set(), "th": set(), "td": set(), "pre": set(),
}  # fmt: skip
VOID: Final = {"hr", "br"}
DEEPEST: Final = 100


class Page(HTMLParser):
    """Reads it, and raises AssertionError at what no client would show."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self.text = ""
        self.code: list[str] = []
        self.links: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, f"<{tag}>"
        assert {name for name, _ in attrs} <= ALLOWED[tag], (tag, attrs)
        for name, value in attrs:
            assert value is not None
            if name == "href":
                assert value.split(":")[0].lower() in ("http", "https", "mailto"), value
                self.links.append(value)
            if name == "class":
                assert value.startswith("language-"), value
            if name == "start":
                assert value.isdigit(), value
        if tag == "code":
            self.code.append("")
        if tag not in VOID:
            self._open.append(tag)
            assert len(self._open) <= DEEPEST

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "code" in self._open:
            self.code[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")
