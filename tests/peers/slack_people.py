"""
What people and admins do in a Slack, at the front: say, press, fill in, edit, upload, archive.

May be called from any thread but the front's own. What the bot has to acknowledge comes back as a
`Reply`, to be waited for (`wait`, or `await`) or not.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, Final

import aiohttp

from tests.peers import slack_payloads as payloads
from tests.peers.localslack import Install
from tests.peers.slack_core import Core, Json
from tests.peers.slack_delivery import Envelope
from tests.peers.slack_elements import filled, found, input_of

REPLY_S: Final = 15.0
LOOK_S: Final = 0.02


class Reply:
    """What the bot answers to a press, a command or a window."""

    def __init__(self, future: "Future[Envelope]") -> None:
        self._future = future

    def wait(self, timeout_s: float = REPLY_S) -> Envelope:
        """The envelope, once it was acknowledged, or nobody will."""
        return self._future.result(timeout_s)

    def __await__(self) -> Generator[Any, None, Envelope]:
        return asyncio.wrap_future(self._future).__await__()


class SlackFront(Core):
    """The front. What it is asked to do may be asked from any thread but its own."""

    def say(self, user: str, channel: str, text: str, thread: str = "") -> str:
        """Say something, in a channel where one is or comes into; returns its timestamp."""
        if channel not in self.world.dms:
            self.world.people_of(channel)
            self.world.members[channel].add(user)
        wish = {"channel": channel, "user": user, "text": text}
        if thread:
            wish["thread_ts"] = thread
        answer = self.run(self.upstream.control("message", wish))
        self.mirror.put(answer["message"])
        return str(answer["message"]["ts"])

    def edit(self, user: str, channel: str, ts: str, text: str) -> bool:
        """Edit what one has said."""
        wish = {"channel": channel, "user": user, "ts": ts, "text": text}
        return bool(self.run(self.upstream.control("edit-message", wish))["ok"])

    def remove(self, user: str, channel: str, ts: str) -> bool:
        """Delete what one has said."""
        wish = {"channel": channel, "user": user, "ts": ts}
        return bool(self.run(self.upstream.control("delete-message", wish))["ok"])

    def react(self, user: str, channel: str, ts: str, name: str, *, present: bool = True) -> None:
        """Put a reaction to a message, or take it away."""
        wish = {"channel": channel, "user": user, "ts": ts, "name": name, "present": present}
        self.run(self.upstream.control("reaction", wish))
        self.run(_soon(lambda: self.mirror.react(channel, ts, name, user, present=present)))

    def upload(
        self, user: str, channel: str, name: str, content: bytes, text: str = "",
        thread: str = "", kind: str = "text/plain",
    ) -> str:  # fmt: skip
        """Share a file; returns the message's timestamp."""

        async def shared() -> Json:
            form = aiohttp.FormData()
            for field, value in (
                ("channel", channel), ("user", user), ("text", text), ("thread_ts", thread),
            ):  # fmt: skip
                if value:
                    form.add_field(field, value)
            form.add_field("file", content, filename=name, content_type=kind)
            return await self.upstream.upload(form)

        answer = self.run(shared())
        self.mirror.put(self.ours(answer["message"]))
        return str(answer["message"]["ts"])

    def command(self, user: str, channel: str, text: str = "", name: str = "/goal") -> Reply:
        """Type a slash command; what is acknowledged with a text is shown to the person alone."""
        install = self.world.install_of(channel)

        async def typed() -> Envelope:
            made = payloads.command(self.world, install, user, channel, name, text)
            envelope = await self.deliver(Envelope("slash_commands", made))
            said = envelope.answer
            if isinstance(said, str) and said:
                said = {"text": said}
            if isinstance(said, dict) and (said.get("text") or said.get("blocks")):
                await self.show(install, {**said, "channel": channel}, user)
            return envelope

        return self._reply(typed)

    def press(self, user: str, channel: str, ts: str, wanted: str, **further: Any) -> Reply:
        """Press the button of a message whose action or label is `wanted`.

        Raises:
            LookupError: it has none such.
        """
        message = self.mirror.get(channel, ts)
        if message is None:
            raise LookupError(f"There is no message {ts} in {channel}.")
        element = {**found(message, wanted), **further}
        kept = dict(message)
        return self.press_as(user, kept, element)

    def press_as(self, user: str, message: Json, element: Json) -> Reply:
        """Press a button of a message as a client shows it that has not heard of anything since."""
        install = self.world.install_of(message["channel"])
        return self._reply(lambda: self.pressed(install, user, message, element))

    def press_home(self, user: str, wanted: str, **further: Any) -> Reply:
        """Press a button of the bot's home. Raises LookupError."""
        view = self.home(user)
        element = {**found(view, wanted), **further}
        return self._reply(lambda: self.pressed_in(view, user, element))

    def press_window(self, user: str, wanted: str, **further: Any) -> Reply:
        """Press a button of the window that is open. Raises LookupError."""
        view = self.window(user)
        element = {**found(view, wanted), **further}
        return self._reply(lambda: self.pressed_in(view, user, element))

    def submit(self, user: str, **values: str | None) -> Reply:
        """Fill in the window that is open; `values` by action, block or label (`_` for a blank).

        Raises:
            LookupError: no window is open, or it has no such input.
        """
        return self.submit_as(user, self.window(user), **values)

    def submit_as(self, user: str, view: Json, **values: str | None) -> Reply:
        """Fill in a window as somebody sees it who has it open."""
        state: Json = {}
        for name, value in values.items():
            block, element = input_of(view, name)
            state.setdefault(block, {})[element["action_id"]] = filled(element, value)
        return self._reply(lambda: self.submitted(self.install_by(view), user, view, state))

    def close(self, user: str) -> Reply:
        """Close the window that is open."""
        view = self.window(user)

        async def closed() -> Envelope:
            self.world.stacks.pop(user, None)
            made = payloads.closing(self.world, self.install_by(view), user, view)
            envelope = Envelope("interactive", made)
            if not view.get("notify_on_close"):
                return envelope
            return await self.deliver(envelope)

        return self._reply(closed)

    def shortcut(self, user: str, callback: str) -> Reply:
        """A global shortcut."""

        async def chosen() -> Envelope:
            made = payloads.global_shortcut(self.world, self.install, user, callback)
            return await self.deliver(Envelope("interactive", made))

        return self._reply(chosen)

    def message_shortcut(self, user: str, channel: str, ts: str, callback: str) -> Reply:
        """A shortcut from a message's menu."""
        message = self.mirror.get(channel, ts)
        assert message is not None, f"There is no message {ts} in {channel}."
        install, kept = self.world.install_of(channel), dict(message)

        async def chosen() -> Envelope:
            made = payloads.message_shortcut(self.world, install, user, kept, callback)
            return await self.deliver(Envelope("interactive", made))

        return self._reply(chosen)

    def open_home(self, user: str, tab: str = "home", *, looking: str = "") -> None:
        """Open the bot's home, or its messages (`tab="messages"`), `looking` at a channel."""

        async def opened() -> None:
            event: Json = {
                "type": "app_home_opened", "user": user, "tab": tab,
                "channel": await self.dm(user, self.install), "event_ts": self.stamp(),
            }  # fmt: skip
            home = self.world.homes.get((self.install.bot, user))
            if tab == "home" and home is not None:
                event["view"] = home
            if looking:
                event["context"] = self._context(looking)
            self.tell(event)

        self.run(opened())

    def look_at(self, user: str, channel: str) -> None:
        """Look at a channel while the bot's messages are open beside it."""
        event = {
            "type": "app_context_changed", "user": user, "context": self._context(channel),
            "channel": self.dm_of(user), "event_ts": self.stamp(),
        }  # fmt: skip
        self.run(_soon(lambda: self.tell(event)))

    def stop_button(self, user: str, channel: str, thread: str) -> None:
        """Press Slack's own button that stops an agent in a thread."""
        self.inject({
            "type": "agent_session_stopped", "channel": channel, "user": user, "thread_ts": thread,
            "streaming_message_ts": [], "event_ts": self.stamp(),
        })  # fmt: skip

    def inject(self, event: Json, install: Install | None = None) -> None:
        """Bring any event."""
        self.run(_soon(lambda: self.tell(event, install)))

    def inject_payload(self, payload: Json, kind: Any = "interactive") -> Reply:
        """Bring any payload, whatever is wrong with it."""
        return self._reply(lambda: self.deliver(Envelope(kind, payload)))

    def archive(self, channel: str) -> None:
        """Archive a channel."""
        private = self.world.is_private(channel)
        event: Json = {
            "type": "group_archive" if private else "channel_archive", "channel": channel,
            "user": "U01ALICE", "is_moved": 0, "event_ts": self.stamp(),
        }  # fmt: skip
        self.world.room(channel).is_archived = True
        self.inject(event)

    def unarchive(self, channel: str) -> None:
        """Take a channel out of the archive."""
        event: Json = {
            "type": "channel_unarchive", "channel": channel, "user": "U01ALICE",
            "event_ts": self.stamp(),
        }  # fmt: skip
        self.world.room(channel).is_archived = False
        self.inject(event)

    def delete_channel(self, channel: str) -> None:
        """Delete a channel."""
        self.world.room(channel).is_gone = True
        self.inject({"type": "channel_deleted", "channel": channel, "event_ts": self.stamp()})

    def kick(self, channel: str, by: str = "U01ALICE") -> None:
        """Remove the bot from a channel."""
        self.world.room(channel).has_bot = False
        private = self.world.is_private(channel)
        self.inject({
            "type": "group_left" if private else "channel_left", "channel": channel,
            "actor_id": by, "event_ts": self.stamp(),
        })  # fmt: skip

    def absent(self, channel: str) -> None:
        """The bot was never in a channel."""
        self.world.room(channel).has_bot = False

    def invite(self, channel: str, by: str = "U01ALICE") -> None:
        """Bring the bot into a channel."""
        self.world.room(channel).has_bot = True
        bot = self.world.install_of(channel).bot
        self.inject({**self.joined_event(channel, bot), "inviter": by})

    def enter(self, channel: str, user: str) -> None:
        """Somebody comes into a channel."""
        self.world.people_of(channel)
        self.world.members[channel].add(user)
        self.inject(self.joined_event(channel, user))

    def depart(self, channel: str, user: str) -> None:
        """Somebody leaves a channel."""
        self.world.people_of(channel)
        self.world.members[channel].discard(user)
        self.inject({**self.joined_event(channel, user), "type": "member_left_channel"})

    def uninstall(self, install: Install | None = None) -> None:
        """Remove the app from a workspace: its tokens are worth nothing any more."""
        gone = install or self.install
        tokens = {token for token, its in self.world.tokens.items() if its.bot == gone.bot}
        self.world.revoked |= tokens
        self.inject({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [gone.bot]}}, gone)
        self.inject({"type": "app_uninstalled"}, gone)

    def expire(self, token: str) -> None:
        """A token has run out."""
        self.world.tokens.pop(token, None)
        self.expired.add(token)

    def person(self, user: str, **fields: Any) -> None:
        """What differs of a person in `users.info`: `team_id`, `is_restricted`, `deleted` ..."""
        self.world.people.setdefault(user, {}).update(fields)

    def thread(self, channel: str, ts: str) -> list[Json]:
        """The replies under a message that everybody sees."""
        return [
            each for each in self.mirror.thread(channel, ts) if each.get("subtype") != "ephemeral"
        ]  # fmt: skip

    def posts(self, channel: str) -> list[Json]:
        """What the bot has said in a channel for everybody."""
        bot = self.world.install_of(channel).bot
        return [
            each for each in self.mirror.of(channel)
            if each.get("user") == bot and each.get("subtype") != "ephemeral"
        ]  # fmt: skip

    def unseen(self, user: str) -> list[Json]:
        """What only this person was shown."""
        return [each for each in self.mirror.all() if each.get("ephemeral_to") == user]

    def window(self, user: str) -> Json:
        """The window that a person has open. Raises LookupError."""
        stack = self.world.stacks.get(user)
        if not stack:
            raise LookupError(f"{user} has no window open.")
        return dict(stack[-1])

    def is_heard(self) -> bool:
        """Whether the bot is there to be told of things."""
        if self.http is not None:
            return self.run(self.http.challenge()) is not None
        return bool(self.sockets.links)

    def dm_of(self, user: str) -> str:
        """The id of a person's DM with the bot."""
        return self.run(self.dm(user, self.install))

    def until(self, has: Callable[[], Any], what: str, timeout_s: float = 20.0) -> Any:
        """Wait until something holds; returns it. Raises AssertionError."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            try:
                if value := has():
                    return value
            except LookupError:
                pass
            time.sleep(LOOK_S)
        raise AssertionError(f"It did not come about in {timeout_s:.0f} s: {what}")

    def _context(self, channel: str) -> Json:
        entity = {
            "type": "slack#/types/channel_id", "value": channel,
            "team_id": self.world.install_of(channel).team,
        }  # fmt: skip
        return {"entities": [entity]}

    def _reply(self, work: Callable[[], Any]) -> Reply:
        async def whole() -> Envelope:
            envelope: Envelope = await work()
            return envelope

        assert self.loop is not None
        return Reply(asyncio.run_coroutine_threadsafe(whole(), self.loop))


async def _soon(work: Callable[[], Any]) -> None:
    work()
