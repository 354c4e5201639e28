"""Sentences at a terminal's width: words stay whole. In a pipe or a file a line stays a line."""

import shutil
import textwrap
from typing import TextIO


def wrapped(text: str, stream: TextIO) -> str:
    """The text with its lines broken between words where `stream` is a terminal that is narrower."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return "\n".join(_broken(line, columns) for line in text.split("\n"))


def _broken(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
