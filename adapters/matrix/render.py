"""
A message as the content of Matrix events. Pure.

Rule 1: what is silent is an `m.notice`: no client makes a sound, no bot answers it.
Rule 2: `m.mentions` is always there, so that no client guesses whom a text means.
Rule 3: each event carries the key of its row in the outbox: by it we know what we sent, and that it
        was a Headway that did.
Rule 4: there are no buttons: each is a word to type.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.matrix.markup import escaped, link, link_to
from adapters.matrix.text import Written, as_is, line, written
from bot.ports.chat import Button, Shape
from bot.ports.plain import SEPARATOR, TASK_GLYPHS, closed, unmarked

Content = dict[str, Any]

MARK: Final = "dev.headway"
"""The field of an event's content that holds the key of what we sent."""
MOST_PLAIN: Final = 57_000
"""Bytes of a content in a room without encryption. An event has at most 65,536 in all; what a server
adds (the events before it, hashes, signatures) is below 5,000."""
MOST_SEALED: Final = 44_000
"""Bytes of a content before it is encrypted: base64 makes 4 of 3, and the rest of the event adds."""
WHOLE_MOST: Final = 30_000
"""Characters of a text that may fit, as it is there twice; a longer one is not even laid out."""
EXCERPTS: Final = (3_000, 1_000, 300, 100)
"""Characters of the first paragraph where the whole goes as a file: the first that an event can hold."""
BRIEF: Final = (1_500, 500, 150)
"""Characters of an objective or a question in a message that is edited in place."""
NAME_MOST: Final = 80
"""Characters of a person's name."""
FALL_BACK_MOST: Final = 3_000
"""Characters of what clients without edits see of one."""
RELATION: Final = "m.relates_to"
REPLACES: Final = "m.replace"
THREAD: Final = "m.thread"


@dataclass(frozen=True, slots=True)
class Called:
    """A person whom a message concerns."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences of the catalogue that this network needs beside those of a shape."""

    whole: str
    """Where a text is that is too long; `{name}` is the file's."""
    origin: str
    """The label of the link to the message that a post goes back to."""
    lost: str
    """That a file cannot be sent; `{name}` is its."""
    reacts: str = ""
    """How a card is answered that offers reactions."""
    says: str = ""
    """How one is answered that takes its words alone."""
    freely: str = ""
    """That one's own words do as well."""
    openly: str = ""
    """That one is to answer in one's own words."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How the bot speaks on this network. `names` are its user id, localpart and display name."""

    words: Words
    names: tuple[str, ...] = ()


def message(
    shape: Shape,
    manner: Manner,
    *,
    called: Sequence[Called] = (),
    room: str = "",
    is_silent: bool = False,
) -> Content:
    """The content of a post.

    Args:
        called: those of `shape.mentions`.
        room: the id of its room.
        is_silent: it is an answer, or tells how things stand: a notice.
    """
    body = written(shape.body, manner.names) if shape.body else None
    # What is a sentence alone names whom it calls.
    head = _head(shape, manner, called if shape.word or shape.facts else ())
    parts = [head, body, *_foot(shape, manner, room)]
    return _content("m.notice" if is_silent else "m.text", _blocks(parts), called)


def quiet(shape: Shape, manner: Manner, room: str = "") -> Content:
    """The content of a message that is edited in place, a status or a card: a few lines, and nobody
    is called."""
    body = written(shape.body, manner.names) if shape.body else None
    parts = [_head(shape, manner, ()), body, *_foot(shape, manner, room)]
    is_short = body is None or _is_paragraph(body)
    return _content("m.notice", _lines(parts) if is_short else _blocks(parts), ())


def told(text: str) -> Content:
    """The content of a line of ours."""
    return _content("m.notice", as_is(text), ())


