"""
What Slack sends over HTTP, on its way to Bolt.

Rule 1: nothing is parsed before its signature holds, and none is older than five minutes.
Rule 2: of what is signed by another key or at another time the log is told why, now and then; of what is
        not signed at all it is not.
Rule 3: what is not acknowledged is sent again by Slack: a process that does not serve the app says 503.
"""

import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from bot.ports.web import Answer, Request

log = logging.getLogger(__name__)

SIGNED_S: Final = 300.0
"""For so long a signature counts."""
TOLD_AGAIN_S: Final = 600.0
"""Anybody may send what is refused; the log has no line for each."""

Dispatch = Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]


class EventsDoor:
    """Answers at `paths.EVENTS_PATH`."""

    def __init__(self, dispatch: Dispatch, signing_key: str, is_served: Callable[[], bool]) -> None:
        """`is_served`: whether this process is the one that serves the app."""
        self._dispatch, self._is_served = dispatch, is_served
        self._verifier = SignatureVerifier(signing_key)
        self._told_at: dict[str, float] = {}

    async def __call__(self, request: Request) -> Answer:
        """What Bolt answers. Raises nothing but what Bolt does not catch."""
        if not self._is_served():
            return plain(503, ("Retry-After", "1"))
        if not self._is_signed(request):
            return plain(401)
        asked = bolt_request(request)
        return plain(400) if asked is None else answer_of(await self._dispatch(asked))

    def _is_signed(self, request: Request) -> bool:
        at = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        if not (at.isascii() and at.isdecimal() and len(at) < 16 and signature.isascii()):
            return False
        try:
            known = self._verifier.generate_signature(timestamp=at, body=request.body) or ""
        except UnicodeDecodeError:
            return False
        if not hmac.compare_digest(known, signature):
            if signature:
                self._tell(_OF_ANOTHER)
            return False
        away_s = abs(self._verifier.clock.now() - int(at))
        if away_s > SIGNED_S:
            self._tell(_STALE, f"{away_s:.0f}")
        return away_s <= SIGNED_S

    def _tell(self, why: str, *values: str) -> None:
        now = time.monotonic()
        if now - self._told_at.get(why, -TOLD_AGAIN_S) >= TOLD_AGAIN_S:
            self._told_at[why] = now
            log.warning(why, *values)


def bolt_request(request: Request) -> AsyncBoltRequest | None:
    """The request as Bolt has it; None: its body is neither JSON nor a form."""
    try:
        return AsyncBoltRequest(
            body=request.body.decode(), query=request.query, headers=dict(request.headers)
        )
    except (ValueError, RecursionError, AttributeError, TypeError):
        # Bolt asks the fields of whatever JSON it is.
        return None


def answer_of(response: BoltResponse) -> Answer:
    """Bolt's answer as it goes out."""
    headers = [
        (name, value)
        for name, values in response.headers.items()
        for value in values
        if name != "content-type"
    ]
    kind = response.headers.get("content-type", ["text/plain"])[0]
    return Answer(response.status, response.body.encode(), kind, tuple(headers))


def plain(status: int, *headers: tuple[str, str]) -> Answer:
    """An answer that says its status and nothing else."""
    return Answer(status, f"{status}\n".encode(), "text/plain", headers)


_STALE: Final = (
    "A request in Slack's name was signed %s s from now and is refused. If this goes on, set this machine's "
    "clock, and keep it set by NTP."
)
_OF_ANOTHER: Final = (
    "A request in Slack's name is not signed by slack_signing_key and is refused. If this goes on, take "
    "the Signing Secret from Basic Information of the app's page."
)
