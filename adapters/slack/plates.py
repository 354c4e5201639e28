"""
Shapes as blocks of a view: details, and what stands in a home. Pure.

Rule 1: views take neither `markdown` nor `plan` nor `table` blocks
        (https://docs.slack.dev/reference/block-kit/blocks): all text is in sections, small print in
        contexts.
Rule 2: one glance, one thing: how it stands, what it is about, then what is small, then what can be done.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from adapters.slack.ids import is_channel, is_user, parted
from adapters.slack.mrkdwn import escaped, literal, of_line, sections
from adapters.slack.presses import ACTION, Press, button, cut, units
from adapters.slack.render import choice_style
from adapters.slack.richtext import blocks as blocks_of
from adapters.slack.text import parsed
from bot.errors import Refused
from bot.ports.chat import Place, Shape
from bot.ports.plain import SEPARATOR, TASK_GLYPHS, printable
from bot.ports.windows import NEW, Home, Item, Part

Block = dict[str, Any]
SECTION_MOST: Final = 3_000
HEADER_MOST: Final = 150
CONTEXT_MOST: Final = 10
SMALL_MOST: Final = 600
"""Of one piece of small print; Slack takes more, and then it is small no longer."""
HEAD_MOST: Final = 600
TASKS_MOST: Final = 20
BUTTONS_MOST: Final = 25
BODY_BLOCKS: Final = 8
"""Of one text in a view; what is longer is told in its thread."""
HOME_BLOCKS_MOST: Final = 100
HOME_BYTES_MOST: Final = 200_000
"""Of JSON; Slack refuses a view of over 250 KB."""


class Numbers:
    """Numbers that are each given once in a view."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        """One more."""
        self._last += 1
        return self._last


def plain_text(text: str, most: int) -> Any:
    """A text of labels and titles, within its limit; never empty."""
    shown = " ".join(printable(text).split()) if "\n" in text else printable(text).strip()
    return {"type": "plain_text", "text": cut(shown, most) or "…", "emoji": True}


def plate(shape: Shape, numbers: Numbers, place: Place | None = None, of: str = "") -> list[Block]:
    """The blocks of a shape. `place` and `of`: where its buttons act, and under which message."""
    top = _top(shape)
    blocks = [_section(top)] if top else []
    blocks += _rich(shape.body)
    small = [*_tasks(shape), *([shape.now] if shape.now else []), *shape.notes]
    # One below the other: beside one another they would be columns.
    lines = "\n".join(literal(cut(one, SMALL_MOST)) for one in small if one.strip())
    blocks += _contexts([lines] if lines else [])
    return blocks + _acts(shape, numbers, place, of)


def home_blocks(home: Home, workspace: str, turn: tuple[str, str, str, str]) -> list[Block]:
    """All blocks of a home.

    Args:
        turn: labels of the buttons to the page before and the one behind, `Page 2 of 3`, and of the
            link to a goal's thread.
    """
    numbers, anywhere = Numbers(), Place("slack", workspace, "")
    earlier, later, at, thread = turn
    groups = [_masthead(home.top, numbers, anywhere)]
    for part in home.parts:
        groups += _part(part, numbers, thread)
    turning = _turning(home, numbers, earlier, later, at)
    return _fitting(groups, HOME_BLOCKS_MOST - len(turning)) + turning


def _fitting(groups: Sequence[list[Block]], most: int) -> list[Block]:
    """The first of the groups, each whole, that a view takes; an ellipsis stands for the others."""
    blocks: list[Block] = []
    size = 0
    for group in groups:
        size += len(json.dumps(group))
        if len(blocks) + len(group) > most - 1 or size > HOME_BYTES_MOST:
            return [*blocks, _section("…")]
        blocks += group
    return blocks


def _masthead(top: Shape, numbers: Numbers, place: Place) -> list[Block]:
    words = [f"*{literal(top.word)}*"] if top.word else []
    section = _section("\n".join([*words, *([literal(top.body)] if top.body else [])]) or "…")
    new = next((one for one in top.buttons if one.verb == NEW), None)
    if new is not None:
        press = Press(NEW, place)
        section["accessory"] = button(press, new.label, numbers.next(), style="primary")
        section["block_id"] = f"{ACTION}acts:{numbers.next()}"
    small = SEPARATOR.join(literal(cut(one, SMALL_MOST)) for one in top.notes if one.strip())
    return [section, *_contexts([small] if small else [])]


def _part(part: Part, numbers: Numbers, thread: str) -> list[list[Block]]:
    """The heading, then each item."""
    top: list[Block] = [{"type": "divider"}] if part.heading or part.items else []
    if part.heading:
        top.append({"type": "header", "text": plain_text(part.heading, HEADER_MOST)})
    if part.about:
        top += _contexts([literal(part.about)])
    note = [_section(text) for text in sections(parsed(part.note))] if part.note else []
    return [top, *(_item(item, numbers, thread) for item in part.items), note]


def _item(item: Item, numbers: Numbers, thread: str) -> list[Block]:
    shape, place = item.shape, item.place
    top = _top(shape)
    if item.of:
        if not _is_shown_whole(shape.body):
            # Nobody says yes to what they cannot see: it is answered in the thread.
            shape = replace(shape, options=())
        blocks = [_section(top or "…"), *_rich(shape.body), *_long_options(shape)]
    else:
        text = of_line(shape.body)
        blocks = [_section("\n".join(one for one in (top, text) if one) or "…")]
    where = list(_where(place, thread))
    small = [literal(cut(one, SMALL_MOST)) for one in (*shape.notes, shape.now) if one.strip()]
    line = SEPARATOR.join([*small, *where])
    blocks += _contexts([line] if line else [])
    return blocks + _acts(shape, numbers, place, item.of)


def _where(place: Place, thread: str) -> Iterator[str]:
    """The room, and the way to the thread."""
    if not is_channel(place.room):
        return
    if not place.room.startswith("D"):
        yield f"<#{place.room}>"
    try:
        _, ts = parted(place.thread)
    except Refused:
        return
    if is_user(place.workspace) and place.workspace.startswith("T"):
        at = f"{place.workspace}/{place.room}/thread/{place.room}-{ts}"
        yield f"<https://app.slack.com/client/{at}|{escaped(thread)}>"


def _top(shape: Shape) -> str:
    """`*⏳ Working* · G12 · turn 7 of 20`."""
    word = f"{shape.glyph} {shape.word}".strip()
    parts = [f"*{literal(word)}*"] if word else []
    parts += [literal(one) for one in shape.facts if one]
    return _within(SEPARATOR.join(parts), HEAD_MOST)


def _rich(text: str) -> list[Block]:
    """Markdown as blocks; what is cut says so."""
    found = blocks_of(parsed(text), plainly=True) if text.strip() else []
    return found if len(found) <= BODY_BLOCKS else [*found[:BODY_BLOCKS], _section("…")]


def _is_shown_whole(text: str) -> bool:
    return len(blocks_of(parsed(text), plainly=True)) <= BODY_BLOCKS


def _long_options(shape: Shape) -> list[Block]:
    """The answers, whole, where a button cannot show one so."""
    if not _are_long(shape.options):
        return []
    return [
        _section(f"{n}. {literal(one)}") for n, one in enumerate(shape.options[:BUTTONS_MOST], 1)
    ]


def _are_long(options: Sequence[str]) -> bool:
    """Whether a button cannot show an answer whole."""
    return any(units(one) > 40 for one in options)


def _tasks(shape: Shape) -> list[str]:
    told = [f"{TASK_GLYPHS.get(state, '☐')} {title}" for title, state in shape.tasks[:TASKS_MOST]]
    left = len(shape.tasks) - len(told)
    return [*told, *([f"+{left}"] if left else [])]


def _acts(shape: Shape, numbers: Numbers, place: Place | None, of: str) -> list[Block]:
    offered = [
        (
            str(n),
            f"{n}. {one}" if _are_long(shape.options) else one,
            choice_style(shape, n),
        )
        for n, one in enumerate(shape.options, 1)
    ]
    offered += [(one.verb, one.label, "") for one in shape.buttons]
    if not offered:
        return []
    name = next((fact for fact in shape.facts if fact), "")
    elements = []
    for verb, label, style in offered[:BUTTONS_MOST]:
        press = Press(verb, place, of)
        spoken = f"{label}, {name}" if name else ""
        try:
            elements.append(button(press, label, numbers.next(), style=style, spoken=spoken))
        except Refused:
            continue
    if not elements:
        return []
    return [{"type": "actions", "block_id": f"{ACTION}acts:{numbers.next()}", "elements": elements}]


def _turning(home: Home, numbers: Numbers, earlier: str, later: str, at: str) -> list[Block]:
    if home.pages < 2:
        return []
    elements = []
    if home.page > 1:
        elements.append(button(Press("", page=home.page - 1), earlier, numbers.next()))
    if home.page < home.pages:
        elements.append(button(Press("", page=home.page + 1), later, numbers.next()))
    acts = {"type": "actions", "block_id": f"{ACTION}acts:{numbers.next()}", "elements": elements}
    return [{"type": "divider"}, *_contexts([literal(at)]), acts]


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _within(text), "verbatim": False}}


def _contexts(texts: Sequence[str]) -> list[Block]:
    elements = [{"type": "mrkdwn", "text": _within(one)} for one in texts if one.strip()]
    return [
        {"type": "context", "elements": elements[at : at + CONTEXT_MOST]}
        for at in range(0, len(elements), CONTEXT_MOST)
    ]


def _within(text: str, most: int = SECTION_MOST) -> str:
    """The markup within its limit, cut before an entity or a link that would be cut in two."""
    if units(text) <= most:
        return text
    kept = cut(text, most)[:-1]
    for begins, ends in (("&", ";"), ("<", ">")):
        at = kept.rfind(begins)
        if at >= 0 and ends not in kept[at:]:
            kept = kept[:at]
    return kept.rstrip() + "…"