def shortened(shape: Shape, most: int) -> Shape:
    """The shape with no text of more than `most` characters, and fewer and shorter tasks."""
    kept, title_most = max(most // 25, 3), max(most // 10, 20)
    tasks = [(brief(title, title_most), state) for title, state in shape.tasks[:kept]]
    if len(shape.tasks) > kept:
        tasks.append((f"+{len(shape.tasks) - kept}", "more"))
    return replace(
        shape,
        body=brief(shape.body, most),
        facts=tuple(brief(fact, most) for fact in shape.facts),
        now=brief(shape.now, most),
        tasks=tuple(tasks),
        notes=tuple(brief(note, most) for note in shape.notes),
        options=tuple(brief(option, most) for option in shape.options),
    )


def excerpt(shape: Shape, most: int, name: str, words: Words) -> Shape:
    """The shape with its first paragraph, and a line that says that the whole is in a file.

    Of what is to be decided all that there is room for is shown, with the hash of the whole.
    """
    beginning = shape.body.strip() if shape.is_yes_or_no else shape.body.strip().split("\n\n")[0]
    body = f"{closed(brief(beginning, most))}\n\n{words.whole.format(name=name)}"
    short = replace(shortened(shape, most), body=body)
    if not shape.is_yes_or_no:
        return short
    digest = hashlib.sha256(shape.body.encode(errors="replace")).hexdigest()
    return replace(short, notes=(*short.notes, f"SHA-256 `{digest}`"))


def brief(text: str, most: int) -> str:
    """The text, or as much of it as `most` characters hold."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def marked(content: Content, key: str, part: int = 0, of: int = 1) -> Content:
    """The content with the key under which it is sent, and which of how many parts it is."""
    return {**content, MARK: {"key": key, "part": part, "of": of}}


def in_thread(content: Content, root: str, latest: str = "") -> Content:
    """The content as said in the thread under `root`; clients without threads see a reply."""
    relation = {
        "rel_type": THREAD,
        "event_id": root,
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": latest or root},
    }
    return {**content, RELATION: relation}


def replacing(content: Content, event: str) -> Content:
    """The content as an edit of `event`; clients without edits see it behind a star."""
    shown = {**content, "body": f"* {brief(content['body'], FALL_BACK_MOST)}", "m.mentions": {}}
    html = shown.pop("formatted_body", "")
    if html and len(html) <= FALL_BACK_MOST:
        shown["formatted_body"] = f"* {html}"
    elif html:
        del shown["format"]
    new = {name: value for name, value in content.items() if name not in (MARK, RELATION)}
    relation = {"rel_type": REPLACES, "event_id": event}
    return {**shown, "m.new_content": new, RELATION: relation}


def reaction(to: str, emoji: str, key: str = "") -> Content:
    """The content of a reaction under `to`."""
    relation = {"rel_type": "m.annotation", "event_id": to, "key": emoji}
    return {RELATION: relation, MARK: {"key": key}}


def mark_of(content: Mapping[str, Any]) -> tuple[str, int, int] | None:
    """The key, the part and the number of parts that an event's content was sent with, if by us."""
    mark = content.get(MARK)
    if not isinstance(mark, dict) or not isinstance(mark.get("key"), str):
        return None
    part, of = mark.get("part", 0), mark.get("of", 1)
    if not isinstance(part, int) or not isinstance(of, int):
        return None
    return mark["key"], part, of


def edited_by(content: Mapping[str, Any]) -> str:
    """The event that this content is an edit of, or nothing."""
    relation = content.get(RELATION)
    if not isinstance(relation, dict) or relation.get("rel_type") != REPLACES:
        return ""
    event = relation.get("event_id")
    return event if isinstance(event, str) else ""


def size(content: Content, *, sealed: bool) -> int:
    """Bytes of the content as an event has them; nio encrypts JSON in ASCII."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=sealed)
    return len(text.encode())


def fits(content: Content, *, sealed: bool) -> bool:
    """Whether an event can hold it."""
    return size(content, sealed=sealed) <= (MOST_SEALED if sealed else MOST_PLAIN)


def _content(kind: str, text: Written, called: Sequence[Called]) -> Content:
    content: Content = {"msgtype": kind, "body": text.plain}
    if text.html != escaped(text.plain):
        content |= {"format": "org.matrix.custom.html", "formatted_body": text.html}
    ids = sorted({one.id for one in called})
    return {**content, "m.mentions": {"user_ids": ids} if ids else {}}


def _blocks(parts: Sequence[Written | None]) -> Written:
    """Parts below one another; what is no block of its own becomes a paragraph."""
    there = [part for part in parts if part is not None]
    plain = "\n".join(part.plain for part in there)
    if len(there) == 1 and _is_paragraph(there[0]):
        return Written(_bare(there[0].html), plain)
    html = (part.html if _is_block(part) else f"<p>{part.html}</p>" for part in there)
    return Written("".join(html), plain)


def _lines(parts: Sequence[Written | None]) -> Written:
    there = [part for part in parts if part is not None]
    html = "<br>".join(_bare(part.html) for part in there)
    return Written(html, "\n".join(part.plain for part in there))


def _is_block(part: Written) -> bool:
    return part.html.startswith(_BLOCKS)


def _is_paragraph(part: Written) -> bool:
    html = part.html
    is_one = html.startswith("<p>") and html.endswith("</p>") and html.count("<p>") == 1
    return (is_one and not any(block in html[3:] for block in _BLOCKS)) or not _is_block(part)


def _bare(html: str) -> str:
    return html.removeprefix("<p>").removesuffix("</p>") if html.startswith("<p>") else html


def _head(shape: Shape, manner: Manner, called: Sequence[Called]) -> Written | None:
    """`⏳ Working · G12`; whom it concerns is called where the shape names them, or at its end."""
    word = f"{shape.glyph} {shape.word}".strip()
    parts = [Written(f"<strong>{escaped(word)}</strong>", word)] if word else []
    pills = _pills(called)
    for fact in filter(None, shape.facts):
        if pills is not None and fact.startswith("@"):
            parts.append(pills)
            pills = None
        else:
            parts.append(as_is(fact, manner.names))
    parts += [pills] if pills is not None else []
    if not parts:
        return None
    return Written(SEPARATOR.join(p.html for p in parts), SEPARATOR.join(p.plain for p in parts))


def _pills(called: Sequence[Called]) -> Written | None:
    if not called:
        return None
    named = [(link_to(one.id), as_is(_name(one)).plain) for one in called]
    html = ", ".join(link(url, escaped(name)) for url, name in named)
    return Written(html, ", ".join(name for _, name in named))


def _name(one: Called) -> str:
    """What somebody calls themselves, on one line."""
    return brief(unmarked(one.name) or one.id, NAME_MOST)


def _foot(shape: Shape, manner: Manner, room: str) -> list[Written | None]:
    notes = SEPARATOR.join(note for note in shape.notes if note)
    lines = [
        _tasks(shape, manner),
        line(notes, manner.names) if notes else None,
        _origin(shape, manner, room),
        _how(shape, manner),
        _buttons([button for button in shape.buttons if button.verb]),
    ]
    return [
        line(shape.now, manner.names) if shape.now else None,
        _options(shape, manner),
        _lines(lines) if any(lines) else None,
    ]


def _options(shape: Shape, manner: Manner) -> Written | None:
    if not shape.options:
        return None
    options = [line(option, manner.names) for option in shape.options]
    html = "".join(f"<li>{option.html}</li>" for option in options)
    plain = "\n".join(f"{number}. {option.plain}" for number, option in enumerate(options, 1))
    return Written(f"<ol>{html}</ol>", plain)


def _how(shape: Shape, manner: Manner) -> Written | None:
    """How a card is answered: there is no button for one's own words."""
    words = manner.words
    is_free = any(not button.verb for button in shape.buttons)
    if not shape.options:
        text = words.openly if is_free else ""
    else:
        offered = words.reacts if shape.reactions else words.says
        text = f"{offered} {words.freely}" if is_free else offered
    return line(text, manner.names) if text.strip() else None


def _tasks(shape: Shape, manner: Manner) -> Written | None:
    if not shape.tasks:
        return None
    titles = [
        (TASK_GLYPHS.get(state, "…"), line(title, manner.names), state)
        for title, state in shape.tasks
    ]
    html = [
        f"{glyph} " + (f"<del>{title.html}</del>" if state == "dropped" else title.html)
        for glyph, title, state in titles
    ]
    return Written(
        "  ".join(html), "  ".join(f"{glyph} {title.plain}" for glyph, title, _ in titles)
    )


def _origin(shape: Shape, manner: Manner, room: str) -> Written | None:
    if not shape.origin or not room:
        return None
    url, label = link_to(room, shape.origin), as_is(manner.words.origin)
    return Written(link(url, label.html), f"{label.plain} ({url})")


def _buttons(buttons: Sequence[Button]) -> Written | None:
    """`pause · stop · Details: trace`: each button's label, and what to type for it."""
    if not buttons:
        return None
    words = [_word(button) for button in buttons]
    html = SEPARATOR.join(word.html for word in words)
    return Written(html, " ".join(f"[{word.plain}]" for word in words))


def _word(button: Button) -> Written:
    label, verb = button.label, button.verb
    code = f"<code>{escaped(verb)}</code>"
    if verb.casefold() == label.casefold():
        return Written(code, verb)
    return Written(f"{escaped(label)}: {code}", f"{label}: {verb}")


_BLOCKS: Final = (
    "<p>", "<ul>", "<ol", "<pre>", "<blockquote>", "<table>", "<hr>",
    "<h1>", "<h2>", "<h3>", "<h4>", "<h5>", "<h6>",
)  # fmt: skip
