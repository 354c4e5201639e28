"""
The app is no longer in a workspace: every room there is lost, and its tokens are erased.

Rule 1: the loss is stored first, then the tokens, which Slack takes no more, are erased: whoever dies in
        between finds the install at the next start, asks, and does both again. The loss of one install
        counts once, by whatever event it came.
Rule 2: an event from before the workspace installed the app anew takes nothing from the new install.
Rule 3: what the settings name is not ours to erase: it counts no more, and the settings say it until
        they are changed.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from adapters.slack.asking import whose
from adapters.slack.authorizing import seen_through
from adapters.slack.errors import LoggedOut
from adapters.slack.ids import NETWORK, person_id
from adapters.slack.payloads import fields, text_of
from adapters.slack.tokens import Tokens
from bot.errors import BadSettings, HeadwayError, Wait
from bot.ports.chat import Place, Receive, RoomLost, Speaker
from bot.ports.installs import Install

log = logging.getLogger(__name__)

EVENTS: Final = ("app_uninstalled", "tokens_revoked")
_GONE: Final = frozenset({"account_inactive", "token_revoked"})
"""`invalid_auth` is also what an address hears that the workspace does not let in."""


class _NotKnown(Wait):
    """Whether the app is still there."""


class Leaving:
    """What becomes of a workspace that removes the app."""

    def __init__(self, tokens: Tokens, api_url: str, now: Callable[[], float]) -> None:
        self._tokens, self._api_url, self._now = tokens, api_url, now

    async def event(self, body: Mapping[str, Any], receive: Receive) -> None:
        """Take in `app_uninstalled` or `tokens_revoked`; acknowledge after it returned.

        Raises:
            HeadwayError: it could not be taken in, and Slack has to send it again.
        """
        event = fields(body.get("event"))
        if text_of(event.get("type")) not in EVENTS or not _is_of_the_bot(event):
            return
        at = _number(body.get("event_time")) or self._now()
        for workspace in seen_through(body)[:1]:
            install = await self._known(workspace)
            if install is None:
                log.info("%s removed the app, which was known already.", workspace)
            elif install.at > at and await self._still_counts(install):
                log.info("An old event says that %s removed the app; it is back.", workspace)
            else:
                await self._lost(install, at, receive)

    async def look(self, receive: Receive) -> None:
        """Find the workspaces that removed the app while nobody listened.

        One that cannot be asked keeps nobody from hearing the others; it is asked again another time.

        Raises:
            HeadwayError: a loss cannot be stored, or the installs cannot be read.
        """
        if self._tokens.is_single:
            return
        for install in await self._tokens.all():
            with suppress(_NotKnown):
                if not await self._still_counts(install):
                    await self._lost(install, self._now(), receive)

    async def _lost(self, install: Install, at: float, receive: Receive) -> None:
        place = Place(NETWORK, install.workspace, "")
        slack = Speaker(person_id(install.workspace, "USLACKBOT"), "Slack")
        id = f"{install.workspace}:{install.at:.6f}"
        await receive(RoomLost(id, place, slack, "uninstalled", at))
        await self._tokens.erase(install.workspace)
        log.warning("%s removed the app; its tokens are erased.", install.name or place.workspace)

    async def _known(self, workspace: str) -> Install | None:
        try:
            return await self._tokens.install_of(workspace)
        except (BadSettings, LoggedOut):
            return None

    async def _still_counts(self, install: Install) -> bool:
        """Whether Slack takes its token; where it cannot be asked, that is raised."""
        try:
            token = await self._tokens.token_for(install.workspace)
            await whose(self._api_url, token)
        except LoggedOut as error:
            return error.code not in _GONE
        except HeadwayError as error:
            log.info("Whether the app is still in %s is not known: %s", install.workspace, error)
            raise _NotKnown(str(error)) from error
        return True


def _is_of_the_bot(event: Mapping[str, Any]) -> bool:
    """Whether the bot's token is gone, and not only a person's."""
    if text_of(event.get("type")) == "app_uninstalled":
        return True
    return bool(fields(event.get("tokens")).get("bot"))


def _number(value: object) -> float:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_one else 0.0  # type: ignore[arg-type]
