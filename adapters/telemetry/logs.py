"""
Log lines on standard error: one JSON object a line for programs, plain lines for a terminal.

Rule 1: a line in JSON holds no newline, whatever was logged; a traceback is one field.
Rule 2: what the log says is only written here, so one redactor (`redact_with`) sees all of it.
Rule 3: libraries are heard from `warning` upwards, whatever our own level is.
"""

import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from bot.ports.at_work import AT_WORK

Format = Literal["auto", "text", "json"]
OURS: Final = frozenset({"bot", "adapters", "scheduler", "__main__"})


def configure(level: str, format: Format = "auto") -> None:
    """Write log lines of `level` and above to standard error.

    Does nothing to a process that has handlers of its own; called again, it changes ours.

    Args:
        level: `debug`, `info`, `warning` or `error`.
        format: `auto` is text on a terminal, and JSON where a program reads.
    """
    root = logging.getLogger()
    handler = next((one for one in root.handlers if isinstance(one, LogHandler)), None)
    if handler is None:
        if root.handlers:
            return
        handler = LogHandler()
        root.addHandler(handler)
    handler.is_json = format == "json" or (format == "auto" and not sys.stderr.isatty())
    root.setLevel(level.upper())
    # What it warns of (a key that has not come, a limit) is told by who uses it, with the mend.
    logging.getLogger("nio").setLevel(max(root.level, logging.ERROR))


def redact_with(redact: Callable[[str], str]) -> None:
    """From now on every text of every line goes through `redact`, tracebacks included."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogHandler):
            handler.redact = redact


def writes_json() -> bool:
    """Whether a program reads the log: then a traceback is one field, in nobody's way."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler, LogHandler) and handler.is_json for handler in handlers)


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes to what standard error is now: a terminal's prompt puts itself in its place."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream or sys.stderr)
        self._stream = stream
        self.is_json = False
        self.redact: Callable[[str], str] = str
        self.addFilter(_is_heard)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self.setStream(self._stream or sys.stderr)
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """The record as its line."""
        told = {
            name: self.redact(value) if isinstance(value, str) else value
            for name, value in fields_of(record).items()
        }
        return _json(told) if self.is_json else _text(told)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says, in its order: goal, turn, ref and exception only where there are any.

    `goal`, `turn` and `ref` may be given by `extra`; else they are those of the task at work.
    """
    at = AT_WORK.get()
    told: dict[str, Any] = {
        "time": _time(record.created),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _message(record),
    }
    if at is not None:
        told |= {"goal": f"G{at.number}" if at.number else "", "goal_id": at.goal, "turn": at.turn}
    for name in ("goal", "turn", "ref"):
        if (value := getattr(record, name, None)) is not None:
            told[name] = value
    if record.exc_info or record.exc_text:
        told["exception"] = _exception(record)
    told["pid"] = os.getpid()
    return told


def _is_heard(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        # A wrong call of a library's must not cost what it wanted to say.
        return f"{record.msg} {record.args!r}"


def _time(seconds: float) -> str:
    at = datetime.fromtimestamp(seconds, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _exception(record: logging.LogRecord) -> str:
    if not record.exc_text and record.exc_info:
        record.exc_text = logging.Formatter().formatException(record.exc_info)
    return record.exc_text or ""


def _json(told: dict[str, Any]) -> str:
    # Separators that other programs take for line ends are escaped, as JSON may have them.
    return json.dumps(told, ensure_ascii=False, default=str).translate(_LINE_ENDS)


def _text(told: dict[str, Any]) -> str:
    line = f"{told['time']} {told['level'].upper()} {told['logger']}: {told['message']}"
    if told.get("goal"):
        line += f" [{told['goal']} turn {told['turn']}]"
    if "exception" in told:
        line += f"\n{told['exception']}"
    return line


_LINE_ENDS: Final = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
