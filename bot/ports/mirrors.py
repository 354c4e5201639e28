"""
Repositories as the bot itself has them: fetched with their credential, out of reach of every sandbox.

Rule 1: of what an agent wrote nothing is read but the bytes of a pack, which are checked, object by object,
        before anything looks at them. No configuration, hook, filter, name or folder of an agent's counts.
Rule 2: a checkout is made inside, of a bundle of what is here. What comes back is a pack and a commit id.
Rule 3: the same commit pushed to the same branch again is no other push.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol, Self

from bot.ports.repositories import Repository


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server is told, for its one host; `user` may be empty."""

    user: str
    password: str


@dataclass(frozen=True, slots=True)
class Head:
    """A branch and the commit that it leads to."""

    branch: str
    commit: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """A file for one checkout: its bytes, their SHA-256 and number. It is gone after `with`."""

    hash: str
    size: int
    pieces: AsyncIterator[bytes]
    close: Callable[[], None]
    """Takes the file away; once more does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit brings beside the branch that its goal began from; texts are cut and say so."""

    commit: str
    base: str
    """The commit that both have in common; empty: none."""
    log: str
    """A line for each commit, newest first."""
    stat: str
    commits: int


class Mirrors(Protocol):
    """The bot's copies of repositories, and what goals bring back of them.

    Raises, all of its methods: BadInput with what happened and the mend, for whoever asked.
    """

    async def fetch(
        self, repository: Repository, credential: Credential | None, branch: str = ""
    ) -> Head:
        """Have what the server has now; tells where the branch (empty: the repository's) leads to."""

    async def bundle(self, repository: Repository, head: Head, have: str = "") -> Bundle | None:
        """What a checkout lacks that has the commit `have` already; None: nothing.

        Args:
            have: an agent's word; of an unknown commit it is as if it had none.
        """

    async def known(self, repository: Repository, commits: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these commits that the mirror has."""

    async def take(
        self, goal: str, repository: Repository, commit: str, pack: AsyncIterator[bytes]
    ) -> None:
        """Take a goal's commit in, with what the mirror has not of it; again is the same."""

    async def has(self, goal: str, repository: Repository, commit: str) -> bool:
        """Whether that commit of the goal's was taken in, whole."""

    async def change(self, goal: str, repository: Repository, commit: str) -> Change:
        """What a commit that was taken in brings."""

    async def diff(self, goal: str, repository: Repository, commit: str, most: int) -> str:
        """All that a commit that was taken in changes, as text of at most `most` characters."""

    async def push(
        self,
        goal: str,
        repository: Repository,
        credential: Credential | None,
        commit: str,
        branch: str,
    ) -> bool:
        """Put a commit that was taken in under a branch of the server's; false: it was there already.

        Only branches that begin with `headway/`, and only forward.
        """
