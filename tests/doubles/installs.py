"""Installs, charges and ways back in memory."""

from bot.ports.chat import Network
from bot.ports.clock import Clock
from bot.ports.installs import Install
from tests.doubles.store_rows import Rows

LASTS_S = 30 * 60.0


class MemoryInstalls:
    """Port Installs. `rows` are open to tests."""

    def __init__(self, clock: Clock) -> None:
        self.rows: dict[tuple[str, str], Install] = {}
        self.states: dict[str, float] = {}
        self.charges: dict[str, tuple[str, float]] = {}
        self._clock = clock

    async def installed(self, network: Network) -> tuple[Install, ...]:
        """All of them."""
        return tuple(self.rows[key] for key in sorted(self.rows) if key[0] == network)

    async def install(self, network: Network, workspace: str) -> Install | None:
        """That of one workspace."""
        return self.rows.get((network, workspace))

    async def keep(self, install: Install) -> None:
        """Add it, or put it in the place of the former one."""
        self.rows[install.network, install.workspace] = install

    async def renew(self, install: Install) -> bool:
        """Put it in the place of the former one."""
        if (install.network, install.workspace) not in self.rows:
            return False
        await self.keep(install)
        return True

    async def erase(self, network: Network, workspace: str) -> bool:
        """Erase it."""
        return self.rows.pop((network, workspace), None) is not None

    async def begin_state(self, state: str, *, lasts_s: float) -> None:
        """Keep a state."""
        self.states.setdefault(state, self._clock.now() + lasts_s)

    async def end_state(self, state: str) -> bool:
        """Use it up."""
        return self.states.pop(state, 0.0) > self._clock.now()

    async def take_charge(self, app: str, holder: str, *, lasts_s: float) -> bool:
        """Take or keep the charge."""
        now = self._clock.now()
        held, until = self.charges.get(app, ("", 0.0))
        if held in ("", holder) or until <= now:
            self.charges[app] = (holder, now + lasts_s)
            return True
        self.charges[app] = (held, min(until, now + lasts_s))
        return False

    async def leave_charge(self, app: str, holder: str) -> None:
        """Give it up."""
        if self.charges.get(app, ("", 0.0))[0] == holder:
            del self.charges[app]


class MemoryWaysBack:
    """Port WaysBack, over the rows of the store's double."""

    def __init__(self, rows: Rows, clock: Clock, installs: MemoryInstalls) -> None:
        self._rows, self._clock, self._installs = rows, clock, installs

    async def way_back(self, message: str) -> str:
        """The address of a message."""
        row = self._rows.inbox.get(message)
        is_lapsed = row is None or row.received_at + LASTS_S <= self._clock.now()
        return "" if row is None or is_lapsed else row.received.message.way_back

    async def workspace_of(self, network: Network, room: str) -> str | None:
        """The workspace under which a room is known."""
        said = [row.received.message.place for row in self._rows.inbox.values()]
        places = [*said, *self._rows.sessions.values()]
        known = [one.workspace for one in places if (one.network, one.room) == (network, room)]
        installed = [one for one in known if (network, one) in self._installs.rows]
        return next(iter(installed or known), None)
