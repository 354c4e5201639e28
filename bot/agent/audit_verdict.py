"""
The auditor's answer, read strictly: pure.

Rule 1: a verdict comes out of one whole call of `verdict` with valid fields, never out of prose.
Rule 2: anything else is no verdict, and says of which class: `refusal` or `unreadable`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from bot.goals.events import VerdictKind
from bot.goals.goal import WaitKind
from bot.ports.model import ModelReply

NOTE_WORDS: Final = 20
"""Design, section 2."""
NOTE_CHARS: Final = 300
"""For languages that put no spaces between words."""
EVIDENCE_CHARS: Final = 1_000
QUESTION_CHARS: Final = 2_000

PersonKind = Literal["question", "sign_off"]


@dataclass(frozen=True, slots=True)
class AskedWait:
    """What the goal is to wait for. `until` is seconds since 1970, where a time was given."""

    kind: WaitKind
    ref: str
    until: float | None


@dataclass(frozen=True, slots=True)
class AskedPerson:
    """What a person is to be asked."""

    kind: PersonKind
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the auditor said. `wait` and `person` are there for the verdicts of that name alone."""

    kind: VerdictKind
    note: str
    evidence: str = ""
    wait: AskedWait | None = None
    person: AskedPerson | None = None


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """Why there is none: `refusal`, or `unreadable` with what was wrong."""

    failure: Literal["refusal", "unreadable"]
    why: str = ""


class _Unreadable(Exception):
    pass


def verdict_from(reply: ModelReply) -> Verdict | NoVerdict:
    """The verdict in a reply, or why there is none."""
    if reply.stop_reason == "refusal":
        return NoVerdict("refusal")
    if reply.stop_reason not in {"tool_use", "end_turn"}:
        return NoVerdict("unreadable", f"stopped by {reply.stop_reason}")
    calls = [block for block in reply.content if block.get("type") == "tool_use"]
    if len(calls) != 1 or calls[0].get("name") != "verdict":
        return NoVerdict("unreadable", "not one call of verdict")
    try:
        return _verdict(calls[0].get("input"))
    except _Unreadable as error:
        return NoVerdict("unreadable", str(error))


def is_known(wait: AskedWait, known: Collection[tuple[str, str]], now: float) -> bool:
    """True where the goal's own records hold what is waited for.

    Args:
        wait: as the auditor asked.
        known: kind and ref of what the agent itself waited for in this goal.
        now: seconds since 1970.
    """
    match wait.kind:
        case "time":
            return wait.until is not None and wait.until > now
        case "message":
            return True
        case "probe" | "process":
            return (wait.kind, wait.ref) in known


def _verdict(given: Any) -> Verdict:
    fields = _object(given, "the verdict")
    kind: Any = fields.get("verdict")
    if kind not in get_args(VerdictKind):
        raise _Unreadable("verdict is none of the five")
    note = " ".join(_text(fields, "note").split()[:NOTE_WORDS])[:NOTE_CHARS]
    if not note:
        raise _Unreadable("note is empty")
    evidence = _text(fields, "evidence", "")[:EVIDENCE_CHARS].strip()
    return Verdict(
        kind,
        note,
        evidence,
        _wait(fields.get("wait")) if kind == "wait" else None,
        _person(fields.get("person")) if kind == "needs_person" else None,
    )


def _wait(given: Any) -> AskedWait:
    fields = _object(given, "wait")
    kind: Any = fields.get("kind")
    if kind not in get_args(WaitKind):
        raise _Unreadable("wait.kind is none of the four")
    return AskedWait(kind, _text(fields, "ref", "").strip(), _moment(fields.get("until")))


def _person(given: Any) -> AskedPerson:
    fields = _object(given, "person")
    kind: Any = fields.get("kind")
    if kind not in get_args(PersonKind):
        raise _Unreadable("person.kind is neither question nor sign_off")
    text = _text(fields, "text").strip()[:QUESTION_CHARS]
    if not text:
        raise _Unreadable("person.text is empty")
    return AskedPerson(kind, text)


def _object(given: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise _Unreadable(f"{name} is no object")
    return given


def _text(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise _Unreadable(f"{name} is no text")
    return value


def _moment(until: Any) -> float | None:
    """A time without a zone is no time: it would be somebody's own."""
    if not isinstance(until, str):
        return None
    try:
        moment = datetime.fromisoformat(until.strip())
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
