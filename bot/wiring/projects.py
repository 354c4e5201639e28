"""
The repositories of rooms: fetched and pushed from the state folder, each with the secret bound to its host.

Rule: a server is reached at a public address, over https; one of the operator's own network where they
vouch for it (`private_hosts`), and plain http there alone.
"""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adapters.gateway.addresses import why_none
from adapters.git.mirrors import GitMirrors
from adapters.git.program import Git
from adapters.git.shed import Shed
from bot.agent.projects import Projects
from bot.errors import BadInput
from bot.hosts import HostRule, is_covered, vouched
from bot.ports.chat import Place
from bot.ports.mirrors import Credential
from bot.ports.repositories import Repository
from bot.ports.repository_urls import RepositoryUrl, read_url
from bot.wiring.ground import Ground
from bot.wiring.room_secrets import RoomSecrets

FOLDER: Final = "repositories"
"""In the state folder."""
RESOLVE_S: Final = 20.0
SWEEP_S: Final = 24 * 3600.0
FIRST_SWEEP_S: Final = 600.0
_FILES: Final = 2
"""How many times a bundle a file of git's may be: what is fetched is packed in one."""


@dataclass(frozen=True, slots=True)
class Locating:
    """Where servers are. `known`: those that the operator vouches for."""

    known: Mapping[HostRule, tuple[str, int | None]]

    async def __call__(self, url: RepositoryUrl) -> str:
        """The address. Raises BadInput: it is not to be reached from here."""
        own = next((at for rule, at in self.known.items() if rule.covers(url.host, url.port)), None)
        if own is not None and own[1] in (None, url.port):
            return own[0]
        if own is not None:
            raise BadInput(
                f"{url.entry} is another port than the one that the operator vouches for. Name that one."
            )
        if url.scheme != "https":
            raise BadInput(
                f"{url.host} is reached over https alone. Give the repository's https address."
            )
        found = await _addresses(url)
        if why := why_none(found):
            raise BadInput(f"{url.host} leads to {why}, which is never reached from here.")
        return found[0]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets that repositories name."""

    lent: RoomSecrets

    async def __call__(self, room: Place, repository: Repository) -> Credential | None:
        """What its server is told. Raises BadInput: its secret is gone, or bound to other hosts."""
        name, url = repository.secret, read_url(repository.url)
        if not name:
            return None
        kept = await self.lent(room, name, repository.by)
        if kept is None:
            raise BadInput(
                f"The room has no secret {name}, which {repository.name} names. An admin sets it, or names "
                "another one, first."
            )
        value, hosts = kept
        if not is_covered(hosts, url.host, url.port):
            raise BadInput(
                f"The secret {name} is not bound to {url.entry}. Set it again with that host."
            )
        user, _, password = value.rpartition(":")
        return Credential(user, password)


def build_projects(ground: Ground) -> Projects:
    """The tools of goals that start from a repository."""
    settings, store = ground.settings, ground.store
    most_mb = settings.repository_mb
    git = Git(most_mb=_FILES * most_mb)
    shed = Shed(settings.state_dir / FOLDER, git)
    locate = Locating(vouched(settings.private_hosts))

    async def sweep() -> None:
        await shed.sweep()

    ground.alarms.add("repositories", sweep, SWEEP_S)
    ground.alarms.at("repositories", FIRST_SWEEP_S)
    return Projects(
        ground.sandbox,
        GitMirrors(shed, git, locate, most_mb=most_mb),
        store.repositories,
        Credentials(ground.lent),
        store.journal,
        most_mb=most_mb,
    )


async def _addresses(url: RepositoryUrl) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_S):
            found = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise BadInput(
            f"The name {url.host} cannot be resolved. Check the repository's address."
        ) from error
    return tuple(dict.fromkeys(str(one[4][0]) for one in found))
