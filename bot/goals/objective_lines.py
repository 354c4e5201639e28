"""
What an objective says in lines of its own: checks (`check: pytest -q`) and a repository (`repo: app`).

Rule: pure, and only whole lines count: the word may be in any case and stand as an item of a list.
"""

import re
from collections.abc import Iterator
from typing import Final

CHECKS_MOST: Final = 10
"""Of an objective, and of those that are set by hand."""
CHECK_CHARS: Final = 1_000
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""Of a repository in its room; also the name of a folder."""
_ITEM: Final = r"^[ \t]*(?:(?:[-*+•]|[0-9]{1,2}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
_CHECK: Final = re.compile(rf"{_ITEM}check[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_REPOSITORY: Final = re.compile(
    rf"{_ITEM}repo(?:sitory)?[ \t]*:[ \t]*`?({NAME.pattern})`?[ \t]*$", re.IGNORECASE | re.MULTILINE
)


def checks_in(objective: str) -> tuple[str, ...]:
    """The commands of its check lines in order, each once, the first ten of them."""
    fit = (command for command in _commands(objective) if len(command) <= CHECK_CHARS)
    return tuple(dict.fromkeys(fit))[:CHECKS_MOST]


def has_long_check(objective: str) -> bool:
    """Whether one of its check lines is longer than a check may be: it would be left out."""
    return any(len(command) > CHECK_CHARS for command in _commands(objective))


def has_many_checks(objective: str) -> bool:
    """Whether it has more of them than are run: the last ones would be left out."""
    return len(set(_commands(objective))) > CHECKS_MOST


def _commands(objective: str) -> Iterator[str]:
    found = (command_of(line) for line in _CHECK.findall(objective))
    return (command for command in found if command)


def without_checks(text: str) -> str:
    """What is said by somebody who may set no checks: its check lines are quoted, and are none."""
    return _CHECK.sub(lambda found: f"> {found[0]}", text)


def repository_in(objective: str) -> str:
    """The repository that it starts from, as its first such line has it; empty where none does."""
    found = _REPOSITORY.search(objective)
    return found[1] if found else ""


def command_of(text: str) -> str:
    """The command in what somebody typed, without the backticks in which it was pasted."""
    command = text.strip()
    inner = command.strip("`")
    is_quoted = len(command) > 2 and command[0] == command[-1] == "`" and "`" not in inner
    return inner.strip() if is_quoted else command
