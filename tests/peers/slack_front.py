"""
A Slack for the bot and for people: local-slack, and before it what it lacks or does more loosely.

Bot and page speak to the front alone. It holds the one socket to local-slack, takes what happens from
there, and brings it to the bot as Slack does (`slack_delivery`): each event to one socket, again until
it is acknowledged, or by HTTP. Calls of the bot are checked against Slack's own types, against tokens,
scopes and membership, may meet a fault, and go on to local-slack where that does as Slack does.

Rule 1: nothing goes through unrecorded: `calls` holds every call with its answer, `violations` what
        Slack would not have taken, or what this stand-in says as Slack would not. A test fails on any.
Rule 2: what local-slack's page cannot draw (`plan`, `markdown`, `rich_text`, `table`) is drawn there as
        sections and context; what is kept and given back stays as it was sent.

with slack() as front:
    front.faults.next_times("chat.postMessage", Limited(1))
    front.say("U01ALICE", "C01GEN", "<@U0BOT> hello")
"""

import asyncio
import json
import re
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

import aiohttp
from aiohttp import web

from tests.peers import slack_payloads as payloads
from tests.peers.localslack import CHANNELS, Channel, Install, LocalSlack, free_port, local_slack
from tests.peers.slack_delivery import ACK_S, Envelope, Posts, Sockets
from tests.peers.slack_faults import Call, Faults
from tests.peers.slack_mirror import Mirror
from tests.peers.slack_people import People
from tests.peers.slack_schemas import faults_of_event
from tests.peers.slack_server import Handlers
from tests.peers.slack_upstream import Upstream
from tests.peers.slack_views import after_submission
from tests.peers.slack_world import World, world

START_S: Final = 30.0
WAIT_S: Final = 30.0
LAST_S: Final = 0.1
LOOK_S: Final = 0.05
KEPT: Final = 50_000

Mode = Literal["socket", "http"]
Moment = Literal["request", "done", "answered"]
T = TypeVar("T")
Json = dict[str, Any]


