"""
What Slack is asked about an app and its tokens, before or beside the work in a workspace.

Rule: a token goes into a call and nowhere else; what is raised names none.
"""

import asyncio
import base64
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.calling import proxy_for
from adapters.slack.errors import LoggedOut, NotPermitted, translated
from adapters.slack.ids import at_of
from adapters.slack.payloads import channel_of, fields, is_yes, rows, text_of, ts, user_id

LIMIT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose a bot token is, as `auth.test` says."""

    team: str
    organisation: str
    bot_user: str
    bot: str
    """Id of the bot; empty for a token of a person."""
    name: str
    """Of the workspace."""
    url: str
    is_for_organisation: bool
    scopes: tuple[str, ...]
    """Empty where Slack does not say them."""
    skew_s: float | None = None
    """Seconds that Slack's clock is ahead; None where it does not tell its time."""

    @property
    def workspace(self) -> str:
        """As in `Place.workspace`."""
        return self.organisation if self.is_for_organisation else self.team


class OneCallClient(AsyncWebClient):
    """The SDK's client, whose way to send the app's keys aiohttp is about to drop."""

    async def oauth_v2_access(
        self, *, client_id: str, client_secret: str, **given: str | None
    ) -> AsyncSlackResponse:
        """Exchange a code or a refresh token: https://docs.slack.dev/reference/methods/oauth.v2.access."""
        known = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        form = {name: value for name, value in given.items() if value is not None}
        return await self.api_call(
            "oauth.v2.access", headers={"Authorization": f"Basic {known}"}, data=form
        )


def web_client(api_url: str) -> OneCallClient:
    """A client without a token; each call has a connection of its own, and is made once."""
    quiet = logging.getLogger(f"{__name__}.sdk")
    quiet.setLevel(logging.INFO)
    client = OneCallClient(base_url=api_url, timeout=int(LIMIT_S), retry_handlers=[], logger=quiet)
    client.proxy = proxy_for(api_url)
    return client


async def whose(api_url: str, token: str, *, now: float | None = None) -> Whose:
    """Whose the token is. `now` is compared with Slack's clock.

    Raises:
        Wait: Slack is out of reach or limits us.
        LoggedOut: it is nobody's.
    """
    with translated("Whose the token is cannot be asked"):
        async with asyncio.timeout(LIMIT_S):
            answer: Any = await web_client(api_url).api_call("auth.test", headers=_with(token))
    said, headers = fields(answer.data), _small(answer.headers)
    listed = text_of(headers.get("x-oauth-scopes")).split(",")
    return Whose(
        team=user_id(said.get("team_id")),
        organisation=user_id(said.get("enterprise_id")),
        bot_user=user_id(said.get("user_id")),
        bot=text_of(said.get("bot_id")),
        name=text_of(said.get("team")),
        url=text_of(said.get("url")),
        is_for_organisation=is_yes(said.get("is_enterprise_install")),
        scopes=tuple(scope.strip() for scope in listed if scope.strip()),
        skew_s=_skew_s(text_of(headers.get("date")), now),
    )


async def app_of(api_url: str, token: str, bot: str) -> str:
    """Id of the app that a bot belongs to; empty where Slack does not say. Raises as `whose`."""
    with translated("Whose the bot is cannot be asked"):
        async with asyncio.timeout(LIMIT_S):
            answer: Any = await web_client(api_url).api_call(
                "bots.info", headers=_with(token), data={"bot": bot}
            )
    return text_of(fields(fields(answer.data).get("bot")).get("app_id"))


async def socket_address(api_url: str, app_token: str) -> str:
    """Where a socket could be opened: the app token is good and Socket Mode is on.

    Raises:
        Wait: Slack is out of reach or limits us.
        LoggedOut, NotPermitted: the token is no good, or lacks connections:write.
        Refused: Socket Mode is off, or else as Slack says.
    """
    try:
        with translated("A socket to Slack cannot be opened"):
            async with asyncio.timeout(LIMIT_S):
                answer: Any = await web_client(api_url).api_call(
                    "apps.connections.open", headers=_with(app_token)
                )
    except LoggedOut as error:
        raise LoggedOut(
            f"Slack does not take slack_app_token ({error.code}): no socket opens, and nothing is heard. "
            "Make another under Basic Information, App-Level Tokens of the app's page, and start again.",
            code=error.code,
        ) from error
    except NotPermitted as error:
        raise NotPermitted(
            "slack_app_token lacks connections:write: no socket opens, and nothing is heard. Make another "
            "with that scope under Basic Information, App-Level Tokens of the app's page.",
            code=error.code,
            needed=error.needed,
        ) from error
    return text_of(fields(answer.data).get("url"))


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that the bot is in."""

    id: str
    name: str
    kind: str
    """As the event of what is said there is called: `message.channels`, `message.groups` ..."""


async def channels_of(api_url: str, token: str, *, most: int = 200) -> tuple[Channel, ...]:
    """The first channels that the bot is in, none archived. Raises as `whose`, and NotPermitted."""
    form = {"types": "public_channel,private_channel", "exclude_archived": "true"}
    with translated("The bot's channels cannot be asked"):
        async with asyncio.timeout(LIMIT_S):
            answer: Any = await web_client(api_url).api_call(
                "users.conversations", headers=_with(token), data={**form, "limit": most}
            )
    return tuple(
        Channel(id, text_of(row.get("name")), _kind(row))
        for row in rows(fields(answer.data).get("channels"), most)
        if (id := channel_of(row.get("id")))
    )


async def last_said(api_url: str, token: str, channel: str) -> float | None:
    """When a person last said something in a channel, of the newest few messages. Raises as `whose`."""
    with translated("What was said cannot be asked"):
        async with asyncio.timeout(LIMIT_S):
            answer: Any = await web_client(api_url).api_call(
                "conversations.history",
                headers=_with(token),
                data={"channel": channel, "limit": 10},
            )
    said = [
        at_of(stamp)
        for row in rows(fields(answer.data).get("messages"), 10)
        if (stamp := ts(row.get("ts"))) and not row.get("subtype") and not row.get("bot_id")
    ]
    return max(said, default=None)


async def answers_at(url: str) -> int | None:
    """The status with which our own listener answers at an address; None: somebody else does.

    Raises:
        Wait: nobody does.
    """
    with translated(f"{url} is not reached"):
        async with (
            asyncio.timeout(LIMIT_S),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(url, data=b"{}", proxy=proxy_for(url), allow_redirects=False) as answer,
        ):
            return answer.status if answer.headers.get("Server") == "headway" else None


def _kind(row: Mapping[str, Any]) -> str:
    return "message.groups" if row.get("is_private") is True else "message.channels"


def _with(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _small(headers: object) -> Mapping[str, str]:
    """Headers by their names in small letters."""
    return {name.lower(): text_of(value) for name, value in fields(headers).items()}


def _skew_s(date: str, now: float | None) -> float | None:
    from email.utils import parsedate_to_datetime

    if now is None or not date:
        return None
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except ValueError:
        return None
