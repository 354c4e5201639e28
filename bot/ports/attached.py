"""
How files are called: a safe name, where one that came lies in the workspace, its line in a message. Pure.

Rule 1: a name is data of a stranger: it becomes one path component that a shell, a terminal and a
        line of ours take as it is.
Rule 2: a file that came lies in a folder of its message's own, so that none ever stands in another's
        place, and its path is known before anything is put there.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from mimetypes import MimeTypes
from typing import Final
from unicodedata import normalize

from bot.ports.chat import Attachment, Incoming

INBOX: Final = "inbox"
"""The workspace's folder of files that came."""
FOLDER_CHARS: Final = 6
"""Of a message's folder: of a thousand million messages hardly two of a workspace have the same."""
NAME_BYTES: Final = 120
"""Of a safe name in UTF-8; file systems take 255."""
ANY_TYPE: Final = "application/octet-stream"

_UNSAFE: Final = re.compile(r"[^\w.+@=() -]+")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}/[a-z0-9][a-z0-9.+-]{0,126}")
_MENTION: Final = f"[file: {INBOX}/"
_LINE: Final = re.compile(rf"^\[file: ({INBOX}/[^,\n]+), [^,\n]+, [^,\n]+\]$", re.MULTILINE)
_LEFT: Final = re.compile(r"^\[file: ([^,\n]+), not taken: [^\n]*\]$", re.MULTILINE)
_ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_UNITS: Final = ("KB", "MB", "GB")


def safe_name(name: str) -> str:
    """The name as one path component of letters, digits and a few signs; `file` where none is left."""
    last = re.split(r"[/\\]", normalize("NFC", name))[-1]
    plain = re.sub(r"\s+", " ", _UNSAFE.sub("_", last)).strip(" .-")
    stem, dot, end = plain.rpartition(".")
    if not dot or len(end.encode()) > 16:
        stem, dot, end = plain, "", ""
    room = NAME_BYTES - len(f"{dot}{end}".encode())
    return (_cut(stem, room).strip(" .") or "file") + dot + end


def safe_type(media_type: str, name: str) -> str:
    """A media type without parameters; what the name says where it is none."""
    plain = media_type.partition(";")[0].strip().lower()
    return plain if _TYPE.fullmatch(plain) else type_of(name)


def type_of(name: str) -> str:
    """The media type that a file's name tells."""
    return _types().guess_type(name)[0] or ANY_TYPE


def size_of(size: int) -> str:
    """`12 KB`: a size as people read it."""
    if size < 1000:
        return f"{size} bytes"
    told, power = size / 1000, 0
    while told >= 999.5 and power < len(_UNITS) - 1:
        told, power = told / 1000, power + 1
    return f"{told:.1f} {_UNITS[power]}" if told < 9.95 else f"{told:.0f} {_UNITS[power]}"


def with_files(message: Incoming) -> Incoming:
    """The message with its files named safely and apart, and with a line for each in its text."""
    if not message.files:
        return message
    files = tuple(_apart(message.files))
    lines = [line_of(message.id, one) for one in files]
    return replace(message, text="\n".join([*filter(None, (message.text,)), *lines]), files=files)


def edited(text: str, message: Incoming) -> str:
    """What a message says now, with the lines of the files that came with it."""
    lines = [line_of(message.id, one) for one in message.files]
    return "\n".join([*filter(None, (without_lines(text),)), *lines])


def line_of(message: str, file: Attachment) -> str:
    """`[file: inbox/K7Q2WX/report.csv, text/csv, 12 KB]`: how the agent hears of a file."""
    return f"[file: {path_of(message, file.name)}, {file.media_type}, {size_of(file.size)}]"


def not_taken(name: str, why: str) -> str:
    """The line in a message for a file that came and was not taken."""
    return f"[file: {safe_name(name)}, not taken: {' '.join(why.split())}]"


def path_of(message: str, name: str) -> str:
    """Where a file of the message of that id lies in the workspace."""
    return f"{INBOX}/{folder_of(message)}/{name}"


def folder_of(message: str) -> str:
    """The folder of the files of the message of that id, among those that came."""
    digest = sha256(message.encode("utf-8", "surrogatepass")).digest()
    return "".join(_ALPHABET[byte % 32] for byte in digest[:FOLDER_CHARS])


def paths_in(text: str) -> tuple[str, ...]:
    """The workspace paths of the files that a text tells of."""
    return tuple(_LINE.findall(text)) if _MENTION in text else ()


def without_lines(text: str) -> str:
    """What was said, without the lines of its files."""
    return _LINE.sub("", text).strip() if _MENTION in text else text


def keeping(text: str, old: str) -> str:
    """A text that was put in an older one's place, with the lines of the files of that."""
    lines = [found.group() for found in _LINE.finditer(old)] if _MENTION in old else []
    return "\n".join([without_lines(text), *lines]) if lines else text


def as_shown(text: str) -> str:
    """What was said as people read it: a file by its name."""
    if "[file: " not in text:
        return text
    named = _LINE.sub(lambda found: f"📎 {found[1].rpartition('/')[2]}", text)
    return _LEFT.sub(r"📎 \1 (not taken)", named)


def _apart(files: Iterable[Attachment]) -> Iterable[Attachment]:
    taken: set[str] = set()
    for one in files:
        name = safe_name(one.name)
        stem, dot, end = name.rpartition(".") if "." in name else (name, "", "")
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}-{number}{dot}{end}"
        taken.add(name.casefold())
        yield replace(one, name=name, media_type=safe_type(one.media_type, name))


def _cut(text: str, room: int) -> str:
    return text.encode()[:room].decode("utf-8", "ignore")


@cache
def _types() -> MimeTypes:
    """The table that Python brings; what this machine adds would make two machines differ."""
    types = MimeTypes()
    types.add_type("text/markdown", ".md")
    return types
