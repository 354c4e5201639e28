"""Rooms' secrets and their forms in memory."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.errors import Refused
from bot.ports.chat import Incoming, Place
from bot.ports.clock import Clock
from bot.ports.gateway import InUse
from bot.ports.people import NOTHING, Answer
from bot.ports.secret_uses import FormLink, Use, Value
from bot.ports.secrets import Named, Secrets
from tests.doubles.store_rows import Rows

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore

Name = tuple[str, str, str]


class MemorySecretUses:
    """Port SecretUses."""

    def __init__(self, store: "MemoryStore", secrets: Secrets, clock: Clock) -> None:
        self._store, self._secrets, self._clock = store, secrets, clock
        self.rows: dict[Name, dict[str, Use]] = {}
        self.links: dict[str, FormLink] = {}

    async def of(self, room: Place) -> tuple[Use, ...]:
        """A room's, by name."""
        hosts = {one.name: one.hosts for one in await self._secrets.names() if one.kind == "secret"}
        found = self.rows.get(_name(room), {})
        return tuple(
            replace(use, secret=replace(use.secret, hosts=hosts[name]))
            for name, use in sorted(found.items())
            if name in hosts
        )

    async def elsewhere(self, room: Place, name: str) -> tuple[str, ...] | None:
        """Its hosts where others have it, or nobody."""
        kept = await self._kept(name)
        if kept is None or (self._is_rooms(kept) and self._rooms_with(name) == {_name(room)}):
            return None
        return kept.hosts

    async def keep(
        self,
        room: Place,
        secret: InUse,
        value: Value,
        *,
        by: str,
        is_chief: bool = False,
        answer: Answer = NOTHING,
    ) -> bool:
        """Keep one."""
        self._store.check(answer)
        if value.link and await self.link(value.link) is None:
            return False
        if not is_chief and await self.elsewhere(room, secret.name) is not None:
            raise Refused("A secret of that name is kept for others.", code="secret_elsewhere")
        kept = await self._kept(secret.name)
        whose = by if kept is None or value.text or value.entered else kept.set_by
        text = value.text or await self._secrets.get("secret", value.entered or secret.name)
        self.links.pop(value.link, None)
        await self._secrets.put("secret", secret.name, text, hosts=secret.hosts, by=whose)
        if value.entered:
            await self._secrets.remove("secret", value.entered)
        self.rows.setdefault(_name(room), {})[secret.name] = Use(secret, by, self._clock.now())
        self._store.say(answer)
        return True

    async def stop(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Take one."""
        self._store.check(answer)
        if self.rows.get(_name(room), {}).pop(name, None) is None:
            return False
        kept = await self._kept(name)
        if kept is not None and self._is_rooms(kept) and not self._rooms_with(name):
            await self._secrets.remove("secret", name)
        self._store.say(answer)
        return True

    async def open_link(self, link_hash: str, link: FormLink, answer: Answer = NOTHING) -> None:
        """Open a form."""
        self._store.check(answer)
        self.links[link_hash] = link
        self._store.say(answer)

    async def link(self, link_hash: str) -> FormLink | None:
        """The form."""
        found = self.links.get(link_hash)
        return found if found is not None and found.expires_at > self._clock.now() else None

    def move(self, old: Place, new: Place) -> None:
        """A room was replaced."""
        self.rows[_name(new)] = {**self.rows.pop(_name(old), {}), **self.rows.get(_name(new), {})}
        for hash, link in self.links.items():
            if _name(link.room) == _name(old):
                self.links[hash] = replace(link, room=new)

    async def rooms_of(self, person: str) -> tuple[Place, ...]:
        """Where they spoke."""
        rows = self._store.rows
        said = [row.received.message for row in reversed(rows.inbox.values())]
        found = [one.place for one in said if person_of(rows, one) == person]
        return tuple(dict.fromkeys(replace(place, thread="") for place in found))

    async def _kept(self, name: str) -> Named | None:
        return next((one for one in await self._secrets.names() if one.name == name), None)

    def _is_rooms(self, kept: Named) -> bool:
        return kept.set_by in self._store.rows.people.values()

    def _rooms_with(self, name: str) -> set[Name]:
        return {room for room, uses in self.rows.items() if name in uses}


def person_of(rows: Rows, message: Incoming) -> str:
    return rows.people.get((message.place.network, message.speaker.id), "")


def _name(room: Place) -> Name:
    return room.network, room.workspace, room.room
