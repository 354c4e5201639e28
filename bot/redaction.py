"""
Known secret values, taken out of whatever leaves the process.

Rule 1: a value is found as it is and as it is usually written elsewhere: in a URL (with any or all of its
        bytes percent-encoded), in JSON (as its usual writers escape it), in HTML, as base64 at any of its
        three alignments, as hex in either case and with the usual separators (`6b:65`, `6b-65`,
        `\\x6b\\x65`, `0x6b,0x65`), with its accents composed or apart, and with white space anywhere
        inside (a line that was wrapped).
Rule 2: what stands in its place names the secret: `[secret NAME]`.
Rule 3: a value once known stays known while the process lives: an old key is secret, too.
Rule 4: what is shorter than six characters is never taken out: it would be found in everything.
Rule 5: what is none of these forms passes. So do: a part of a value, a value said in several messages or
        with other characters between its own, one that is reversed, shifted, compressed, encrypted, hashed
        or encoded twice, as decimal numbers, in UTF-16, in a picture, or in words ("the third letter is").
        Whoever has a value can always say it so: what should not be said must not be had.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Final, TypeVar
from unicodedata import normalize
from urllib.parse import quote, quote_plus

T = TypeVar("T")

LEAST: Final = 6
"""Characters of a value that can be told from ordinary words."""
LEAST_LINE: Final = 20
"""Characters of a line of a longer secret (a private key) that is secret by itself."""
SPACE: Final = b" \t\n\v\f\r"
"""What forms are without, and what is looked through without."""
_LONG: Final = 16
_SAMPLE: Final = 8
_STRIDE: Final = _LONG - _SAMPLE + 1
"""Eight characters at every ninth place: one of them lies wholly in the first sixteen of a form."""
_ESCAPED: Final = tuple(
    {ord(sign): f"\\u{ord(sign):04x}" for sign in signs} for signs in ("<>&", "<>&'=")
)
"""What Go and Rails, and Gson, escape in JSON beside what they must. PHP puts a backslash before `/`."""
_DOTNET: Final = {ord(sign): f"\\u{ord(sign):04X}" for sign in "<>&'+`"}
_FEW: Final = 48
"""So many forms are looked for one by one in the time that the look at every ninth place takes."""


class Redactor:
    """What is known to be secret, and the way to say it without saying it. Any thread may ask."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        """The name of each value."""
        self._index = _Index({})
        for name, value in (known or {}).items():
            self.learn(name, value)

    def learn(self, name: str, value: str) -> str:
        """From now on `value` is `[secret NAME]`. Returns the value."""
        if value and value not in self._values:
            self._values = {**self._values, value: name}
        return value

    def text(self, text: str) -> str:
        """The text without any known value."""
        if not self._values or len(text) < LEAST:
            return text
        index, dense = self._indexed(), _dense(text)
        found = index.found(dense)
        return _replaced(text, spans(dense, index.told(found))) if found else text

    def names_in(self, text: str) -> tuple[str, ...]:
        """The names of the secrets whose values or marks stand in the text, each once."""
        if not self._values:
            return ()
        index = self._indexed()
        found = {index.names[form] for form in index.found(_dense(text))}
        names = dict.fromkeys(self._values.values())
        return tuple(name for name in names if name in found or mark(name) in text)

    def all(self, value: T) -> T:
        """The value with every text in it redacted: of mappings, sequences and dataclasses."""
        if not self._values:
            return value
        texts: list[str] = []
        _gather(value, texts)
        if not self._indexed().found(_dense("\0".join(texts))):
            return value
        redacted: T = self._walked(value)
        return redacted

    def within(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """A request or an answer with its values redacted; its own words (keys, `do`) stay."""
        return {key: one if key == "do" else self.all(one) for key, one in message.items()}

    def _indexed(self) -> "_Index":
        index, values = self._index, self._values
        if index.values is not values:
            index = self._index = _Index(values)
        return index

    def _walked(self, value: Any) -> Any:
        if type(value) is str:
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._walked(key): self._walked(inner) for key, inner in value.items()}
        if type(value) in (tuple, list, set, frozenset):
            return type(value)(self._walked(inner) for inner in value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._walked_fields(value)
        return value

    def _walked_fields(self, value: Any) -> Any:
        changed = {}
        for name in _names_of(value.__class__):
            before = getattr(value, name)
            after = self._walked(before)
            if after != before:
                changed[name] = after
        return replace(value, **changed) if changed else value


class Finder:
    """Looks for many forms at once: for what their beginnings say, then for each that may be there."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        """Each without white space, and not empty."""
        ordered = sorted(forms, key=len, reverse=True)
        self._long = tuple(form for form in ordered if len(form) >= _LONG)
        self._short = tuple(form for form in ordered if len(form) < _LONG)
        self._samples = frozenset(
            form[at : at + _SAMPLE] for form in self._long for at in range(_STRIDE)
        )

    def found(self, dense: bytes) -> list[bytes]:
        """The forms that stand in a text without white space, longest first."""
        long = self._long
        if len(long) > _FEW:
            sampled = (dense[at : at + _SAMPLE] for at in range(0, len(dense), _STRIDE))
            hits = self._samples.intersection(sampled)
            long = tuple(form for form in long if any(hit in form[:_LONG] for hit in hits))
        return [form for form in (*long, *self._short) if form in dense]


class _Index:
    """The forms of all values, ready to be looked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values
        names: dict[bytes, str] = {}
        for value, name in values.items():
            for form in forms(value):
                names.setdefault(form, name)
        self._marks = {_dense(mark(name)): mark(name) for name in values.values()}
        self.names = names
        self.found = Finder(names).found

    def told(self, found: list[bytes]) -> dict[bytes, str]:
        """What stands in place of each form; a mark that holds one itself stays as it is."""
        kept = {
            dense: one for dense, one in self._marks.items() if any(form in dense for form in found)
        }
        return {form: mark(self.names[form]) for form in found} | kept


