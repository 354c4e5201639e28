"""
The settings file that `headway init` writes: what was in it stays, what was asked is set.

Rule 1: the file is replaced whole or not at all, and is its owner's alone (0600) from its first byte.
Rule 2: only what differs from the default is written; a line or comment of somebody else's stays.
Rule 3: what comes out is read again before it is kept, and must say what was meant.
"""

import contextlib
import json
import os
import re
import tempfile
import textwrap
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bot.errors import BadSettings
from bot.settings import Settings

HEAD: Final = (
    "# Headway's settings. `headway init` wrote this and may be run again; lines of your own stay.\n"
    "# What holds now, and why: `headway config show`. What is wrong: `headway doctor`.\n"
)
WIDTH: Final = 98
LEFT_S: Final = 60.0
"""Nobody writes a file of ten lines for longer."""


def differing(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are written: None in place of one that is the default anyway."""
    fields = Settings.model_fields
    return {
        name: None if value == fields[name].get_default(call_default_factory=True) else value
        for name, value in values.items()
    }


def edited(text: str, values: Mapping[str, Any]) -> str:
    """The file's text with these settings in it, each under a comment; None takes a setting out.

    Raises:
        BadSettings: the text cannot be changed without breaking it.
    """
    expected = tomllib.loads(text)
    lines = (text or HEAD).rstrip("\n").split("\n")
    for name, value in values.items():
        if value is None:
            expected.pop(name, None)
            lines = _without(lines, name)
        else:
            expected[name] = value
            lines = _with(lines, name, f"{name} = {_toml(value)}")
    out = "\n".join(lines).rstrip("\n") + "\n"
    try:
        read = tomllib.loads(out)
    except tomllib.TOMLDecodeError:
        read = {}
    if read != expected:
        raise BadSettings(
            "The settings file is written in a way that init cannot change. "
            f"Set {', '.join(values)} in it by hand, or move it away and run this again."
        )
    return out


def replace(path: Path, text: str) -> None:
    """Put the text in the file's place, whole, with the rights 0600.

    Raises:
        BadSettings: the folder cannot be written.
    """
    path = path.resolve()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise BadSettings(
            f"{path} cannot be written ({error.strerror}). Name another file: `--config FILE`."
        ) from error
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _sweep(path: Path) -> None:
    """Remove what a killed init left: a key may be in it."""
    for left in path.parent.glob(f".{path.name}.*"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - LEFT_S:
                left.unlink()


def _with(lines: list[str], name: str, line: str) -> list[str]:
    at = _place(lines, name)
    if at is not None:
        return [*lines[:at], line, *lines[at + 1 :]]
    end = _top(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    below = lines[end:] if end < len(lines) else []
    gap = [""] if below and below[0].strip() else []
    return [*lines[:end], "", *_comment(name), line, *gap, *below]


def _without(lines: list[str], name: str) -> list[str]:
    at = _place(lines, name)
    if at is None:
        return lines
    comment = _comment(name)
    start = at - len(comment)
    if start < 0 or lines[start:at] != comment:
        start = at
    if start and not lines[start - 1].strip():
        start -= 1
    return [*lines[:start], *lines[at + 1 :]]


def _place(lines: list[str], name: str) -> int | None:
    """The line that sets a setting, of those before the first table."""
    for number, line in enumerate(lines[: _top(lines)]):
        if re.match(rf"\s*\"?{name}\"?\s*=", line):
            return number
    return None


def _top(lines: list[str]) -> int:
    """Where the first table begins, with the comment above it."""
    at = next((n for n, line in enumerate(lines) if re.match(r"\s*\[", line)), len(lines))
    while at and at < len(lines) and lines[at - 1].startswith("#"):
        at -= 1
    return at


def _toml(value: Any) -> str:
    """A scalar or a list as TOML has it: JSON's form, but for one character that TOML forbids."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(name: str) -> list[str]:
    about = Settings.model_fields[name].description or ""
    return [f"# {line}" for line in textwrap.wrap(about, WIDTH)]
