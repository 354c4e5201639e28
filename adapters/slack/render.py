"""
A message as Slack shows it: blocks, and the text that notifications and screen readers have. Pure.

Rule 1: the text says all that a person needs to act: what it is about, what is asked, what can be said.
Rule 2: nobody is called by what others wrote; whom it concerns is called by us, where it calls at all.
Rule 3: a button says its verb; a choice that a button cannot hold stands in the message, numbered.
Rule 4: an act that cannot be taken back is asked about once more in the chat, so no dialog asks, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.slack import blocks as kit
from adapters.slack import mrkdwn
from adapters.slack.blocks import Dialect
from adapters.slack.elements import Block
from adapters.slack.mrkdwn import escaped
from adapters.slack.presses import ACTION, Press, button
from adapters.slack.richtext import plain_of
from adapters.slack.text import JOINER, line, parsed, quiet
from bot.errors import Refused
from bot.ports.chat import Shape
from bot.ports.plain import SEPARATOR, TASK_GLYPHS, closed, printable

TEXT_MOST: Final = 4_000
"""Characters of the text of a message that is edited; of a new one, where Slack recommends to end."""
BODY_TEXT_MOST: Final = 1_500
"""Of them for what the message is about; what follows it is always there."""
EXCERPTS: Final = (2_500, 1_000, 300, 100)
"""Characters of the first paragraph where the whole goes as a file: the first that fits."""
WHOLE_MOST: Final = 12_000
"""Characters of a text that may fit; a longer one is not even laid out."""
BRIEF: Final = (1_500, 500, 150)
"""Characters of an objective or a question in a message that is edited in place."""
SMALL_MOST: Final = 1_500
"""Characters of a line of small print."""
FACT_MOST: Final = 300
TASKS_MOST: Final = 30
TITLE_MOST: Final = 200
"""Characters of a task's title, and of a plan's."""
OPTIONS_MOST: Final = 20
SHORT_OPTION: Final = 30
"""Characters of a button that Slack shows whole everywhere; a longer option stands in the message."""
MEASURED: Final = frozenset({"complete"})
"""States whose facts behind the goal's name are small print; those of a status always are."""
_STATUSES: Final = {"done": "complete", "doing": "in_progress"}
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}")
_PRIMARY: Final = ("resume", "accept", "budget ", "/goal access", "/goal allow")
_DANGER: Final = ("cancel", "/goal cancel")


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences of the catalogue that this network needs beside those of a shape."""

    whole: str
    """Where a text is that is too long; `{name}` is the file's."""
    origin: str
    """The label of the link to the message that a post goes back to."""
    lost: str
    """That a file cannot be sent; `{name}` is its."""


@dataclass(frozen=True, slots=True)
class Message:
    """What `chat.postMessage` and `chat.update` take."""

    text: str
    blocks: tuple[Block, ...]
    is_cut: bool = False
    """Not all of it is said."""

    @property
    def fits(self) -> bool:
        """Whether Slack takes it."""
        return not self.is_cut and kit.fits(self.blocks) and len(self.text) <= TEXT_MOST


def message(
    shape: Shape,
    words: Words,
    *,
    called: Sequence[str] = (),
    is_status: bool = False,
    origin: str = "",
    dialect: Dialect = Dialect.WHOLE,
) -> Message:
    """The shape as a message.

    Args:
        called: ids of users whom it calls.
        is_status: it tells how things stand: its figures are small print.
        origin: address of the message that it goes back to.
        dialect: how much of Block Kit is used.
    """
    text = _text(shape, words, called, origin)
    if dialect is Dialect.WORDS:
        return Message(text, (), is_cut=len(shape.body) > BODY_TEXT_MOST)
    measured = is_status or shape.state in MEASURED
    head, figures = _split(shape.facts) if measured else (shape.facts, ())
    top = _head(shape, head, called if shape.word or shape.facts else ())
    found: list[Block] = [kit.section(kit.cut_escaped(top))] if top else []
    found += kit.of_text(shape.body, dialect)
    found += _listed(shape)
    found += _going_on(shape, dialect)
    found += _foot(shape, figures, words, origin)
    found += _acts(shape)
    return Message(text, tuple(found) or (kit.section("…"),))


