"""
Where an app was installed, and which process serves it, as rows.

Rule 1: tokens are rows of `secret`, of the kind `token`: named `NETWORK:WORKSPACE`, and with `:refresh`
        behind that where there is one to renew it by. So new keys seal them again, lists show them, and
        nothing that is logged or posted says them.
Rule 2: an install and its tokens are written in one transaction, and read in one snapshot. One whose
        token was removed is none.
Rule 3: a charge is bounded by the clock of now: where that was set back, it lapses no later than one
        that is taken now.
"""

import json
from hashlib import sha256
from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.forgotten import overwriting
from adapters.store.readers import Readers
from adapters.store.secrets import LOCK, NoKeys, drop_sealed, open_sealed, put_sealed, read_opened
from adapters.store.statements import Reader, Row
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Network
from bot.ports.installs import Install
from bot.ports.secrets import Named, Sealing

HOSTS: Final = {"slack": ("slack.com", "files.slack.com")}
"""Where a network's tokens may be sent to."""

_N: Final = METADATA.tables["install"]
_ST, _CH = METADATA.tables["install_state"], METADATA.tables["charge"]

_COLUMNS: Final = (
    _N.c.network, _N.c.workspace, _N.c.app, _N.c.bot_user, _N.c.name, _N.c.scopes, _N.c.expires_at,
    _N.c.installed_by, _N.c.at, _N.c.organisation, _N.c.further,
)  # fmt: skip
_HERE: Final = (
    _N.c.network == bindparam("of_network"),
    _N.c.workspace == bindparam("of_workspace"),
)
_ALL: Final = (
    select(*_COLUMNS).where(_N.c.network == bindparam("of_network")).order_by(_N.c.workspace)
)
_ONE: Final = select(*_COLUMNS).where(*_HERE)
_KEEP: Final = queries.upsert(
    queries.into(_N), ("network", "workspace"), "app", "bot_user", "name", "scopes", "expires_at",
    "installed_by", "at", "organisation", "further",
)  # fmt: skip
_ERASE: Final = delete(_N).where(*_HERE)

_BEGIN: Final = queries.into(_ST).on_conflict_do_nothing()
_OLD_STATES: Final = delete(_ST).where(_ST.c.expires_at <= bindparam("of_now"))
_END: Final = delete(_ST).where(
    _ST.c.state_hash == bindparam("of_hash"), _ST.c.expires_at > bindparam("of_now")
)

_CHARGE: Final = (
    select(_CH.c.holder, _CH.c.until).where(_CH.c.app == bindparam("of_app")).with_for_update()
)
_TAKE: Final = queries.upsert(queries.into(_CH), ("app",), "holder", "until")
_BOUND: Final = queries.set_in(_CH, "until").where(_CH.c.app == bindparam("of_app"))
_LEAVE: Final = delete(_CH).where(
    _CH.c.app == bindparam("of_app"), _CH.c.holder == bindparam("of_holder")
)
_VOID: Final = delete(_CH)


