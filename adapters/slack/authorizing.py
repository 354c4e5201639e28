"""
By what right Bolt lets a request in: that of an install which the request names.

Rule: nothing is asked of Slack for it. A workspace where the app is not installed is answered as if it
were heard: Slack would only say it again.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.context.async_context import AsyncBoltContext

from adapters.slack.payloads import installs_of, rows
from adapters.slack.tokens import Tokens

log = logging.getLogger(__name__)

SEEN_THROUGH: Final = "headway_installs"


async def note_installs(
    body: Mapping[str, Any], context: AsyncBoltContext, next: Callable[[], Awaitable[Any]]
) -> None:
    """Note all installs through which a request can be seen; Bolt's `before_authorize`.

    Bolt itself looks at the first one alone, and an event may name one that has just been removed.
    """
    context[SEEN_THROUGH] = seen_through(body)
    await next()


def seen_through(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of all installs that a payload names, the likeliest first."""
    found = list(installs_of(body))
    for by in rows(body.get("authorizations"))[1:]:
        found += installs_of({"authorizations": [by]})
    return tuple(dict.fromkeys(found))


class InstallAuthorize(AsyncAuthorize):
    """Bolt's `authorize` of an app."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def __call__(
        self,
        *,
        context: AsyncBoltContext,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None,
        actor_enterprise_id: str | None = None,
        actor_team_id: str | None = None,
        actor_user_id: str | None = None,
    ) -> AuthorizeResult | None:
        """Whose install it is; None where there is none.

        Raises:
            HeadwayError: it cannot be looked up for the moment, so that Slack sends it again.
        """
        noted = context.get(SEEN_THROUGH)
        seen = noted if isinstance(noted, tuple) else ()
        install = await self._tokens.among(seen or [one for one in (team_id, enterprise_id) if one])
        if install is None:
            log.info("A request of a workspace where the app is not installed: %s.", seen)
            return None
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=install.bot_user,
            bot_token=install.token,
            bot_scopes=list(install.scopes),
            user_id=user_id,
        )
