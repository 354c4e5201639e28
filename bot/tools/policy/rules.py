"""
Rules over simple commands: each is an exact prefix of the words of one of them.

Rule 1: what a rule allows is matched exactly: every word of it is there, as it is.
Rule 2: what a rule forbids or asks for is matched loosely: where a command may be the one that is meant,
        or another may hide in the line, the answer is `maybe`. Options of the program's own may stand
        before the word that is meant (`git -C . push`).
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal

from bot.tools.policy.hiding import past_options
from bot.tools.policy.shell import Command, Shell, known

Rule = tuple[str, ...]
Match = Literal["yes", "maybe", "no"]


def read_rule(text: str) -> Rule:
    """The words of a rule as somebody wrote it. Raises ValueError: it is none."""
    words = tuple(shlex.split(text))
    if not words or not words[0]:
        raise ValueError(f"{text[:60]!r} names no command")
    return words


def text_of(words: Rule) -> str:
    """The one text of a rule, as it is kept and hashed: its words as a JSON list."""
    return json.dumps(list(words))


def prefixes(command: Command) -> Iterator[Rule]:
    """Every rule that a command matches exactly, the longest first."""
    fixed = []
    for word in command:
        if not word.is_fixed:
            break
        fixed.append(word.text)
    for length in range(len(fixed), 0, -1):
        yield tuple(fixed[:length])


def words_of(command: Command) -> Rule | None:
    """The rule that means this very command, or None where nobody knows its words."""
    if not all(word.is_fixed for word in command):
        return None
    return tuple(word.text for word in command)


def found_in(rule: Rule, shell: Shell) -> Match:
    """Whether the line runs a command that the rule means."""
    found = {matches(rule, command) for command in shell.commands}
    if "yes" in found:
        return "yes"
    return "maybe" if "maybe" in found or not shell.is_sure else "no"


def matches(rule: Rule, command: Command) -> Match:
    """Whether a command is one that the rule means, in whichever folder its program lies."""
    words = known(command)
    if not words[0]:
        return "maybe"
    if words[0] != PurePosixPath(rule[0]).name:
        return "no"
    place = 1
    for wanted in rule[1:]:
        if place == 1 and words[0] == "git" and not wanted.startswith("-"):
            after = past_options(words)
            if after is None:
                return "maybe"
            place = after
        if place >= len(words):
            return "no"
        if words[place] is None:
            return "maybe"
        if words[place] != wanted:
            return _behind_options(words[place:], wanted)
        place += 1
    return "yes"


def _behind_options(words: Sequence[str | None], wanted: str) -> Match:
    """Whether the word that is meant may come after options that stand before it."""
    if wanted.startswith("-") or not (words[0] or "").startswith("-"):
        return "no"
    return "maybe" if wanted in words or None in words else "no"
