"""
Programs that run for long and are spoken to over their standard input and output: servers of tools.

Rule 1: a program is a third party's: it sees the system read-only and a folder of its own, which goes with it,
        has no network, and nothing of the bot's; one that the operator trusts by its whole command line runs
        as it is.
Rule 2: whoever starts it ends it with all that it started. When this process is killed it ends, too; of one that
        is trusted, what it started then has to end by itself.
"""

from collections.abc import Sequence
from typing import Protocol


class Program(Protocol):
    """One that runs."""

    async def read(self) -> bytes:
        """The next piece of its output; empty once it has closed it."""

    async def write(self, piece: bytes) -> None:
        """Give it input, waiting for room.

        Raises:
            OSError: it takes no more.
        """

    def told(self) -> str:
        """The end of what it wrote on standard error, as data."""

    async def end(self) -> None:
        """Kill it and all that it started, and remove its folder; idempotent."""


class Programs(Protocol):
    """Starts them."""

    async def start(self, name: str, command: Sequence[str]) -> Program:
        """Run a command in a folder made for it; `name` is a part of the folder's.

        Raises:
            NoSandbox: it cannot be started; it is not run unconfined instead.
        """
