"""People verify the bot with matrix-js-sdk, in rooms and to-device."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import vodozemac

from adapters.matrix.cross_signing import new_seeds, publish
from tests.adapters.matrix.encrypted_bot import Bot, encrypted_bot
from tests.peers.matrix_user import MatrixUser, People, Verified
from tests.peers.synapse import Account, Json, Synapse

WHERE = pytest.mark.parametrize("where", ["encrypted room", "plain room", "device"])


@dataclass
class Clock:
    """A clock that tests can move."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


@dataclass
class ByHand:
    """A device whose to-device messages are written by the test."""

    synapse: Synapse
    account: Account
    since: str = ""
    heard: list[tuple[str, Json]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def tell(self, bot: Bot, kind: str, id: str, **content: Any) -> None:
        path = f"/_matrix/client/v3/sendToDevice/m.key.verification.{kind}/{next(self._numbers)}"
        whole = {"transaction_id": id, **content}
        to = {bot.client.user_id: {bot.client.device_id: whole}}
        self.synapse.done("PUT", path, {"messages": to}, self.account.token)

    def ask(self, bot: Bot, id: str, **content: Any) -> None:
        now_ms = int(time.time() * 1000)
        asked = {
            "from_device": self.account.device_id,
            "methods": ["m.sas.v1"],
            "timestamp": now_ms,
        }
        self.tell(bot, "request", id, **(asked | content))

    def start(self, bot: Bot, id: str, **content: Any) -> None:
        offered = {
            "from_device": self.account.device_id,
            "method": "m.sas.v1",
            "key_agreement_protocols": ["curve25519-hkdf-sha256"],
            "hashes": ["sha256"],
            "message_authentication_codes": ["hkdf-hmac-sha256.v2"],
            "short_authentication_string": ["emoji"],
        }
        self.tell(bot, "start", id, **(offered | content))

    async def until(self, kind: str, id: str) -> Json:
        """Wait for a message of this kind about this verification."""
        async with asyncio.timeout(10):
            while True:
                for heard, content in self.heard:
                    if heard == kind and content["transaction_id"] == id:
                        return content
                await asyncio.to_thread(self._sync)

    def kinds(self, id: str) -> list[str]:
        return [kind for kind, content in self.heard if content["transaction_id"] == id]

    def _sync(self) -> None:
        path = "/_matrix/client/v3/sync?timeout=300"
        path += f"&since={self.since}" if self.since else ""
        answer = self.synapse.done("GET", path, token=self.account.token)
        self.since = answer["next_batch"]
        for event in answer.get("to_device", {}).get("events", []):
            if event["type"].startswith("m.key.verification."):
                kind = event["type"].removeprefix("m.key.verification.")
                self.heard.append((kind, event["content"]))


@pytest.fixture
def account(synapse: Synapse) -> Account:
    return synapse.register("bot")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def bot(
    synapse: Synapse, account: Account, tmp_path: Path, clock: Clock
) -> AsyncIterator[Bot]:
    seeds = new_seeds()
    async with encrypted_bot(synapse, account, tmp_path, seeds=seeds, now=clock) as bot:
        await publish(bot.client, seeds, password=account.password)
        yield bot


@pytest.fixture
async def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))


@pytest.fixture
def by_hand(synapse: Synapse, bot: Bot) -> ByHand:
    hand = ByHand(synapse, synapse.register("hand"))
    bot.invited.add(hand.account.user_id)
    return hand


@WHERE
async def test_somebody_on_the_list_verifies_the_bot_by_emoji(
    bot: Bot, ann: MatrixUser, where: str
) -> None:
    bot.invited.add(ann.user_id)

    ended = await _verify(ann, bot, where)

    assert ended.phase == "Done"
    await _until_trusted(ann, bot)
    trust = await asyncio.to_thread(ann.trust, bot.client.user_id)
    assert trust["verified"]
    outcome = bot.verifier.recent[-1]
    assert outcome.state == "verified"
    assert [each.split(" ")[0] for each in outcome.emoji.split(", ")] == ended.emoji


@WHERE
async def test_somebody_else_is_told_why_not(bot: Bot, ann: MatrixUser, where: str) -> None:
    ended = await _verify(ann, bot, where)

    assert (ended.phase, ended.code, ended.by) == ("Cancelled", "m.user", bot.client.user_id)
    assert "on its list" in bot.verifier.recent[-1].reason


@WHERE
async def test_a_person_who_sees_other_emoji_ends_it(bot: Bot, ann: MatrixUser, where: str) -> None:
    bot.invited.add(ann.user_id)

    ended = await _verify(ann, bot, where, matches=False)

    assert (ended.phase, ended.code) == ("Cancelled", "m.mismatched_sas")
    await _until_noted(bot, "cancelled")
    assert not (await asyncio.to_thread(ann.trust, bot.client.user_id))["verified"]