def mark(name: str) -> str:
    """What stands where a secret's value stood."""
    return f"[secret {name}]"


def forms(value: str) -> frozenset[bytes]:
    """What a value looks like where it leaks, each form without white space."""
    texts = [value, *(line for line in value.splitlines() if len(line.strip()) >= LEAST_LINE)]
    spelt = {normalize(how, text) for text in texts for how in ("NFC", "NFD")} | {*texts}
    found = {_dense(form) for text in spelt for form in _written(text.strip())}
    return frozenset(form for form in found if len(form) >= LEAST)


def _dense(text: str) -> bytes:
    """The text without white space, as bytes: they are searched ten times as fast."""
    return text.encode("utf-8", "surrogatepass").translate(None, SPACE)


def spans(dense: bytes, told: Mapping[bytes, T]) -> list[tuple[int, int, T]]:
    """Where forms stand and what to say there: in order, none in another, none over another."""
    found = []
    for form, said in told.items():
        at = dense.find(form)
        while at >= 0:
            found.append((at, at + len(form), said))
            at = dense.find(form, at + len(form))
    found.sort(key=lambda span: (span[0], -span[1]))
    apart: list[tuple[int, int, T]] = []
    done = 0
    for begin, end, said in found:
        if end > done:
            apart.append((max(begin, done), end, said))
            done = end
    return apart


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    places = _places(text)
    pieces, at = [], 0
    for begin, end, said in spans:
        pieces += [text[at : places[begin]], said]
        at = places[end - 1] + 1
    return "".join([*pieces, text[at:]])


def _places(text: str) -> list[int]:
    """The place in the text of each byte of its `_dense` form."""
    blanks = SPACE.decode()
    if text.isascii():
        return [at for at, letter in enumerate(text) if letter not in blanks]
    return [
        at
        for at, letter in enumerate(text)
        if letter not in blanks
        for _ in range(len(letter.encode("utf-8", "surrogatepass")))
    ]


def _gather(value: Any, texts: list[str]) -> None:
    """Every text in a value."""
    if type(value) is str:
        if len(value) >= LEAST:
            texts.append(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _gather(key, texts)
            _gather(inner, texts)
    elif type(value) in (tuple, list, set, frozenset):
        for inner in value:
            _gather(inner, texts)
    elif is_dataclass(value) and not isinstance(value, type):
        for name in _names_of(value.__class__):
            _gather(getattr(value, name), texts)


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init)


def _written(text: str) -> Iterator[str]:
    if len(_dense(text)) < LEAST:
        return
    yield text
    raw = text.encode("utf-8", "surrogatepass")
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    for told in (text, html.escape(text)):
        yield told
        for ascii_only in (True, False):
            yield from _json(told, ascii_only)
    yield repr(text)[1:-1]
    yield from _hex(raw)
    for before in range(3):
        yield from _base64(raw, before)


def _json(text: str, ascii_only: bool) -> Iterator[str]:
    """As writers of JSON have it: with what they must escape, and with what some escape besides."""
    plain = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    yield plain
    yield plain.replace("/", "\\/")
    for escaped in _ESCAPED:
        yield plain.translate(escaped)
    dotnet = plain.replace('\\"', "\\u0022").translate(_DOTNET)
    yield re.sub(r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), dotnet)


def _hex(raw: bytes) -> Iterator[str]:
    digits = [f"{byte:02x}" for byte in raw]
    for told in (digits, [digit.upper() for digit in digits]):
        for between in ("", ":", "-", ",", "%", "\\x"):
            yield between.join(told)
        yield ",0x".join(told)


def _base64(raw: bytes, before: int) -> Iterator[str]:
    """The characters that say nothing but `raw`, where `before` bytes stand before it in a group."""
    first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(bytes(before) + raw).decode("ascii")[first:last]
