"""
Whom a message of Slack is addressed to. Pure.

Rule 1: a mention of the bot makes it for the bot, wherever it stands; in front it is cut off, and so it is
        at the very end. A message that mentions others, a group or everybody, and not the bot, is aside.
Rule 2: a message that somebody forwards is quoted beneath what they say of it; whom it calls counts for
        nothing.
Rule 3: what begins with `!goal` or `//` stays as it was typed, with the bot's name in it or without.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from adapters.slack.ids import person_id
from adapters.slack.markup_in import NAME_MOST, mention, read
from adapters.slack.payloads import Json, text_of

ADDRESS: Final = "@headway"
"""How a text begins that is for us, on every network."""
_AFTER: Final = re.compile(r"\s*[:,]?\s*")


class Known(Protocol):
    """What is known of a user of Slack."""

    @property
    def home(self) -> str:
        """Their enterprise, or else their team."""

    @property
    def name(self) -> str:
        """As they want to be called."""

    @property
    def is_bot(self) -> bool:
        """Whether it is a bot or a workflow."""


@dataclass(frozen=True, slots=True)
class Names:
    """Who is who where a text is read."""

    us: frozenset[str]
    """Ids of our own users."""
    home: str
    """Where somebody belongs of whom nothing is known."""
    people: Mapping[str, Known]
    channel: Callable[[str], str] = lambda id: ""
    """The name of a channel; empty where it is not known."""

    def person(self, user: str) -> str:
        """Their id: `T01TEST:U01ALICE`."""
        known = self.people.get(user)
        return person_id(known.home if known else self.home, user)

    def name(self, user: str, label: str = "") -> str:
        """What they are called; empty where nobody knows."""
        known = self.people.get(user)
        return (known.name if known else "") or label

    def called(self, user: str, label: str) -> str:
        """What stands in a text for a user who is mentioned."""
        return ADDRESS if user in self.us else mention(self.person(user), self.name(user, label))


@dataclass(frozen=True, slots=True)
class Addressed:
    """A text as it is given on."""

    text: str
    is_aside: bool = False


def addressed(text: str, names: Names) -> Addressed:
    """The text with `@headway` in front where it is for us; whether it is for others and not us."""

    stripped = text.strip()
    front = next((one for one in names.us if _begins(stripped, one)), "")
    rest = stripped[stripped.index(">") + 1 :] if front else text
    seen = read(rest, names.called, names.channel)
    said = seen.text.strip() if front else seen.text
    if front:
        said = said[_end(said) :]
        return Addressed(f"{ADDRESS} {said}".rstrip())
    if not names.us.intersection(seen.users):
        return Addressed(said, bool(seen.users) or seen.calls_others)
    if said.lstrip().startswith(("!", "//")):
        return Addressed(said)
    said = said.strip().removesuffix(ADDRESS).strip()
    return Addressed(f"{ADDRESS} {said}".rstrip())


def forwarded(attachments: Sequence[Json], names: Names) -> str:
    """Messages that were forwarded with a message, quoted; empty where there are none."""
    quotes = []
    for one in attachments:
        text = read(text_of(one.get("text")), names.called, names.channel).text.strip()
        if one.get("is_share") is not True or not text:
            continue
        author = " ".join(text_of(one.get("author_name")).split())[:NAME_MOST]
        said = f"{author}: {text}" if author else text
        quotes.append("\n".join(f"> {line}" for line in said.split("\n")))
    return "\n\n".join(quotes)


def _begins(text: str, user: str) -> bool:
    return text.startswith((f"<@{user}>", f"<@{user}|"))


def _end(said: str) -> int:
    """Where the sign between a name and what follows it ends."""
    found = _AFTER.match(said)
    return found.end() if found else 0
