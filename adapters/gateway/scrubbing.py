"""
Secrets taken out of what comes back.

Rule 1: what a secret's host answers is read for the value in every form that `bot.redaction` knows, with white
        space anywhere inside, whether or not it was put in; the word stands in its place again.
Rule 2: what is compressed is unpacked first, to its end.
Rule 3: a value that a host spreads over more than `_HELD_MOST` bytes of white space passes.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adapters.gateway.placing import Held
from adapters.gateway.verdicts import Denied
from bot.redaction import SPACE, Finder, forms, spans

_LEAST: Final = 8
"""Bytes of a form that is looked for in what may be a picture or an archive."""
_BLOCK: Final = 256 * 1024
_HELD_MOST: Final = 256 * 1024
_OFTEN: Final = 2048
"""So many bytes, kept back, are read again with whatever comes; more only once as many have come."""
_KEPT: Final = 64


class Scrubber:
    """Takes secrets out of a stream, wherever its pieces end. It takes its time: not for the loop's thread."""

    def __init__(self, held: tuple[Held, ...]) -> None:
        self._sought = _sought(held)
        self._held = b""
        self._unread = 0
        """Bytes at the end of what is held that came since it was read."""

    def whole(self, text: bytes) -> bytes:
        """A text that is here as a whole."""
        return self._said(text, len(text))[0]

    def is_in_name(self, name: bytes) -> bool:
        """Whether a header's name, which may have lost its capitals, holds one."""
        return bool(self._sought.in_names.found(name.lower()))

    def feed(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """What can be said of the stream by now; of the last piece, all that is left."""
        if not self._sought.told:
            return piece
        self._held += piece
        self._unread += len(piece)
        if not is_last and self._sought.most > _OFTEN and self._unread < self._sought.most:
            return b""
        upto = len(self._held) if is_last else self._upto()
        said, at = self._said(self._held, upto)
        self._held, self._unread = self._held[at:], 0
        return said

    def _upto(self) -> int:
        """Where the bytes begin in which a form may have begun that is not here as a whole."""
        held, most = self._held, self._sought.most
        size = most
        while size < min(len(held), _HELD_MOST):
            lacking = most - len(held[-size:].translate(None, SPACE))
            if lacking <= 0:
                break
            size += lacking
        return max(0, len(held) - min(size, _HELD_MOST)) if size else len(held)

    def _said(self, text: bytes, upto: int) -> tuple[bytes, int]:
        """The text to there, or to the end of a form that begins before; and where that is."""
        dense = text.translate(None, SPACE)
        found = self._sought.finder.found(dense)
        if not found:
            return text[:upto], upto
        places = [at for at, byte in enumerate(text) if byte not in SPACE]
        said, at = [], 0
        for begin, end, word in spans(dense, {form: self._sought.told[form] for form in found}):
            # What lies over another one goes with it.
            if places[begin] >= upto and places[begin] != at:
                break
            said += [text[at : places[begin]], word]
            at = places[end - 1] + 1
        return b"".join([*said, text[at:upto]]), max(at, upto)


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is looked for: each form of each value, and what stands for it in an answer."""

    told: dict[bytes, bytes]
    finder: Finder
    in_names: Finder
    most: int
    """Bytes that may be the beginning of a form, without white space."""


@lru_cache(_KEPT)
def _sought(held: tuple[Held, ...]) -> _Sought:
    told = {}
    for one in held:
        value = one.value.translate(None, SPACE)
        for form in (value, *forms(one.value.decode("utf-8", "surrogateescape"))):
            if len(form) >= _LEAST or (form and form == value):
                told[form] = one.placeholder
    most = max(map(len, told), default=1) - 1
    return _Sought(told, Finder(told), Finder({form.lower() for form in told}), most)


class Unpacking:
    """A body without the compression that it came in, bounded: it is taken out of its server's hands."""

    def __init__(self, coding: bytes, host: str) -> None:
        """Raises Denied: it cannot be read."""
        known = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}
        if coding not in (b"", b"identity") and coding not in known:
            raise Denied(host, "it answers in a compression that is not read here", status=502)
        self._host, self._bits = host, known.get(coding, 0)
        self._unpacker = zlib.decompressobj(self._bits) if self._bits else None
        self._has_begun = False

    @property
    def is_needed(self) -> bool:
        """The body is compressed."""
        return self._unpacker is not None

    def feed(self, piece: bytes) -> Iterable[bytes]:
        """The piece unpacked, in pieces of a bounded size. Raises Denied: it is broken."""
        if self._unpacker is None:
            yield piece
            return
        try:
            while piece:
                if self._unpacker.eof and not (piece := self._next(piece)):
                    return
                self._has_begun = True
                yield self._unpacker.decompress(piece, _BLOCK)
                piece = self._unpacker.unused_data or self._unpacker.unconsumed_tail
        except zlib.error as error:
            raise self._broken() from error

    def end(self) -> Iterable[bytes]:
        """What is left of it. Raises Denied: it breaks off."""
        if self._unpacker is None or not self._has_begun:
            return
        try:
            while not self._unpacker.eof and (left := self._unpacker.decompress(b"", _BLOCK)):
                yield left
        except zlib.error as error:
            raise self._broken() from error
        if not self._unpacker.eof:
            raise self._broken()

    def _next(self, piece: bytes) -> bytes:
        """Where the next part begins: gzip may have several, and zeros behind them."""
        if self._bits == 15:
            raise self._broken()
        piece = piece.lstrip(b"\0")
        if piece:
            self._unpacker = zlib.decompressobj(self._bits)
        return piece

    def _broken(self) -> Denied:
        return Denied(self._host, "its compressed answer is broken", status=502)
