"""
Takes what somebody said out of the room's file, where it stands.

Rule 1: a line keeps its place and its length; what is taken out becomes blanks at its end. So readers
        that are in the middle of the file stay where they are, and no copy of the bytes is left.
Rule 2: a line that cannot be read and holds what is to go becomes blanks altogether.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from adapters.console.parse import Edited, Line, Posted, RemovedLine, SaidLine, Taken, read, written
from adapters.console.room import LINE_MOST, RoomFile
from bot.errors import StoreUnusable
from bot.ports.chat import Incoming, Shape, Speaker
from bot.ports.forgetting import Step, Trail
from bot.ports.words import Words

Change = Callable[[Line | None, bytes], Line]
"""What becomes of a line (None where it cannot be read), from it and its bytes."""

AS_IT_IS: Final = Taken("kept")
BLANKS: Final = Taken("")
NOBODY: Final = Speaker("", "")
STAR: Final = "*"
"""Stands for a name: no longer than any."""
LEAST: Final = 4
"""Characters: what is shorter stands in too much else."""


class ConsoleTraces:
    """What the room's file holds of a person. Port Traces."""

    def __init__(self, path: Path, workspace: str = "") -> None:
        self._path = path
        self._workspace = workspace

    async def take(self, trail: Trail, *, is_dry: bool = False) -> list[Step]:
        """Blank what they said, what was said in their threads, and what names them elsewhere."""
        if trail.person.network != "console":
            return []
        count = await asyncio.to_thread(
            blanked, self._path, forgotten(trail, self._workspace), is_dry=is_dry
        )
        return [Step("line", count)] if count else []


def blanked(path: Path, change: Change, *, is_dry: bool = False) -> int:
    """Change the lines of the file in place; returns how many there were to change.

    Raises:
        StoreUnusable: the file cannot be written.
    """
    try:
        with path.open("rb" if is_dry else "r+b") as file:
            if not is_dry:
                fcntl.flock(file, fcntl.LOCK_EX)
            count = _blanked(file, change, is_dry)
            if count and not is_dry:
                file.flush()
                os.fsync(file.fileno())
            return count
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreUnusable(
            f"The room's file {path} cannot be written ({error.strerror}). Mend its rights."
        ) from error


def take_out(path: Path, id: str) -> int:
    """Take the message of that id out of the file; returns how many lines held something of it.

    Raises:
        StoreUnusable: the file cannot be read or written.
    """
    for line in RoomFile(path).news():
        if isinstance(line, SaidLine) and line.message.id == id:
            # What repeats it goes first: until the message goes, it tells what does.
            return blanked(path, repeats(line.message)) + blanked(path, message(id))
    return 0


def message(id: str) -> Change:
    """The change that takes the message of that id out."""

    def change(line: Line | None, body: bytes) -> Line:
        if isinstance(line, SaidLine) and line.message.id == id:
            return SaidLine(replace(line.message, text=""))
        return AS_IT_IS

    return change


def repeats(said: Incoming) -> Change:
    """The change that takes out what Headway repeated of a message in its thread."""
    threads = {said.place.thread or said.id, said.id}
    texts = tuple(text for text in repeated(said.text) if len(text) >= LEAST)
    words = Words(said=texts)

    def change(line: Line | None, body: bytes) -> Line:
        is_near = isinstance(line, Posted | Edited) and line.thread in threads
        if isinstance(line, Posted | Edited) and is_near and words.are_in_bytes(body):
            return replace(line, shape=_without(line.shape, words))
        return AS_IT_IS

    return change


def forgotten(trail: Trail, workspace: str) -> Change:
    """The change that takes a person out."""
    threads = {
        spot.place.thread
        for spot in trail.own
        if spot.place.thread and spot.place.workspace == workspace
    }
    words, external = trail.words, trail.person.external
    goals = frozenset(trail.goals)

    def is_for_them(key: str) -> bool:
        """A post of a goal of theirs, or the answer to what they said."""
        of, _, rest = key.partition(":")
        return of in goals or rest in trail.messages

    def change(line: Line | None, body: bytes) -> Line:
        match line:
            case None:
                return BLANKS if words.are_in_bytes(body) else AS_IT_IS
            case SaidLine(message) if message.speaker.id == external:
                return SaidLine(replace(message, text="", speaker=NOBODY))
            case SaidLine(message) if words.are_in_bytes(body):
                return SaidLine(replace(message, text=words.without(message.text, STAR)))
            case RemovedLine(speaker=speaker) if speaker.id == external:
                return replace(line, speaker=NOBODY)
            case Posted() | Edited() if line.thread in threads or is_for_them(line.key):
                return replace(line, shape=_bare(line.shape))
            case Posted() | Edited() if words.are_in_bytes(body):
                return replace(line, shape=_without(line.shape, words))
            case _:
                return AS_IT_IS

    return change


def repeated(text: str) -> tuple[str, ...]:
    """What of a message Headway may repeat: all, or what follows a command and its verb."""
    whole = text.strip()
    after = whole.partition(" ")[2].strip()
    rest = (after, after.partition(" ")[2].strip()) if whole[:1] in ("/", "!") else ()
    forms = [form for one in (whole, *rest) for form in (one, one.strip("\"'“”«»„"))]
    return tuple(dict.fromkeys(form for form in forms if form))


def _blanked(file: BinaryIO, change: Change, is_dry: bool) -> int:
    count, offset = 0, 0
    while body := file.readline(LINE_MOST):
        offset += len(body)
        text = body.rstrip(b"\n")
        if not text.strip():
            continue
        line = read(text.decode("ascii", "replace"))
        now = change(line, text)
        if now in (AS_IT_IS, line):
            continue
        count += 1
        if not is_dry:
            file.seek(offset - len(body))
            file.write(_fitting(now, text) + body[len(text) :])
            file.seek(offset)
    return count


def _fitting(line: Line, text: bytes) -> bytes:
    """The line in as many bytes as it had."""
    body = b"" if line == BLANKS else written(line).encode("ascii")
    if len(body) > len(text) and isinstance(line, Posted | Edited):
        body = written(replace(line, shape=_bare(line.shape))).encode("ascii")
    return (body if len(body) <= len(text) else b"").ljust(len(text))


def _bare(shape: Shape) -> Shape:
    """What tells where a goal stands, without a word of what it is about."""
    return Shape(shape.glyph, shape.word, shape.facts[:1], goal=shape.goal, state=shape.state)


def _without(shape: Shape, words: Words) -> Shape:
    """The shape without the texts that repeat what was said, and without names in the others."""

    def clean(text: str) -> str:
        return "" if words.quotes_in(text) else words.without(text, STAR)

    return replace(
        shape,
        facts=tuple(clean(text) for text in shape.facts),
        body=clean(shape.body),
        now=clean(shape.now),
        tasks=tuple((clean(title), state) for title, state in shape.tasks),
        notes=tuple(clean(text) for text in shape.notes),
        mentions=tuple(clean(text) for text in shape.mentions),
        options=tuple(clean(text) for text in shape.options),
    )