class SlackFront(People):
    """The front. What it is asked to do may be asked from any thread."""

    def __init__(
        self, server: LocalSlack, *, mode: Mode = "socket", request_url: str = "",
        ack_s: float = ACK_S, retry_factor: float = 1 / 60, most_retries: int = 3,
    ) -> None:  # fmt: skip
        self.server = server
        self.mode, self.request_url = mode, request_url
        self.bot_name = server.bot_name
        self.world: World = world(server.channels, server.installs)
        self.mirror = Mirror()
        self.faults = Faults()
        self.calls: deque[Call] = deque(maxlen=KEPT)
        self.violations: list[str] = []
        self.is_down = False
        """Refuse every connection, as a Slack that cannot be reached does."""
        self.watcher: Callable[[Moment, Call], None] | None = None
        self.unsubscribed: set[str] = set()
        """Kinds of events that the app did not ask for: `app_mention`, `message.channels`."""
        self.codes: dict[str, Install] = {}
        self.renewals: dict[str, Install] = {}
        self.expired: set[str] = set()
        self.offered: Install | None = None
        """What somebody who follows the link to install gives; None: the first install."""
        self.token_lasts_s: int | None = None
        """Of tokens by OAuth: seconds until they run out; None: never."""
        self.sockets = Sockets(ack_s=ack_s)
        self.http: Posts | None = None
        self.port = free_port()
        self._ack_s, self._factor, self._most = ack_s, retry_factor, most_retries
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stamp = 0
        self.upstream = Upstream(self)

    @property
    def url(self) -> str:
        """Where bot and page find it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        """The base of the Web API; one setting of the bot."""
        return f"{self.url}/api/"

    @property
    def delivery(self) -> "Sockets | Posts":
        """What brings envelopes to the bot."""
        return self.http if self.http is not None else self.sockets

    @property
    def install(self) -> Install:
        """The first install."""
        return self.world.installs[0]

    def of(self, *methods: str) -> list[Call]:
        """The calls of these methods so far."""
        return [call for call in list(self.calls) if call.method in methods]

    def stamp(self) -> str:
        """A timestamp of an event that is no message."""
        self._stamp += 1
        return f"{int(time.time())}.{900_000 + self._stamp % 100_000:06d}"

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float = WAIT_S) -> T:
        """Do something in the front's own thread and wait for it."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def later(self, work: Callable[[], Awaitable[Any]]) -> "asyncio.Task[Any]":
        """Do something beside; in the front's own thread."""

        async def whole() -> Any:
            return await work()

        task = asyncio.get_running_loop().create_task(whole())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def deliver(self, envelope: Envelope) -> Envelope:
        """Bring an envelope to the bot, whichever way it has chosen."""
        envelope.payload = self.ours(envelope.payload)
        return await self.delivery.give(envelope)

    def tell(self, event: Json, install: Install | None = None) -> None:
        """Bring an event to the bot, where it may see it; returns at once."""
        channel = event.get("channel") or (event.get("item") or {}).get("channel") or ""
        channel = channel if isinstance(channel, str) else channel.get("id", "")
        if install is None:
            install = self.world.install_of(channel) if channel else self.install
        if not self._is_heard(event, channel):
            return
        self.violations += faults_of_event(event)
        further = self.world.room(channel).further if channel else ()
        for each in (install, *further):
            payload = payloads.wrapped(self.world, each, event)
            self.later(lambda payload=payload: self.deliver(Envelope("events_api", payload)))  # type: ignore[misc]

    def deleted(self, channel: str, before: Json) -> None:
        """A message was deleted; one with replies leaves a stone in its place."""
        outer = {"channel": channel, "channel_type": self.world.kind(channel), "hidden": True}
        stamp, ts = self.stamp(), before["ts"]
        shown = payloads.seen(self.world, self.world.install_of(channel), before)
        if self.mirror.thread(channel, ts):
            stone = {
                "type": "message", "subtype": "tombstone", "text": "This message was deleted.",
                "user": "USLACKBOT", "hidden": True, "ts": ts, "thread_ts": ts,
            }  # fmt: skip
            self.mirror.drop(channel, ts)
            self.mirror.put({**stone, "channel": channel})
            self.tell({
                "type": "message", "subtype": "message_changed", **outer, "ts": stamp,
                "event_ts": stamp, "message": stone, "previous_message": shown,
            })  # fmt: skip
            return
        self.mirror.drop(channel, ts)
        self.tell({
            "type": "message", "subtype": "message_deleted", **outer, "ts": stamp,
            "event_ts": stamp, "deleted_ts": ts, "previous_message": shown,
        })  # fmt: skip

    def joined_event(self, channel: str, user: str) -> Json:
        """Somebody has come into a channel."""
        return {
            "type": "member_joined_channel", "user": user, "channel": channel,
            "channel_type": "G" if self.world.is_private(channel) else "C",
            "team": self.world.team_of(user), "event_ts": self.stamp(),
        }  # fmt: skip

    def is_person(self, user: str) -> bool:
        """Whether there is such a user."""
        return user in self.upstream.users

    def profile(self, user: Mapping[str, Any]) -> Json:
        """A user as `users.info` gives it."""
        plain = {
            "is_restricted": False, "is_ultra_restricted": False, "is_app_user": False,
            "updated": 1_700_000_000, "is_bot": False,
        }  # fmt: skip
        further = self.world.people.get(user["id"], {})
        return {**plain, **user, "team_id": self.world.team_of(user["id"]), **further}

    async def resolved(self, channel: str, install: Install) -> str:
        """A channel's id; of a user, the DM."""
        return await self.dm(channel, install) if self.is_person(channel) else channel

    async def dm(self, user: str, install: Install) -> str:
        """The DM of a person and a bot."""
        for channel, pair in self.world.dms.items():
            if pair == (user, install.bot):
                return channel
        answer = await self.pass_on("conversations.open", install, {"users": user})
        channel = str(answer["channel"]["id"])
        self.world.dms[channel] = (user, install.bot)
        return channel

    async def pass_on(self, method: str, install: Install, args: Json) -> Json:
        """Local-slack's own answer to a call."""
        return await self.upstream.call(method, install, args)

    async def standing_trigger(self) -> str:
        """A trigger of local-slack's, which does not use them up."""
        return await self.upstream.trigger()

    async def submitted(
        self, install: Install, user: str, view: Json, values: Mapping[str, Any]
    ) -> Envelope:
        """Bring a window that was filled in; what is answered happens to the person's windows."""
        made = payloads.submission(self.world, install, user, view, values)
        envelope = await self.deliver(Envelope("interactive", made))
        if envelope.is_acked:
            after_submission(self, install, user, envelope.answer)
        return envelope

    def ours(self, part: Any) -> Any:
        """The same with addresses of local-slack's made the front's, and paths made addresses."""
        text = json.dumps(part).replace(self.server.url, self.url)
        text = text.replace('"/hooks/', f'"{self.url}/hooks/')
        for install in self.world.installs[1:]:
            text = text.replace(install.upstream_app, install.app)
        return json.loads(text)

    def _is_heard(self, event: Json, channel: str) -> bool:
        kind = event["type"]
        if kind in self.unsubscribed:
            return False
        if kind == "message" and f"message.{_FEEDS[self.world.kind(channel)]}" in self.unsubscribed:
            return False
        leaves = kind in ("channel_left", "group_left", "channel_deleted", "channel_archive")
        return leaves or not channel or self.world.room(channel).has_bot


