"""Names and ids that are given to git: whatever is none of them never gets there. Pure."""

import re
from typing import Final

from bot.errors import BadInput

_BRANCH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,199}")
_COMMIT: Final = re.compile(r"[0-9a-f]+")
OURS: Final = "headway/"
"""What each branch begins with that is pushed."""
COMMIT_CHARS: Final = (40, 64)
"""Hexadecimal digits of a commit's id, whole (SHA-1 and SHA-256)."""
SHOWN: Final = 80


def is_ours(branch: str) -> bool:
    """Whether a branch is one that may be pushed."""
    return branch.startswith(OURS) and is_branch(branch)


def is_branch(name: str) -> bool:
    """Whether it is a branch's name that nothing takes for anything else (git-check-ref-format)."""
    parts = name.split("/")
    return (
        bool(_BRANCH.fullmatch(name))
        and all(part and part[0] not in ".-" for part in parts)
        and not any(part.endswith((".", ".lock")) for part in parts)
        and ".." not in name
        and "@{" not in name
    )


def own_branch(goal: int) -> str:
    """The branch of a goal, by its number."""
    return f"{OURS}g{goal}"


def checked(branch: str) -> str:
    """The branch. Raises BadInput: it is no branch's name."""
    if not is_branch(branch):
        raise BadInput(f"{branch[:SHOWN]!r} is no branch's name.")
    return branch


def is_commit(text: str) -> bool:
    """Whether it is the whole id of an object."""
    return len(text) in COMMIT_CHARS and bool(_COMMIT.fullmatch(text))


def checked_commit(text: str) -> str:
    """The id. Raises BadInput: it is none."""
    if not is_commit(text):
        raise BadInput(
            f"{text[:SHOWN]!r} is no whole id of a commit. `git rev-parse HEAD` tells it."
        )
    return text
