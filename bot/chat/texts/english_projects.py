"""The sentences in English about checks, repositories and reviews; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

PROJECTS: Final[Mapping[str, str]] = {
    # Checks of a goal.
    "verb.gate": (
        "its checks: commands that must pass before it counts as done; also `check: COMMAND` in a line "
        "of the objective"
    ),
    "verb.gate.example": "gate G12 add pytest -q",
    "gates.failing": "Failing: {names}",
    "gates.passed": "{names} passed",
    "gates.and": " · ",
    "gates.fails": " — fails",
    "said.gate.head": "{goal} is complete only when these pass:",
    "said.gate.line": "{n}. {command}{state}",
    "said.gate.own": "- {command} (in the objective){state}",
    "said.gate.none": (
        "{goal} has no checks. `gate add COMMAND` sets one, such as `gate add pytest -q`."
    ),
    "said.gate.added": "Check {n} is set: {goal} is complete only when it passes.",
    "said.gate.removed": "Check {n} of {goal} is gone.",
    "bad.gate.long": "A check has at most {most} characters. Put the rest into a script.",
    "bad.gate.many": "A goal has at most {most} checks. Remove one first: `gate list` shows them.",
    "bad.gate.twice": "That check is set already. `gate list` shows them.",
    "bad.gate.none": (
        "{goal} has no check {n} that was set by hand. `gate list` shows them; one of the objective "
        "goes with `edit`."
    ),
}
