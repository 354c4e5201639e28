"""What a check found, in one sentence with its mend."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "wrong", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. `text` says what there is, or what is wrong and then the mend."""

    check: str
    state: State
    text: str


class Found(Exception):
    """Raised inside a check to end it with something that is not well."""

    def __init__(self, state: State, text: str) -> None:
        super().__init__(text)
        self.state: State = state


def wrong(text: str) -> Found:
    """Something that keeps Headway, or a part of it, from working."""
    return Found("wrong", text)


def warning(text: str) -> Found:
    """Something that works and should be known."""
    return Found("warning", text)