class StoreInstalls:
    """Port Installs."""

    def __init__(self, writer: Writer, readers: Readers, sealing: Sealing | None = None) -> None:
        self._writer = writer
        self._readers = readers
        self._sealing = sealing or NoKeys()

    async def installed(self, network: Network) -> tuple[Install, ...]:
        """All of them. Raises SecretsUnusable."""

        def query(reader: Reader) -> tuple[Install, ...]:
            rows = reader.all(_ALL, of_network=network)
            found = (self._opened(reader, row) for row in rows)
            return tuple(one for one in found if one is not None)

        return await read_opened(self._readers, query)

    async def install(self, network: Network, workspace: str) -> Install | None:
        """That of one workspace. Raises SecretsUnusable."""

        def query(reader: Reader) -> Install | None:
            row = reader.one(_ONE, of_network=network, of_workspace=workspace)
            return None if row is None else self._opened(reader, row)

        return await read_opened(self._readers, query)

    async def keep(self, install: Install) -> None:
        """Add it, or put it in the place of the workspace's former one. Raises SecretsUnusable."""
        await self._writer.do(lambda tx: self._keep(tx, install))

    async def renew(self, install: Install) -> bool:
        """Put it in the place of the former one; False where that was erased. Raises SecretsUnusable."""

        def job(tx: Transaction) -> bool:
            # Who erases it meanwhile waits, or has erased it.
            tx.alone(LOCK)
            of = {"of_network": install.network, "of_workspace": install.workspace}
            is_there = tx.one(_ONE, **of) is not None
            if is_there:
                self._keep(tx, install)
            return is_there

        return await self._writer.do(job)

    async def erase(self, network: Network, workspace: str) -> bool:
        """Erase its tokens and itself; False where there is none."""

        def job(tx: Transaction) -> bool:
            tx.alone(LOCK)
            with overwriting(tx):
                for name in _names(network, workspace):
                    drop_sealed(tx, "token", name)
            return tx.run(_ERASE, of_network=network, of_workspace=workspace) > 0

        return await self._writer.do(job)

    async def begin_state(self, state: str, *, lasts_s: float) -> None:
        """Keep the state of an installation under way; its hash alone."""

        def job(tx: Transaction) -> None:
            now = tx.now()
            tx.run(_OLD_STATES, of_now=now)
            tx.run(_BEGIN, state_hash=_hash(state), expires_at=now + lasts_s)

        await self._writer.do(job)

    async def end_state(self, state: str) -> bool:
        """Use it up; False where it is unknown, was used, or is too old."""
        return await self._writer.do(
            lambda tx: tx.run(_END, of_hash=_hash(state), of_now=tx.now()) > 0
        )

    async def take_charge(self, app: str, holder: str, *, lasts_s: float) -> bool:
        """Take or keep the charge of an app until `lasts_s` from now; False where another holds it."""

        def job(tx: Transaction) -> bool:
            tx.alone(f"charge.{app}")
            row, now = tx.one(_CHARGE, of_app=app), tx.now()
            if row is None or row[0] == holder or row[1] <= now:
                tx.run(_TAKE, app=app, holder=holder, until=now + lasts_s)
                return True
            if row[1] > now + lasts_s:
                tx.run(_BOUND, of_app=app, until=now + lasts_s)
            return False

        return await self._writer.do(job)

    async def leave_charge(self, app: str, holder: str) -> None:
        """Give it up, where it is held."""
        await self._writer.do(lambda tx: tx.run(_LEAVE, of_app=app, of_holder=holder))

    def _keep(self, tx: Transaction, install: Install) -> None:
        token, refresh = _names(install.network, install.workspace)
        for name, value in ((token, install.token), (refresh, install.refresh_token)):
            of = Named("token", name, HOSTS.get(install.network, ()), set_by=install.installed_by)
            if value:
                put_sealed(tx, self._sealing, of, value)
            else:
                drop_sealed(tx, "token", name)
        tx.run(
            _KEEP, network=install.network, workspace=install.workspace, app=install.app,
            bot_user=install.bot_user, name=install.name, scopes=json.dumps(install.scopes),
            expires_at=install.expires_at, installed_by=install.installed_by,
            at=install.at or tx.now(), organisation=install.organisation, further=install.further,
        )  # fmt: skip

    def _opened(self, reader: Reader, row: Row) -> Install | None:
        network, workspace, app, bot_user, name, scopes, expires_at, by, at, *rest = row
        organisation, further = rest
        token, refresh = (
            open_sealed(reader, self._sealing, "token", one) for one in _names(network, workspace)
        )
        if token is None:
            return None
        return Install(
            network=network, workspace=workspace, app=app, bot_user=bot_user, name=name,
            scopes=tuple(json.loads(scopes)), token=token, refresh_token=refresh or "",
            expires_at=expires_at, installed_by=by, at=at, organisation=organisation,
            further=further,
        )  # fmt: skip


def void_charges(tx: Transaction) -> int:
    """Nobody serves anything: whoever did has gone."""
    return tx.run(_VOID)


def drop_old_states(tx: Transaction, now: float) -> int:
    """Forget installations that were begun and never ended."""
    return tx.run(_OLD_STATES, of_now=now)


def _names(network: str, workspace: str) -> tuple[str, str]:
    """Of its token, and of what renews that."""
    return f"{network}:{workspace}", f"{network}:{workspace}:refresh"


def _hash(state: str) -> str:
    return sha256(state.encode("utf-8", "surrogatepass")).hexdigest()
