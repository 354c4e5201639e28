"""Messages and the files that came with them, whatever becomes of these."""

import asyncio
from typing import Any

import pytest

from adapters.slack.attaching import GOOD_S, KEPT, MOST, TRIES, Attaching
from bot.errors import BadInput, HeadwayError, Refused, Wait
from bot.ports.attached import not_taken
from bot.ports.chat import Attachment, Incoming, Place, Speaker
from tests.doubles.clock import HandClock

ANN, EVE = Speaker("T01TEST:U01ALICE", "Ann"), Speaker("T09OTHER:U07FORGN", "Fay")
PLACE = Place("slack", "T01TEST", "C01GEN")
HASH = "0" * 64


class Fetches:
    """What is fetched, and what happens to it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.errors: dict[str, list[HeadwayError]] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, workspace: str, file: Any) -> Attachment:
        """The next error of the file, or the file."""
        name = file["name"]
        self.asked.append(name)
        await self.gate.wait()
        if self.errors.get(name):
            raise self.errors[name].pop(0)
        return Attachment(name, "text/plain", 1, HASH)


@pytest.fixture
def fetches() -> Fetches:
    return Fetches()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def attaching(fetches: Fetches, clock: HandClock) -> Attaching:
    async def is_heard(place: Place, speaker: Speaker) -> bool:
        return speaker == ANN

    return Attaching(fetches, clock, is_heard=is_heard, unfetched=not_taken)


def message(text: str = "Look", speaker: Speaker = ANN, id: str = "C01GEN:1.000001") -> Incoming:
    return Incoming(id, PLACE, speaker, text, 1.0)


def files(*names: str) -> list[dict[str, str]]:
    return [{"id": f"F{name}", "name": name} for name in names]


async def test_a_message_brings_its_files_in_their_order(attaching: Attaching) -> None:
    whole = await attaching.with_files(message(), files("a.txt", "b.txt"))

    assert [one.name for one in whole.files] == ["a.txt", "b.txt"]
    assert whole.text == "Look"


async def test_nothing_is_fetched_of_a_stranger(attaching: Attaching, fetches: Fetches) -> None:
    said = message(speaker=EVE)

    assert await attaching.with_files(said, files("a.txt")) == said
    assert fetches.asked == []


async def test_a_file_that_does_not_come_is_noted_and_the_others_come(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.errors["a.txt"] = [BadInput("It has 30 MB, and a file may have 20 MB here.")]
    fetches.errors["c.txt"] = [Refused("It was deleted.", code="no_file")]

    whole = await attaching.with_files(message(), files("a.txt", "b.txt", "c.txt"))

    assert [one.name for one in whole.files] == ["b.txt"]
    assert whole.text.splitlines() == [
        "Look",
        "",
        "[file: a.txt, not taken: It has 30 MB, and a file may have 20 MB here.]",
        "[file: c.txt, not taken: It was deleted.]",
    ]


async def test_a_file_without_words_that_does_not_come_is_a_note_alone(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.errors["a.txt"] = [Refused("It was deleted.", code="no_file")]

    whole = await attaching.with_files(message(""), files("a.txt"))

    assert whole.text == "[file: a.txt, not taken: It was deleted.]"


async def test_what_passes_is_tried_again_and_then_noted(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.errors["a.txt"] = [Wait("Slack cannot be reached. It is tried again.")]
    fetches.errors["b.txt"] = [Wait("Slack cannot be reached. It is tried again.")] * TRIES

    whole = await attaching.with_files(message(), files("a.txt", "b.txt"))

    assert [one.name for one in whole.files] == ["a.txt"]
    assert "[file: b.txt, not taken: Slack cannot be reached.]" in whole.text


async def test_a_message_that_is_told_of_twice_is_fetched_once(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.gate.clear()
    both = [
        asyncio.create_task(attaching.with_files(message(), files("a.txt"))) for _ in range(2)
    ]  # fmt: skip
    await asyncio.sleep(0)
    fetches.gate.set()

    first, second = await asyncio.gather(*both)
    later = await attaching.with_files(message(), files("a.txt"))

    assert first == second == later
    assert fetches.asked == ["a.txt"]


async def test_what_was_fetched_long_ago_is_fetched_anew(
    attaching: Attaching, fetches: Fetches, clock: HandClock
) -> None:
    await attaching.with_files(message(), files("a.txt"))
    clock.move(GOOD_S + 1)

    await attaching.with_files(message(), files("a.txt"))

    assert fetches.asked == ["a.txt", "a.txt"]


async def test_who_gives_up_waiting_takes_the_files_from_nobody(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.gate.clear()
    hasty = asyncio.create_task(attaching.with_files(message(), files("a.txt")))
    await asyncio.sleep(0.01)
    hasty.cancel()
    await asyncio.gather(hasty, return_exceptions=True)
    fetches.gate.set()

    whole = await attaching.with_files(message(), files("a.txt"))

    assert [one.name for one in whole.files] == ["a.txt"]
    assert fetches.asked == ["a.txt"]


async def test_of_very_many_files_some_are_taken_and_the_rest_are_noted(
    attaching: Attaching, fetches: Fetches
) -> None:
    names = [f"{number}.txt" for number in range(MOST + 2)]

    whole = await attaching.with_files(message(), files(*names))

    assert len(whole.files) == MOST
    assert whole.text.count("not taken") == 2


async def test_files_of_old_messages_are_not_remembered_for_ever(
    attaching: Attaching, fetches: Fetches
) -> None:
    for number in range(KEPT + 10):
        said = message(id=f"C01GEN:{number}.000001")
        await attaching.with_files(said, files("a.txt"))

    await attaching.with_files(message(id="C01GEN:0.000001"), files("a.txt"))

    assert len(fetches.asked) == KEPT + 11


async def test_what_is_under_way_ends_with_the_process(
    attaching: Attaching, fetches: Fetches
) -> None:
    fetches.gate.clear()
    asking = asyncio.create_task(attaching.with_files(message(), files("a.txt")))
    await asyncio.sleep(0.01)

    await attaching.close()

    with pytest.raises(asyncio.CancelledError):
        await asking
