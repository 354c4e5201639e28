"""Rooms' repositories in memory."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.ports.chat import Place
from bot.ports.clock import Clock
from bot.ports.people import NOTHING, Answer
from bot.ports.repositories import Repository

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore


class MemoryRepositories:
    """Port Repositories."""

    def __init__(self, store: "MemoryStore", clock: Clock) -> None:
        self._store, self._clock = store, clock
        self.rows: dict[tuple[str, str, str], dict[str, Repository]] = {}

    async def of(self, room: Place) -> tuple[Repository, ...]:
        """A room's, by name."""
        found = self.rows.get(_name(room), {})
        return tuple(found[name] for name in sorted(found))

    async def put(self, room: Place, repository: Repository, answer: Answer = NOTHING) -> bool:
        """Keep one."""
        self._store.check(answer)
        kept = self.rows.setdefault(_name(room), {})
        is_new = repository.name not in kept
        kept[repository.name] = replace(repository, at=self._clock.now())
        self._store.say(answer)
        return is_new

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one."""
        self._store.check(answer)
        if self.rows.get(_name(room), {}).pop(name, None) is None:
            return False
        self._store.say(answer)
        return True


def _name(room: Place) -> tuple[str, str, str]:
    return room.network, room.workspace, room.room
