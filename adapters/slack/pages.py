"""The two pages that whoever installs the app sees in a browser. Pure."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.ports.web import Answer

_GUARDS: Final = (
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
)  # fmt: skip
"""No script, no frame around a button that lets an app in, no code or state in an address passed on."""
_PAGE: Final = """<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1rem }}
a {{ display: inline-block; padding: .6rem 1.2rem; border-radius: .4rem; background: #611f69; color: #fff;
text-decoration: none }} a:focus {{ outline: 3px solid #1264a3 }}</style></head>
<body><h1>{title}</h1>{body}</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Sentences:
    """What the pages say."""

    ask: str
    """Heading of the page with the button."""
    about: str
    button: str
    done: str
    """With `{team}`."""
    next: str
    """How the first admin appears."""
    open: str
    """Label of the link that goes to Slack."""
    failed: str
    """Heading where it came to nothing."""
    why: Mapping[str, str]
    """By reason; `other` for the rest, with `{reason}`."""
    again: str
    """Label of the link that begins anew."""
    language: str = "en"


def install_page(words: Sentences, url: str) -> Answer:
    """The button that leads to Slack, where somebody allows it."""
    body = f"<p>{html.escape(words.about)}</p>{_link(url, words.button)}"
    return _page(200, words.ask, body, words)


def done_page(words: Sentences, team: str, url: str) -> Answer:
    """It is installed, and what comes next."""
    body = f"<p>{html.escape(words.next)}</p>{_link(url, words.open)}"
    return _page(200, words.done.format(team=team), body, words)


def failed_page(words: Sentences, status: int, reason: str, url: str) -> Answer:
    """It is not installed, and why."""
    why = words.why.get(reason) or words.why["other"].format(reason=reason)
    body = f"<p>{html.escape(why)}</p>{_link(url, words.again)}"
    return _page(status, words.failed, body, words)


def _link(url: str, label: str) -> str:
    return f'<p><a href="{html.escape(url)}">{html.escape(label)}</a></p>'


def _page(status: int, title: str, body: str, words: Sentences) -> Answer:
    text = _PAGE.format(language=words.language, title=html.escape(title), body=body)
    return Answer(status, text.encode(), "text/html; charset=utf-8", _GUARDS)
