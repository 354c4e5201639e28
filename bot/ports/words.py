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
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

MARK: Final = "(forgotten)"
"""What stands where something was taken out."""
NAME_LEAST: Final = 3
SAID_LEAST: Final = 12
WORD_LEAST: Final = 8
LONG: Final = 14
MANY: Final = 500
_TOKEN: Final = re.compile(r"\w{3,}")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-](?:[A-Za-z0-9+/_-]|=?\r?\n){14,}")
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
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
        return any(True for _ in self._quoted(text))

    def are_in(self, text: str) -> bool:
        """Whether there is anything of them in the text."""
        return self.names_in(text) or self.quotes_in(text)

    def without(self, text: str, mark: str = MARK) -> str:
        """The text without their names and what they said."""
        for one in sorted(set(self._quoted(text)), key=len, reverse=True):
            for form in _texts(one):
                text = text.replace(form, mark)
        return text if self._names is None else self._names.sub(mark, text)

    def are_in_bytes(self, body: bytes) -> bool:
        """Whether any form of anything of them is in a file's bytes."""
        return any(self._are_in_raw(raw) for raw in (body, *_decoded(body)))

    def _are_in_raw(self, raw: bytes) -> bool:
        if any(form in raw for form in self._long_names):
            return True
        if not self._is_many:
            return self.names_in(raw.decode("utf-8", "replace")) or any(
                form in raw for form in self._said_bytes
            )
        encodings = ("utf-8", "utf-16-le", "utf-16-be")
        return any(self.are_in(raw.decode(encoding, "replace")) for encoding in encodings)

    def _quoted(self, text: str) -> Iterator[str]:
        """What of `said` is in the text. Of many, only what shares a word with it is looked for."""
        wanted: Iterable[str] = self.said
        if self._is_many:
            words = set(_TOKEN.findall(text))
            if "\\" in text:
                words.update(_TOKEN.findall(_unescaped(text)))
            wanted = chain.from_iterable(self._by_word.get(word, ()) for word in words)
        for one in wanted:
            if any(form in text for form in _texts(one)):
                yield one

    @property
    def _is_many(self) -> bool:
        return len(self.said) > MANY

    @cached_property
    def _by_word(self) -> dict[str, list[str]]:
        """`said` by the word of each that is in the fewest."""
        words_of = {one: set(_TOKEN.findall(one)) for one in self.said}
        counts = Counter(chain.from_iterable(words_of.values()))
        found: dict[str, list[str]] = {}
        for one, words in words_of.items():
            if words:
                found.setdefault(min(words, key=lambda word: counts[word]), []).append(one)
        return found

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        names = sorted({one for one in self.names if len(one) >= NAME_LEAST}, key=len, reverse=True)
        if not names:
            return None
        forms = dict.fromkeys(form for name in names for form in _texts(name))
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, forms)) + r")(?!\w)")

    @cached_property
    def _said_bytes(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(form for one in self.said for form in _bytes(one)))

    @cached_property
    def _long_names(self) -> tuple[bytes, ...]:
        """Names whose ends need not be seen, so that any form of them is looked for."""
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


def _unescaped(text: str) -> str:
    """The text without JSON's escapes, halves of a pair put together."""
    halves = _ESCAPE.sub(_meant, text)
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _meant(escape: re.Match[str]) -> str:
    """What a JSON escape stands for, as far as words go."""
    return chr(int(escape[1], 16)) if escape[1] else " "


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
    for encoding in ("utf-16-le", "utf-16-be"):
        yield text.encode(encoding, "surrogatepass")


def _decoded(body: bytes) -> Iterator[bytes]:
    """What stands in the body in base64, in lines or not, wherever it begins."""
    for found in _BASE64.finditer(body):
        run = found[0].translate(_URL_SAFE, b"\r\n=")
        for first in range(4):
            whole = run[first : len(run) - (len(run) - first) % 4]
            yield base64.b64decode(whole)
            # What is left of the last group: one or two bytes.
            left = run[len(whole) + first :]
            if len(left) > 1:
                yield base64.b64decode(whole + left + b"=" * (4 - len(left)))
