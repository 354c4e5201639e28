"""
A message on a terminal. Pure: what comes out is Rich text or plain lines.

Buttons are words here: each shows what to type.
"""

import re
from dataclasses import fields, replace
from typing import ClassVar, Final, TypeVar, cast

from rich.console import Group, RenderableType
from rich.markdown import CodeBlock, Markdown
from rich.text import Text

from bot.ports.chat import Button, Shape
from bot.ports.plain import SEPARATOR, TASK_GLYPHS, WIDE, head, options, printable, tasks

T = TypeVar("T")

STYLES: Final = {
    "ready": "cyan",
    "working": "cyan",
    "auditing": "cyan",
    "waiting": "blue",
    "deciding": "bold yellow",
    "paused": "blue",
    "blocked": "bold red",
    "over_budget": "bold yellow",
    "complete": "bold green",
    "cancelled": "dim",
}
CODE: Final = "cyan"
MARKDOWN_MOST: Final = 50_000
"""Characters. Laying out a longer Markdown text (20,000 rows of a table) holds a process up for
seconds; it is shown as it is written."""
TASK_STYLES: Final = {"done": "green", "doing": "bold", "open": "", "dropped": "dim strike"}


def clean(value: T) -> T:
    """The value with every text in it made harmless to a terminal."""
    match value:
        case str():
            return cast(T, printable(value))
        case tuple() | list():
            return cast(T, type(value)(clean(one) for one in value))
        case dict():
            return cast(T, {clean(key): clean(one) for key, one in value.items()})
        case Shape() | Button():
            changed = {field.name: clean(getattr(value, field.name)) for field in fields(value)}
            return cast(T, replace(value, **changed))
        case _:
            return value


def post(shape: Shape) -> RenderableType:
    """A post, with its text as Markdown."""
    parts: list[RenderableType] = []
    if head(shape):
        parts.append(_head(shape))
    if shape.body:
        parts.append(_body(shape.body))
    parts.extend(
        Text.assemble((f"  {number} ", "bold cyan"), option)
        for number, option in enumerate(shape.options, 1)
    )
    if shape.now:
        parts.append(coded(shape.now))
    parts.extend(_foot(shape))
    return Group(*parts)


def status(shape: Shape, width: int) -> Text:
    """A status message, cut to the width: one or a few lines that are redrawn in place."""
    lines = [_head(shape)]
    if shape.body:
        lines.append(Text(" ".join(shape.body.split()), style="italic"))
    if shape.now:
        lines.append(coded(shape.now))
    if shape.tasks:
        lines.append(_tasks(shape))
    for line in lines:
        line.truncate(max(width - 1, 20), overflow="ellipsis")
    return Text("\n").join(lines)


def lines(shape: Shape) -> str:
    """A post as plain lines, for pipes."""
    notes = (" " * WIDE).join(shape.notes)
    typed = words(shape.buttons)
    parts = (head(shape), shape.body, shape.now, options(shape), tasks(shape), notes, typed)
    return "\n".join(part for part in parts if part)


def coded(text: str) -> Text:
    """A text in which what stands between backticks is to be typed, and looks like it."""
    parts = re.split(r"`([^`]+)`", text)
    return Text.assemble(*((part, CODE if place % 2 else "") for place, part in enumerate(parts)))


def words(buttons: tuple[Button, ...]) -> str:
    """`[Pause: pause] [In words]`: each button's label, and what to type for it."""
    return " ".join(_word(button) for button in buttons)


def _word(button: Button) -> str:
    label, verb = button.label, button.verb
    return f"[{label}: {verb}]" if verb and verb.casefold() != label.casefold() else f"[{label}]"


class _Whole(Markdown):
    """Markdown of which nothing is hidden: a block of HTML is shown as it is written."""

    elements: ClassVar = {**Markdown.elements, "html_block": CodeBlock}


def _body(text: str) -> RenderableType:
    return Text(text) if len(text) > MARKDOWN_MOST else _Whole(text, hyperlinks=False)


def _head(shape: Shape) -> Text:
    style = STYLES.get(shape.state, "bold")
    facts = "".join(SEPARATOR + fact for fact in shape.facts)
    return Text.assemble((f"{shape.glyph} {shape.word}".strip(), style), facts)


def _tasks(shape: Shape) -> Text:
    parts = [
        Text(f"{TASK_GLYPHS.get(state, '☐')} {title}", style=TASK_STYLES.get(state, ""))
        for title, state in shape.tasks
    ]
    return Text("  ").join(parts)


def _foot(shape: Shape) -> list[RenderableType]:
    parts: list[RenderableType] = [_tasks(shape)] if shape.tasks else []
    notes = (" " * WIDE).join(shape.notes)
    if notes:
        parts.append(Text(notes, style="dim"))
    if shape.buttons:
        parts.append(Text(words(shape.buttons), style="dim"))
    return parts
