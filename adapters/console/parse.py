"""
Lines of a room's file, and what they mean. Pure.

A line is one JSON object in ASCII, so that any text, lone surrogates included, survives it.

Rule 1: `said` is a person's message, `removed` takes one back, `taken` says that Headway has stored
        either, `post` is a message of Headway, `edit` replaces one. Unknown kinds are skipped: a newer
        Headway may write them.
Rule 2: a post's id follows from its place and key alone.
Rule 3: whatever a line holds, reading it gives what it says or None, and every text in that is a
        text: one line that anybody may have damaged must not end the process, start after start.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

from bot.ports.chat import Attachment, Button, Incoming, Outgoing, Place, Shape, Speaker

NETWORK: Final = "console"
ROOM: Final = "console"

LAST_TIME: Final = 253_402_300_799.0
"""The end of the year 9999, the last that Python's dates can tell."""

_TEXTS: Final = ("glyph", "word", "body", "now", "goal", "state", "origin")
_LEFT: Final = ("times", "is_yes_or_no", "file")
"""Of a shape: whoever reads it is in the console's own zone, and sees all of it."""
_LISTS: Final = ("facts", "notes", "mentions", "options", "reactions")


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A person said something."""

    message: Incoming


@dataclass(frozen=True, slots=True)
class RemovedLine:
    """A person took back their message of that id."""

    id: str
    thread: str
    speaker: Speaker
    at: float

    @property
    def taken_as(self) -> str:
        """The id under which it is marked taken."""
        return f"removed:{self.id}"


@dataclass(frozen=True, slots=True)
class Taken:
    """Headway has stored the message of that id."""

    id: str


@dataclass(frozen=True, slots=True)
class Posted:
    """Headway posted something: `id` is its remote id."""

    id: str
    key: str
    thread: str
    shape: Shape
    at: float
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """Headway replaced the post of that id."""

    id: str
    key: str
    thread: str
    shape: Shape
    at: float
    is_silent: bool = False


Line = SaidLine | RemovedLine | Taken | Posted | Edited


def room(thread: str = "") -> Place:
    """The console's one room, or a thread in it."""
    return Place("console", "", ROOM, thread)


def remote_id(thread: str, key: str) -> str:
    """The id of the post that was sent with `key`."""
    return "m" + sha256(f"{thread}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(line: str) -> Line | None:
    """What a line says, or None for one that is damaged or of an unknown kind."""
    try:
        row = json.loads(line)
        return _read(row) if isinstance(row, dict) else None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def written(line: Line) -> str:
    """The line's text, without its newline."""
    return json.dumps(_row(line))


def outgoing(message: Outgoing, at: float) -> Posted | Edited:
    """The line that a message becomes."""
    thread = message.place.thread
    if message.edits:
        return Edited(message.edits, message.key, thread, message.shape, at, message.silent)
    id = remote_id(thread, message.key)
    return Posted(id, message.key, thread, message.shape, at, message.silent)


def _row(line: Line) -> dict[str, Any]:
    match line:
        case SaidLine(message):
            return {
                "kind": "said",
                "id": message.id,
                "thread": message.place.thread,
                "speaker": asdict(message.speaker),
                "text": message.text,
                "at": message.at,
                "reply_to": message.reply_to,
                **({"files": [asdict(file) for file in message.files]} if message.files else {}),
            }
        case RemovedLine():
            return {"kind": "removed", **asdict(line)}
        case Taken(id):
            return {"kind": "taken", "id": id}
        case Posted():
            return {"kind": "post", **_sent(line)}
        case Edited():
            return {"kind": "edit", **_sent(line)}


def _sent(line: Posted | Edited) -> dict[str, Any]:
    return {
        "id": line.id,
        "key": line.key,
        "thread": line.thread,
        "at": line.at,
        "silent": line.is_silent,
        "shape": {
            name: value for name, value in asdict(line.shape).items() if value and name not in _LEFT
        },
    }


def _read(row: dict[str, Any]) -> Line | None:
    match row["kind"]:
        case "said":
            place = room(str(row["thread"]))
            said = Incoming(
                str(row["id"]), place, _speaker(row["speaker"]), str(row["text"]), _time(row["at"]),
                str(row.get("reply_to", "")), files=tuple(map(_file, row.get("files", ()))),
            )  # fmt: skip
            return SaidLine(said)
        case "removed":
            return RemovedLine(
                str(row["id"]), str(row["thread"]), _speaker(row["speaker"]), _time(row["at"])
            )
        case "taken":
            return Taken(str(row["id"]))
        case "post" | "edit" as kind:
            of = Posted if kind == "post" else Edited
            return of(
                str(row["id"]), str(row["key"]), str(row["thread"]), _shape(row["shape"]),
                _time(row["at"]), bool(row.get("silent", False)),
            )  # fmt: skip
        case _:
            return None


def _file(row: Any) -> Attachment:
    texts = (str(row["name"]), str(row["media_type"]))
    return Attachment(*texts, int(row["size"]), str(row["hash"]))


def _speaker(row: Any) -> Speaker:
    return Speaker(str(row["id"]), str(row["name"]))


def _time(given: Any) -> float:
    at = float(given)
    if not 0 <= at <= LAST_TIME:
        raise ValueError("That is no time.")
    return at


def _shape(row: dict[str, Any]) -> Shape:
    known: dict[str, Any] = {name: str(row.get(name, "")) for name in _TEXTS}
    known |= {name: tuple(str(text) for text in row.get(name, ())) for name in _LISTS}
    tasks = tuple((str(title), str(state)) for title, state in row.get("tasks", ()))
    buttons = tuple(
        Button(str(button["verb"]), str(button["label"])) for button in row.get("buttons", ())
    )
    return Shape(**known, tasks=tasks, buttons=buttons)
