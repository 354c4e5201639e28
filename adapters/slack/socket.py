"""
Sockets that Slack sends over: WebSockets that the app opens, each for some hours.

Rule 1: before a socket that Slack wants back is closed, the next one is open. What was read on the old one
        is acknowledged on it.
Rule 2: an envelope is acknowledged after what it brings was stored, on the socket it came by. One that
        failed is not: Slack sends it again.
Rule 3: a socket over which nothing comes, not even an answer to our ping, is dead, whatever TCP says.
Rule 4: who does not open is asked again, later and later, and not before Slack says.
Rule 5: nothing is read while the line is full; then Slack waits.
Rule 6: Slack says with each `hello` how many sockets the app has. More than ours, twice and a while apart,
        are another process's: each envelope goes to one of us, and every goal may be begun twice.

https://docs.slack.dev/apis/events-api/using-socket-mode. slack_sdk's own client is not used: it closes the
old socket before the new one is open, keeps what it read in a queue without end, and does not tell why it
is deaf.
"""

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import aiohttp
from aiohttp import WSMsgType

from adapters.slack.calling import proxy_for
from adapters.slack.errors import cause, translated
from adapters.slack.payloads import Json, fields, opaque, text_of
from bot.errors import ByOperator, HeadwayError, Wait

log = logging.getLogger(__name__)

SOCKETS: Final = 2
"""Slack gives an app up to ten, and sends each envelope over one. With two a cut loses no click."""
PING_S: Final = 5.0
"""Slack pings every few seconds; silence for so long is asked about."""
DEAD_S: Final = 15.0
OPENING_S: Final = 15.0
"""For connecting, and for Slack's `hello`."""
DRAIN_S: Final = 3.0
"""What is read and not acknowledged by then is sent again."""
FIRST_PAUSE_S: Final = 1.0
LAST_PAUSE_S: Final = 60.0
OPERATOR_PAUSE_S: Final = 30.0
"""While a token is refused or Socket Mode is off, until somebody has mended it."""
STEADY_S: Final = 30.0
"""A socket that lived so long was a good one: the next is opened at once."""
RECOUNT_S: Final = 60.0
"""Between two counts of the app's sockets, while there are others'; Slack lets one be opened a minute."""
COUNT_S: Final = 900.0
"""After so long a socket is exchanged to be told how many there are: who was there first, too, has to know."""
FRAME_MOST: Final = 4 * 1024**2
"""Bytes."""

OpenUrl = Callable[[], Awaitable[str]]
"""A fresh address of a socket. Raises HeadwayError."""


class Answering(Protocol):
    """Takes envelopes in the order in which they came."""

    async def has_room(self) -> None:
        """Wait until another one can be taken."""

    def begin(self, envelope: Json) -> Awaitable[Json | None]:
        """Take one: at once its place in the line, and in time its answer; None: it failed."""


def _unasked(count: int) -> None:
    """Nobody asks."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """Who is told how it stands."""

    heard: Callable[[], None]
    trouble: Callable[[str], None]
    others: Callable[[int], None] = _unasked
    """Told how many sockets of the app are another process's."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds; tests have shorter ones."""

    ping_s: float = PING_S
    dead_s: float = DEAD_S
    opening_s: float = OPENING_S
    drain_s: float = DRAIN_S
    first_pause_s: float = FIRST_PAUSE_S
    last_pause_s: float = LAST_PAUSE_S
    operator_pause_s: float = OPERATOR_PAUSE_S
    recount_s: float = RECOUNT_S
    count_s: float = COUNT_S


