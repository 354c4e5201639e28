"""
Reads, each on a read-only connection: off the event loop, save for glances at a file of our own.

Rule: a glance looks a few rows up by their keys. To go to a thread and back for that costs ten times
as much as the rows do; whatever may read more goes to a thread.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

from adapters.store.statements import Reader

T = TypeVar("T")

READERS: Final = 3


class Source(Protocol):
    """How one database opens connections for readers, and what their errors mean."""

    is_near: bool
    """Nothing lies between us and the rows but this machine's disk."""

    def reader(self) -> Reader:
        """A new read-only connection."""

    def read(self, reader: Reader, query: Callable[[Reader], T]) -> T:
        """Run `query` in one snapshot.

        Raises:
            StoreBusy, StoreUnusable: translated from the driver's errors.
        """

    def drop(self, reader: Reader) -> None:
        """Close it."""


class Readers:
    """Queries, each on whichever connection is free."""

    def __init__(self, source: Source, *, threads: int = READERS) -> None:
        self._source = source
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store-reader")
        self._own = threading.local()
        self._open: list[Reader] = []

    @property
    def is_near(self) -> bool:
        """One process of this machine owns the database."""
        return self._source.is_near

    async def do(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on a reader's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, query)

    async def glance(self, query: Callable[[Reader], T]) -> T:
        """Run a `query` of a few rows: at once, where the database is near."""
        return self._read(query) if self._source.is_near else await self.do(query)

    async def close(self) -> None:
        """Wait for running reads, then close the connections."""
        await asyncio.to_thread(self._pool.shutdown)
        for reader in self._open:
            self._source.drop(reader)

    def _read(self, query: Callable[[Reader], T]) -> T:
        reader: Reader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._own.reader = self._source.reader()
            self._open.append(reader)
        try:
            return self._source.read(reader, query)
        except Exception:
            # Whatever broke it, the next read gets a fresh connection.
            self._own.reader = None
            self._open.remove(reader)
            self._source.drop(reader)
            raise
