"""
By what a person's traces are told: their names, and what they said. Pure.

Rule 1: a name counts as a whole word, in the letters it is written in. What they said counts by the
        line, and by the words of it that nobody else used and that no dictionary has: long ones, and
        those with digits, signs or capitals inside.
Rule 2: bytes count in each form that programs write text in: UTF-8, UTF-16, JSON's escapes, base64.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

MARK: Final = "(forgotten)"
"""What stands where something was taken out."""
NAME_LEAST: Final = 3
SAID_LEAST: Final = 12
WORD_LEAST: Final = 8
LONG: Final = 14
_WORD: Final = re.compile(rf"[\w.@-]{{{WORD_LEAST},200}}")


@dataclass(frozen=True)
class Words:
    """A person's names, and what they said where others spoke, too."""

    names: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def names_in(self, text: str) -> bool:
        """Whether the text names them."""
        return self._names is not None and self._names.search(text) is not None

    def quotes_in(self, text: str) -> bool:
        """Whether the text repeats what they said."""
        if not self.said:
            return False
        return any(one in text for one in self._said_forms)

    def are_in(self, text: str) -> bool:
        """Whether there is anything of them in the text."""
        return self.names_in(text) or self.quotes_in(text)

    def without(self, text: str, mark: str = MARK) -> str:
        """The text without their names and what they said."""
        for one in self._said_forms:
            text = text.replace(one, mark)
        return text if self._names is None else self._names.sub(mark, text)

    def are_in_bytes(self, body: bytes) -> bool:
        """Whether any form of anything of them is in a file's bytes."""
        if any(form in body for form in self._said_bytes):
            return True
        if self._names is not None and self._names.search(body.decode("utf-8", "replace")):
            return True
        return any(form in body for form in self._name_bytes)

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        names = sorted({one for one in self.names if len(one) >= NAME_LEAST}, key=len, reverse=True)
        if not names:
            return None
        forms = dict.fromkeys(form for name in names for form in _texts(name))
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, forms)) + r")(?!\w)")

    @cached_property
    def _said_forms(self) -> tuple[str, ...]:
        longest = sorted(self.said, key=len, reverse=True)
        return tuple(dict.fromkeys(form for one in longest for form in _texts(one)))

    @cached_property
    def _said_bytes(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(form for one in self.said for form in _bytes(one)))

    @cached_property
    def _name_bytes(self) -> tuple[bytes, ...]:
        """Forms in which a word's ends cannot be seen: of longer names alone."""
        long = [name for name in self.names if len(name) >= WORD_LEAST]
        return tuple(dict.fromkeys(form for name in long for form in _bytes(name)))


def telling(theirs: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """What tells that a text repeats one of `theirs`: whole ones, and words that nobody else used."""
    known: set[str] = set()
    for text in others:
        known.update(_WORD.findall(text))
        known.update(_lines(text))
    found: dict[str, None] = {}
    for text in theirs:
        for line in _lines(text):
            if len(line) >= SAID_LEAST and line not in known:
                found[line] = None
        for word in _WORD.findall(text):
            if word not in known and _is_rare(word):
                found[word] = None
    return tuple(found)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def _is_rare(word: str) -> bool:
    rest = word[1:].rstrip(".-")
    return len(word) >= LONG or not (rest.isalpha() and rest.islower())


def _texts(text: str) -> Iterator[str]:
    """The text, and as JSON escapes it."""
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]


def _bytes(text: str) -> Iterator[bytes]:
    for form in _texts(text):
        yield form.encode("utf-8", "surrogatepass")
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        raw = text.encode(encoding, "surrogatepass")
        yield raw
        yield from _base64(raw)


def _base64(raw: bytes) -> Iterator[bytes]:
    """What base64 of anything that holds `raw` holds: by where it begins in a group of three."""
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + raw)
        first = (shift * 4 + 2) // 3 + (1 if shift else 0)
        last = len(coded) - (4 if (shift + len(raw)) % 3 else 0)
        if last - first >= WORD_LEAST:
            yield coded[first:last]
            yield coded[first:last].replace(b"+", b"-").replace(b"/", b"_")
