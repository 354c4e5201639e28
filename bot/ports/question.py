"""
How a question and the answers it offers are one text.

The text is Markdown; the options are a numbered list at its end (`1. red`, `2. blue`), so that a
transcript, a search and a plain client show what a person saw.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_OPTION: Final = re.compile(r"^(\d{1,2})\. (\S.*)$")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the answers that it offers, numbered from 1."""

    text: str
    options: tuple[str, ...] = ()


def written(text: str, options: Sequence[str] = ()) -> str:
    """The one text of a question; each option is a line of its own."""
    listed = [f"{n}. {' '.join(option.split())}" for n, option in enumerate(options, 1)]
    return "\n\n".join(part for part in (text.strip(), "\n".join(listed)) if part)


def read(text: str) -> Question:
    """The question in a text, with the options of the list that it ends with, if it does."""
    lines = text.rstrip().split("\n")
    options: list[str] = []
    expected = 0
    for line in reversed(lines):
        match = _OPTION.match(line)
        if match is None or (options and int(match[1]) != expected):
            break
        options.append(match[2].strip())
        expected = int(match[1]) - 1
        if expected == 0:
            asked = "\n".join(lines[: -len(options)]).strip()
            return Question(asked, tuple(reversed(options)))
    return Question(text.strip())
