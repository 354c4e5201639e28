"""
How Slack brings to an app what happened: over sockets or by HTTP, again until it is acknowledged.

Rule 1: an envelope goes to one of the app's sockets, whichever; what is not acknowledged in 3 s, or
        whose socket is gone, is sent again with how often and why.
Rule 2: an event waits while there is no socket; a press or a command does not: Slack tells the person.
Rule 3: over HTTP a request is signed, tried again at once, later and later still, unless the answer
        carries `X-Slack-No-Retry`.
"""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from tests.peers.localslack import SIGNING_SECRET

ACK_S: Final = 3.0
MOST_RETRIES: Final = 3
LATER_S: Final = (0.0, 60.0, 300.0)
"""When Slack tries again over HTTP."""

Kind = Literal["events_api", "slash_commands", "interactive"]


@dataclass
class Envelope:
    """Something that the app is to hear of."""

    kind: Kind
    payload: dict[str, Any]
    attempt: int = 0
    reason: str = ""
    made_at: float = field(default_factory=time.monotonic)
    sent_at: float = 0.0
    acked_at: float = 0.0
    """0: nobody has acknowledged it."""
    answer: Any = None
    sends: int = 0
    done: "asyncio.Event" = field(default_factory=asyncio.Event)

    @property
    def is_acked(self) -> bool:
        """Whether the app has acknowledged it."""
        return self.acked_at > 0

    @property
    def ack_s(self) -> float:
        """From the last sending to the acknowledgement."""
        return self.acked_at - self.sent_at


Watcher = Callable[[Literal["sent", "acked"], Envelope], None]


class Sockets:
    """The sockets of one app."""

    def __init__(self, *, ack_s: float = ACK_S) -> None:
        self.links: list[web.WebSocketResponse] = []
        self.ack_s = ack_s
        self.watcher: Watcher | None = None
        self.log: deque[Envelope] = deque(maxlen=50_000)
        self.doubles = 0
        """How many of the next events are to come twice."""
        self._waiting: deque[Envelope] = deque()
        self._open: dict[str, tuple[Envelope, web.WebSocketResponse, asyncio.TimerHandle]] = {}
        self._next = 0

    @property
    def app_id(self) -> str:
        """As `hello` names it."""
        return "A01APP"

    async def give(self, envelope: Envelope) -> Envelope:
        """Bring it; returns when it is acknowledged, or when nobody will any more."""
        self.log.append(envelope)
        if envelope.kind != "events_api" and not self.links:
            envelope.done.set()
        else:
            await self._send(envelope)
            if self.doubles and envelope.kind == "events_api":
                self.doubles -= 1
                await self._again(envelope)
        await envelope.done.wait()
        return envelope

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Speak over a socket until it is closed."""
        link = web.WebSocketResponse(heartbeat=None)
        await link.prepare(request)
        self.links.append(link)
        hello = {
            "type": "hello", "num_connections": len(self.links),
            "connection_info": {"app_id": self.app_id},
            "debug_info": {"host": "applink-1", "approximate_connection_time": 18_060},
        }  # fmt: skip
        await link.send_str(json.dumps(hello))
        await self._flush()
        try:
            async for frame in link:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    self._heard(frame.data)
        finally:
            await self._gone(link)
        return link

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell every socket that it will be closed; Slack closes it a while later."""
        for link in tuple(self.links):
            said = {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}}
            await link.send_str(json.dumps(said))

    async def cut(self) -> None:
        """Every socket breaks off, without a word."""
        for link in tuple(self.links):
            transport = link._req.transport if link._req is not None else None
            if transport is not None:
                transport.abort()

    async def _send(self, envelope: Envelope) -> None:
        links = [link for link in self.links if not link.closed]
        if not links:
            if envelope.kind == "events_api":
                self._waiting.append(envelope)
            else:
                envelope.done.set()
            return
        self._next += 1
        link = links[self._next % len(links)]
        id = str(uuid.uuid4())
        said: dict[str, Any] = {
            "envelope_id": id, "type": envelope.kind, "payload": envelope.payload,
            "accepts_response_payload": envelope.kind != "events_api",
        }  # fmt: skip
        if envelope.kind == "events_api":
            said |= {"retry_attempt": envelope.attempt, "retry_reason": envelope.reason}
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self.ack_s, lambda: asyncio.ensure_future(self._late(id)))
        self._open[id] = (envelope, link, timer)
        envelope.sent_at = time.monotonic()
        envelope.sends += 1
        if self.watcher is not None:
            self.watcher("sent", envelope)
        try:
            await link.send_str(json.dumps(said))
        except (ConnectionError, aiohttp.ClientError):
            await self._gone(link)

    def _heard(self, text: str) -> None:
        try:
            said = json.loads(text)
        except ValueError:
            return
        if said.get("envelope_id") not in self._open:
            return
        envelope, _, timer = self._open.pop(said["envelope_id"])
        timer.cancel()
        if not envelope.is_acked:
            envelope.acked_at = time.monotonic()
            envelope.answer = said.get("payload")
            if self.watcher is not None:
                self.watcher("acked", envelope)
        envelope.done.set()

    async def _late(self, id: str) -> None:
        if id not in self._open:
            return
        envelope, _, _ = self._open.pop(id)
        if envelope.kind != "events_api" or envelope.attempt >= MOST_RETRIES:
            envelope.done.set()
            return
        await self._again(envelope)

    async def _again(self, envelope: Envelope) -> None:
        envelope.attempt += 1
        envelope.reason = "timeout"
        await self._send(envelope)

    async def _gone(self, link: web.WebSocketResponse) -> None:
        """What the socket had not acknowledged goes to another, or waits for one."""
        if link in self.links:
            self.links.remove(link)
        lost = [id for id, (_, its, _) in self._open.items() if its is link]
        held: list[Envelope] = []
        for id in lost:
            envelope, _, timer = self._open.pop(id)
            timer.cancel()
            if envelope.kind != "events_api":
                envelope.done.set()
            elif envelope not in held:
                envelope.attempt += 1
                envelope.reason = "timeout"
                held.append(envelope)
        self._waiting.extendleft(reversed(held))
        await self._flush()

    async def _flush(self) -> None:
        while self._waiting and any(not link.closed for link in self.links):
            await self._send(self._waiting.popleft())


