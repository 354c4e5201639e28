"""
Calls a method of Slack's Web API in the name of the install of a workspace.

Rule 1: a call is made once. What becomes of one that failed is for whoever called.
Rule 2: `ok: false` is an error whatever the HTTP status is, and so is an answer that is no JSON.
Rule 3: a call for which the budget has no room is waited for a little, or not made at all: Wait.
Rule 4: a token goes to the API's own host and to no other.
Rule 5: a token that is taken no more says nothing of people, rooms and posts: it is waited for, as Slack
        is where it is out of reach.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import (
    LIMITED,
    NOT_INSTALLED,
    LoggedOut,
    NotPermitted,
    refusal,
    translated,
)
from adapters.slack.payloads import fields, text_of
from bot.errors import ByOperator, Wait

Json = Mapping[str, Any]
TokenFor = Callable[[str], Awaitable[str]]
"""The bot token of a workspace. Raises HeadwayError where it has none (any more)."""

TIMEOUT_S: Final = 20.0
"""Slack answers in well under a second, and a posting that is not answered is looked up."""
PATIENCE_S: Final = 3.0
"""A call waits so long for room in the budget; for longer, its caller has better to do."""
NO_TOKEN_S: Final = 30.0
"""Between two tries while Slack takes no token of a workspace."""
PAGE: Final = 200
"""Rows of a page, as Slack recommends; more may come back cut."""
POSTS: Final = frozenset({"chat.postMessage", "chat.postEphemeral", "files.completeUploadExternal"})
"""Called twice they make two messages."""
_AS_JSON: Final = ("chat.", "views.", "assistant.")
_NOT_AS_JSON: Final = frozenset({"chat.delete", "chat.getPermalink"})
_TOO_MANY: Final = 429
TOKEN_OVER: Final = "token_expired"


class Verdicts(Protocol):
    """What Slack said of tokens, for whoever keeps them."""

    def ran_out(self, token: str) -> None:
        """The time of a token is over."""

    def refused(self, workspace: str, error: LoggedOut) -> None:
        """The token of a workspace is taken no more."""

    def taken(self, workspace: str) -> None:
        """It was taken."""


class Unheard:
    """Nobody asks."""

    def ran_out(self, token: str) -> None:
        """Nothing is done."""

    def refused(self, workspace: str, error: LoggedOut) -> None:
        """Nothing is done."""

    def taken(self, workspace: str) -> None:
        """Nothing is done."""


class Budget(Protocol):
    """How many calls a workspace has left."""

    def take(self, workspace: str, method: str, channel: str) -> float:
        """Seconds until it may be called; 0: it may now, and is counted."""

    def refused(
        self, workspace: str, method: str, channel: str, retry_after_s: float | None
    ) -> None:
        """Slack took one for too much; it says for how long, or None."""


class Unbounded:
    """A budget without end."""

    def take(self, workspace: str, method: str, channel: str) -> float:
        """Always 0."""
        return 0.0

    def refused(
        self, workspace: str, method: str, channel: str, retry_after_s: float | None
    ) -> None:
        """Nothing is counted."""


class Calls:
    """The way to the Web API for all workspaces of an app. Close it."""

    def __init__(
        self,
        token_for: TokenFor,
        *,
        api_url: str,
        budget: Budget | None = None,
        verdicts: Verdicts | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open nothing yet.

        Args:
            api_url: such as `https://slack.com/api/`.
            verdicts: is told of tokens that Slack takes, and of those that it does not.
        """
        self.api_url, self.token_for = api_url, token_for
        self._verdicts: Verdicts = verdicts or Unheard()
        self._budget: Budget = budget or Unbounded()
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None
        self._client: AsyncWebClient | None = None

    async def call(self, workspace: str, method: str, /, *, what: str = "", **args: object) -> Json:
        """Call a method once and return its answer; arguments that are None are left out.

        Args:
            what: what does not come about where it fails, as in "The message cannot be sent".

        Raises:
            Wait: Slack is out of reach, takes no token of the workspace or limits us, or the budget does.
            OutcomeUnknown: of one of POSTS: it may have been done.
            Refused: Slack refuses it; `code` is its own, such as channel_not_found.
            ByOperator: the app's scopes do not allow it, or it is not installed there any more.
        """
        channel = str(args.get("channel", ""))
        await self._room_for(workspace, method, channel)
        try:
            token = await self.token_for(workspace)
            answer = await self._answered(workspace, method, what, token, args)
        except NotPermitted:
            raise
        except ByOperator as error:
            if isinstance(error, LoggedOut):
                self._verdicts.refused(workspace, error)
                if error.code == NOT_INSTALLED:
                    raise
            raise Wait(str(error), retry_after_s=NO_TOKEN_S) from error
        self._verdicts.taken(workspace)
        return answer

    async def _answered(
        self, workspace: str, method: str, what: str, token: str, args: Mapping[str, object]
    ) -> Json:
        channel = str(args.get("channel", ""))
        given = {name: value for name, value in args.items() if value is not None}
        what = what or f"{method} does not work"
        with translated(what, posts=method in POSTS):
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._called(method, token, given)
            except SlackApiError as error:
                self._note_refusal(error, workspace, method, channel)
                if _said(error) == TOKEN_OVER:
                    self._verdicts.ran_out(token)
                raise

    async def pages(self, workspace: str, method: str, /, **args: object) -> AsyncIterator[Json]:
        """The answers of a method that gives a cursor, until there is none. Raises as `call`."""
        cursor: str | None = None
        while True:
            paged: dict[str, Any] = {"limit": PAGE, **args, "cursor": cursor}
            answer = await self.call(workspace, method, **paged)
            yield answer
            further = answer.get("response_metadata")
            next_cursor = further.get("next_cursor") if isinstance(further, dict) else None
            if not next_cursor or next_cursor == cursor:
                return
            cursor = str(next_cursor)

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session on which all is sent; it remembers no cookies."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        if self._session is not None:
            await self._session.close()

    async def _room_for(self, workspace: str, method: str, channel: str) -> None:
        waited_s = 0.0
        while (wait_s := self._budget.take(workspace, method, channel)) > 0:
            if waited_s + wait_s > PATIENCE_S:
                raise Wait(
                    f"Slack's limit for {method} is used up. It is tried again.",
                    retry_after_s=wait_s,
                )
            await asyncio.sleep(wait_s)
            waited_s += wait_s

    async def _called(self, method: str, token: str, given: dict[str, object]) -> Json:
        headers = {"Authorization": f"Bearer {token}"}
        if method.startswith(_AS_JSON) and method not in _NOT_AS_JSON:
            answer = await self._web().api_call(method, headers=headers, json=given)
        else:
            answer = await self._web().api_call(method, headers=headers, data=_form(given))
        found: dict[str, Any] = answer.data  # type: ignore[assignment]
        return found

    def _note_refusal(
        self, error: SlackApiError, workspace: str, method: str, channel: str
    ) -> None:
        status = getattr(error.response, "status_code", 0)
        if status == _TOO_MANY or _said(error) in LIMITED:
            wait = refusal(method, error.response)
            retry_after_s = wait.retry_after_s if isinstance(wait, Wait) else None
            self._budget.refused(workspace, method, channel, retry_after_s)

    def _web(self) -> AsyncWebClient:
        if self._client is None or self._client.session is not self._session:
            # It writes whole messages into the log of whoever looks at everything.
            quiet = logging.getLogger(f"{__name__}.sdk")
            quiet.setLevel(logging.INFO)
            # Its own retries would send a message again that may have arrived.
            self._client = AsyncWebClient(
                base_url=self.api_url, session=self.session, retry_handlers=[], logger=quiet
            )
            self._client.proxy = proxy_for(self.api_url)
        return self._client


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL, with its exceptions; None: there is none."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if proxy_bypass(host) else getproxies().get(parts.scheme)


def _said(error: SlackApiError) -> str:
    """The error that Slack names; empty where it names none."""
    data = getattr(error.response, "data", None)
    return text_of(fields(data).get("error"))


def _form(given: Mapping[str, object]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
    }