def shortened(shape: Shape, most: int) -> Shape:
    """The shape with no text of more than `most` characters, and fewer and shorter tasks."""
    kept, title_most = max(most // 25, 3), max(most // 10, 20)
    tasks = [(kit.cut(title, title_most), state) for title, state in shape.tasks[:kept]]
    if len(shape.tasks) > kept:
        tasks.append((f"+{len(shape.tasks) - kept}", "open"))
    return replace(
        shape,
        body=closed(kit.cut(shape.body, most)),
        facts=tuple(kit.cut(fact, most) for fact in shape.facts),
        now=kit.cut(shape.now, most),
        tasks=tuple(tasks),
        notes=tuple(kit.cut(note, most) for note in shape.notes),
        options=tuple(kit.cut(option, most) for option in shape.options),
    )


def excerpt(shape: Shape, most: int, name: str, words: Words) -> Shape:
    """The shape with its headline and first paragraph, and a line that says where the whole is.

    Of what is to be decided all that there is room for is shown.
    """
    if shape.is_yes_or_no:
        begun = f"{closed(kit.cut(shape.body, most))}\n\n{words.whole.format(name=name)}"
        return replace(shortened(shape, most), body=begun)
    paragraphs = shape.body.strip().split("\n\n")
    is_headline = paragraphs[0].startswith("#") and "\n" not in paragraphs[0]
    first = "\n\n".join(paragraphs[: 2 if is_headline else 1])
    body = f"{closed(kit.cut(first, most))}\n\n{words.whole.format(name=name)}"
    return replace(shortened(shape, most), body=body)


def _split(facts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return facts[:1], facts[1:]


def _head(shape: Shape, facts: Sequence[str], called: Sequence[str]) -> str:
    """`*⏳ Working* · G12`; whom it concerns is called where the shape names them, or at its end."""
    word = f"{shape.glyph} {shape.word}".strip()
    parts = [f"*{mrkdwn.literal(kit.cut(word, FACT_MOST))}*"] if word else []
    calls = ", ".join(f"<@{user}>" for user in called)
    for fact in (one for one in facts if one.strip()):
        if calls and fact.startswith("@"):
            parts.append(calls)
            calls = ""
        else:
            parts.append(_timed(_line(fact, FACT_MOST), shape))
    return SEPARATOR.join([*parts, *([calls] if calls else [])])


def _listed(shape: Shape) -> list[Block]:
    """The options that no button shows whole, numbered."""
    if not _are_listed(shape.options):
        return []
    lines = [f"{n}. {mrkdwn.of_line(one)}" for n, one in enumerate(shape.options, 1)]
    return [kit.section(part) for part in mrkdwn.cut("\n".join(lines))]


def _are_listed(options: Sequence[str]) -> bool:
    return len(options) > OPTIONS_MOST or any(
        len(option) > SHORT_OPTION or _plain(option) != option for option in options
    )


def _going_on(shape: Shape, dialect: Dialect) -> list[Block]:
    """What is done, and what goes on; the tasks as a plan where Slack takes one."""
    now = [kit.context(_line(shape.now, SMALL_MOST))] if shape.now.strip() else []
    if not shape.tasks:
        return now
    if dialect is Dialect.WHOLE:
        return [_plan(shape)]
    tasks = [
        f"{TASK_GLYPHS.get(state, '☐')} {_line(title, TITLE_MOST)}" for title, state in shape.tasks
    ]
    return [kit.context(kit.cut_escaped("  ".join(tasks), 2 * SMALL_MOST)), *now]


def _plan(shape: Shape) -> Block:
    tasks = [
        {
            "type": "task_card",
            "task_id": f"task-{number}",
            "title": _label(_plain(title), TITLE_MOST),
            "status": _STATUSES.get(state, "pending"),
        }
        for number, (title, state) in enumerate(shape.tasks[:TASKS_MOST], 1)
        # A plan has no sign for what is planned no more.
        if state != "dropped"
    ]
    title = _plain(shape.now) or f"{shape.glyph} {shape.word}".strip()
    return {"type": "plan", "title": _label(title, TITLE_MOST), "tasks": tasks}


def _foot(shape: Shape, figures: Sequence[str], words: Words, origin: str) -> list[Block]:
    """Notes and figures, small; a note that says what is to be done is none of them."""
    notes = [_timed(_line(note, SMALL_MOST), shape) for note in shape.notes if note.strip()]
    found: list[Block] = []
    if notes and not shape.body and shape.word:
        found = [kit.section(kit.cut_escaped("\n".join(notes)))]
        notes = []
    small = SEPARATOR.join(
        _timed(_line(fact, FACT_MOST), shape) for fact in figures if fact.strip()
    )
    origins = [mrkdwn.link(origin, words.origin)] if origin else []
    lines = [*([small] if small else []), *notes, *origins]
    # One below the other: beside one another they would be columns.
    return [*found, kit.context(kit.cut_escaped("\n".join(lines)))] if lines else found


def _acts(shape: Shape) -> list[Block]:
    """Buttons of the options, then the others."""
    spoken = " ".join(part for part in (shape.word, *shape.facts[:1]) if part and shape.word)
    are_listed = _are_listed(shape.options)
    offered: list[tuple[str, str, str]] = [
        (
            str(n),
            f"{n}. {_plain(option)}" if are_listed else option,
            choice_style(shape, n),
        )
        for n, option in enumerate(shape.options[:OPTIONS_MOST], 1)
    ]
    offered += [(one.verb, one.label, _style(one.verb)) for one in shape.buttons]
    elements: list[Any] = []
    for verb, label, wished in offered[: kit.ACTIONS_MOST]:
        # Of several that lead on, the first stands out.
        style = "" if wished == "primary" and _has_primary(elements) else wished
        said = f"{label}: {spoken}" if spoken else label
        try:
            number = len(elements) + 1
            shown = _unmarked(label)
            elements.append(button(Press(verb), shown, number, style=style, spoken=_unmarked(said)))
        except Refused:
            # Too long for a button: it can be typed.
            continue
    return (
        [{"type": "actions", "block_id": f"{ACTION}acts", "elements": elements}] if elements else []
    )


def choice_style(shape: Shape, number: int) -> str:
    """How the button of an answer looks: where the first is a yes and the last a no, like those."""
    if not shape.is_yes_or_no:
        return ""
    if number == len(shape.options):
        return "danger"
    return "primary" if number == 1 else ""


def _has_primary(elements: Sequence[Any]) -> bool:
    return any(one.get("style") == "primary" for one in elements)


def _style(verb: str) -> str:
    if verb.startswith(_PRIMARY):
        return "primary"
    return "danger" if verb.startswith(_DANGER) else ""


def _text(shape: Shape, words: Words, called: Sequence[str], origin: str) -> str:
    """The message as text, whatever of it can be shortened shortened."""
    word = f"{shape.glyph} {shape.word}".strip()
    who = SEPARATOR.join(f"<@{user}>" for user in called)
    head = [word, *(kit.cut(fact, FACT_MOST) for fact in shape.facts)]
    marks = [f"{TASK_GLYPHS.get(state, '☐')} {title}" for title, state in shape.tasks[:TASKS_MOST]]
    options = [f"{n}. {_plain(one)}" for n, one in enumerate(shape.options[:OPTIONS_MOST], 1)]
    buttons = " ".join(f"[{one.label}]" for one in shape.buttons)
    rest = [
        kit.cut(_plain(shape.now), 300),
        kit.cut("  ".join(marks), 500),
        kit.cut("\n".join(options), 900),
        kit.cut("   ".join(_plain(note) for note in shape.notes if note), 600),
        kit.cut(buttons, 300),
    ]
    top = kit.cut(SEPARATOR.join(part for part in head if part), 600)
    foot = "\n".join(part for part in rest if part)
    body = kit.cut(_body(shape.body), BODY_TEXT_MOST)
    parts = [escaped(quiet(printable(part))) for part in (top, body, foot)]
    links = [f"{escaped(words.origin)}: {escaped(origin)}"] if origin else []
    told = "\n".join(part for part in (parts[0], who, *parts[1:], *links) if part.strip())
    return kit.cut_escaped(told, TEXT_MOST) or "…"


def _body(markdown: str) -> str:
    """A text without its marks, as far as a notification shows it."""
    # A notification shows the beginning: a long text is not parsed whole for it.
    text = parsed(markdown if len(markdown) <= kit.ALL_MOST else markdown[: 2 * BODY_TEXT_MOST])
    if text.tokens is None:
        return text.source
    return "\n".join(part for part in plain_of(text.tokens) if part)


def _line(markdown: str, most: int) -> str:
    """One line of mrkdwn, cut before it is escaped, so that nothing of it is torn."""
    return kit.cut_escaped(mrkdwn.of_line(kit.cut(markdown, most)), 2 * most)


def _timed(said: str, shape: Shape) -> str:
    """The mrkdwn with the moments that it names as each reader's client shows them."""
    for named, at in shape.times:
        text = mrkdwn.literal(named)
        before, found, after = said.partition(text) if text else ("", "", "")
        is_free = before.count("<") == before.count(">")
        if found and is_free and at > 0:
            form = "{time}" if _CLOCK.fullmatch(named) else "{date_short_pretty} {time}"
            return f"{before}<!date^{int(at)}^{form}|{text}>{after}"
    return said


def _plain(markdown: str) -> str:
    return "".join(piece.text or piece.url for piece in line(markdown))


def _label(text: str, most: int) -> str:
    return kit.cut(_unmarked(text), most) or "…"


def _unmarked(text: str) -> str:
    """A text of labels, in which nothing stands as a call."""
    shown = " ".join(printable(text).split())
    for call in ("<@", "<!", "<#"):
        shown = shown.replace(call, f"<{JOINER}{call[1]}")
    return shown
