"""
Verification that people ask of the bot: completed for those on the list, else cancelled with a reason.

Nobody sits in front of the bot to compare emoji. So the person's client is the side that verifies:
it shows emoji, the bot tells its own to the operator (the log, and `recent`), who can read them out
over a way that the homeserver does not control. The bot agrees once the person has, which is when
their MAC comes. From the other side this is a whole verification: the bot's device and its master
key are vouched for. The bot itself trusts nobody more after it: it signs no user and marks no device,
as it compared nothing.

Rule 1: nothing is left hanging. What is asked ends in `done` or in `cancel`: after ten minutes, after
        a restart, when a newer request takes its place, when something cannot be read.
Rule 2: a room holds the verifications of others too: only what refers to a request to us is answered.
Rule 3: the bot's own account is refused. Whoever logged in with its password alone would become a
        device that keys are handed to.
Rule 4: the sync is never held up: what is heard is queued, and `run` works on it.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import nio

from adapters.matrix.mended import mend
from adapters.matrix.sas import METHOD, Cancelled, Party, Sas
from adapters.matrix.verification_channel import (
    Channel,
    Heard,
    Json,
    is_verification,
    read,
    request_of,
    send,
)
from adapters.matrix.wire import only_key, user_keys
from bot.errors import HeadwayError, Refused, Wait

__all__ = ["Outcome", "Verifier", "is_verification"]

log = logging.getLogger(__name__)

LONGEST_S: Final = 600.0
"""A verification lasts ten minutes, and a request is too old after them (Matrix 1.17)."""
AHEAD_S: Final = 300.0
"""A request from further ahead is ignored (the same)."""
LOOK_S: Final = 10.0
MOST_QUEUED: Final = 1_000
MOST_TRIES: Final = 5
MOST_PATIENCE_S: Final = 60.0

MayVerify = Callable[[str], Awaitable[bool]]
Key = tuple[str, str, str]
State = Literal["asked", "comparing", "verified", "cancelled"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a verification came, for the operator."""

    user_id: str
    device_id: str
    at: float
    """Seconds since the epoch."""
    state: State
    emoji: str = ""
    """The seven signs that the bot sees, with their names."""
    reason: str = ""


@dataclass(slots=True)
class _Open:
    """One that is under way."""

    channel: Channel
    began: float
    sas: Sas | None = None
    start: Json | None = None
    is_done: bool = False