class Posts:
    """The requests to an app that listens over HTTP."""

    def __init__(
        self, url: str, session: aiohttp.ClientSession, *, ack_s: float = ACK_S,
        factor: float = 1.0, most: int = MOST_RETRIES,
    ) -> None:  # fmt: skip
        self.url, self.ack_s, self.factor, self.most = url, ack_s, factor, most
        self.watcher: Watcher | None = None
        self.log: deque[Envelope] = deque(maxlen=50_000)
        self.doubles = 0
        self.secret = SIGNING_SECRET
        self._session = session

    async def give(self, envelope: Envelope) -> Envelope:
        """Bring it, and bring an event again until it is acknowledged or tried often enough."""
        self.log.append(envelope)
        double = self.doubles > 0 and envelope.kind == "events_api"
        self.doubles -= double
        while True:
            is_final = await self._post(envelope)
            if double:
                double = False
                envelope.attempt, envelope.reason = 1, "http_timeout"
                continue
            over = envelope.kind != "events_api" or envelope.attempt >= self.most
            if is_final or envelope.is_acked or over:
                envelope.done.set()
                return envelope
            envelope.attempt += 1
            later = LATER_S[min(envelope.attempt, len(LATER_S)) - 1]
            await asyncio.sleep(later * self.factor)

    async def challenge(self) -> str | None:
        """What the app answers to `url_verification`."""
        body = {"token": "t", "challenge": "the challenge", "type": "url_verification"}
        try:
            async with self._session.post(self.url, **self._request(json.dumps(body))) as answer:
                text = await answer.text()
        except (aiohttp.ClientError, OSError):
            return None
        if answer.status != 200:
            return None
        try:
            said: str = json.loads(text)["challenge"]
        except (ValueError, KeyError):
            return text
        return said

    async def _post(self, envelope: Envelope) -> bool:
        """Whether it need not be tried again."""
        if envelope.kind == "events_api":
            body, form = json.dumps(envelope.payload), False
        elif envelope.kind == "interactive":
            body, form = urlencode({"payload": json.dumps(envelope.payload)}), True
        else:
            body, form = urlencode(envelope.payload), True
        request = self._request(body, form=form)
        if envelope.attempt:
            request["headers"]["X-Slack-Retry-Num"] = str(envelope.attempt)
            request["headers"]["X-Slack-Retry-Reason"] = envelope.reason
        envelope.sent_at = time.monotonic()
        envelope.sends += 1
        if self.watcher is not None:
            self.watcher("sent", envelope)
        timeout = aiohttp.ClientTimeout(total=self.ack_s)
        try:
            async with self._session.post(self.url, timeout=timeout, **request) as answer:
                text = await answer.text()
        except TimeoutError:
            envelope.reason = "http_timeout"
            return False
        except (aiohttp.ClientError, OSError):
            envelope.reason = "connection_failed"
            return False
        if answer.status != 200:
            envelope.reason = "http_error"
            return answer.headers.get("X-Slack-No-Retry") == "1"
        if not envelope.is_acked:
            envelope.acked_at = time.monotonic()
            envelope.answer = _parsed(text)
            if self.watcher is not None:
                self.watcher("acked", envelope)
        return True

    def _request(self, body: str, *, form: bool = False) -> dict[str, Any]:
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        stamp = str(int(time.time()))
        said = f"v0:{stamp}:{body}".encode()
        mac = hmac.new(self.secret.encode(), said, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": kind, "X-Slack-Signature": f"v0={mac}",
            "X-Slack-Request-Timestamp": stamp,
        }  # fmt: skip
        return {"data": body.encode(), "headers": headers}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text
