"""Secrets in memory, sealed as in the database."""

from collections.abc import Mapping
from dataclasses import replace

from bot.ports.secrets import Kind, Named, Sealed, Sealing


class Unsealed:
    """Port Sealing that seals nothing."""

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        return Sealed("none", value)

    def unseal(self, of: Named, text: str) -> str:
        return text

    def add_key(self) -> str:
        return "none"

    def drop_keys(self, keep: frozenset[str]) -> None:
        return


class MemorySecrets:
    """Port Secrets. `rows` are open to tests."""

    def __init__(self, sealing: Sealing) -> None:
        self.rows: dict[tuple[str, str], tuple[Named, str]] = {}
        self._sealing = sealing
        self._time = 0.0

    async def put(
        self, kind: Kind, name: str, value: str, *, hosts: tuple[str, ...] = (), by: str = ""
    ) -> Named:
        self._time += 1
        named = Named(kind, name, hosts, set_by=by, set_at=self._time)
        return self._keep(named, value)

    async def get(self, kind: Kind, name: str) -> str:
        return self._sealing.unseal(*self.rows[kind, name])

    async def names(self) -> tuple[Named, ...]:
        return tuple(self.rows[key][0] for key in sorted(self.rows))

    async def values(self) -> Mapping[Named, str]:
        return {named: self._sealing.unseal(named, text) for named, text in self.rows.values()}

    async def remove(self, kind: Kind, name: str) -> bool:
        return self.rows.pop((kind, name), None) is not None

    async def rotate(self, *, is_made: bool = True, keeps_old: bool = False) -> int:
        values = await self.values()
        if is_made:
            self._sealing.add_key()
        for named, value in values.items():
            self._keep(named, value)
        if is_made and not keeps_old:
            self._sealing.drop_keys(frozenset(named.key_id for named in await self.names()))
        return len(values)

    def _keep(self, named: Named, value: str) -> Named:
        is_first = self.rows.keys() <= {(named.kind, named.name)}
        sealed = self._sealing.seal(named, value, is_first=is_first)
        named = replace(named, key_id=sealed.key_id)
        self.rows[named.kind, named.name] = (named, sealed.text)
        return named
