"""
Installing the app in a workspace or an organisation, by OAuth as Bolt does it.

Rule 1: whoever reaches the page may install it; that lets nobody in: the allow-list knows no one of a
        new workspace until an admin, or a claim, says who.
Rule 2: a state is used once, within ten minutes, by the browser that was given it.
Rule 3: tokens are sealed and kept before anybody is told that it worked.
"""

import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import (
    AsyncCallbackOptions,
    AsyncFailureArgs,
    AsyncSuccessArgs,
)
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from adapters.slack.asking import web_client
from adapters.slack.errors import translated
from adapters.slack.ids import NETWORK, person_id
from adapters.slack.pages import Sentences, done_page, failed_page, install_page
from adapters.slack.paths import INSTALL_PATH, REDIRECT_PATH
from adapters.slack.tokens import AppKeys, Tokens
from adapters.slack.web import answer_of, bolt_request, plain
from bot.errors import HeadwayError
from bot.ports.installs import Install, Installs
from bot.ports.web import Answer, Request

log = logging.getLogger(__name__)

AUTHORIZE_URL: Final = "https://slack.com/oauth/v2/authorize"
STATE_S: Final = 600
STATES_A_MINUTE: Final = 60
"""Beginnings of installs, of all people together: each is a row until it lapses."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What is asked of a workspace, and where its browser comes back."""

    public_url: str
    scopes: tuple[str, ...]
    authorize_url: str = AUTHORIZE_URL


class InstallDoor:
    """Answers at INSTALL_PATH and REDIRECT_PATH."""

    def __init__(
        self,
        keys: AppKeys,
        offer: Offer,
        tokens: Tokens,
        installs: Installs,
        words: Sentences,
        *,
        is_served: Callable[[], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._words, self._is_served, self._now = words, is_served, now
        self._url = offer.public_url.rstrip("/")
        self._begun: deque[float] = deque(maxlen=STATES_A_MINUTE)
        # It names codes and answers where one is refused.
        quiet = logging.getLogger(f"{__name__}.sdk")
        quiet.setLevel(logging.ERROR)
        self._flow = _Flow(
            client=web_client(keys.api_url),
            logger=quiet,
            settings=AsyncOAuthSettings(
                client_id=keys.client_id,
                client_secret=keys.client_key,
                scopes=offer.scopes,
                user_scopes=(),
                redirect_uri=f"{self._url}{REDIRECT_PATH}",
                install_path=INSTALL_PATH,
                redirect_uri_path=REDIRECT_PATH,
                authorization_url=offer.authorize_url,
                installation_store=KeptInstalls(tokens, now),
                state_store=KeptStates(installs),
                state_expiration_seconds=STATE_S,
                callback_options=AsyncCallbackOptions(self._succeeded, self._failed),
                logger=quiet,
            ),
        )

    async def install(self, request: Request) -> Answer:
        """The page with the button, and the state in a cookie."""
        asked = bolt_request(request)
        if asked is None or not self._is_served():
            return plain(503 if asked else 400, ("Retry-After", "1"))
        if len(self._begun) == STATES_A_MINUTE and self._now() - self._begun[0] < 60:
            return plain(429, ("Retry-After", "60"))
        self._begun.append(self._now())
        answer = answer_of(await self._flow.handle_installation(asked))
        page = install_page(self._words, answer.body.decode())
        return _with_cookies(page, answer)

    async def redirect(self, request: Request) -> Answer:
        """What became of it, once Slack sends the browser back."""
        asked = bolt_request(request)
        if asked is None or not self._is_served():
            return plain(503 if asked else 400, ("Retry-After", "1"))
        try:
            with translated("The app cannot be installed", posts=True):
                return answer_of(await self._flow.handle_callback(asked))
        except HeadwayError as error:
            log.warning("An install came to nothing: %s", error)
            return failed_page(self._words, 503, "unreached", f"{self._url}{INSTALL_PATH}")

    async def _succeeded(self, args: AsyncSuccessArgs) -> BoltResponse:
        install = args.installation
        team = install.team_id or ""
        name = (
            install.enterprise_name if install.is_enterprise_install else install.team_name
        ) or ""
        link = f"slack://app?team={team}&id={install.app_id}" if team else "slack://open"
        log.info("The app is installed in %s.", name)
        return _bolt(done_page(self._words, name or "Slack", link), args.settings)

    async def _failed(self, args: AsyncFailureArgs) -> BoltResponse:
        again, status = f"{self._url}{INSTALL_PATH}", args.suggested_status_code
        reason = args.reason if args.reason.replace("_", "").isalnum() else "unknown"
        log.info("An install came to nothing: %s.", reason[:80])
        return _bolt(failed_page(self._words, status, reason[:80], again), args.settings)


class KeptInstalls(AsyncInstallationStore):
    """Installs that Bolt's flow brings, kept as ours."""

    def __init__(self, tokens: Tokens, now: Callable[[], float]) -> None:
        self._tokens, self._now = tokens, now

    async def async_save(self, installation: Installation) -> None:
        """Keep it. Raises BoltError, which the flow knows."""
        try:
            await self._tokens.keep(_install_of(installation, self._now()))
        except HeadwayError as error:
            log.warning("An install could not be kept: %s", error)
            raise BoltError("It could not be kept.") from error


class KeptStates(AsyncOAuthStateStore):
    """States of installs under way."""

    def __init__(self, installs: Installs) -> None:
        self._installs = installs

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        """A new state, kept."""
        state = secrets.token_urlsafe(32)
        await self._installs.begin_state(state, lasts_s=STATE_S)
        return state

    async def async_consume(self, state: str) -> bool:
        """Whether it is one of ours, not used yet and not too old; it is used now."""
        return await self._installs.end_state(state)


class _Flow(AsyncOAuthFlow):
    """Bolt's flow, whose page is no more than where the button leads."""

    async def build_install_page_html(self, url: str, request: Any) -> str:
        return url


def _install_of(found: Installation, now: float) -> Install:
    """Raises BoltError: it is none of a bot."""
    is_of_org = bool(found.is_enterprise_install)
    workspace = found.enterprise_id if is_of_org else found.team_id
    if not (workspace and found.bot_token and found.bot_user_id):
        _refuse("Slack installed no bot.")
    lives_until = found.bot_token_expires_at
    return Install(
        network=NETWORK,
        workspace=workspace,
        app=found.app_id or "",
        bot_user=found.bot_user_id,
        name=(found.enterprise_name if is_of_org else found.team_name) or "",
        scopes=tuple(found.bot_scopes or ()),
        token=found.bot_token,
        refresh_token=found.bot_refresh_token or "",
        expires_at=None if lives_until is None else float(lives_until),
        installed_by=person_id(found.enterprise_id or workspace, found.user_id or ""),
        at=now,
        organisation=found.enterprise_id or "",
        further=json.dumps({"url": found.enterprise_url}) if found.enterprise_url else "",
    )


def _refuse(why: str) -> NoReturn:
    raise BoltError(why)


def _bolt(answer: Answer, settings: AsyncOAuthSettings) -> BoltResponse:
    """A page of ours as Bolt's; the state's cookie goes away with it."""
    headers: dict[str, Any] = dict(answer.headers)
    headers |= {
        "content-type": answer.kind,
        "set-cookie": settings.state_utils.build_set_cookie_for_deletion(),
    }
    return BoltResponse(status=answer.status, body=answer.body.decode(), headers=headers)


def _with_cookies(page: Answer, of: Answer) -> Answer:
    cookies = tuple(header for header in of.headers if header[0] == "set-cookie")
    return replace(page, headers=(*page.headers, *cookies))