_FEEDS: Final = {"channel": "channels", "group": "groups", "im": "im"}


@contextmanager
def slack(
    channels: Sequence[Channel] = CHANNELS, installs: Sequence[Install] = (Install(),), *,
    mode: Mode = "socket", request_url: str = "", ack_s: float = ACK_S,
    retry_factor: float = 1 / 60, most_retries: int = 3, bot_name: str = "headway",
) -> Iterator[SlackFront]:  # fmt: skip
    """A Slack of its own, for as long as a `with` lasts.

    Args:
        request_url: where the bot listens, in mode `http`.
        retry_factor: by what Slack's times between deliveries over HTTP are shortened.
    """
    with ExitStack() as stack:
        server = stack.enter_context(local_slack(channels, installs, bot_name))
        front = SlackFront(
            server, mode=mode, request_url=request_url, ack_s=ack_s, retry_factor=retry_factor,
            most_retries=most_retries,
        )  # fmt: skip
        up, over = threading.Event(), threading.Event()
        failed: list[BaseException] = []

        def serve() -> None:
            try:
                asyncio.run(_serve(front, up, over))
            except BaseException as error:
                failed.append(error)
                up.set()
                raise

        thread = threading.Thread(target=serve, name="slack front")
        thread.start()
        try:
            assert up.wait(START_S), "The front did not start."
            assert not failed, failed
            yield front
        finally:
            over.set()
            thread.join()


async def _serve(front: SlackFront, up: threading.Event, over: threading.Event) -> None:
    front._loop = asyncio.get_running_loop()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        if front.mode == "http":
            front.http = Posts(
                front.request_url, session, ack_s=front._ack_s, factor=front._factor,
                most=front._most,
            )  # fmt: skip
        app = web.Application(client_max_size=1_100_000_000)
        Handlers(front, session).route(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", front.port).start()
        listening = [asyncio.create_task(each) for each in await front.upstream.begin(session)]
        up.set()
        while not over.is_set():
            await asyncio.sleep(LOOK_S)
        tasks = [*listening, *front._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for link in tuple(front.sockets.links):
            with suppress(ConnectionError):
                await link.close()
        await runner.cleanup()
    # Connections end a moment after they are closed.
    await asyncio.sleep(LAST_S)


def noted(front: SlackFront, call: Call, moment: Moment) -> None:
    """A call has come so far."""
    if moment == "answered":
        front.calls.append(call)
    if front.watcher is not None:
        front.watcher(moment, call)


def plain_text(message: Mapping[str, Any]) -> str:
    """All that can be read of a message: its text and every text in its blocks."""
    found = [str(message.get("text", ""))]
    found += re.findall(r'"text": "((?:[^"\\]|\\.)*)"', json.dumps(message.get("blocks") or []))
    return "\n".join(found)


__all__ = ["Call", "SlackFront", "noted", "plain_text", "replace", "slack"]
