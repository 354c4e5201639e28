"""
Slack's own marks in what people write, as Markdown. Pure.

Rule 1: total and linear: any text gives a text.
Rule 2: `<...>` is a mark of Slack's; what a person typed so comes as `&lt;...&gt;`, and is unescaped last:
        nobody writes a mark that Slack did not put there.
Rule 3: a person is `<@T01TEST:U01ALICE|Alice>`: the id says who is meant, the name is to be read.

https://docs.slack.dev/messaging/formatting-message-text
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapters.slack.ids import is_user

_MARK: Final = re.compile(r"<([^<>\n]{1,4000})>")
_EVERYBODY: Final = frozenset({"here", "channel", "everyone"})
_UNSAFE: Final = str.maketrans("", "", "<>|&\r\n")
NAME_MOST: Final = 80
"""Characters of a name in a text."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands in a text."""

    text: str
    users: tuple[str, ...] = ()
    """Ids of the users mentioned, in order, as Slack has them."""
    calls_others: bool = False
    """It calls a user group, or everybody."""


def read(text: str, person: Callable[[str, str], str], channel: Callable[[str], str]) -> Seen:
    """The text in Markdown, and whom it calls.

    Args:
        person: what stands for a user, by their id and the label that Slack gives.
        channel: the name of a channel; empty where it is not known.
    """
    users: list[str] = []
    calls: list[str] = []

    def mark(found: re.Match[str]) -> str:
        inner, _, label = found[1].partition("|")
        if inner[:1] == "@" and is_user(inner[1:]):
            users.append(inner[1:])
            return person(inner[1:], _plain(unescaped(label)))
        if inner[:1] == "#":
            name = label or channel(inner[1:]) or inner[1:]
            return f"#{unescaped(name).lstrip('#')}"
        if inner[:1] == "!":
            return _special(inner[1:], unescaped(label), calls)
        return _link(unescaped(inner), unescaped(label))

    done, at = [], 0
    for found in _MARK.finditer(text):
        done += [unescaped(text[at : found.start()]), mark(found)]
        at = found.end()
    return Seen("".join([*done, unescaped(text[at:])]), tuple(users), bool(calls))


def unescaped(text: str) -> str:
    """The text with the three signs that Slack escapes as they were typed."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def users_in(text: str) -> tuple[str, ...]:
    """Ids of the users that a text mentions, in order."""
    return read(text, lambda user, label: "", lambda id: "").users


def mention(person: str, name: str) -> str:
    """How a person stands in a text: `<@T01TEST:U01ALICE|Alice>`; without the name where it has none."""
    plain = _plain(name)
    return f"<@{person}|{plain}>" if plain else f"<@{person}>"


def _plain(name: str) -> str:
    """A name that ends no mark before its time."""
    return " ".join(name.translate(_UNSAFE).split())[:NAME_MOST].lstrip("@")


def _special(inner: str, label: str, calls: list[str]) -> str:
    """`<!here>`, `<!subteam^S1|@crew>`, `<!date^...|label>`, and whatever Slack thinks of next."""
    kind, _, rest = inner.partition("^")
    if kind in _EVERYBODY:
        calls.append(kind)
        return f"@{kind}"
    if kind == "subteam":
        calls.append(kind)
        id = rest.partition("^")[0]
        return f"group:{id}" if is_user(id) else label
    return label or kind


def _link(url: str, label: str) -> str:
    shown = label.strip()
    address = url.removeprefix("mailto:").removeprefix("tel:")
    if not shown or shown in (url, address):
        return address if url.startswith(("mailto:", "tel:")) else url
    if url.startswith(("http://", "https://")) and shown == url.partition("://")[2].rstrip("/"):
        # Slack makes a link of a bare `example.org`, which its writer never saw as one.
        return shown
    inside = shown.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{inside}]({url.replace('(', '%28').replace(')', '%29').replace(' ', '%20')})"