class Verifier:
    """Answers verification requests; give it every event for which `is_verification` holds."""

    def __init__(
        self,
        client: nio.AsyncClient,
        may_verify: MayVerify,
        *,
        master_key: Callable[[], str] = str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Takes verification out of nio's hands.

        Args:
            client: logged in, with its crypto store.
            may_verify: whether a user is on the list.
            master_key: gives the public one of the bot's identity; empty without cross-signing.
            now: seconds since the epoch.
        """
        self._client = client
        self._may_verify = may_verify
        self._key_of_identity = master_key
        self._now = now
        self._open: dict[Key, _Open] = {}
        self._heard: asyncio.Queue[Heard] = asyncio.Queue(MOST_QUEUED)
        self.recent: deque[Outcome] = deque(maxlen=20)
        mend(client)

    async def on_to_device(self, event: object) -> None:
        """Take a to-device event of nio; others than verification are passed over."""
        self._take(read(event))

    async def on_room_event(self, room_id: str, event: object) -> None:
        """Take a decrypted event of a room's timeline; others than verification are passed over."""
        self._take(read(event, room_id))

    async def run(self) -> None:
        """Work on what was heard until cancelled."""
        while True:
            try:
                await self._answer_next()
                await self.expire()
            except Exception:
                log.exception("Verification goes on after a failure")

    async def expire(self) -> None:
        """Cancel what takes too long."""
        for opened in [*self._open.values()]:
            if self._now() - opened.began <= LONGEST_S:
                continue
            if opened.is_done:
                self._open.pop(opened.channel.key)
            else:
                await self._cancel(opened.channel, Cancelled("m.timeout", "It took too long"))

    def _take(self, heard: Heard | None) -> None:
        if heard is None or not self._is_of_now(heard):
            return
        if heard.channel.room_id and heard.channel.user_id == self._ours.user_id:
            return
        try:
            self._heard.put_nowait(heard)
        except asyncio.QueueFull:
            log.warning("Too many verification messages; one of %s is lost", heard.channel.user_id)

    async def _answer_next(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                heard = await self._heard.get()
            await self._answer(heard)

    async def _answer(self, heard: Heard) -> None:
        """Answer one message; whatever goes wrong ends this verification and no other."""
        opened = self._open.get(heard.channel.key)
        channel = opened.channel if opened else heard.channel
        try:
            await self._step(heard, opened)
        except Cancelled as cancelled:
            await self._cancel(channel, cancelled)
        except HeadwayError as error:
            log.warning("A verification with %s failed: %s", channel.user_id, error)
            await self._cancel(channel, Cancelled("m.user", "The bot could not go on"))
        except Exception:
            log.exception("A verification with %s failed", channel.user_id)
            await self._cancel(channel, Cancelled("m.user", "The bot could not go on"))

    async def _step(self, heard: Heard, opened: _Open | None) -> None:
        match heard.kind:
            case "request":
                await self._requested(heard)
            case "cancel" | "done":
                self._ended(heard, opened)
            case "start":
                await self._started(heard, opened or await self._resumed(heard))
            case "key" | "mac" if opened is None or opened.sas is None:
                await self._unknown(heard, opened)
            case "key" if opened is not None:
                await self._keyed(heard, opened)
            case "mac" if opened is not None:
                await self._vouched(heard, opened)
            case "accept" if opened is not None:
                raise Cancelled("m.unexpected_message", "Nothing was started from here")
            case _:
                pass

    async def _requested(self, heard: Heard) -> None:
        """A request: ready, or cancelled, or none of ours."""
        channel = heard.channel
        if channel.key in self._open or not self._is_for_us(heard):
            return
        methods = heard.content.get("methods")
        if not isinstance(methods, list) or METHOD not in methods:
            raise Cancelled("m.unknown_method", "Only the comparison of emoji or numbers is known")
        await self._admit(channel)
        await self._send(channel, "ready", {"from_device": self._device_id, "methods": [METHOD]})

    async def _admit(self, channel: Channel) -> _Open:
        """Open a verification. Raises Cancelled for who may have none."""
        if channel.user_id == self._ours.user_id:
            raise Cancelled("m.user", "The bot verifies no other session of its own account")
        if not await self._may_verify(channel.user_id):
            raise Cancelled("m.user", "The bot verifies only people on its list")
        for older in [*self._open.values()]:
            if older.channel.user_id == channel.user_id:
                await self._cancel(older.channel, Cancelled("m.user", "A newer one took its place"))
        opened = _Open(channel, self._now())
        self._open[channel.key] = opened
        self._note(channel, "asked")
        return opened

    async def _resumed(self, heard: Heard) -> _Open | None:
        """A start whose request we do not remember (a restart), or that had none."""
        if heard.channel.room_id:
            request = await self._lost_request(heard)
            if request is None or not self._is_of_now(request):
                return None
        return await self._admit(heard.channel)

    async def _started(self, heard: Heard, opened: _Open | None) -> None:
        """The other side starts: accepted, with the commitment to our key."""
        if opened is None or opened.is_done or opened.start == heard.content:
            return
        if opened.start is not None:
            raise Cancelled("m.unexpected_message", "It was started already")
        if heard.content.get("method") != METHOD:
            raise Cancelled("m.unknown_method", "Only the comparison of emoji or numbers is known")
        if heard.channel.device_id != opened.channel.device_id:
            raise Cancelled("m.invalid_message", "It was asked from another device")
        theirs = Party(opened.channel.user_id, opened.channel.device_id)
        sas = Sas(self._ours, theirs, opened.channel.id, heard.content)
        opened.start, opened.sas = heard.content, sas
        await self._send(opened.channel, "accept", sas.accept())

    async def _keyed(self, heard: Heard, opened: _Open) -> None:
        """Their key: ours is told, and the emoji are known."""
        assert opened.sas
        if not opened.sas.take_key(heard.content.get("key")):
            return
        await self._send(opened.channel, "key", {"key": opened.sas.key})
        emoji = ", ".join(f"{sign} {name}" for sign, name in opened.sas.emoji)
        # Whoever runs the bot may be asked for it, and nowhere else is it told.
        log.warning("%s verifies the bot and should see: %s", opened.channel.user_id, emoji)
        self._note(opened.channel, "comparing", emoji=emoji)

    async def _vouched(self, heard: Heard, opened: _Open) -> None:
        """Their MAC: the person has agreed, so do we, once it holds."""
        assert opened.sas
        if opened.is_done:
            return
        opened.sas.check(heard.content, await self._their_keys(opened.channel))
        await self._send(opened.channel, "mac", opened.sas.mac(self._our_keys()))
        opened.is_done = True
        await self._send(opened.channel, "done", {})
        log.info("%s has verified the bot", opened.channel.user_id)
        self._note(opened.channel, "verified")

    def _ended(self, heard: Heard, opened: _Open | None) -> None:
        """They are done, or do not want to go on: there is nothing to answer."""
        if opened is None or (heard.kind == "done" and not opened.is_done):
            return
        self._open.pop(opened.channel.key)
        if heard.kind == "cancel":
            reason = f"{heard.content.get('code')}: {heard.content.get('reason')}"[:200]
            log.info("%s cancelled a verification (%s)", opened.channel.user_id, reason)
            self._note(opened.channel, "cancelled", reason=reason)

    async def _unknown(self, heard: Heard, opened: _Open | None) -> None:
        """A message in the middle of one that we do not remember, as after a restart."""
        if opened is not None:
            raise Cancelled("m.unexpected_message", "It was not started yet")
        if not heard.channel.room_id or await self._lost_request(heard) is not None:
            raise Cancelled("m.unknown_transaction", "The bot does not know this verification")

    async def _lost_request(self, heard: Heard) -> Heard | None:
        """The request to us that a message in a room refers to, where its sender made one."""
        try:
            request = await request_of(self._client, heard.channel)
        except Refused:
            return None
        if request is None or request.channel.user_id != heard.channel.user_id:
            return None
        return request if self._is_for_us(request) else None

    async def _their_keys(self, channel: Channel) -> Mapping[str, str]:
        """What the homeserver says are their device's and their master key, by key id."""
        keys = await user_keys(self._client, channel.user_id)
        key_id = f"ed25519:{channel.device_id}"
        device = keys.devices.get(channel.device_id)
        named = device.get("keys") if isinstance(device, dict) else None
        known = {key_id: named[key_id]} if isinstance(named, dict) and key_id in named else {}
        if master := only_key(keys.master):
            known[f"ed25519:{master}"] = master
        return known

    def _our_keys(self) -> Mapping[str, str]:
        assert self._client.olm
        own = self._client.olm.account.identity_keys["ed25519"]
        keys = {f"ed25519:{self._device_id}": own}
        if master := self._key_of_identity():
            keys[f"ed25519:{master}"] = master
        return keys

    async def _cancel(self, channel: Channel, cancelled: Cancelled) -> None:
        """Tell the other side that it is over; if even that fails, they run into their time limit."""
        was_open = self._open.pop(channel.key, None) is not None
        self._note(channel, "cancelled", reason=f"{cancelled.code}: {cancelled.reason}")
        log.info("A verification with %s is cancelled: %s", channel.user_id, cancelled.reason)
        try:
            content = {"code": cancelled.code, "reason": cancelled.reason}
            # Strangers do not make others wait.
            await self._send(channel, "cancel", content, tries=MOST_TRIES if was_open else 1)
        except (HeadwayError, nio.LocalProtocolError) as error:
            log.warning("%s was not told that a verification is over: %s", channel.user_id, error)

    async def _send(
        self, channel: Channel, kind: str, content: Json, tries: int = MOST_TRIES
    ) -> None:
        """Send, with patience for rate limits. Raises HeadwayError."""
        for number in range(1, tries + 1):
            try:
                return await send(self._client, channel, kind, content)
            except Wait as wait:
                if number == tries:
                    raise
                await asyncio.sleep(min(wait.retry_after_s or number, MOST_PATIENCE_S))
        raise AssertionError("the last try returns or raises")

    def _is_for_us(self, request: Heard) -> bool:
        """To-device messages are; in a room the request says whom it asks."""
        return not request.channel.room_id or request.content.get("to") == self._ours.user_id

    def _is_of_now(self, heard: Heard) -> bool:
        if heard.sent_ms is None:
            return True
        age_s = self._now() - heard.sent_ms / 1000
        return -AHEAD_S <= age_s <= LONGEST_S

    def _note(self, channel: Channel, state: State, emoji: str = "", reason: str = "") -> None:
        """Keep one line for each verification, the newest last."""
        new = Outcome(channel.user_id, channel.device_id, self._now(), state, emoji, reason)
        for place, old in enumerate(self.recent):
            is_same = (old.user_id, old.device_id) == (new.user_id, new.device_id)
            if is_same and old.state in ("asked", "comparing"):
                self.recent[place] = replace(new, emoji=emoji or old.emoji)
                return
        self.recent.append(new)

    @property
    def _device_id(self) -> str:
        assert self._client.device_id
        return self._client.device_id

    @property
    def _ours(self) -> Party:
        return Party(self._client.user_id, self._device_id)
