"""
A message as plain text: what every network can show, and what notifications and files hold.

The head is glyph, word and facts; below it what it is about, what goes on, and what can be done.
A glyph never stands without its word.
"""

import re
from typing import Final

from bot.ports.chat import Shape

TASK_GLYPHS: Final = {"done": "☑", "doing": "▸", "open": "☐", "dropped": "☒"}
SEPARATOR: Final = " · "
_HARMFUL: Final = (
    *(code for code in range(32) if chr(code) not in "\n\t"),
    *range(127, 160),
    # Bidirectional embeddings, overrides and isolates; separators that some count as line ends.
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0x2028,
    0x2029,
    # Lone surrogates: no output takes them.
    *range(0xD800, 0xE000),
)
_FENCE: Final = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)]) +)*(`{3,}|~{3,})(.*)")
_UNMARKED: Final = (("`", "'"), ("](", "] ("))
"""What would make a link or code of a name, and what stands in its place."""
_REPLACED: Final = dict.fromkeys(_HARMFUL, "\N{REPLACEMENT CHARACTER}")
WIDE: Final = 5
"""Spaces between notes of one line."""


def printable(text: str) -> str:
    """The text without control characters: no terminal obeys what an agent or a person wrote,
    nor shows it in another order than it has."""
    return text.replace("\r\n", "\n").translate(_REPLACED)


def closed(text: str) -> str:
    """A text that was cut within code, with its fence closed as it was opened."""
    opened = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found is None:
            continue
        fence, rest = found[1], found[2]
        if not opened:
            opened = fence if fence[0] == "~" or "`" not in rest else ""
        elif fence.startswith(opened) and not rest.strip():
            opened = ""
    return f"{text}\n{opened}" if opened else text


def unmarked(text: str) -> str:
    """The text on one printable line that no Markdown takes for a link or for code: what somebody calls
    themselves, or gives as a reason, stands in sentences of ours."""
    line = " ".join(printable(text).split())
    for mark, instead in _UNMARKED:
        line = line.replace(mark, instead)
    return line


def plain(shape: Shape) -> str:
    """The message as lines of text, without a newline at the end."""
    parts = [head(shape), shape.body, shape.now, options(shape), foot(shape)]
    return "\n".join(part for part in parts if part)


def head(shape: Shape) -> str:
    """`⏳ Working · G12 · turn 7 of 20`, or nothing for an answer without a head."""
    word = f"{shape.glyph} {shape.word}".strip()
    return SEPARATOR.join(part for part in (word, *shape.facts) if part)


def tasks(shape: Shape) -> str:
    """`☑ Reproduce  ▸ Fix`: each task behind the glyph of its state."""
    return "  ".join(f"{TASK_GLYPHS.get(state, '☐')} {title}" for title, state in shape.tasks)


def options(shape: Shape) -> str:
    """The answers that it offers, numbered, a line each."""
    return "\n".join(f"{n}. {option}" for n, option in enumerate(shape.options, 1))


def buttons(shape: Shape) -> str:
    """`[Pause] [Stop]`."""
    return " ".join(f"[{button.label}]" for button in shape.buttons)


def foot(shape: Shape) -> str:
    """Tasks, notes and buttons."""
    last = (" " * WIDE).join(note for note in shape.notes if note)
    line = "   ".join(part for part in (last, buttons(shape)) if part)
    return "\n".join(part for part in (tasks(shape), line) if part)