class Sockets:
    """The sockets of an app, kept open."""

    def __init__(
        self,
        open_url: OpenUrl,
        answering: Answering,
        pulse: Pulse,
        *,
        count: int = SOCKETS,
        rhythm: Rhythm = Rhythm(),
    ) -> None:
        """Open nothing yet."""
        self._open_url, self._answering, self._pulse = open_url, answering, pulse
        self._count, self._rhythm = count, rhythm
        self._live: set[_Socket] = set()
        self._others_since: float | None = None
        """Since when there seem to be others' sockets."""

    @property
    def live(self) -> int:
        """How many sockets bring something."""
        return len(self._live)

    async def run(self) -> None:
        """Keep the sockets open until cancelled."""
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            asyncio.TaskGroup() as group,
        ):
            for number in range(self._count):
                group.create_task(self._keep(session, number), name=f"slack socket {number}")

    async def _keep(self, session: aiohttp.ClientSession, number: int) -> None:
        """One socket after the other, each opened before the last one is closed."""
        pause = _Pause(self._rhythm)
        if number:
            # The first one finds out whether there is anything to open.
            await asyncio.sleep(self._rhythm.first_pause_s / 2)
        current = await self._opened(session, pause)
        try:
            while True:
                why = await self._ended(current, is_counted=number == 0)
                if why == "link_disabled":
                    self._pulse.trouble("Socket Mode was turned off for the app. Turn it on again.")
                    await pause.operator()
                elif why == "too_many_websockets":
                    await current.close()
                    await pause.next()
                elif current.age_s < STEADY_S:
                    await pause.next()
                else:
                    pause.over()
                following = await self._opened(session, pause)
                retiring = current
                current = following
                await retiring.close()
        finally:
            await current.close()

    async def _ended(self, socket: "_Socket", *, is_counted: bool) -> str:
        """As `ended`; of the one that is counted by, another is opened now and then."""
        while True:
            try:
                async with asyncio.timeout(self._rhythm.recount_s):
                    return await socket.ended()
            except TimeoutError:
                is_old = socket.age_s >= self._rhythm.count_s
                if is_counted and (is_old or self._others_since is not None):
                    return "counted anew"

    def _count_sockets(self, socket: "_Socket") -> None:
        """Tell of sockets of others, once they have been there for a while, and of their end."""
        now, others = asyncio.get_running_loop().time(), socket.connections - len(self._live)
        if others <= 0:
            self._others_since = None
            self._pulse.others(0)
            return
        if self._others_since is None:
            self._others_since = now
        if now - self._others_since >= self._rhythm.recount_s / 2:
            self._pulse.others(others)

    async def _opened(self, session: aiohttp.ClientSession, pause: "_Pause") -> "_Socket":
        while True:
            try:
                socket = await self._open(session)
            except ByOperator as error:
                self._failed(error)
                await pause.operator()
            except HeadwayError as error:
                self._failed(error)
                await pause.next(error.retry_after_s if isinstance(error, Wait) else None)
            else:
                return socket

    def _failed(self, error: HeadwayError) -> None:
        log.info("A socket to Slack is not opened: %s", error)
        if not self._live:
            self._pulse.trouble(cause(error))

    async def _open(self, session: aiohttp.ClientSession) -> "_Socket":
        url = await self._open_url()
        if not url.startswith(("ws://", "wss://")):
            raise Wait("Slack gave no address of a socket. It is tried again.")
        with translated("A socket to Slack cannot be opened"):
            async with asyncio.timeout(self._rhythm.opening_s):
                wire = await session.ws_connect(
                    url,
                    autoping=False,
                    max_msg_size=FRAME_MOST,
                    proxy=proxy_for(f"http{url.removeprefix('ws')}"),
                )
        socket = _Socket(wire, self._answering, self._pulse.heard, self._rhythm)
        self._live.add(socket)
        socket.reading.add_done_callback(lambda _: self._gone(socket))
        try:
            async with asyncio.timeout(self._rhythm.opening_s):
                await socket.greeted()
        except TimeoutError as error:
            await socket.close()
            raise Wait("Slack opened a socket and said nothing. It is tried again.") from error
        except BaseException:
            await socket.close()
            raise
        self._count_sockets(socket)
        return socket

    def _gone(self, socket: "_Socket") -> None:
        self._live.discard(socket)
        if not socket.reading.cancelled() and (error := socket.reading.exception()):
            log.error("Reading a socket of Slack has failed.", exc_info=error)
        if not self._live and not socket.is_closing:
            self._pulse.trouble("The connection to Slack broke; another one is opened.")


