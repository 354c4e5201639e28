"""
How people, groups and roles are written: `@ben approver here`, `server:example.org`. Pure.

`@ben` is somebody by their name or id on this network (on Matrix: of the bot's own server),
`@ben:example.org` is of Matrix, `<@T01:U01|Ben>` a mention in Slack, by team or enterprise and user;
`room:NAME` are the members of a room, `server:NAME` all people of a Matrix server, `group:ID` a Slack
user group.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import Place
from bot.ports.people import ROLES, Role, Subject
from bot.ports.plain import unmarked

HERE: Final = "here"
_PERSON: Final = re.compile(r"@([^\s@]{1,120})")
_SLACK: Final = re.compile(r"<@((?:[TE][A-Z0-9_]{1,63}:)?[A-Z0-9_]{2,64})(?:\|([^<>]*))?>")
_SLACK_ID: Final = re.compile(r"@((?:[TE][A-Z0-9_]{1,63}:)?[UW][A-Z0-9_]{1,63})")
"""The same without Slack's marks, as an operator types it."""
_WORD: Final = re.compile(r"<@[^<>\s][^<>]*>|\S+")
"""A word, or a mention with the name that stands in it."""
_UNNAMED: Final = re.compile(r"[TE][A-Z0-9_]{1,63}:[A-Z0-9_]{2,64}")
"""An id of Slack in the place of a name that is not known."""
_OTHER: Final = re.compile(r"(room|server|group):(\S{1,120})")
_EVERYBODY: Final = frozenset({"all", "channel", "everybody", "everyone", "here", "room"})
_WORDS_MOST: Final = 4
"""`remove @ben approver here`: more words are an objective."""


@dataclass(frozen=True, slots=True)
class EntryWords:
    """What `allow` is to do: add (or remove) this subject, with this role, here or everywhere."""

    subject: Subject
    role: Role | None = None
    is_here: bool = False
    removes: bool = False


def read_subject(word: str, place: Place) -> Subject | None:
    """Whom a word names, seen from a place; None where it names nobody."""
    if match := _SLACK.fullmatch(word):
        name = unmarked(match[2] or "").strip()
        return Subject("person", "slack", _whole(match[1], place), name=name)
    if match := _OTHER.fullmatch(word):
        kind, id = match[1], match[2]
        if kind == "room":
            return Subject("room", place.network, id, place.workspace)
        if kind == "server":
            return Subject("server", "matrix", id)
        return Subject("group", "slack", id)
    if place.network == "slack" and (match := _SLACK_ID.fullmatch(word)):
        return Subject("person", "slack", _whole(match[1], place))
    match = _PERSON.fullmatch(word)
    if match is None or not word.isprintable():
        # What cannot be seen would let one name pass for another.
        return None
    if ":" in match[1]:
        return Subject("person", "matrix", word)
    server = place.workspace.partition(":")[2] if place.network == "matrix" else ""
    if server and match[1].lower() not in _EVERYBODY:
        return Subject("person", "matrix", f"{word}:{server}")
    return Subject("person", place.network, match[1])


def subject_word(subject: Subject) -> str:
    """The subject as somebody would type it."""
    if subject.kind != "person":
        return f"{subject.kind}:{subject.id}"
    if subject.network == "slack":
        return f"<@{subject.id}>"
    return subject.id if subject.id.startswith("@") else f"@{subject.id}"


def shown(subject: Subject) -> str:
    """The subject as people read it."""
    if subject.kind == "person" and subject.network == "slack":
        return f"@{subject.name or subject.id}"
    return subject_word(subject)


def mentioned(admins: Iterable[str], texts: Texts) -> str:
    """A room's admins, each called by name; whoever runs Headway where it has none."""
    names = tuple(name.removeprefix("@") for name in admins)
    if not names:
        return texts("access.operator")
    # An id of Slack is nobody's name; whoever has not been seen yet is called by the network alone.
    known = [texts("mention", name=name) for name in names if not _UNNAMED.fullmatch(name)]
    return " ".join(known) or texts("access.admins")


def refuse_everybody(subject: Subject, texts: Texts) -> None:
    """Raise BadInput for `@all` and its like: as somebody's name it would let nobody in."""
    if subject.kind == "person" and subject.id.lower() in _EVERYBODY:
        raise BadInput(texts("bad.everybody", name=shown(subject)))


def refuse_mere_names(subject: Subject, place: Place, texts: Texts) -> None:
    """Raise BadInput for `@ben` in Slack, where a name that is typed is nobody's."""
    is_name = subject.kind == "person" and place.network == subject.network == "slack"
    if is_name and not _SLACK.fullmatch(subject_word(subject)):
        raise BadInput(texts("bad.not_a_mention", name=shown(subject)))


def read_entry(text: str, place: Place, texts: Texts) -> EntryWords | None:
    """What follows `allow`, or None where that is rather an objective.

    Raises:
        BadInput: it is an entry with a role that is none, of everybody, or of a mere name.
    """
    words = _WORD.findall(text)
    removes = bool(words) and words[0].lower() == "remove"
    if words and words[0].lower() in ("add", "remove"):
        words = words[1:]
    subject = read_subject(words[0], place) if words else None
    if subject is None or len(words) > _WORDS_MOST:
        return None
    if not removes:
        refuse_everybody(subject, texts)
        refuse_mere_names(subject, place, texts)
    role: Role | None = None
    is_here = False
    for word in (word.lower() for word in words[1:]):
        if word == HERE and not is_here:
            is_here = True
        elif word in ROLES and role is None:
            role = word
        else:
            raise BadInput(texts("bad.role", word=word, roles=texts("list_of").join(ROLES)))
    return EntryWords(subject, role, is_here, removes)


def _whole(id: str, place: Place) -> str:
    """Somebody's id with their team's, which is the place's where it was not given."""
    is_bare = ":" not in id and place.network == "slack" and place.workspace
    return f"{place.workspace}:{id}" if is_bare else id
