"""
The ear of an app, put together.

Rule 1: what comes over sockets and what comes by HTTP goes one way, and is stored before it is answered.
Rule 2: what is brought in says who is who and what is shown; nothing here decides anything about goals.
"""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack.agent_view import AgentView
from adapters.slack.app import App
from adapters.slack.asking import socket_address
from adapters.slack.calling import Calls
from adapters.slack.deeds import Deeds
from adapters.slack.ear import Ear, Installed
from adapters.slack.errands import Errands
from adapters.slack.line import Line
from adapters.slack.opening import Opening
from adapters.slack.socket import SOCKETS, Pulse, Rhythm, Sockets
from adapters.slack.taking import Taking
from adapters.slack.views import Words
from bot.ports.chat import Receive
from bot.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class Way:
    """How Slack reaches the app."""

    mode: Literal["socket", "http"]
    app_token: str = ""
    """For sockets."""
    sockets: int = SOCKETS
    rhythm: Rhythm = field(default_factory=Rhythm)


@dataclass(frozen=True, slots=True)
class Manner:
    """Sentences of the network's own, from the catalogue."""

    views: Words
    not_there: str
    """What is said to a command of a workspace where the app is not installed any more."""


class SlackListening:
    """Hears an app; `run` it."""

    def __init__(
        self,
        ear: Ear,
        calls: Calls,
        installed: Installed,
        authorize: AsyncAuthorize,
        clock: Clock,
        manner: Manner,
        way: Way,
    ) -> None:
        """Open nothing yet. `ear` may be put in the place of the one that was given, until it runs."""
        self.ear = ear
        self._calls, self._installed, self._authorize = calls, installed, authorize
        self._clock, self._manner, self._way = clock, manner, way
        self._app: App | None = None
        self.agent = AgentView(calls, clock)

    async def run(self, receive: Receive) -> None:
        """Give whatever comes to `receive` until cancelled. Raises nothing that passes by itself."""
        line, errands = Line(receive), Errands()
        self._app = app = self._built(receive, line, errands)
        try:
            if self._way.mode == "socket":
                await self._sockets(app).run()
            else:
                self.ear.heard()
                await asyncio.Event().wait()
        finally:
            self._app = None
            await errands.close()
            await line.close()

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer a request whose signature holds; 503 while nothing is taken in."""
        if self._app is None:
            return BoltResponse(status=503, body="", headers={"Retry-After": ["1"]})
        self.ear.heard()
        return await self._app.dispatch(request)

    def _built(self, receive: Receive, line: Line, errands: Errands) -> App:
        ear, windows = self.ear, self.ear.windows
        taking = Taking(ear, self._installed, line, errands, self.agent)
        opening = None
        if windows is not None:
            opening = Opening(self._calls, windows, self._manner.views, errands)
        deeds = Deeds(
            ear, taking, line, errands, receive, self._clock.now, opening=opening, agent=self.agent
        )
        return App(
            deeds,
            line,
            self._authorize,
            api_url=self._calls.api_url,
            not_there=self._manner.not_there,
        )

    def _sockets(self, app: App) -> Sockets:
        way = self._way
        return Sockets(
            partial(socket_address, self._calls.api_url, way.app_token),
            app,
            Pulse(self.ear.heard, self.ear.trouble, self.ear.others),
            count=way.sockets,
            rhythm=way.rhythm,
        )
