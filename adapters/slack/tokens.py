"""
The bot tokens of an app: the one that the settings name, or those of its installs.

Rule 1: a token that runs out is renewed two hours before, one renewal of a workspace at a time; the
        new one is kept before it is used.
Rule 2: Slack revokes a refresh token as it is used (docs.slack.dev/authentication/using-token-rotation).
        Where its answer is lost, the token that is there goes on until it ends, and the app is installed
        anew in those two hours; nothing that was said is lost.
Rule 3: every token is known as a secret before anything is done with it.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adapters.slack.asking import LIMIT_S, app_of, web_client, whose
from adapters.slack.errors import NOT_INSTALLED, LoggedOut, cause, translated
from adapters.slack.ids import NETWORK
from adapters.slack.payloads import fields, text_of
from bot.errors import BadSettings, HeadwayError, Wait
from bot.ports.installs import Install, Installs

log = logging.getLogger(__name__)

EARLY_S: Final = 7_200.0
"""Of the twelve hours that a token lives."""
AGAIN_S: Final = 60.0
"""Between tries of a renewal that failed, while the token still counts."""
FRESH_S: Final = 30.0
"""For so long an install that was read is not read again; another process may have changed it."""

Learn = Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class AppKeys:
    """What the settings say of the app. Secrets are not shown."""

    api_url: str
    token: str = field(default="", repr=False)
    """Of a single workspace; empty: workspaces install the app."""
    client_id: str = ""
    client_key: str = field(default="", repr=False)


class Tokens:
    """Tokens by workspace, as `Place.workspace` names it."""

    def __init__(
        self,
        keys: AppKeys,
        installs: Installs,
        *,
        learn: Learn,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Ask nothing yet. `learn` is told of each token by a name, before it is used."""
        self._keys, self._installs = keys, installs
        self._learn, self._now = learn, now
        self._single: Install | None = None
        self._read: dict[str, tuple[Install | None, float]] = {}
        self._unkept: dict[str, Install] = {}
        """Renewed and not stored yet."""
        self._tried_at: dict[str, float] = {}
        self._refused: tuple[BadSettings, float] | None = None
        self._ended: set[str] = set()
        """Tokens of which Slack said that they have run out."""
        self._unrenewed: dict[str, str] = {}
        """Of a workspace, why its token is not renewed while the old one still counts."""
        self._refusals: dict[str, str] = {}
        """Of a workspace, that Slack takes its token no more."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        learn("slack_bot_token", keys.token)

    @property
    def troubles(self) -> Mapping[str, str]:
        """By workspace, what is wrong with its token; what is said there waits, or soon will."""
        return {**self._unrenewed, **self._refusals}

    @property
    def is_single(self) -> bool:
        """Whether the settings name the token of the only workspace."""
        return bool(self._keys.token)

    async def token_for(self, workspace: str) -> str:
        """The bot token of a workspace, good for a while.

        Raises:
            Wait: it cannot be had for the moment.
            LoggedOut: the app is not installed there, or has to be installed again.
            SecretsUnusable: it does not open.
        """
        found = await self.install_of(workspace)
        if found is None:
            raise LoggedOut(
                f"The app is not installed in the workspace {workspace} any more. Install it again: "
                "`headway slack status` tells where.",
                code=NOT_INSTALLED,
            )
        return (await self._renewed(found)).token

    async def install_of(self, workspace: str) -> Install | None:
        """The install of a workspace; None where there is none. Raises as `token_for`."""
        if self.is_single:
            single = await self._only()
            return single if workspace in ("", single.workspace) else None
        known = self._read.get(workspace)
        if known is not None and self._now() - known[1] < FRESH_S:
            return known[0]
        return self._noted(workspace, await self._installs.install(NETWORK, workspace))

    async def among(self, workspaces: Iterable[str]) -> Install | None:
        """The first of several workspaces where the app is installed. Raises as `token_for`."""
        for workspace in workspaces:
            if (found := await self.install_of(workspace)) is not None:
                return found
        return None

    async def all(self) -> tuple[Install, ...]:
        """All installs; of a single token, its workspace. Raises as `token_for`."""
        if self.is_single:
            return (await self._only(),)
        found = await self._installs.installed(NETWORK)
        for install in found:
            self._noted(install.workspace, install)
        return found

    async def keep(self, install: Install) -> None:
        """Keep a new install. Raises SecretsUnusable, StoreBusy, StoreUnusable."""
        self._learnt(install)
        await self._installs.keep(install)
        self._untroubled(install.workspace)
        self._unkept.pop(install.workspace, None)
        self._noted(install.workspace, install)

    async def erase(self, workspace: str) -> bool:
        """Erase the tokens of a workspace; False where there are none to erase."""
        async with self._locks[workspace]:
            self._untroubled(workspace)
            self._unkept.pop(workspace, None)
            self._read.pop(workspace, None)
            if self.is_single:
                return False
            return await self._installs.erase(NETWORK, workspace)

    def ran_out(self, token: str) -> None:
        """Slack says that a token has run out, whatever our clock says: it is renewed when asked for."""
        self._ended.add(token)

    def refused(self, workspace: str, error: LoggedOut) -> None:
        """Slack takes the token of a workspace no more; told until it takes one there again."""
        if error.code == NOT_INSTALLED or workspace in self._refusals:
            return
        known = self._single if self.is_single else self._read.get(workspace, (None, 0.0))[0]
        mend = (
            "Set slack_bot_token to the one that its page shows, and start Headway again."
            if self.is_single
            else "Install the app there again: `headway slack status` tells where."
        )
        told = (
            f"Slack does not know the bot's token any more ({error.code}) in "
            f"{(known.name if known else '') or workspace}: what is to be said there waits. {mend}"
        )
        log.error("%s", told)
        self._refusals[workspace] = told

    def taken(self, workspace: str) -> None:
        """Slack takes the token of a workspace."""
        if self._refusals.pop(workspace, None):
            log.warning("Slack knows the bot's token in %s again.", workspace)

    def forget(self) -> None:
        """Look everything up anew: something has changed it from outside."""
        self._read.clear()
        self._single = self._refused = None

    async def _only(self) -> Install:
        async with self._locks[""]:
            if self._single is not None:
                return self._single
            if self._refused is not None and self._now() - self._refused[1] < AGAIN_S:
                raise self._refused[0]
            try:
                self._single = await _install_of_token(self._keys, self._now())
            except BadSettings as error:
                self._refused = error, self._now()
                raise
            return self._single

    async def _renewed(self, install: Install) -> Install:
        """The install with a token that counts for a while."""
        if self._is_good(install):
            return install
        lock = self._locks[install.workspace]
        counts = self._counts(install)
        tried_lately = self._now() - self._tried_at.get(install.workspace, 0.0) < AGAIN_S
        if counts and (lock.locked() or tried_lately):
            return install
        async with lock:
            return await self._renew(install.workspace)

    async def _renew(self, workspace: str) -> Install:
        """Renew it, where nobody has by now. What fails is raised once the old token is of no use."""
        found = await self._installs.install(NETWORK, workspace)
        if found is None:
            self._read.pop(workspace, None)
            raise LoggedOut("The app was uninstalled.", code=NOT_INSTALLED)
        self._noted(workspace, found)
        if self._is_good(found):
            return found
        self._tried_at[workspace] = self._now()
        try:
            fresh = self._unkept.get(workspace) or await self._refresh(found)
            self._learnt(fresh)
            self._unkept[workspace] = fresh
            if not await self._installs.renew(fresh):
                raise LoggedOut("The app was uninstalled.", code=NOT_INSTALLED)
        except HeadwayError as error:
            if not self._counts(found):
                raise _ended(found, error) from error
            told = (
                f"The token of {found.name or workspace} is not renewed, and counts no more in "
                f"{EARLY_S / 3600:g} h at most: {cause(error)} Unless it is renewed until then, install "
                "the app there again: `headway slack status` tells where."
            )
            if self._unrenewed.get(workspace) != told:
                log.warning("%s", told)
            self._unrenewed[workspace] = told
            return found
        self._untroubled(workspace)
        self._unkept.pop(workspace, None)
        self._noted(workspace, fresh)
        return fresh

    async def _refresh(self, install: Install) -> Install:
        keys = self._keys
        with translated("A token of Slack cannot be renewed", posts=True):
            async with asyncio.timeout(LIMIT_S):
                answer: Any = await web_client(keys.api_url).oauth_v2_access(
                    client_id=keys.client_id,
                    client_secret=keys.client_key,
                    grant_type="refresh_token",
                    refresh_token=install.refresh_token,
                )
        said = fields(answer.data)
        token, lives_s = text_of(said.get("access_token")), said.get("expires_in")
        if not token or not isinstance(lives_s, int):
            raise Wait("Slack renewed a token without saying it. It is tried again.")
        return replace(
            install,
            token=token,
            refresh_token=text_of(said.get("refresh_token")) or install.refresh_token,
            expires_at=self._now() + lives_s,
        )

    def _untroubled(self, workspace: str) -> None:
        self._unrenewed.pop(workspace, None)
        self._refusals.pop(workspace, None)

    def _is_good(self, install: Install) -> bool:
        """Whether it needs no renewal yet."""
        if install.expires_at is None or not install.refresh_token:
            return True
        is_early = self._now() < install.expires_at - EARLY_S
        return is_early and install.token not in self._ended

    def _counts(self, install: Install) -> bool:
        """Whether Slack still takes it."""
        is_over = install.expires_at is not None and self._now() >= install.expires_at
        return not is_over and install.token not in self._ended

    def _noted(self, workspace: str, install: Install | None) -> Install | None:
        if install is not None:
            self._learnt(install)
        self._read[workspace] = install, self._now()
        return install

    def _learnt(self, install: Install) -> None:
        name = f"slack_token_{install.workspace}"
        self._learn(name, install.token)
        self._learn(f"{name}_refresh", install.refresh_token)


async def _install_of_token(keys: AppKeys, now: float) -> Install:
    """The workspace of the settings' token.

    Raises:
        Wait: Slack is out of reach.
        BadSettings: the token is nobody's, or no bot's.
    """
    try:
        found = await whose(keys.api_url, keys.token)
        if not found.bot or not found.workspace:
            raise BadSettings(
                "slack_bot_token is the token of a person. Give the bot's, which begins with xoxb-: "
                "OAuth & Permissions of the app's page shows it."
            )
    except LoggedOut as error:
        raise BadSettings(
            f"Slack does not take slack_bot_token ({error.code}). Copy it again from OAuth & "
            "Permissions of the app's page; where the app was removed, install it there first."
        ) from error
    try:
        app = await app_of(keys.api_url, keys.token, found.bot)
    except HeadwayError:
        # It needs users:read, and tells nothing that is needed here.
        app = ""
    return Install(
        network=NETWORK,
        workspace=found.workspace,
        app=app,
        bot_user=found.bot_user,
        name=found.name,
        scopes=found.scopes,
        token=keys.token,
        at=now,
        organisation=found.organisation,
    )


def _ended(install: Install, error: HeadwayError) -> HeadwayError:
    """What is raised where no token counts any more."""
    if isinstance(error, Wait):
        return Wait(f"The token of {install.name} has run out. {error}")
    return LoggedOut(
        f"The token of {install.name or install.workspace} has run out and cannot be renewed "
        f"({cause(error)}) Install the app there again: `headway slack status` tells where.",
        code="token_expired",
    )
