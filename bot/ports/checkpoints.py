"""
Points that a goal can be put back to, and the files that outlive its turns.

Rule 1: a checkpoint is a row of its own, written with the event that makes it; it is never removed, but
        the tree that it names may be let go: then its files are not kept any more.
Rule 2: a tree is kept for as long as anything here names it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.goals.goal import Goal
from bot.ports.artifacts import Artifact
from bot.ports.journal import Task


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The goal as it was at journal entry `seq`; `number` counts from 1, in order."""

    number: int
    goal: str
    seq: int
    turn: int
    at: float
    tree: str
    """Name of its workspace's snapshot; empty: none is kept."""
    point: Goal
    is_plan: bool = False
    """A plan was approved there; else a turn ended."""


class Checkpoints(Protocol):
    """The store's part. They are written by the journal, with what makes them."""

    async def of_goal(self, goal: str) -> tuple[Checkpoint, ...]:
        """All of a goal's, oldest first."""

    async def latest(self, session: str) -> str | None:
        """The tree of the workspace's last checkpoint, of whatever goal of that session.

        Empty: none was kept. None: there was no checkpoint yet.
        """

    async def tasks(self, goal: str, seq: int) -> tuple[Task, ...]:
        """The list of tasks that there was at that checkpoint; a text that was erased is empty."""

    async def posted_since(self, goal: str, at: float) -> int:
        """How many posts of the goal came to be in its thread since then."""

    async def artifacts(self, goal: str) -> tuple[Artifact, ...]:
        """The newest version of each file that the goal made, by path; one whose name was erased is
        left out."""

    async def named(self) -> frozenset[str]:
        """Every tree that a checkpoint names, or that a workspace is still to be put back to."""

    async def thin(self, keep: int) -> int:
        """Let go of the trees of each goal but its last `keep` and those of approved plans; how many."""

    async def let_go(self, sessions: Sequence[str]) -> int:
        """Let go of all trees of these sessions' goals; returns how many."""

    async def trees(self) -> Mapping[str, tuple[str, ...]]:
        """The trees that checkpoints name, by session."""

    async def replace(self, trees: Mapping[str, str]) -> int:
        """Name other trees where these are named (old -> new); returns in how many places."""
