"""
Bolt, with one listener for each kind of payload.

Rule 1: `process_before_response`: a listener returns when what came is stored; only then is it
        acknowledged. One that raises is answered 500 over HTTP, and over a socket not at all.
Rule 2: what is of no kind that Slack sends is acknowledged, logged once, and nothing else: the same would
        come again.
Rule 3: commands and presses are acknowledged empty; what is said to them goes through the outbox.
"""

import json
import logging
import re
from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.authorizing import note_installs
from adapters.slack.calling import proxy_for
from adapters.slack.deeds import Deeds
from adapters.slack.kinds import kind_of
from adapters.slack.line import Line, Turn
from adapters.slack.taking import NotYet
from bot.errors import HeadwayError

log = logging.getLogger(__name__)

TURN: Final = "headway_turn"
ANY: Final = re.compile("")
Json = dict[str, Any]


class App:
    """The app on Bolt; the same over sockets and over HTTP."""

    def __init__(
        self, deeds: Deeds, line: Line, authorize: AsyncAuthorize, *, api_url: str, not_there: str
    ) -> None:
        """Ask nothing yet. `not_there`: what is said where the app is not installed any more."""
        self._deeds, self._line = deeds, line
        self._odd: set[str] = set()
        self._trouble = ""
        """Why nothing can be taken in, as the log has been told."""
        # It logs whole payloads, and of each that is not signed.
        quiet = logging.getLogger(f"{__name__}.bolt")
        quiet.setLevel(logging.CRITICAL)
        client = AsyncWebClient(base_url=api_url, retry_handlers=[], logger=quiet)
        client.proxy = proxy_for(api_url)
        self.bolt = AsyncApp(
            name="headway",
            logger=quiet,
            client=client,
            signing_secret="",
            authorize=cast(Any, authorize),
            before_authorize=note_installs,
            process_before_response=True,
            raise_error_for_unhandled_request=True,
            # Whoever takes requests over HTTP has checked the signature before Bolt parses anything.
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
            ignoring_self_assistant_message_events_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
            user_facing_authorize_error_message=not_there,
        )
        self._listen()

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer one request over HTTP; 503 while too many stand in line."""
        if self._line.is_full:
            return BoltResponse(status=503, body="", headers={"Retry-After": ["1"]})
        if kind_of(request.body) is None:
            self._log_once(request.body)
            return BoltResponse(status=200, body="")
        return await self._dispatched(request)

    async def has_room(self) -> None:
        """As `socket.Answering`."""
        await self._line.has_room()

    def begin(self, envelope: Mapping[str, Any]) -> Awaitable[Json | None]:
        """As `socket.Answering`: its turn is taken now."""
        turn = self._line.enter()
        return self._enveloped(envelope, turn)

    def _listen(self) -> None:
        bolt, deeds = self.bolt, self._deeds
        bolt.error(self._failed)

        async def event(body: Json, context: AsyncBoltContext) -> None:
            await deeds.event(body, context[TURN])

        async def command(body: Json, context: AsyncBoltContext, ack: AsyncAck) -> None:
            await deeds.command(body, context[TURN])
            await ack()

        async def press(body: Json, context: AsyncBoltContext, ack: AsyncAck) -> None:
            await deeds.press(body, context[TURN])
            await ack()

        async def shortcut(body: Json, ack: AsyncAck) -> None:
            await deeds.shortcut(body)
            await ack()

        async def form(body: Json, context: AsyncBoltContext, ack: AsyncAck) -> None:
            answer = await deeds.form(body, context[TURN])
            await (ack(answer) if answer else ack())

        async def closed(ack: AsyncAck) -> None:
            await ack()

        bolt.event(ANY)(event)
        bolt.command(ANY)(command)
        bolt.action(ANY)(press)
        bolt.shortcut(ANY)(shortcut)
        bolt.view_submission(ANY)(form)
        bolt.view_closed(ANY)(closed)

    async def _enveloped(self, envelope: Mapping[str, Any], turn: Turn) -> Json | None:
        request = self._request(envelope.get("payload"))
        if request is None:
            self._line.end(turn)
            return {}
        response = await self._dispatched(request, turn)
        if response.status != 200:
            return None
        is_form = envelope.get("type") == "interactive" and bool(response.body)
        return _json_of(response) if is_form else {}

    async def _dispatched(
        self, request: AsyncBoltRequest, turn: Turn | None = None
    ) -> BoltResponse:
        turn = turn or self._line.enter()
        request.context[TURN] = turn
        try:
            response = await self.bolt.async_dispatch(request)
            if response.status == 200:
                self._trouble = ""
            return response
        finally:
            self._line.end(turn)

    def _request(self, payload: object) -> AsyncBoltRequest | None:
        """A payload as Bolt takes it; None where it is of no kind: Bolt asks the fields of anything."""
        if isinstance(payload, dict) and kind_of(payload) is not None:
            try:
                return AsyncBoltRequest(body=payload, mode="socket_mode")
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
                log.debug("Bolt cannot read a payload.", exc_info=True)
        self._log_once(payload)
        return None

    async def _failed(self, error: Exception, body: Json) -> BoltResponse | None:
        """What is answered in the place of an error; None: it is sent again."""
        if isinstance(error, BoltUnhandledRequestError):
            self._log_once(body)
            return BoltResponse(status=200, body="")
        if isinstance(error, NotYet):
            log.info("%s", error)
        elif isinstance(error, HeadwayError):
            # Once, not for each event: the log may lie on the disk that is full.
            is_new, self._trouble = str(error) != self._trouble, str(error)
            level = logging.WARNING if is_new else logging.DEBUG
            log.log(level, "Something of Slack is not taken in yet: %s", error)
        else:
            log.error("Something of Slack could not be taken in.", exc_info=error)
        return BoltResponse(status=500, body="")

    def _log_once(self, body: object) -> None:
        given = body.get("type") if isinstance(body, dict) else type(body).__name__
        kind = f"{given!r:.40}"
        if kind not in self._odd and len(self._odd) < 100:
            self._odd.add(kind)
            log.warning("Slack sent something that cannot be read, of type %s. It is left.", kind)


def _json_of(response: BoltResponse) -> Json:
    try:
        answer = json.loads(response.body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
