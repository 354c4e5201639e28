"""The front's own connections to local-slack: its socket for each app, its page, its Web API."""

import asyncio
import json
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.peers import slack_payloads as payloads
from tests.peers.localslack import USERS, Install
from tests.peers.slack_delivery import Envelope
from tests.peers.slack_mirror import CHOOSERS

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

Json = dict[str, Any]
_NOTHING = "/nothing"


class Upstream:
    """Speaks to local-slack; in the front's own thread."""

    def __init__(self, front: "Core") -> None:
        self._front = front
        self._session: aiohttp.ClientSession | None = None
        self._page: aiohttp.ClientWebSocketResponse | None = None
        self._links: list[aiohttp.ClientWebSocketResponse] = []
        self._trigger = ""
        self._has_trigger = asyncio.Event()
        self.users = {user[0] for user in USERS} | {each.bot for each in front.world.installs}

    async def begin(self, session: aiohttp.ClientSession) -> list[Coroutine[Any, Any, None]]:
        """Connect everything; returns what has to run for as long as the front does."""
        self._session = session
        listening = []
        for install in self._front.world.installs:
            token = f"{self._front.server.app_token}-{install.bot}"
            answer = await self._posted("/api/apps.connections.open", {}, token)
            link = await session.ws_connect(answer["url"], max_msg_size=0)
            self._links.append(link)
            listening.append(self._hear(link, install))
        self._page = await session.ws_connect(f"{self._front.server.url}/ui", max_msg_size=0)
        listening.append(self._watch(self._page))
        return listening

    async def end(self) -> None:
        """Hang up."""
        for link in (*self._links, self._page):
            if link is not None:
                await link.close()

    async def call(self, method: str, install: Install, args: Json) -> Json:
        """Its answer to a call, as one of the front's."""
        given = {name: value for name, value in args.items() if value is not None}
        answer: Json = self._front.ours(
            await self._posted(f"/api/{method}", given, install.bot_token)
        )
        return answer

    async def control(self, path: str, body: Json) -> Json:
        """Do what a person does."""
        return await self._posted(f"/_control/{path}", body, "")

    async def upload(self, form: aiohttp.FormData) -> Json:
        """Share files as a person does."""
        assert self._session is not None
        url = f"{self._front.server.url}/_control/upload"
        async with self._session.post(url, data=form) as answer:
            said: Json = await answer.json(content_type=None)
            return said

    async def trigger(self) -> str:
        """A trigger that opens windows on the page; it is good for half an hour."""
        if not self._trigger:
            channel = next(iter(self._front.world.channels))
            wish = {"channel": channel, "user": USERS[0][0], "command": _NOTHING}
            await self.control("command", wish)
            await asyncio.wait_for(self._has_trigger.wait(), 5.0)
        return self._trigger

    async def close_windows(self, user: str) -> None:
        """The page shows no window any more."""
        if self._page is not None:
            await self._page.send_str(json.dumps({"t": "view_close", "user": user}))

    async def _posted(self, path: str, body: Json, token: str) -> Json:
        assert self._session is not None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = self._front.server.url + path
        async with self._session.post(url, json=body, headers=headers) as answer:
            said: Json = await answer.json(content_type=None)
            return said

    async def _hear(self, link: aiohttp.ClientWebSocketResponse, install: Install) -> None:
        async for frame in link:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                continue
            said = json.loads(frame.data)
            id, payload = said.get("envelope_id"), said.get("payload")
            if id is None:
                continue
            if said["type"] == "events_api":
                await link.send_str(json.dumps({"envelope_id": id}))
                self._event(payload["event"], install)
            elif payload.get("command") == _NOTHING:
                self._trigger = payload["trigger_id"]
                self._has_trigger.set()
                await link.send_str(json.dumps({"envelope_id": id}))
            else:
                self._front.later(
                    lambda said=said: self._asked(link, install, said)  # type: ignore[misc]
                )

    async def _watch(self, page: aiohttp.ClientWebSocketResponse) -> None:
        mirror = self._front.mirror
        async for frame in page:
            if frame.type is not aiohttp.WSMsgType.TEXT:
                continue
            said = self._front.ours(json.loads(frame.data))
            kind = said.get("t")
            if kind in ("message", "message_update"):
                mirror.put(said["message"])
            elif kind == "message_delete" and not mirror.thread(said["channel"], said["ts"]):
                mirror.drop(said["channel"], said["ts"])
            elif kind == "channel" and said["channel"].get("is_im"):
                self._dm(said["channel"])

    def _dm(self, channel: Json) -> None:
        bots = {each.bot for each in self._front.world.installs}
        people = [each for each in channel["members"] if each not in bots]
        bot = next((each for each in channel["members"] if each in bots), None)
        if bot is not None and people:
            self._front.world.dms[channel["id"]] = (people[0], bot)

    def _event(self, event: Json, install: Install) -> None:
        """An event of local-slack's, with what Slack's have besides."""
        front = self._front
        event = front.ours(event)
        kind, subtype = event["type"], event.get("subtype")
        channel = event.get("channel", "")
        if kind == "app_home_opened":
            event.setdefault("event_ts", front.stamp())
            home = front.world.homes.get((install.bot, event["user"]))
            if home is not None:
                event["view"] = home
        if kind == "message" and subtype == "message_deleted":
            front.deleted(channel, {**event["previous_message"], "channel": channel})
            return
        if kind in ("message", "app_mention") and event.get("user"):
            event = front.said(event)
        elif kind == "message" and subtype == "message_changed":
            for name in ("message", "previous_message"):
                event[name] = front.said({**event[name], "channel": channel})
                event[name].pop("channel", None)
            event["hidden"] = True
            event["channel_type"] = front.world.kind(channel)
        front.tell(event, install)

    async def _asked(
        self, link: aiohttp.ClientWebSocketResponse, install: Install, said: Json
    ) -> None:
        """A command, a press or a window from the page, in Slack's words."""
        front, payload = self._front, said["payload"]
        answer: Any = None
        if said["type"] == "slash_commands":
            made = payloads.command(
                front.world, install, payload["user_id"], payload["channel_id"],
                payload["command"], payload["text"],
            )  # fmt: skip
            answer = (await front.deliver(Envelope("slash_commands", made))).answer
        elif payload["type"] == "block_actions":
            user, action = payload["user"]["id"], payload["actions"][0]
            await front.pressed(install, user, payload.get("message"), action)
        elif payload["type"] == "view_submission":
            user = payload["user"]["id"]
            view = front.window_of(front.world.views.get(payload["view"]["id"], ""))
            if view is not None:
                values = _touched(payload["view"]["state"]["values"], view)
                answer = (await front.submitted(install, user, view, values)).answer
        elif payload["type"] == "view_closed":
            user = payload["user"]["id"]
            front.world.stacks.pop(user, None)
            made = payloads.closing(front.world, install, user, payload["view"])
            await front.deliver(Envelope("interactive", made))
        ack: Json = {"envelope_id": said["envelope_id"]}
        if answer is not None:
            ack["payload"] = answer
        await link.send_str(json.dumps(ack))


def _touched(values: Json, view: Json) -> Json:
    """The inputs that a person touched; local-slack forgets what stands in the others at first."""
    kinds = {
        block.get("block_id"): (block.get("element") or {}).get("type") for block in view["blocks"]
    }
    kept: Json = {}
    for block, actions in values.items():
        for action, state in actions.items():
            given = {name: value for name, value in state.items() if name != "type"}
            if all(value in (None, []) for value in given.values()):
                continue
            if kinds.get(block) in CHOOSERS and given.get("selected_option"):
                name = str(kinds[block]).removesuffix("s_select")
                chosen = given["selected_option"]["value"]
                state = {"type": kinds[block], f"selected_{name}": chosen}
            elif kinds.get(block) == "checkboxes" and given.get("selected_option"):
                state = {"type": "checkboxes", "selected_options": [given["selected_option"]]}
            elif given.get("value") == "":
                state = {**state, "value": None}
            kept[block] = {action: state}
    return kept
