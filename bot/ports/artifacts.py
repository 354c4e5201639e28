"""Files that outlive the turns that made them, as values."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Artifact:
    """A version of a file that a goal made for people; `path` is its path in the workspace."""

    path: str
    hash: str
    size: int
    kind: str
    """Its media type."""
    origin: Literal["made", "shared"]
    """It lay in `artifacts/` at a checkpoint, or was given to the thread."""
    turn: int = 0
    at: float = 0.0
