"""
What one person alone is told: others of the channel do not see it.

Rule 1: by the way back that came with what they said, where it is open still: it works in channels where
        the bot is no member, too. Slack opens one for half an hour, and for five messages.
Rule 2: where there is no way back, by `chat.postEphemeral`. In a conversation of two it is an ordinary
        message.
Rule 3: nothing of it is kept by Slack: it cannot be edited, removed or found again. Of unknown outcome it
        is told once more.

https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

from adapters.slack.calling import Calls, proxy_for
from adapters.slack.errors import refusal, translated
from adapters.slack.ids import message_id, ts_of, user_of
from adapters.slack.media import is_slacks
from adapters.slack.payloads import text_of
from adapters.slack.render import Message
from bot.errors import HeadwayError, OutcomeUnknown, Refused
from bot.ports.chat import Place

log = logging.getLogger(__name__)

WayBack = Callable[[str], Awaitable[str]]
"""Where the message of that id can be answered unseen by others; empty where it cannot."""
TIMEOUT: Final = aiohttp.ClientTimeout(total=10.0)
SPENT: Final = frozenset({"used_url", "expired_url", "expired_trigger_id", "no_service", "404"})
"""What Slack says of a way back that is closed."""
UNKEPT: Final = "unkept"
"""What stands in the id of a message that Slack keeps nowhere, in the place of its timestamp."""


def is_direct(place: Place) -> bool:
    """Whether it is a conversation of two, where nobody else reads."""
    return place.room.startswith("D")


class Ephemeral:
    """Tells persons alone, in all workspaces of an app."""

    def __init__(self, calls: Calls, way_back: WayBack) -> None:
        self._calls, self._way_back = calls, way_back

    async def tell(self, place: Place, who: str, answers: str, message: Message) -> str:
        """Tell one person; returns an id by which it is known to nobody.

        Args:
            who: speaker id of whom alone it concerns.
            answers: id of the message that it answers; empty for none.

        Raises:
            Wait: later; OutcomeUnknown where it may be told.
            Refused: the person cannot be told there, and why.
        """
        address = await self._way_back(answers) if answers else ""
        if address and await self._answered(address, place, message):
            return message_id(place.room, UNKEPT)
        return await self._posted(place, who, message)

    async def _answered(self, address: str, place: Place, message: Message) -> bool:
        """Whether it was told by the way back; False where that is closed."""
        if not is_slacks(address, self._calls.api_url):
            return False
        body = {
            "response_type": "ephemeral", "replace_original": False, **_said(message, place),
        }  # fmt: skip
        what = "The answer cannot be given"
        with translated(what, posts=True):
            answer = await self._calls.session.post(
                address, json=body, timeout=TIMEOUT, allow_redirects=False, proxy=proxy_for(address)
            )
            async with answer:
                said = await _read(answer)
        if answer.status == 200 and said.get("ok") is not False:
            return True
        error = _error(what, answer, said)
        if isinstance(error, OutcomeUnknown):
            raise error
        log.info("An answer takes another way: %s", error)
        return False

    async def _posted(self, place: Place, who: str, message: Message) -> str:
        _, user = user_of(who)
        answer = await self._calls.call(
            place.workspace,
            "chat.postEphemeral",
            what="The answer cannot be given",
            channel=place.room,
            user=user,
            **_said(message, place),
        )
        return message_id(place.room, text_of(answer.get("message_ts")) or UNKEPT)


def _said(message: Message, place: Place) -> dict[str, Any]:
    thread = {"thread_ts": ts_of(place)} if place.thread else {}
    blocks = {"blocks": list(message.blocks)} if message.blocks else {}
    return {"text": message.text, **blocks, **thread}


async def _read(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """The answer as JSON: Slack says `ok`, or an error as a word, or an object."""
    text = (await answer.text(errors="replace")).strip()
    if not text.startswith("{"):
        return {"ok": text == "ok", "error": text[:100]} if answer.status == 200 else {}
    try:
        found = await answer.json(content_type=None)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _error(what: str, answer: aiohttp.ClientResponse, said: dict[str, Any]) -> HeadwayError:
    if answer.status == 404 or said.get("error") in SPENT:
        return Refused(f"{what}: the way back is closed.", code="expired_url")
    shown = _Answer(answer.status, said, answer.headers)
    return refusal(what, shown)


class _Answer:
    """An answer as `refusal` reads it."""

    def __init__(self, status_code: int, data: dict[str, Any], headers: Any) -> None:
        self.status_code, self.data, self.headers = status_code, data, headers
