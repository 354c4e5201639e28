"""
One-time codes that make an admin: made, written, hashed, and not guessed.

Rule: a code has 60 bits, lives 15 minutes and is kept as a hash; after `TRIES_MOST` wrong ones it ends,
and who has tried a few in vain is not answered for a while.
"""

import secrets
from hashlib import sha256
from typing import Final

LASTS_S: Final = 15 * 60.0
_ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_GROUPS, _GROUP = 3, 4
TRIES_A_PERSON: Final = 5


def new_code() -> str:
    """`7F3K-Q2WZ-M9HD`: 12 of 32 letters and digits."""
    letters = [secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP)]
    return "-".join(
        "".join(letters[start : start + _GROUP]) for start in range(0, len(letters), _GROUP)
    )


def code_hash(code: str) -> str:
    """sha256 hex of a code however it is written: case, dashes and blanks do not count."""
    plain = "".join(letter for letter in code.upper() if letter.isalnum())
    return sha256(f"headway claim {plain}".encode("utf-8", "surrogatepass")).hexdigest()


def may_be_code(text: str) -> bool:
    """Whether it may be meant as a code: one word, or its groups apart."""
    return [len(group) for group in text.split()] == [_GROUP] * _GROUPS or len(text.split()) == 1


class Tries:
    """Wrong codes of each person lately, in this process."""

    def __init__(self) -> None:
        self._failed: dict[str, list[float]] = {}

    def may_try(self, person: str, now: float) -> bool:
        """Whether the person is answered at all."""
        return len(self._recent(person, now)) < TRIES_A_PERSON

    def failed(self, person: str, now: float) -> None:
        """They gave one that is not."""
        self._failed[person] = [*self._recent(person, now), now]

    def _recent(self, person: str, now: float) -> list[float]:
        return [at for at in self._failed.get(person, ()) if now - at < LASTS_S]
