"""
The secrets of a process: its key, what it knows, and how other commands change them.

Rule: the process that owns the state folder makes the change, and knows the value from then on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from adapters.matrix.account import AccountFile
from adapters.store.look import look
from adapters.store.reading import open_for_reading
from bot.errors import HeadwayError, SecretsUnusable
from bot.ports.chat import Network
from bot.ports.installs import Install, Installs
from bot.ports.secrets import Kind, Named, Secrets
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.holding import own_store
from bot.wiring.keys import sealing_of
from scheduler.control import Answer, Request

log = logging.getLogger(__name__)

LOOK_S: Final = 5.0
"""How often a process looks for secrets that another one has set in a shared database."""


async def learn_stored(redactor: Redactor, secrets: Secrets) -> None:
    """Teach the redactor every value that is kept. Raises SecretsUnusable."""
    for named, value in (await secrets.values()).items():
        redactor.learn(named.name, value)


async def learn_what_opens(redactor: Redactor, secrets: Secrets) -> None:
    """The same where it must not be in the way: for whoever only reads."""
    for named in await secrets.names():
        try:
            redactor.learn(named.name, await secrets.get(named.kind, named.name))
        except (SecretsUnusable, KeyError) as error:
            log.warning("A secret is not known here and cannot be left out: %s", error)


@asynccontextmanager
async def own_secrets(settings: Settings) -> AsyncIterator[Secrets]:
    """The secrets of a state folder that nobody else owns, for the life of the context.

    Raises:
        AlreadyOwned: somebody does: ask them.
        StoreBusy, StoreUnusable.
    """
    async with own_store(settings, sealing_of(settings)) as store:
        yield store.secrets


class SecretDesk:
    """Changes secrets, for a command line that may be in another process."""

    def __init__(
        self, secrets: Secrets, redactor: Redactor, matrix: AccountFile | None = None
    ) -> None:
        """`matrix`: the account that is sealed under the same keys."""
        self._secrets, self._redactor, self._matrix = secrets, redactor, matrix
        self._known: frozenset[Named] = frozenset()

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer to a request about secrets; None for any other."""
        match request:
            case {"do": "secret.set", "name": str(name), "value": str(value)}:
                hosts = tuple(str(host) for host in request.get("hosts", ()))
                by = str(request.get("by", ""))
                self._redactor.learn(name, value)
                named = await self._secrets.put("secret", name, value, hosts=hosts, by=by)
                return {"key_id": named.key_id}
            case {"do": "secret.remove", "name": str(name)}:
                kind: Any = request.get("kind", "secret")
                return {"removed": await self._secrets.remove(kind, name)}
            case {"do": "secret.rotate"}:
                return {"resealed": await self._rotate(request)}
            case _:
                return None

    async def _rotate(self, request: Request) -> int:
        """Seal all again, the Matrix account too: it opens under an old key or a new one throughout."""
        if self._matrix is not None:
            await asyncio.to_thread(self._matrix.read)
        count = await self._secrets.rotate(
            is_made=bool(request.get("is_made", True)),
            keeps_old=bool(request.get("keeps_old", False)),
        )
        if self._matrix is not None and await asyncio.to_thread(self._matrix.reseal):
            count += 1
        return count

    async def look(self) -> None:
        """Learn what another process has set meanwhile."""
        try:
            names = frozenset(await self._secrets.names())
            if names - self._known:
                await learn_stored(self._redactor, self._secrets)
            self._known = names
        except HeadwayError as error:
            log.warning("Secrets that another process may have set cannot be read: %s", error)


class KnownSecrets:
    """Secrets whose values are known before anybody here uses them: another process may have set them."""

    def __init__(self, secrets: Secrets, redactor: Redactor) -> None:
        self._secrets, self._redactor = secrets, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._secrets, name)

    async def get(self, kind: Kind, name: str) -> str:
        """As the secrets'."""
        return self._redactor.learn(name, await self._secrets.get(kind, name))


class KnownInstalls:
    """Installs whose tokens are known before they are given on or kept: nothing that passes says one."""

    def __init__(self, installs: Installs, redactor: Redactor) -> None:
        self._installs, self._redactor = installs, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._installs, name)

    async def installed(self, network: Network) -> tuple[Install, ...]:
        """As the installs'."""
        return tuple(map(self._learned, await self._installs.installed(network)))

    async def install(self, network: Network, workspace: str) -> Install | None:
        """As the installs'."""
        found = await self._installs.install(network, workspace)
        return None if found is None else self._learned(found)

    async def keep(self, install: Install) -> None:
        """As the installs'."""
        await self._installs.keep(self._learned(install))

    async def renew(self, install: Install) -> bool:
        """As the installs'."""
        return await self._installs.renew(self._learned(install))

    def _learned(self, install: Install) -> Install:
        name = f"{install.network}:{install.workspace}"
        for value in (install.token, install.refresh_token):
            self._redactor.learn(name, value)
        return install


def with_secrets(desk: SecretDesk, redactor: Redactor, others: Answer) -> Answer:
    """Answers about secrets by `desk`, and all others, which are asked without known secrets."""

    async def answer(request: Request) -> dict[str, Any]:
        told = await desk(request)
        return await others(redactor.within(request)) if told is None else told

    return answer


async def listed(settings: Settings) -> dict[Named, str]:
    """Every secret with why it does not open, or nothing where it does; none without a database.

    Raises:
        StoreBusy, StoreUnusable: the database cannot be read.
    """
    if not look(settings.database_url, state_dir=settings.state_dir).is_there:
        return {}
    found = {}
    async with open_for_reading(
        settings.database_url, state_dir=settings.state_dir, sealing=sealing_of(settings)
    ) as store:
        for named in await store.secrets.names():
            try:
                await store.secrets.get(named.kind, named.name)
            except SecretsUnusable as error:
                found[named] = str(error)
            except KeyError:
                continue
            else:
                found[named] = ""
    return found
