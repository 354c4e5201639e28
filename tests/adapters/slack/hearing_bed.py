"""An ear on the front, and what it has heard."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from aiohttp import web

from adapters.slack.authorizing import InstallAuthorize
from adapters.slack.calling import Calls
from adapters.slack.ear import Ear
from adapters.slack.listening import Manner, SlackListening, Way
from adapters.slack.mentions import Known
from adapters.slack.paths import EVENTS_PATH
from adapters.slack.people import Directory
from adapters.slack.socket import Rhythm
from adapters.slack.tokens import AppKeys, Tokens
from adapters.slack.views import Words
from adapters.slack.web import EventsDoor
from bot.errors import HeadwayError
from bot.ports.chat import Arrival, Incoming, Unreacted
from bot.ports.installs import Install as Kept
from bot.ports.positions import Position
from bot.ports.web import Request
from tests.doubles.installs import MemoryInstalls
from tests.peers.localslack import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, Install
from tests.peers.slack_front import SlackFront

QUICK = Rhythm(
    ping_s=0.3, dead_s=1.0, opening_s=3.0, drain_s=1.0,
    first_pause_s=0.05, last_pause_s=0.3, operator_pause_s=0.3,
)  # fmt: skip
WORDS = Words(
    "One moment ...", "That cannot be shown.", "Headway", "Close", "Later", "Earlier",
    "{page} of {pages}", "Thread",
)  # fmt: skip


class WallClock:
    """Port Clock, of this machine."""

    def now(self) -> float:
        """Now."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)


@dataclass
class Inbox:
    """Port Receive: each identity once, as the store does it."""

    arrivals: list[Arrival] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)
    """What the next calls raise, one each."""
    is_broken: HeadwayError | None = None
    slow_s: float = 0.0
    calls: int = 0
    tried: list[str] = field(default_factory=list)

    async def __call__(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Take them all in, or raise."""
        self.calls += 1
        self.tried += [identity(one) for one in arrivals]
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        if self.is_broken is not None:
            raise self.is_broken
        if self.fails:
            raise self.fails.pop(0)
        known = set(self.ids)
        for one in arrivals:
            if identity(one) not in known:
                known.add(identity(one))
                self.arrivals.append(one)

    @property
    def ids(self) -> list[str]:
        """Of all that came."""
        return [identity(one) for one in self.arrivals]

    @property
    def messages(self) -> list[Incoming]:
        """What was said."""
        return [one for one in self.arrivals if isinstance(one, Incoming)]

    def texts(self) -> list[str]:
        """What was said, as text."""
        return [one.text for one in self.messages]

    async def until(self, has: Callable[[], object], what: str = "", limit_s: float = 15.0) -> None:
        """Wait until something holds."""
        end = time.monotonic() + limit_s
        while not has():
            assert time.monotonic() < end, f"{what}: {self.arrivals} (tried {self.tried})"
            await asyncio.sleep(0.01)


def identity(one: Arrival) -> str:
    """As the store names it."""
    match one:
        case Incoming():
            return one.id
        case Unreacted():
            return f"unreacted:{one.to}:{one.emoji}:{one.at}"
        case _:
            return one.as_message.id


@dataclass
class Hearing:
    """An ear at work."""

    front: SlackFront
    inbox: Inbox
    listening: SlackListening
    people: Directory
    troubles: list[str] = field(default_factory=list)
    heard: list[float] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """How many sockets of others there were, at each count."""
    task: "asyncio.Task[None] | None" = None

    async def is_connected(self, sockets: int = 1) -> None:
        """Wait until so many sockets are open."""
        await self.inbox.until(lambda: len(self.front.sockets.links) >= sockets, "sockets")

    async def does(self, act: Callable[[], object]) -> object:
        """Let a person do something: the front is spoken to from another thread."""
        return await asyncio.to_thread(act)


@asynccontextmanager
async def hearing(
    front: SlackFront,
    ear: Ear | None = None,
    *,
    mode: str = "socket",
    sockets: int = 1,
    rhythm: Rhythm = QUICK,
    token: str = BOT_TOKEN,
    app_token: str = APP_TOKEN,
    installed: Iterable[Install] = (),
) -> AsyncIterator[Hearing]:
    """An ear for as long as the block lasts; with `installed`, of an app that was installed by OAuth."""
    installs = MemoryInstalls(WallClock())
    for one in installed:
        token = ""
        await installs.keep(_kept(one))
    tokens = Tokens(AppKeys(front.api_url, token), installs, learn=lambda name, value: None)
    calls, clock = Calls(tokens.token_for, api_url=front.api_url), WallClock()
    people = Directory(calls, clock)

    async def known(workspace: str, users: Iterable[str]) -> Mapping[str, Known]:
        found = {user: await people.person(workspace, user) for user in users}
        return {user: one for user, one in found.items() if one is not None}

    way = Way("http" if mode == "http" else "socket", app_token, sockets, rhythm)
    listening = SlackListening(
        Ear(), calls, tokens, InstallAuthorize(tokens), clock, Manner(WORDS, "Not there."), way
    )
    bed = Hearing(front, Inbox(), listening, people)
    given = ear or Ear()
    listening.ear = replace(
        given,
        people=known,
        heard=lambda: bed.heard.append(time.monotonic()),
        trouble=bed.troubles.append,
        others=bed.others.append,
    )
    # Those of an ear that went before are closed by now, or soon.
    await bed.inbox.until(lambda: not front.sockets.links, "sockets that are closed")
    bed.task = asyncio.create_task(listening.run(bed.inbox))
    try:
        if mode == "socket" and app_token == APP_TOKEN:
            await bed.is_connected(sockets)
        yield bed
    finally:
        bed.task.cancel()
        await asyncio.gather(bed.task, return_exceptions=True)
        await calls.close()


def _kept(one: Install) -> Kept:
    workspace = one.enterprise if one.is_org_wide else one.team
    return Kept(
        "slack", workspace, one.app, one.bot, one.name, ("chat:write",), one.bot_token,
        organisation=one.enterprise,
    )  # fmt: skip


@asynccontextmanager
async def door(listening: SlackListening, port: int) -> AsyncIterator[None]:
    """What Slack reaches over HTTP: as the public listener has it."""
    serve = EventsDoor(listening.dispatch, SIGNING_SECRET, lambda: True)

    async def handle(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Request("POST", request.path, request.query_string, headers, await request.read())
        answer = await serve(asked)
        kind = {"Content-Type": answer.kind}
        return web.Response(status=answer.status, body=answer.body, headers=kind)

    app = web.Application()
    app.router.add_post(EVENTS_PATH, handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()
