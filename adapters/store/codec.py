"""
Values of the core as text, and back.

Rule 1: JSON is plain ASCII-safe text: NUL and lone surrogates are escaped by JSON itself.
Rule 2: every other text that people or models wrote goes through `escape`, because PostgreSQL takes
        neither NUL nor lone surrogates; `unescape` gives back exactly what came in.
Rule 3: a value and its text stand for each other, so what was written lately is not parsed again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from bot.goals.events import EVENTS, Event
from bot.goals.goal import Goal
from bot.goals.limits import Limits

SCHEMA: Final = 1
"""Version of what an event's data and changes look like."""

_MARK: Final = "\x10"
"""DLE, "data link escape": what follows stands for something else."""
KEPT: Final = 8_192
"""Values that were written lately; each takes about two kilobytes."""
_written: dict[tuple[str, str], Any] = {}

_UNFIT: Final = re.compile("[\x00\x10\ud800-\udfff]")
_MARKED: Final = re.compile("\x10(?:\x10|([0-9a-f]{4}))")


def escape(text: str) -> str:
    """The text with NUL and lone surrogates written as DLE and four hex digits, DLE doubled."""
    if text.isascii() and "\0" not in text and _MARK not in text:
        return text
    return _UNFIT.sub(_mark, text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    if _MARK not in text:
        return text
    return _MARKED.sub(lambda m: chr(int(m[1], 16)) if m[1] else _MARK, text)


def dump_goal(goal: Goal) -> str:
    """The goal's whole row as JSON."""
    return _dump(_GOAL, "Goal", goal)


def load_goal(text: str) -> Goal:
    """The goal that `dump_goal` was given."""
    goal: Goal = _load(_GOAL, "Goal", text)
    return goal


def dump_event(event: Event) -> str:
    """The event's fields as JSON; its type is kept beside it, by `kind_of`."""
    kind = kind_of(event)
    return _dump(_EVENTS[kind], kind, event)


def load_event(kind: str, text: str) -> Event:
    """The event of that kind that `dump_event` was given."""
    event: Event = _load(_EVENTS[kind], kind, text)
    return event


def kind_of(event: Event) -> str:
    """The name that an event is kept under."""
    return type(event).__name__


def dump_changes(changes: Mapping[str, Any]) -> str:
    """The changed fields of a goal as JSON."""
    return _dump(_CHANGES, "", changes)


def load_changes(text: str) -> dict[str, Any]:
    """The changes that `dump_changes` was given. Not to be changed."""
    changes: dict[str, Any] = _load(_CHANGES, "", text)
    return changes


def forget() -> None:
    """Parse from now on what was written before, too."""
    _written.clear()


def limits_hash(limits: Limits) -> str:
    """The first 16 hex digits of the sha256 of the limits in force."""
    text = json.dumps(asdict(limits), sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def _mark(found: re.Match[str]) -> str:
    return _MARK * 2 if found[0] == _MARK else f"{_MARK}{ord(found[0]):04x}"


def _dump(adapter: TypeAdapter[Any], kind: str, value: Any) -> str:
    try:
        text = to_json(value, inf_nan_mode="constants").decode()
    except PydanticSerializationError:
        # A lone surrogate: the standard library writes it as an escape.
        return json.dumps(adapter.dump_python(value), separators=(",", ":"))
    if len(_written) >= KEPT:
        _written.clear()
    _written[kind, text] = value
    return text


def _load(adapter: TypeAdapter[Any], kind: str, text: str) -> Any:
    known = _written.get((kind, text))
    if known is not None:
        return known
    try:
        return adapter.validate_json(text)
    except ValidationError:
        return adapter.validate_python(json.loads(text))


def _changes_adapter() -> TypeAdapter[Any]:
    hints = get_type_hints(Goal)
    kind: Any = TypedDict("Changes", {f.name: hints[f.name] for f in fields(Goal)}, total=False)  # type: ignore[misc]
    return TypeAdapter(kind)


_GOAL: Final[TypeAdapter[Any]] = TypeAdapter(Goal)
_CHANGES: Final = _changes_adapter()
_EVENTS: Final[Mapping[str, TypeAdapter[Any]]] = {
    kind.__name__: TypeAdapter(kind) for kind in EVENTS
}
