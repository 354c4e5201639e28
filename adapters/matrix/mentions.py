"""
Whom a message is addressed to. Pure.

Rule 1: `m.mentions` says it where it is there; else our name in front with `:` or `,` behind it does, or
        a pill in the HTML.
Rule 2: an answer to one of our messages mentions us by itself; it stays as it was said, as the exact
        words of an answer must.
Rule 3: a pill of somebody else is their id: the name that it shows may be anybody's.
Rule 4: linear in the message's length, whatever its HTML is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Final
from urllib.parse import unquote

ADDRESS: Final = "@headway"
"""How a text begins that is for us, on every network."""
PILLS_MOST: Final = 50
USERS_MOST: Final = 1_000
_LINK: Final = "matrix.to/#/"
_NAMESAKE: Final = re.compile(rf"\s*{ADDRESS}:\S", re.IGNORECASE)
"""Somebody of another server who is called as we are."""
_ENDS: Final = frozenset("\"'?&<> \t\n")


@dataclass(frozen=True, slots=True)
class Names:
    """What we are called: the user id, and names that people see."""

    id: str
    shown: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every name, the longest first."""
        localpart = self.id.removeprefix("@").partition(":")[0]
        names = {self.id, self.id.removeprefix("@"), localpart, *self.shown} - {""}
        return tuple(sorted(names | {f"@{name}" for name in names}, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Addressed:
    """A text as it is given on."""

    text: str
    is_aside: bool = False


def addressed(
    text: str, content: Mapping[str, Any], names: Names, *, is_reply: bool = False
) -> Addressed:
    """The text with `@headway` in front where it is for us; whether it is for others and not us."""
    pills = tuple(_pills(content.get("formatted_body")))
    mentioned = _mentioned(content)
    has_pill = any(user == names.id for user, _ in pills)
    is_named = has_pill if mentioned is None else names.id in mentioned
    known = Names(names.id, (*names.shown, *(label for user, label in pills if user == names.id)))
    rest = _after_name(text, known, needs_sign=not (is_named or has_pill))
    if rest is not None:
        return Addressed(f"{ADDRESS} {_with_ids(rest, pills, names)}".rstrip())
    text = _with_ids(text, pills, names)
    others = {user for user, _ in pills} if mentioned is None else mentioned
    if not (is_named or has_pill):
        return Addressed(text, is_aside=bool(others - {names.id}) or bool(_NAMESAKE.match(text)))
    is_answer = is_reply and not has_pill and not _is_in(text, known)
    if is_answer or text.lstrip().startswith(("!", "//", ADDRESS)):
        return Addressed(text)
    return Addressed(f"{ADDRESS} {text.lstrip()}".rstrip())


def _with_ids(text: str, pills: Iterable[tuple[str, str]], names: Names) -> str:
    """The text with the id of each person whose pill stands in it, in the place of what the pill shows."""
    done, at = [], 0
    for user, label in pills:
        shown = label.removeprefix("@")
        if not shown or user == names.id or shown == user.removeprefix("@"):
            continue
        found = re.compile(rf"(?<!\w)@?{re.escape(shown)}(?!\w)").search(text, at)
        if found is not None:
            done += [text[at : found.start()], user]
            at = found.end()
    return "".join([*done, text[at:]])


def _mentioned(content: Mapping[str, Any]) -> set[str] | None:
    """The user ids of `m.mentions`; None where the message has none at all."""
    mentions = content.get("m.mentions")
    if not isinstance(mentions, Mapping):
        return None
    users = mentions.get("user_ids")
    if not isinstance(users, list):
        return set()
    return {user for user in users[:USERS_MOST] if isinstance(user, str)}


def _after_name(text: str, names: Names, *, needs_sign: bool) -> str | None:
    """What follows our name at the beginning; None where the text does not begin with it."""
    begun = text.lstrip()
    folded = begun.casefold()
    for name in names.all:
        # Folding may change a text's length: the name is cut off by its own.
        if (
            not folded.startswith(name.casefold())
            or begun[: len(name)].casefold() != name.casefold()
        ):
            continue
        rest = begun[len(name) :]
        sign = rest.lstrip(" ")[:1]
        after = rest.lstrip(" ")[1:]
        # "@headway:other.org" is somebody else.
        is_server = needs_sign and sign == ":" and after[:1].strip()
        if sign and sign in ":," and not is_server:
            return after.strip()
        is_whole = not needs_sign or name == names.id
        if is_whole and (not rest or rest[0].isspace()):
            return rest.strip()
    return None


def _is_in(text: str, names: Names) -> bool:
    folded = text.casefold()
    return any(name.casefold() in folded for name in names.all)


def _pills(html: object) -> Iterator[tuple[str, str]]:
    """(user id, label) of the first links to people."""
    if not isinstance(html, str):
        return
    at = 0
    for _ in range(PILLS_MOST):
        at = html.find(_LINK, at)
        if at < 0:
            return
        at += len(_LINK)
        end = next((i for i in range(at, min(at + 400, len(html))) if html[i] in _ENDS), at)
        user = unquote(unescape(html[at:end]), errors="replace")
        if user.startswith("@"):
            yield user, _label(html, end)


def _label(html: str, at: int) -> str:
    """The text of a link whose address ends at `at`."""
    begin = html.find(">", at, at + 400) + 1
    end = html.find("<", begin, begin + 400) if begin else -1
    return unescape(html[begin:end]).strip() if end > 0 else ""
