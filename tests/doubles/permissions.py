"""Standing permissions in memory."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.goals.events import Event, ToolStarted
from bot.goals.goal import Goal
from bot.goals.instructions import Allow
from bot.ports.chat import Place
from bot.ports.clock import Clock
from bot.ports.people import NOTHING, Answer
from bot.ports.permissions import Permission

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore


class MemoryPermissions:
    """Port Permissions."""

    def __init__(self, store: "MemoryStore", clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._kept: dict[str, tuple[str, Permission]] = {}
        """With the session whose room each one is of: a room may move."""

    async def of(self, room: Place) -> tuple[Permission, ...]:
        """Those in force, newest first."""
        found = sorted(self._in_force(room).values(), key=lambda one: (-one.given_at, one.id))
        return tuple(found)

    async def revoke(self, room: Place, id: str, by: str, answer: Answer = NOTHING) -> bool:
        """Take one back."""
        self._store.check(answer)
        if id not in self._in_force(room):
            return False
        session, one = self._kept[id]
        self._kept[id] = (session, replace(one, expires_at=self._clock.now()))
        self._store.say(answer)
        return True

    def give(self, goal: Goal, allow: Allow, at: float) -> None:
        """What the journal does with an answer."""
        content = self._store.rows.contents.get((goal.session, allow.grant.what))
        if content is None or allow.decision in self._kept:
            return
        kind, text = allow.grant.kind, content.text
        what = json.dumps(json.loads(text)) if kind == "command" else text
        place = self._store.rows.sessions[goal.session]
        one = Permission(allow.decision, place, kind, what, allow.by, at, allow.until)
        self._kept[allow.decision] = (goal.session, one)

    def count(self, event: Event) -> None:
        """What the journal does with the start of a call."""
        if not isinstance(event, ToolStarted):
            return
        for why in event.allowed.split(","):
            id = why.removeprefix("always:")
            if why.startswith("always:") and id in self._kept:
                session, one = self._kept[id]
                self._kept[id] = (session, replace(one, uses=one.uses + 1))

    def _in_force(self, room: Place) -> dict[str, Permission]:
        name, now = (room.network, room.workspace, room.room), self._clock.now()
        where = Place(*name)
        found = {}
        for id, (session, one) in self._kept.items():
            place = self._store.rows.sessions[session]
            if (place.network, place.workspace, place.room) == name and one.expires_at > now:
                found[id] = replace(one, room=where)
        return found
