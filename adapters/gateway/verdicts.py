"""
Whether a request may go to a host, and to which address.

Rule 1: what is not allowed is refused, and why is said in words that its agent reads.
Rule 2: a name is resolved once, as a whole name; where one of its addresses may not be, none is.
Rule 3: an address that the operator vouches for is not looked at further, but its name must be allowed by
        name: `every public host` is not about it.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from adapters.gateway.addresses import why_none
from bot.hosts import PORTS, HostRule, host_name, is_covered
from bot.ports.gateway import InUse, Reach

THREADS: Final = 32
OF_ONE: Final = 4
"""Threads that the names of one goal may hold, those included for which nobody waits any more."""
Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a name; none where it has none. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Way:
    """A host that may be reached: its canonical name, the port that was asked for, and where that is."""

    name: str
    port: int
    addresses: tuple[str, ...]
    connect_port: int
    secrets: tuple[InUse, ...] = ()
    """What may be put into encrypted requests to it."""

    @property
    def shown(self) -> str:
        """`name:port`."""
        return shown(self.name, self.port)


class Denied(Exception):
    """A request that is not let through."""

    def __init__(self, host: str, why: str, *, status: int = 403) -> None:
        super().__init__(f"{host}: {why}")
        self.host, self.why, self.status = host, why, status


class Verdicts:
    """Decides, by what a goal may reach."""

    def __init__(
        self,
        resolve: Resolve,
        vouched: Mapping[HostRule, tuple[str, int | None]],
        timeout_s: float,
    ) -> None:
        self._resolve, self._vouched, self._timeout_s = resolve, vouched, timeout_s

    async def way(self, reach: Reach, name: str, port: int) -> Way:
        """The way to a host, by its canonical name. Raises Denied."""
        told = shown(name, port)
        is_named = is_covered(reach.hosts, name, port)
        known = self._known(name, port)
        if not self.may_reach(reach, name, port):
            raise Denied(told, _why_not(reach, name, port, is_private=known is not None))
        secrets = secrets_of(reach, name, port)
        if known is not None and is_named:
            address, own_port = known
            return Way(name, port, (address,), own_port or port, secrets)
        addresses = await self._addresses(name, told)
        why = why_none(addresses)
        if why:
            raise Denied(told, f"it leads to {why}, which is never reached from here")
        return Way(name, port, addresses, port, secrets)

    def still(self, reach: Reach, way: Way) -> Way:
        """The way, where it may be gone by another reach as well. Raises Denied."""
        if not self.may_reach(reach, way.name, way.port):
            raise Denied(way.shown, "it may no longer be reached")
        return replace(way, secrets=secrets_of(reach, way.name, way.port))

    def may_reach(self, reach: Reach, name: str, port: int) -> bool:
        """Whether a goal may reach a canonical name at a port, before anything is known of its address."""
        if is_covered(reach.hosts, name, port):
            return True
        return reach.is_open and self._known(name, port) is None and port in PORTS

    def _known(self, name: str, port: int) -> tuple[str, int | None] | None:
        """The address that the operator vouches for."""
        return next((at for rule, at in self._vouched.items() if rule.covers(name, port)), None)

    async def _addresses(self, name: str, told: str) -> tuple[str, ...]:
        if is_address(name):
            return (name,)
        try:
            async with asyncio.timeout(self._timeout_s):
                found = tuple(await self._resolve(name))
        except (OSError, TimeoutError, UnicodeError) as error:
            raise Denied(told, "its name cannot be resolved", status=502) from error
        if not found:
            raise Denied(told, "its name has no address", status=502)
        return found


def secrets_of(reach: Reach, name: str, port: int) -> tuple[InUse, ...]:
    """What may be put into a goal's requests to a host."""
    return tuple(
        one for one in reach.secrets if one.mode == "proxied" and is_covered(one.hosts, name, port)
    )


def canonical(host: str) -> str:
    """The host's one name. Raises Denied."""
    try:
        return host_name(host)
    except (ValueError, UnicodeError) as error:
        raise Denied(ascii(host[:60]), "that is no name of a host", status=400) from error


def is_address(name: str) -> bool:
    """Whether a canonical name is an address."""
    return ":" in name or name.replace(".", "").isdigit()


def shown(name: str, port: int) -> str:
    """`name:port`, as it stands in a record."""
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


class SystemResolve:
    """Resolves as the system does: the whole name, below no domain of this machine's.

    In threads of its own: a name whose server does not answer holds up no other work of the process.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "resolve")

    def of_one(self, most: int = OF_ONE) -> Resolve:
        """For one goal, or whatever else: its names wait for each other, so many at once."""
        turns = asyncio.Semaphore(most)

        async def resolve(name: str) -> Sequence[str]:
            loop = asyncio.get_running_loop()
            await turns.acquire()

            def ended(_: "Future[Sequence[str]]") -> None:
                with suppress(RuntimeError):
                    # The loop may be closed by then.
                    loop.call_soon_threadsafe(turns.release)

            looked = self._pool.submit(_addresses, name)
            looked.add_done_callback(ended)
            return await asyncio.wrap_future(looked)

        return resolve

    def close(self) -> None:
        """Wait for nothing that is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _addresses(name: str) -> Sequence[str]:
    found = socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def _why_not(reach: Reach, name: str, port: int, *, is_private: bool) -> str:
    at_usual = any(is_covered(reach.hosts, name, usual) for usual in PORTS)
    if at_usual or (reach.is_open and not is_private):
        return f"port {port} is not allowed there, only {' and '.join(map(str, PORTS))}"
    return "it is not among the hosts that this goal may reach"
