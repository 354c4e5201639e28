"""How a goal's checks are given and taken back in words, and how they are shown. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.chat.facts import Facts, Manner
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.goal import Goal
from bot.goals.objective_lines import (
    CHECK_CHARS,
    CHECKS_MOST,
    checks_in,
    command_of,
    has_long_check,
    has_many_checks,
)
from bot.ports.journal import content_hash

_WORDS: Final = re.compile(r"(?i:add)\s+(\S.*)|(?i:remove)\s+#?([0-9]{1,4})|(?i:list)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GateWords:
    """What is wanted: a command to add, a number to remove, or (neither) the list."""

    add: str = ""
    remove: int = 0


def read_gate(text: str) -> GateWords | None:
    """What was said behind `gate`, or None where that is rather an objective."""
    found = _WORDS.fullmatch(text.strip())
    return GateWords(command_of(found[1] or ""), int(found[2] or 0)) if found else None


def checks_of(goal: Goal, contents: Mapping[str, str]) -> tuple[str, ...]:
    """The commands of a goal's checks, each once: those that were set, then those of its objective."""
    given = [contents[gate.command] for gate in goal.gates if contents.get(gate.command)]
    return tuple(dict.fromkeys([*given, *checks_in(contents.get(goal.objective, ""))]))


def refuse_unfit_checks(objective: str, texts: Texts) -> None:
    """Raise BadInput where an objective has check lines that would be left out."""
    if has_long_check(objective):
        raise BadInput(texts("bad.gate.long", most=CHECK_CHARS))
    if has_many_checks(objective):
        raise BadInput(texts("bad.gate.lines", most=CHECKS_MOST))


def failing_line(facts: Facts, manner: Manner) -> tuple[str, ...]:
    """Which checks failed when they ran last."""
    failing = [one for one in map(facts.text, facts.goal.failing) if one]
    if not failing:
        return ()
    return (manner.texts("gates.failing", names=_named(failing, manner.texts)),)


def passed(facts: Facts, texts: Texts) -> str:
    """What a complete goal's checks said: they passed, or it would not be complete."""
    commands = checks_of(facts.goal, facts.contents)
    return texts("gates.passed", names=_named(commands, texts)) if commands else ""


def list_text(goal: Goal, contents: Mapping[str, str], texts: Texts) -> str:
    """Every check, with its number where it was set by hand, and how it stands."""
    lines = []
    for gate in goal.gates:
        command = contents.get(gate.command, "")
        lines.append(texts("said.gate.line", n=gate.number, command=_code(command),
                           state=_state(goal, gate.command, texts)))  # fmt: skip
    for command in checks_in(contents.get(goal.objective, "")):
        state = _state(goal, content_hash(command), texts)
        lines.append(texts("said.gate.own", command=_code(command), state=state))
    name = texts("goal", number=goal.number)
    if not lines:
        return texts("said.gate.none", goal=name)
    return "\n".join([texts("said.gate.head", goal=name), *lines])


def _state(goal: Goal, hash: str, texts: Texts) -> str:
    return texts("gates.fails") if hash in goal.failing else ""


def _named(commands: "tuple[str, ...] | list[str]", texts: Texts) -> str:
    return texts("list_of").join(map(_code, commands))


def _code(command: str) -> str:
    """A command on one line, as code."""
    line = " ".join(command.split()).replace("`", "'")
    return f"`{line if len(line) <= 80 else line[:79] + '…'}`"
