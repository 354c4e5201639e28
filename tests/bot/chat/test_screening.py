"""What people say is stored without known secrets, and they are told once."""

from dataclasses import replace

import pytest

from bot.chat.facts import Manner
from bot.chat.screening import Screening
from bot.errors import StoreBusy, Wait
from bot.ports.chat import Arrival, Incoming, Place, Speaker
from bot.ports.positions import Position
from bot.redaction import Redactor
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore

KEY = "planted-key"
TOKEN = f"ghp_{'aB3dE5fG7h' * 4}"
PLACE = Place("console", "", "room", "t1")


class Bed:
    def __init__(self) -> None:
        self.store = MemoryStore(HandClock())
        self.got: list[Arrival] = []
        self.is_full = False
        redactor = Redactor({"api_key": KEY, "OTHER": "other-planted"})
        self.screening = Screening(
            self.receive, self.store.rooms, self.store.outbox, redactor, Manner(),
            is_known=self.is_known,
        )  # fmt: skip

    async def is_known(self, message: Incoming) -> bool:
        if message.speaker.id == "unsure":
            raise Wait("Nobody says.")
        return message.speaker.id in ("ann", "bob")

    async def receive(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        [message] = arrivals
        if self.is_full:
            raise StoreBusy("It is full.")
        self.got.append(message)

    async def say(
        self, text: str, *, by: str = "ann", place: Place = PLACE, at: float = 5.0
    ) -> None:
        id = f"m{len(self.got)}"
        await self.screening.receive(Incoming(id, place, Speaker(by, by), text, at))

    async def told(self) -> list[str]:
        found: list[str] = []
        for due in await self.store.outbox.claim("console", limit=9):
            texts = await self.store.journal.contents(due.session, (due.content,))
            found += texts.values()
        return found


@pytest.fixture
def bed() -> Bed:
    return Bed()


async def test_a_message_is_stored_without_the_value(bed: Bed) -> None:
    await bed.say(f"/goal use {KEY}")

    [stored] = bed.got

    assert isinstance(stored, Incoming)
    assert stored.text == "/goal use [secret api_key]"


async def test_a_form_is_stored_without_the_value(bed: Bed) -> None:
    filled = (("act", "start"), ("budget", f"{KEY} USD"))
    message = Incoming("form:1", PLACE, Speaker("ann", "ann"), KEY, 5.0, via="form", form=filled)

    await bed.screening.receive(message)

    [stored] = bed.got
    assert isinstance(stored, Incoming)
    assert stored.text == "[secret api_key]"
    assert dict(stored.form) == {"act": "start", "budget": "[secret api_key] USD"}
    assert len(await bed.told()) == 1


async def test_it_is_told_to_whoever_said_it_alone(bed: Bed) -> None:
    await bed.say(f"/goal use {KEY}")

    [due] = await bed.store.outbox.claim("console", limit=9)

    assert due.only_for == await bed.store.rooms.person("console", Speaker("ann", "ann"))


async def test_whoever_says_it_is_told_once_without_the_value(bed: Bed) -> None:
    await bed.say(f"use {KEY}")
    await bed.say(f"again: {KEY}")

    [text] = await bed.told()

    assert text.startswith("What you said holds the value that [secret api_key] stands for.")
    assert KEY not in text


async def test_each_person_is_told_of_each_secret(bed: Bed) -> None:
    elsewhere = Place("console", "", "room", "t2")
    await bed.say(f"use {KEY}")
    await bed.say(f"use {KEY}", by="bob", place=elsewhere)
    await bed.say("use other-planted", place=Place("console", "", "room", "t3"))

    assert len(await bed.told()) == 3


async def test_a_mark_tells_too_as_a_network_may_take_the_value_out_before(bed: Bed) -> None:
    await bed.say("use [secret api_key]")

    assert len(await bed.told()) == 1


async def test_a_message_that_could_not_be_stored_is_told_once_all_the_same(bed: Bed) -> None:
    bed.is_full = True
    with pytest.raises(StoreBusy):
        await bed.say(f"use {KEY}")
    bed.is_full = False
    await bed.say(f"use {KEY}")

    assert len(bed.got) == 1
    assert len(await bed.told()) == 1


async def test_what_looks_secret_is_told_once_a_day_and_place(bed: Bed) -> None:
    for place in (PLACE, PLACE, replace(PLACE, thread="t2")):
        await bed.say(f"use {TOKEN}", place=place)
    await bed.say(f"use {TOKEN}", by="bob")
    on_a_day = len(bed.store.rows.outbox)
    await bed.say(f"use {TOKEN}", at=90_000.0)

    assert (on_a_day, len(bed.store.rows.outbox)) == (3, 4)
    assert all("looks like a secret" in text for text in await bed.told())
    assert TOKEN not in repr((bed.got, bed.store.rows))


@pytest.mark.parametrize(
    ("by", "text", "count"),
    [("alerts", "used", 0), ("alerts", "@headway used", 1), ("alerts", "!goal use", 1), ("unsure", "use", 1)],
)  # fmt: skip
async def test_who_is_not_on_the_list_is_told_where_they_call_the_bot(
    bed: Bed, by: str, text: str, count: int
) -> None:
    place = Place("matrix", "s", "!r:s")
    for _ in range(3):
        await bed.say(f"{text} {TOKEN}", by=by, place=place)

    assert len(bed.store.rows.outbox) == count
    assert TOKEN not in repr(bed.got)


async def test_other_words_pass_as_they_are(bed: Bed) -> None:
    await bed.say("hello")

    assert [message.text for message in bed.got if isinstance(message, Incoming)] == ["hello"]
    assert await bed.told() == []
