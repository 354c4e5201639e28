"""
Labelled cases for the auditor: turns whose right verdict is known, read from TOML files.

Each `[[case]]` of a file holds what the auditor is shown and `expect`, the verdicts that are right.
`{filler}` in `objective` or `reply` stands for the text of `filler`, `times` times.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_args

from bot.agent.audit_request import Gate, Seen, SignOff
from bot.errors import BadInput
from bot.goals.events import VerdictKind
from bot.goals.goal import Wait, WaitKind

CASES_DIR: Final = Path(__file__).resolve().parents[2] / "tests/evals/cases"
"""Of a checkout; an installed wheel has none."""

_NOW: Final = datetime.fromisoformat("2026-12-01T09:00:00+00:00").timestamp()
_FIELDS: Final = frozenset(
    {
        "id", "kind", "language", "objective", "reply", "expect", "person", "is_border", "now",
        "criteria", "tools", "open_tasks", "gates", "waits", "sign_offs", "filler",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One turn, and what is right to say of it."""

    id: str
    kind: str
    language: str
    seen: Seen
    expect: tuple[VerdictKind, ...]
    person: str = ""
    """`question` or `sign_off`, where `needs_person` must be of that kind."""
    is_border: bool = False
    """One could see it otherwise: an error in it is never a serious one."""

    @property
    def is_finished(self) -> bool:
        """Nothing but `complete` is right."""
        return self.expect == ("complete",)


def load_cases(folder: Path = CASES_DIR) -> tuple[Case, ...]:
    """Every case in the folder's `*.toml` files, in order.

    Raises:
        BadInput: no folder, no case, or a case that is not whole.
    """
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise BadInput(f"There are no audit cases in {folder}. Name their folder with --cases.")
    cases = [case for file in files for case in _cases_of(file)]
    twice = {case.id for case in cases if [other.id for other in cases].count(case.id) > 1}
    if twice:
        raise BadInput(f"These case ids are given twice: {', '.join(sorted(twice))}.")
    return tuple(cases)


def _cases_of(file: Path) -> list[Case]:
    try:
        given = tomllib.loads(file.read_text("utf-8"))["case"]
        return [_case(one) for one in given]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file} holds a case that is not whole: {error}. Mend the file.") from error


def _case(given: Mapping[str, Any]) -> Case:
    unknown = given.keys() - _FIELDS
    if unknown:
        raise ValueError(f"case {given.get('id')} has the unknown field {min(unknown)}")
    expect = tuple(given["expect"])
    if not expect or not set(expect) <= set(get_args(VerdictKind)):
        raise ValueError(f"case {given['id']} expects no verdict that there is")
    return Case(
        id=given["id"],
        kind=given["kind"],
        language=given["language"],
        seen=_seen(given),
        expect=expect,
        person=given.get("person", ""),
        is_border=given.get("is_border", False),
    )


def _seen(given: Mapping[str, Any]) -> Seen:
    now = given.get("now")
    return Seen(
        objective=_filled(given, "objective"),
        reply=_filled(given, "reply"),
        now=_NOW if now is None else datetime.fromisoformat(now).timestamp(),
        criteria=given.get("criteria", "").strip(),
        gates=tuple(
            Gate(gate["name"], gate.get("exit_code"), gate.get("output", ""))
            for gate in given.get("gates", ())
        ),
        open_tasks=tuple(given.get("open_tasks", ())),
        tools=tuple(given.get("tools", ())),
        waits=tuple(_wait(wait) for wait in given.get("waits", ())),
        sign_offs=tuple(
            SignOff(one["text"], one["by"], one["accepted"]) for one in given.get("sign_offs", ())
        ),
    )


def _wait(given: Mapping[str, Any]) -> Wait:
    kind: Any = given["kind"]
    if kind not in get_args(WaitKind):
        raise ValueError(f"{kind} is no kind of wait")
    return Wait("", kind, given["ref"], 0.0)


def _filled(given: Mapping[str, Any], name: str) -> str:
    text: str = given[name].strip()
    filler = given.get("filler")
    return text.replace("{filler}", filler["text"] * filler["times"]) if filler else text
