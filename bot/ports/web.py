"""
What reaches Headway over HTTP from outside, and what it answers.

Rule: who asks is not known before what they sent has been checked; nothing in it is believed.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Method = Literal["GET", "POST"]


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks, whole: bodies that are too long never come here."""

    method: Method
    path: str
    query: str
    """As it stood in the address, without the question mark."""
    headers: Mapping[str, str]
    """By their names in small letters; one that came several times is joined."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered. `kind` is its Content-Type."""

    status: int
    body: bytes
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


Serve = Callable[[Request], Awaitable[Answer]]
