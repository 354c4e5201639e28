"""A bed for tokens and installs: a Slack that hands them out, a store in memory, a clock in hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from adapters.slack.tokens import AppKeys, Tokens
from bot.errors import StoreBusy
from bot.ports.installs import Install
from tests.doubles.clock import HandClock
from tests.doubles.installs import MemoryInstalls
from tests.peers.slack_keys import CLIENT_ID, CLIENT_KEY, Holder, KeySlack, slack_keys


class Flaky(MemoryInstalls):
    """A store that can be told to be busy."""

    is_busy = False

    async def renew(self, install: Install) -> bool:
        """Put it in the place of the former one."""
        self._unless_busy()
        return await super().renew(install)

    async def keep(self, install: Install) -> None:
        """Add it."""
        self._unless_busy()
        await super().keep(install)

    def _unless_busy(self) -> None:
        if self.is_busy:
            raise StoreBusy("The database is locked. It is tried again.")


@dataclass
class Bed:
    slack: KeySlack
    clock: HandClock
    installs: Flaky
    learnt: dict[str, str]

    def tokens(self, token: str = "") -> Tokens:
        keys = AppKeys(self.slack.api_url, token, CLIENT_ID, CLIENT_KEY)
        learn = self.learnt.__setitem__
        return Tokens(
            keys, self.installs, learn=lambda name, value: learn(value, name), now=self.clock.now
        )

    async def installed(self, holder: Holder | None = None) -> Install:
        """Install it, with a token that runs out."""
        self.slack.rotates = True
        holder = holder or Holder()
        said = self.slack.token_of(holder)
        install = Install(
            "slack", holder.team or "", "A01APP", "U0BOT", holder.name, ("chat:write",),
            said["access_token"], said["refresh_token"],
            self.clock.now() + said["expires_in"], at=self.clock.now(),
        )  # fmt: skip
        await self.installs.keep(install)
        return install

    def kept(self, workspace: str = "T01TEST") -> Install:
        return self.installs.rows["slack", workspace]


@contextmanager
def installs_bed() -> Iterator[Bed]:
    """All of it, served."""
    with slack_keys() as slack:
        clock = HandClock()
        yield Bed(slack, clock, Flaky(clock), {})