async def test_several_people_verify_at_once(
    synapse: Synapse, matrix_people: People, bot: Bot
) -> None:
    crowd = [
        await asyncio.to_thread(matrix_people.login, synapse, synapse.register("one"))
        for _ in range(3)
    ]
    bot.invited.update(user.user_id for user in crowd)

    ended = await asyncio.gather(*(_verify(user, bot, "device") for user in crowd))

    assert [each.phase for each in ended] == ["Done"] * 3


async def test_people_in_the_bots_room_verify_each_other_undisturbed(
    synapse: Synapse, matrix_people: People, bot: Bot, ann: MatrixUser
) -> None:
    bob = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("bob"))
    bot.invited.update({ann.user_id, bob.user_id})
    room = await _shared(ann, bot)
    await asyncio.to_thread(ann.invite, room, bob.user_id)
    await asyncio.to_thread(bob.until_invited, room)
    await asyncio.to_thread(bob.join, room)
    await asyncio.to_thread(ann.until_member, room, bob.user_id)

    asking = asyncio.create_task(asyncio.to_thread(ann.verify, bob.user_id, room=room))
    await asyncio.to_thread(bob.until, lambda: bool(bob.requests), 10, lambda: "no request")
    accept = {**bob.requests[0], "starts": False, "matches": True, "seconds": 10}
    await asyncio.to_thread(lambda: bob.do("accept", **accept))
    ended = await asking

    assert ended.phase == "Done"
    assert not bot.verifier.recent


async def test_after_a_restart_before_the_start_it_goes_on(bot: Bot, ann: MatrixUser) -> None:
    bot.invited.add(ann.user_id)
    room = await _shared(ann, bot)
    me = bot.client.user_id

    asking = asyncio.create_task(
        asyncio.to_thread(ann.verify, me, room=room, starts=True, timeout_s=20)
    )
    await _until_noted(bot, "asked")
    _restart(bot)
    ended = await asking

    assert ended.phase == "Done"


@pytest.mark.parametrize("is_in_room", [True, False])
async def test_after_a_restart_in_the_middle_it_is_cancelled(
    bot: Bot, ann: MatrixUser, is_in_room: bool
) -> None:
    bot.invited.add(ann.user_id)

    asking = asyncio.create_task(_verify(ann, bot, "encrypted room" if is_in_room else "device"))
    await _until_noted(bot, "comparing")
    _restart(bot)
    ended = await asking

    assert (ended.phase, ended.code) == ("Cancelled", "m.unknown_transaction")


async def test_what_takes_longer_than_ten_minutes_is_cancelled(
    bot: Bot, by_hand: ByHand, clock: Clock
) -> None:
    by_hand.ask(bot, "slow")
    await by_hand.until("ready", "slow")

    clock.ahead_s = 601
    await bot.verifier.expire()

    assert (await by_hand.until("cancel", "slow"))["code"] == "m.timeout"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"method": "m.reciprocate.v1"}, "m.unknown_method"),
        ({"hashes": ["md5"]}, "m.unknown_method"),
        ({"message_authentication_codes": ["none"]}, "m.unknown_method"),
        ({"key_agreement_protocols": ["curve25519"]}, "m.unknown_method"),
        ({"short_authentication_string": []}, "m.unknown_method"),
        ({"hashes": None}, "m.invalid_message"),
        ({"from_device": "ANOTHER"}, "m.invalid_message"),
    ],
)
async def test_a_start_that_offers_nothing_known_is_cancelled(
    bot: Bot, by_hand: ByHand, wrong: Json, code: str
) -> None:
    by_hand.ask(bot, "odd")
    await by_hand.until("ready", "odd")

    by_hand.start(bot, "odd", **wrong)

    assert (await by_hand.until("cancel", "odd"))["code"] == code


@pytest.mark.parametrize("methods", [[], ["m.qr_code.scan.v1"], "m.sas.v1", None, [["m.sas.v1"]]])
async def test_a_request_without_a_known_method_is_cancelled(
    bot: Bot, by_hand: ByHand, methods: object
) -> None:
    by_hand.ask(bot, "odd", methods=methods)

    assert (await by_hand.until("cancel", "odd"))["code"] == "m.unknown_method"


async def test_a_request_that_comes_twice_is_answered_once(bot: Bot, by_hand: ByHand) -> None:
    by_hand.ask(bot, "twice")
    by_hand.ask(bot, "twice")
    by_hand.start(bot, "twice")
    by_hand.start(bot, "twice")
    by_hand.tell(bot, "key", "unknown", key="none")

    await by_hand.until("cancel", "unknown")

    assert by_hand.kinds("twice") == ["ready", "accept"]


async def test_a_newer_request_takes_the_place_of_an_older_one(bot: Bot, by_hand: ByHand) -> None:
    by_hand.ask(bot, "older")
    by_hand.ask(bot, "newer")

    await by_hand.until("ready", "newer")

    assert (await by_hand.until("cancel", "older"))["code"] == "m.user"


