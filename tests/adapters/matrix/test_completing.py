"""Files that come with messages, and bad input as people send it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.matrix.parse import MARK
from bot.errors import BadInput, Wait
from bot.ports.chat import Attachment, Incoming, Place, Reacted, Speaker
from tests.adapters.matrix.listening_bed import Ledger, ear, person
from tests.doubles.clock import HandClock
from tests.peers.synapse import Synapse

FILE = {"msgtype": "m.file", "body": "a.txt", "url": "mxc://localhost/abc"}
ATTACHED = Attachment("a.txt", "text/plain", 3, "0" * 64)


class QuickClock(HandClock):
    """Sleeps a hundredth of what it is told to."""

    async def sleep(self, seconds: float) -> None:
        """Sleep so much less."""
        self.move(seconds)
        await asyncio.sleep(seconds / 100)


def unfetched(name: str, why: str) -> str:
    return f"[{name} cannot be fetched: {why}]"


async def test_a_file_is_fetched_before_its_message_is_given_on(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    failures = [Wait("Not now."), Wait("Not yet.")]

    async def fetch(content: Any) -> Attachment | None:
        if failures:
            raise failures.pop()
        return ATTACHED

    room = ann.create(bot.user_id)
    async with ear(
        synapse, bot, tmp_path / "s", ledger, invited=[ann.id], fetch=fetch, clock=QuickClock()
    ) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.send(room, FILE)
        ann.send(room, {**FILE, "body": "Read this", "filename": "a.txt"})
        await hears.until(lambda: len(ledger.said) == 2)

    bare, captioned = ledger.said.values()
    assert isinstance(bare, Incoming)
    assert isinstance(captioned, Incoming)
    assert (bare.text, bare.files) == ("", (ATTACHED,))
    assert (captioned.text, captioned.files) == ("Read this", (ATTACHED,))


@pytest.mark.parametrize("error", [BadInput("It has 2 GB."), Wait("Out of reach.")])
async def test_a_file_that_does_not_come_keeps_no_message_back(
    synapse: Synapse, tmp_path: Path, error: Exception
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()

    async def fetch(content: Any) -> Attachment | None:
        raise error

    room = ann.create(bot.user_id)
    wishes: dict[str, Any] = {"fetch": fetch, "unfetched": unfetched, "clock": QuickClock()}
    async with ear(synapse, bot, tmp_path / "s", ledger, invited=[ann.id], **wishes) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.send(room, {**FILE, "body": "Read this", "filename": "a.txt"})
        await hears.until(lambda: ledger.said)

    assert ledger.texts == [f"Read this\n\n[a.txt cannot be fetched: {error}]"]


async def test_the_files_of_people_who_are_not_heard_are_left_where_they_are(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    fetched: list[Any] = []

    async def fetch(content: Any) -> Attachment | None:
        fetched.append(content)
        return ATTACHED

    async def is_heard(place: Place, speaker: Speaker) -> bool:
        return False

    room = ann.create(bot.user_id)
    wishes: dict[str, Any] = {"fetch": fetch, "is_heard": is_heard}
    async with ear(synapse, bot, tmp_path / "s", ledger, invited=[ann.id], **wishes) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.send(room, {**FILE, "body": "Read this", "filename": "a.txt"})
        await hears.until(lambda: ledger.said)

    assert ledger.texts == ["Read this"]
    assert not fetched


async def test_bad_input_crashes_nothing_and_hides_nothing(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "s", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        said = ann.say(room, "first")
        ann.say(room, "x" * 60_000)
        contents: list[dict[str, Any]] = [
            {},
            {"msgtype": "m.text"},
            {"msgtype": "m.text", "body": {"a": 1}},
            {"msgtype": {}, "body": []},
            {"msgtype": "m.notice", "body": "a notice"},
            {"msgtype": "m.text", "body": "another Headway", MARK: {"key": "k"}},
            {"msgtype": "m.image", "body": "no address"},
        ]
        relations: list[Any] = [
            None,
            "x",
            [],
            {"rel_type": "m.replace"},
            {"event_id": {}, "key": 1},
        ]
        for content in contents:
            ann.tries(room, content)
        for relation in relations:
            ann.tries(room, {"m.relates_to": relation}, "m.reaction")
        ann.send(room, {"what": "ever"}, "com.example.unknown")
        ann.state(room, "m.room.member", {"membership": "join", "displayname": "An" * 60}, ann.id)
        taken = ann.say(room, "taken back")
        ann.redact(room, taken)
        target = {"rel_type": "m.annotation", "event_id": taken, "key": "\N{DIRECT HIT}"}
        ann.send(room, {"m.relates_to": target}, "m.reaction")
        ann.say(room, "last", **{"m.relates_to": {"rel_type": "m.thread", "event_id": said}})
        await hears.until(lambda: "last" in ledger.texts)

        assert not hears.troubles

    texts = [text for text in ledger.texts if text != "taken back"]
    assert texts == ["first", "x" * 60_000, "last"]
    kinds = {type(one).__name__ for one in ledger.said.values()}
    assert kinds == {"Incoming", "Removed", "Reacted"}
    assert [one.text for one in ledger.said.values() if isinstance(one, Reacted)] == [""]


async def test_an_aim_at_what_another_headway_said_is_for_that_one(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "s", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        theirs = ann.send(room, {"msgtype": "m.text", "body": "Done.", MARK: {"key": "g1:settle"}})
        for target in (theirs, ann.say(room, "count the boats")):
            relation = {"rel_type": "m.annotation", "event_id": target, "key": "🎯"}
            ann.send(room, {"m.relates_to": relation}, type="m.reaction")
        await hears.until(lambda: len(ledger.said) == 2)

    assert [one.text for one in ledger.said.values() if isinstance(one, Reacted)] == [
        "count the boats"
    ]