class _Socket:
    """One WebSocket, read from the moment it is open."""

    def __init__(
        self,
        wire: aiohttp.ClientWebSocketResponse,
        answering: Answering,
        heard: Callable[[], None],
        rhythm: Rhythm,
    ) -> None:
        self._wire, self._answering, self._heard, self._rhythm = wire, answering, heard, rhythm
        self._loop = asyncio.get_running_loop()
        self._opened_at = self._loop.time()
        self._why = ""
        self._is_greeted, self._is_ending = asyncio.Event(), asyncio.Event()
        self._answers: set[asyncio.Task[None]] = set()
        self.is_closing = False
        self.connections = 0
        """How many sockets the app has, as Slack said when this one was opened."""
        self.reading = asyncio.create_task(self._read(), name="slack socket, reading")

    @property
    def age_s(self) -> float:
        """For how long it has been open."""
        return self._loop.time() - self._opened_at

    async def greeted(self) -> None:
        """Wait for Slack's `hello`. Raises Wait where the socket ends before."""
        await self._until(self._is_greeted)
        if not self._is_greeted.is_set():
            raise Wait("Slack closed a socket as soon as it was open. It is tried again.")

    async def ended(self) -> str:
        """Wait until Slack wants it back or it has broken; Slack's reason, or empty."""
        await self._until(self._is_ending)
        return self._why

    async def close(self) -> None:
        """Acknowledge what was read, as far as it is stored soon, and close it."""
        if self.is_closing:
            return
        self.is_closing = True
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)
        if self._answers and not self._wire.closed:
            await asyncio.wait(self._answers, timeout=self._rhythm.drain_s)
        for one in self._answers:
            # What is being stored is stored all the same; Slack sends it again, and it is claimed.
            one.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)
        try:
            async with asyncio.timeout(self._rhythm.drain_s):
                await self._wire.close()
        except (TimeoutError, aiohttp.ClientError, OSError):
            log.debug("A socket did not close in peace.")

    async def _until(self, event: asyncio.Event) -> None:
        """Wait for it, or for the end of what is read."""
        waiting = asyncio.create_task(event.wait())
        try:
            await asyncio.wait((waiting, self.reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async for frame in self._frames():
                self._take(frame)
                await self._answering.has_room()
        except (aiohttp.ClientError, OSError) as error:
            log.info("A socket to Slack broke: %s", type(error).__name__)

    async def _frames(self) -> AsyncIterator[str]:
        """What comes, until the socket ends or is dead."""
        last = self._loop.time()
        while True:
            try:
                frame = await self._wire.receive(timeout=self._rhythm.ping_s)
            except TimeoutError:
                if self._loop.time() - last >= self._rhythm.dead_s:
                    log.warning("A socket to Slack is dead: nothing came, not even a pong.")
                    return
                await self._send(self._wire.ping(b"headway"))
                continue
            if frame.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED):
                return
            if frame.type is WSMsgType.ERROR:
                log.info("A socket to Slack broke: %s", type(frame.data).__name__)
                return
            last = self._loop.time()
            self._heard()
            if frame.type is WSMsgType.PING:
                await self._send(self._wire.pong(frame.data))
            elif frame.type is WSMsgType.TEXT:
                yield frame.data

    async def _send(self, sending: Awaitable[None]) -> None:
        """Send a frame, but wait no longer than for a dead socket."""
        async with asyncio.timeout(self._rhythm.dead_s):
            await sending

    def _take(self, frame: str) -> None:
        said = _json(frame)
        match text_of(said.get("type")):
            case "hello":
                count = said.get("num_connections")
                self.connections = count if isinstance(count, int) else 0
                self._is_greeted.set()
            case "disconnect":
                self._why = text_of(said.get("reason"))
                log.info("Slack wants a socket back: %s", self._why)
                self._is_ending.set()
            case _ if opaque(said.get("envelope_id")):
                answer = asyncio.ensure_future(self._answer(said, self._answering.begin(said)))
                self._answers.add(answer)
                answer.add_done_callback(self._answers.discard)
            case kind:
                log.info("Slack sent something of a kind that is not known: %.40r", kind)

    async def _answer(self, envelope: Json, answering: Awaitable[Json | None]) -> None:
        answer = await answering
        if answer is None:
            return
        ack: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
        if answer:
            ack["payload"] = answer
        try:
            await self._send(self._wire.send_str(json.dumps(ack)))
        except (aiohttp.ClientError, OSError) as error:
            log.info("An envelope could not be acknowledged: %s", type(error).__name__)


class _Pause:
    """Longer and longer, until something went well."""

    def __init__(self, rhythm: Rhythm) -> None:
        self._rhythm = rhythm
        self._next_s = rhythm.first_pause_s

    async def next(self, at_least_s: float | None = None) -> None:
        """Wait, for as long as Slack said and no less."""
        wait_s = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(2 * self._next_s, self._rhythm.last_pause_s)
        await asyncio.sleep(max(wait_s, at_least_s or 0.0))

    async def operator(self) -> None:
        """Wait for somebody to mend it."""
        await asyncio.sleep(self._rhythm.operator_pause_s)

    def over(self) -> None:
        """It went well."""
        self._next_s = self._rhythm.first_pause_s


def _json(frame: str) -> Mapping[str, Any]:
    try:
        return fields(json.loads(frame))
    except (ValueError, RecursionError):
        log.warning("Slack sent a frame that is no JSON.")
        return {}