@pytest.mark.parametrize("age_s", [660, -360])
async def test_a_request_of_another_time_is_ignored(
    bot: Bot, by_hand: ByHand, age_s: float
) -> None:
    by_hand.ask(bot, "old", timestamp=int((time.time() - age_s) * 1000))
    by_hand.ask(bot, "now")

    await by_hand.until("ready", "now")

    assert not by_hand.kinds("old")


@pytest.mark.parametrize(
    ("kind", "content"),
    [("key", {"key": "AAAA"}), ("mac", {"mac": {}, "keys": ""}), ("accept", {}), ("mac", {})],
)
async def test_what_comes_before_a_start_is_cancelled(
    bot: Bot, by_hand: ByHand, kind: str, content: Json
) -> None:
    by_hand.ask(bot, "early")

    by_hand.tell(bot, kind, "early", **content)

    assert (await by_hand.until("cancel", "early"))["code"] == "m.unexpected_message"


@pytest.mark.parametrize("key", ["", "not a key", None, 7, ["A"], "A" * 43, "A" * 40_000])
async def test_a_key_that_is_none_is_cancelled(bot: Bot, by_hand: ByHand, key: object) -> None:
    by_hand.ask(bot, "odd")
    by_hand.start(bot, "odd")
    await by_hand.until("accept", "odd")

    by_hand.tell(bot, "key", "odd", key=key)

    assert (await by_hand.until("cancel", "odd"))["code"] == "m.invalid_message"


@pytest.mark.parametrize(
    ("mac", "code"),
    [
        ({"ed25519:X": "AAAA"}, "m.key_mismatch"),
        ({"x": 1}, "m.invalid_message"),
        (None, "m.invalid_message"),
    ],
)
async def test_macs_that_do_not_fit_are_cancelled(
    bot: Bot, by_hand: ByHand, mac: object, code: str
) -> None:
    by_hand.ask(bot, "odd")
    by_hand.start(bot, "odd")
    by_hand.tell(bot, "key", "odd", key=vodozemac.Sas().public_key.to_base64())

    by_hand.tell(bot, "mac", "odd", mac=mac, keys="AAAA")

    assert (await by_hand.until("cancel", "odd"))["code"] == code


async def test_a_start_without_a_request_is_one(bot: Bot, by_hand: ByHand) -> None:
    by_hand.start(bot, "direct")

    assert (await by_hand.until("accept", "direct"))["method"] == "m.sas.v1"


async def test_the_bots_own_account_is_refused(
    synapse: Synapse, bot: Bot, account: Account
) -> None:
    own = ByHand(synapse, synapse.login(account))
    bot.invited.add(account.user_id)

    own.ask(bot, "own")

    cancelled = await own.until("cancel", "own")
    assert (cancelled["code"], "own account" in cancelled["reason"]) == ("m.user", True)


async def test_a_verified_person_is_not_trusted_more_by_the_bot(bot: Bot, ann: MatrixUser) -> None:
    bot.invited.add(ann.user_id)

    await _verify(ann, bot, "device")

    assert bot.client.olm
    assert not any(device.verified for device in bot.client.olm.device_store)


async def _verify(ann: MatrixUser, bot: Bot, where: str, **more: Any) -> Verified:
    me = bot.client.user_id
    room = await _shared(ann, bot)
    # Their client follows the keys of those whom it shares an encrypted room with.
    await asyncio.to_thread(ann.until, lambda: _knows(ann, bot), 10, lambda: "bot not known")
    if where == "device":
        device = bot.client.device_id or ""
        return await asyncio.to_thread(ann.verify, me, device=device, **more)
    if where == "plain room":
        room = await _shared(ann, bot, encrypted=False)
    return await asyncio.to_thread(ann.verify, me, room=room, **more)


def _knows(ann: MatrixUser, bot: Bot) -> bool:
    return bot.client.device_id in ann.trust(bot.client.user_id)["devices"]


async def _until_noted(bot: Bot, state: str) -> None:
    async with asyncio.timeout(20):
        while not bot.verifier.recent or bot.verifier.recent[-1].state != state:
            await asyncio.sleep(0)


async def _shared(ann: MatrixUser, bot: Bot, *, encrypted: bool = True) -> str:
    me = bot.client.user_id
    room = await asyncio.to_thread(ann.create, encrypted=encrypted, invite=[me])
    await asyncio.to_thread(ann.until_member, room, me)
    return room


async def _until_trusted(ann: MatrixUser, bot: Bot) -> None:
    """The signature of the person's client goes up a moment after both are done."""
    me = bot.client.user_id
    await asyncio.to_thread(ann.until, lambda: ann.trust(me)["verified"], 10, lambda: "no trust")


def _restart(bot: Bot) -> None:
    """What the process remembered of verifications is gone."""
    bot.verifier._open.clear()
