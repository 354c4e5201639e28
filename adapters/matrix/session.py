"""
The bot's session on the homeserver: restored at the start, renewed for as long as that is possible.

Rule 1: opening it asks nothing of the network. `ready` does, before each sync; so a homeserver that is
        down delays the bot and nothing else.
Rule 2: a renewed token is on the disk before it is used, and goes into the same client: whoever sends
        meanwhile has `LoggedOut`, which is `Wait`, and later sends with the new one.
Rule 3: every login is of the same device. Where the homeserver has lost the device, its keys are
        published again; where it has other keys or another user, that is refused with a mend.
Rule 4: what cannot be renewed waits for a person, and looks at the account file meanwhile: a login in
        another terminal heals it. Between two tries there is always a wait.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import nio

from adapters.matrix import crypto_store
from adapters.matrix.account import NEW_DEVICE, Account, AccountFile
from adapters.matrix.crypto_store import DeviceMismatch
from adapters.matrix.errors import LoggedOut
from adapters.matrix.homeserver import Homeserver, Login
from adapters.matrix.ways import Pace, Signing, Ways
from bot.errors import ByOperator, Refused, StoreUnusable, Wait

log = logging.getLogger(__name__)

DEVICE_NAME: Final = "Headway"


class NoSession(ByOperator):
    """There is no way to a session but by a person."""


class SessionReplaced(Wait):
    """The account in the file is another one now: this session is to be closed, and opened anew."""


@asynccontextmanager
async def open_session(file: AccountFile, ways: Ways | None = None) -> AsyncIterator["Session"]:
    """The session of the account in the file; asks nothing of the network.

    Raises:
        NoSession: there is no account.
        NoCryptoStore: its device's keys are not there.
        CryptoStoreBusy: another process works with them.
        StoreUnusable, SecretsUnusable: the file cannot be read or opened.
    """
    ways, stamp = ways or Ways(), file.stamp()
    account = file.read()
    if account is None:
        raise _none()
    _learn(ways, account)
    with crypto_store.owned(file.folder):
        client = crypto_store.open_client(file.folder, account)
        session = Session(file, account, client, ways, stamp)
        try:
            yield session
        finally:
            await session.close()


class Session:
    """One account at work. `client` stays the same object for as long as the session is open."""

    def __init__(
        self,
        file: AccountFile,
        account: Account,
        client: nio.AsyncClient,
        ways: Ways,
        stamp: tuple[int, ...] | None,
    ) -> None:
        self.client = client
        self.trouble = ""
        """Why the bot is deaf, with its mend; empty while it is not."""
        self._file, self._account, self._ways = file, account, ways
        self._stamp = stamp
        self._is_checked = False
        self._renewed_at: float | None = None
        self._tries = 0
        self._early_at = 0.0
        self._renewing = asyncio.Lock()
        self._renewals = 0
        self._is_dead = False
        """The homeserver said of this token that it is not valid."""

    @property
    def account(self) -> Account:
        """As it is now."""
        return self._account

    async def ready(self) -> None:
        """See to it that the session can be used: called before each sync, cheap when all is well.

        Raises:
            LoggedOut: the token is not valid any more: `renew` it.
            DeviceMismatch, AccountClosed: a person is needed: `mended` waits for one.
            SessionReplaced: the account file holds another account now.
            Wait: the homeserver cannot be asked now.
        """
        if self._file.stamp() != self._stamp:
            self._adopt()
        await self._renew_early()
        if not self._is_checked:
            await self._check()
            self._is_checked = True
            self._well()

    async def renew(self) -> None:
        """Return once there is a valid token again, however long that takes.

        Raises:
            SessionReplaced: the account file holds another account now.
        """
        seen = self._renewals
        async with self._renewing:
            if self._renewals != seen:
                # Whoever else met the same end has renewed it meanwhile.
                return
            self._hold_back()
            self.client.access_token = ""
            self._is_checked = self._is_dead = False
            if (
                self._renewed_at is not None
                and self._since(self._renewed_at) > self._pace.settled_s
            ):
                self._tries = 0
            while not await self._renewed():
                self._tries += 1
            self._renewed_at = time.monotonic()
            self._renewals += 1

    async def mended(self, error: ByOperator) -> None:
        """Say why the bot is deaf, and return once it is worth another try: `ready` comes next."""
        self._deaf(str(error))
        self._is_checked = False
        await self._rest(self._pace.longest_s)

    async def close(self) -> None:
        """Close connections and the crypto store."""
        await self.client.close()
        crypto_store.close(self.client)

    @property
    def _pace(self) -> Pace:
        return self._ways.pace

    async def _renewed(self) -> bool:
        """One try; false, after a wait, where it came to nothing."""
        if self._tries:
            await self._rest(self._backoff_s())
        if self._file.stamp() != self._stamp and self._adopt():
            return True
        try:
            if self._stamp is None:
                raise _none()
            async with Homeserver.at(self._account.homeserver) as server:
                return (
                    await self._is_alive(server)
                    or await self._by_refresh(server)
                    or await self._by_password(server)
                )
        except SessionReplaced:
            raise
        except Wait as error:
            self._deaf(f"The Matrix session ended and cannot be renewed now. {error}")
            await self._rest(error.retry_after_s or 0.0)
        except StoreUnusable as error:
            # The disk may have space again soon.
            self._deaf(str(error))
        except ByOperator as error:
            self._deaf(str(error))
            await self._rest(self._pace.longest_s)
        return False

    async def _is_alive(self, server: Homeserver) -> bool:
        """Whether the token is good: what was refused may have been sent with the one before."""
        token = self._account.access_token
        if self._is_dead or not token:
            return False
        try:
            await server.whoami(token)
        except LoggedOut:
            self._is_dead = True
            return False
        self.client.access_token = token
        return True

    async def _by_refresh(self, server: Homeserver) -> bool:
        token = self._account.refresh_token
        if not token:
            return False
        try:
            login = await server.refresh(token)
        except (LoggedOut, Refused) as error:
            log.warning("The Matrix session cannot be refreshed: %s", error)
            self._keep(refresh_token="")
            return False
        self._take(login)
        return True

    async def _by_password(self, server: Homeserver) -> bool:
        account = self._account
        if not self._ways.password:
            self._deaf(
                f"The session of {account.user_id} was ended, and there is no password to begin another "
                "with. Run `headway matrix login`, also while this process goes on."
            )
            await self._rest(self._pace.longest_s)
            return False
        try:
            login = await server.login(
                account.user_id, self._ways.password, account.device_id, DEVICE_NAME
            )
        except (LoggedOut, Refused) as error:
            self._deaf(
                f"The homeserver refuses the password of {account.user_id}, or has closed the account "
                f"({error}) Set matrix_password anew and start again, or run `headway matrix login`."
            )
            await self._rest(self._pace.longest_s)
            return False
        if (login.user_id, login.device_id) != (account.user_id, account.device_id):
            self._deaf(_other(account, login.user_id, login.device_id))
            await self._rest(self._pace.longest_s)
            return False
        self._take(login)
        return True

    async def _renew_early(self) -> None:
        """Before it runs out; where that fails, the token that there is serves to its end."""
        account, now = self._account, self._ways.now()
        ends_at = account.expires_at
        if ends_at is None or not account.refresh_token or now < ends_at - self._pace.early_s:
            return
        if time.monotonic() < self._early_at:
            return
        try:
            async with self._renewing:
                if self._account is account:
                    async with Homeserver.at(account.homeserver) as server:
                        await self._by_refresh(server)
                        # A token that lasts no longer than `early_s` is not renewed at each sync.
                        lasts_s = (self._account.expires_at or now) - now
                        self._early_at = time.monotonic() + lasts_s / 2
        except (Wait, ByOperator) as error:
            self._early_at = time.monotonic() + self._pace.look_s
            log.warning("The Matrix session cannot be refreshed yet: %s", error)

    async def _check(self) -> None:
        """That the token is ours, and that the homeserver has our device's keys and no others."""
        account = self._account
        if not account.access_token:
            raise LoggedOut("The Matrix session was ended here: headway matrix login")
        async with Homeserver.at(account.homeserver) as server:
            who = await server.whoami(account.access_token)
            if who.user_id != account.user_id or who.device_id not in ("", account.device_id):
                raise DeviceMismatch(_other(account, who.user_id, who.device_id))
            there = await server.device_keys(
                account.access_token, account.user_id, account.device_id
            )
        await crypto_store.see_to_keys(self.client, there)
        if self._ways.signing is not None:
            await self._sign(self._ways.signing)

    async def _sign(self, signing: Signing) -> None:
        try:
            await signing(self.client, self._account)
        except ByOperator as error:
            # Others may not trust the device, and the doctor says so; that is no reason to be deaf.
            log.warning("The Matrix device is not signed: %s", error)

    def _adopt(self) -> bool:
        """Take over what another process wrote; true where that is another token.

        Raises:
            SessionReplaced: it is another account.
        """
        stamp = self._file.stamp()
        try:
            account = self._file.read()
        except ByOperator as error:
            self._stamp = stamp
            self._deaf(str(error))
            return False
        self._stamp = stamp
        if account is None:
            return False
        mine = self._account
        if (account.user_id, account.device_id) != (mine.user_id, mine.device_id):
            raise SessionReplaced("The Matrix account is another one now.")
        _learn(self._ways, account)
        self._account = account
        self.client.homeserver = account.homeserver
        if account.access_token == mine.access_token:
            return False
        self.client.access_token = account.access_token
        self._is_checked = False
        return True

    def _take(self, login: Login) -> None:
        """A new token: on the disk first."""
        ends_at = None if login.lasts_s is None else self._ways.now() + login.lasts_s
        self._keep(
            access_token=login.access_token,
            # One that is not replaced goes on being valid.
            refresh_token=login.refresh_token or self._account.refresh_token,
            expires_at=ends_at,
        )
        self.client.access_token = login.access_token

    def _keep(self, **changes: object) -> None:
        try:
            account = self._file.change(**changes)
        except KeyError as error:
            raise _none() from error
        _learn(self._ways, account)
        self._account = account
        self._stamp = self._file.stamp()

    async def _rest(self, wait_s: float) -> None:
        """Wait, but no longer than until the account file is changed."""
        until = time.monotonic() + wait_s
        # Another process changes it: there is nobody to ring.
        while (left := until - time.monotonic()) > 0 and self._file.stamp() == self._stamp:  # noqa: ASYNC110
            await asyncio.sleep(min(left, self._pace.look_s))

    def _backoff_s(self) -> float:
        wait_s = min(self._pace.first_s * 2.0 ** min(self._tries - 1, 30), self._pace.longest_s)
        return wait_s * random.uniform(0.75, 1.25)

    def _hold_back(self) -> None:
        """A session that is lost as soon as it is there waits as one that does not come about."""
        if self._renewed_at is not None and self._since(self._renewed_at) < self._pace.settled_s:
            self._tries += 1

    def _since(self, at: float) -> float:
        return time.monotonic() - at

    def _deaf(self, why: str) -> None:
        if why != self.trouble:
            log.info("Matrix is not heard: %s", why)
        self.trouble = why
        self._ways.deaf(why)

    def _well(self) -> None:
        if self.trouble:
            log.warning("The Matrix session of %s is there again.", self._account.user_id)
        self.trouble = ""


def _learn(ways: Ways, account: Account) -> None:
    for name, value in account.secrets.items():
        ways.learn(name, value)


def _none() -> NoSession:
    return NoSession("There is no Matrix account. Log in: headway matrix login")


def _other(account: Account, user_id: str, device_id: str) -> str:
    return (
        f"The homeserver says that the session is {user_id} {device_id or '(no device)'}, and the "
        f"account file says {account.user_id} {account.device_id}. Put the right file back from a "
        f"backup, or begin a new device: {NEW_DEVICE}"
    )
