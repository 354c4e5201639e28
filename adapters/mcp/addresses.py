"""
Where a server's address may lead: the open internet, and hosts that the operator vouches for.

Rule 1: a name is resolved here, once for each request, and the connection goes to that very address.
Rule 2: which addresses are refused is the gateway's rule, too (`WhyNone`); a vouched host has the one address
        that the operator gave.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from bot.hosts import HostRule, host_name

WhyNone = Callable[[Sequence[str]], str]
"""Why nothing is sent to a name that has these addresses; empty: it may be."""

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a name. Raises OSError. In threads of its own: one that hangs holds up nothing else."""


class NotReached(Exception):
    """A host that is not reached; says why."""


class Addresses:
    """Resolves names."""

    def __init__(
        self,
        vouched: Mapping[HostRule, tuple[str, int | None]],
        why_none: WhyNone,
        resolve: Resolve,
    ) -> None:
        self._vouched, self._why_none, self._resolve = vouched, why_none, resolve

    def is_vouched(self, host: str, port: int) -> bool:
        """Whether the operator gave the host's address."""
        return self._known(host, port) is not None

    async def of(self, host: str, port: int) -> tuple[str, int]:
        """The address and port to connect to. Raises NotReached."""
        try:
            name = host_name(f"[{host}]" if ":" in host else host)
        except ValueError as error:
            raise NotReached(f"{error}.") from error
        known = self._known(name, port)
        if known is not None:
            return known[0], known[1] or port
        found = await self._resolved(name)
        why = self._why_none(found)
        if why or not found:
            raise NotReached(
                f"{name} is {why or 'nowhere'}. The operator may name it (private_hosts)."
            )
        return found[0], port

    def _known(self, name: str, port: int) -> tuple[str, int | None] | None:
        return next((to for rule, to in self._vouched.items() if rule.covers(name, port)), None)

    async def _resolved(self, name: str) -> Sequence[str]:
        if ":" in name or name.replace(".", "").isdigit():
            return (name,)
        try:
            return await self._resolve(name)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise NotReached(f"{name} cannot be found: {why}.") from error
