"""
The front's state, and how what happens gets to the bot; runs in the front's own thread.

What people do to it is in `slack_people`, what the bot asks of it in `slack_server`.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Literal, TypeVar

from tests.peers import slack_payloads as payloads
from tests.peers.localslack import Install, LocalSlack, free_port
from tests.peers.slack_delivery import ACK_S, Envelope, Posts, Sockets
from tests.peers.slack_faults import Call, Faults
from tests.peers.slack_mirror import Mirror
from tests.peers.slack_schemas import faults_of_event
from tests.peers.slack_tiers import Tiers
from tests.peers.slack_upstream import Upstream
from tests.peers.slack_views import after_submission
from tests.peers.slack_world import World, world

WAIT_S: Final = 30.0
KEPT: Final = 50_000

Mode = Literal["socket", "http"]
Moment = Literal["request", "done", "answered"]
T = TypeVar("T")
Json = dict[str, Any]


class Core:
    """What the front is; `SlackFront` adds what people do."""

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
        self.is_limited = False
        """Answer 429 to what is above Slack's tiers."""
        self.tiers = Tiers()
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
        self.ack_s, self.factor, self.most = ack_s, retry_factor, most_retries
        self.loop: asyncio.AbstractEventLoop | None = None
        self.tasks: set[asyncio.Task[Any]] = set()
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
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout_s)

    def later(self, work: Callable[[], Awaitable[Any]]) -> "asyncio.Task[Any]":
        """Do something beside; in the front's own thread."""

        async def whole() -> Any:
            return await work()

        task = asyncio.get_running_loop().create_task(whole())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
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

    def channel_names(self) -> list[tuple[str, str]]:
        """Id and name of every channel."""
        return [(each.id, each.name) for each in self.world.channels.values()]

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

    def code(self, install: Install | None = None) -> str:
        """A code by which the app gets a token of an install (`oauth.v2.access`)."""
        code = self.world.fresh("code")
        self.codes[code] = install or self.install
        return code

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

    def window_of(self, id: str) -> Json | None:
        """A window by its id, where somebody has it open."""
        windows = (view for stack in self.world.stacks.values() for view in stack)
        return next((view for view in windows if view["id"] == id), None)

    def home(self, user: str) -> Json:
        """The bot's home as a person sees it. Raises LookupError."""
        for (_, whose), view in self.world.homes.items():
            if whose == user:
                return view
        raise LookupError(f"{user} was shown no home.")

    async def pressed(
        self, install: Install, user: str, message: Json | None, element: Json
    ) -> Envelope:
        """Bring a press; without a message, on whatever the page shows: a window, or the home."""
        if message is None:
            stack = self.world.stacks.get(user)
            return await self.pressed_in(stack[-1] if stack else self.home(user), user, element)
        made = payloads.press_on_message(self.world, install, user, message, element)
        return await self.deliver(Envelope("interactive", made))

    async def show(self, install: Install, said: Json, user: str) -> None:
        """Post what the bot said in answer: to the person alone, unless it is for the channel."""
        kept = {name: said.get(name) for name in ("channel", "text", "blocks", "thread_ts")}
        kept["text"] = kept["text"] or ""
        if said.get("response_type") == "in_channel":
            answer = await self.pass_on("chat.postMessage", install, kept)
            self.mirror.put(answer["message"])
            return
        await self.pass_on("chat.postEphemeral", install, {**kept, "user": user})

    def said(self, event: Json) -> Json:
        """A message of a person with what Slack's have besides."""
        user, channel = event.get("user", ""), event["channel"]
        if user in {each.bot for each in self.world.installs}:
            return event
        team = self.world.team_of(user)
        event = {**event, "team": team}
        if event["type"] == "message":
            event["channel_type"] = self.world.kind(channel)
            if not event.get("subtype"):
                event["client_msg_id"] = f"client-{event['ts']}"
        elif event.get("files"):
            event["files"] = [{**_FILE, **one} for one in event["files"]]
        if team not in {each.team for each in self.world.installs}:
            event |= {"user_team": team, "source_team": team}
        if event.get("files"):
            shown = [{"media_display_type": "unknown", **each} for each in event["files"]]
            event["files"] = shown
        thread = event.get("thread_ts")
        root = self.mirror.get(channel, thread) if thread else None
        if root is not None and event["type"] == "message":
            event["parent_user_id"] = root.get("user", "")
        return event

    def _is_heard(self, event: Json, channel: str) -> bool:
        kind = event["type"]
        if kind in self.unsubscribed:
            return False
        if kind == "message" and f"message.{_FEEDS[self.world.kind(channel)]}" in self.unsubscribed:
            return False
        leaves = kind in ("channel_left", "group_left", "channel_deleted", "channel_archive")
        return leaves or not channel or self.world.room(channel).has_bot

    async def pressed_in(self, view: Json, user: str, element: Json) -> Envelope:
        made = payloads.press_in_view(self.world, self.install_by(view), user, view, element)
        return await self.deliver(Envelope("interactive", made))

    def install_by(self, view: Mapping[str, Any]) -> Install:
        for install in self.world.installs:
            if view.get("bot_id") == install.bot_id:
                return install
        return self.install


_FILE: Final = {"media_display_type": "unknown", "permalink_public": ""}
"""What Slack tells of a file that somebody brings with a mention, beside what local-slack does."""
_FEEDS: Final = {"channel": "channels", "group": "groups", "im": "im"}
