"""What every list of incidents does: each is told once, and once when it is over."""

import asyncio

from bot.ports.chat import Place
from bot.ports.incidents import Alert
from bot.ports.mail import Due
from bot.ports.people import Answer, Note
from tests.contracts.stores import Bed

OPS = Place("console", "w", "ops")
FULL = Alert("disk", "/srv", "300 MB left", "the disk is nearly full", OPS)
OVER = Alert("disk", "/srv", "", "the disk has room again", OPS)


class IncidentsContract:
    """Subclasses give a fixture `bed`."""

    async def test_an_incident_is_said_once_while_it_is_open(self, bed: Bed) -> None:
        opened = [await bed.incidents.open(FULL) for _ in range(3)]

        [due] = await bed.outbox.claim("console", limit=5)
        [incident] = await bed.incidents.listed()

        assert opened == [True, False, False]
        assert (due.kind, due.place) == ("reply", OPS)
        assert await bed.journal.contents(due.session, [due.content]) == {due.content: FULL.text}
        assert (incident.kind, incident.subject, incident.detail) == ("disk", "/srv", "300 MB left")
        assert incident.is_open

    async def test_its_end_is_said_once_and_the_next_one_is_another(self, bed: Bed) -> None:
        await bed.incidents.open(FULL)
        await bed.time.pass_by(60)

        over = [await bed.incidents.recovered(OVER) for _ in range(2)]
        await bed.time.pass_by(1)
        again = await bed.incidents.open(FULL)
        listed = await bed.incidents.listed()

        assert (over, again) == ([True, False], True)
        assert [one.is_open for one in listed] == [True, False]
        assert listed[1].recovered_at is not None
        assert listed[1].recovered_at - listed[1].at >= 60
        assert len({due.key for due in await _sent(bed)}) == 3

    async def test_many_that_find_the_same_open_it_once(self, bed: Bed) -> None:
        opened = await asyncio.gather(*(bed.incidents.open(FULL) for _ in range(8)))

        assert sorted(opened) == [False] * 7 + [True]

    async def test_subjects_and_kinds_are_apart(self, bed: Bed) -> None:
        await bed.incidents.open(FULL)

        other = await bed.incidents.open(Alert("disk", "/home", "", "full, too", OPS))
        kind = await bed.incidents.open(Alert("key", "/srv", "", "no key", OPS))

        assert (other, kind) == (True, True)

    async def test_without_a_room_nothing_is_posted(self, bed: Bed) -> None:
        opened = await bed.incidents.open(Alert("disk", "/srv", "", "full"))
        over = await bed.incidents.recovered(Alert("disk", "/srv", "", "well"))

        assert (opened, over) == (True, True)
        assert await bed.keys() == []

    async def test_a_post_that_failed_opens_one_with_it(self, bed: Bed) -> None:
        goal = await bed.open()
        keys = []
        for key in ("k1", "k2"):
            await bed.outbox.say(goal.session, key, "hello")
            keys += await bed.keys()
            await bed.outbox.failed(key, "no such room", Alert("post", "room", "", "lost", OPS))

        assert len(await bed.incidents.listed()) == 1
        assert len([key for key in keys if key.startswith("incident:")]) == 1

    async def test_a_message_that_failed_three_times_is_told_and_opens_one(self, bed: Bed) -> None:
        message = bed.message()
        await bed.inbox.receive(message)
        session = (await bed.rooms.begin(message.place)).session
        note = Note(session, f"failed:{message.id}", "say it again")
        alert = Alert("message", message.id, "", "a message failed", OPS)

        counts = []
        for _ in range(3):
            assert await bed.keys() == []
            counts.append(await bed.inbox.failed(message.id, "broken", Answer((note,)), alert))

        assert counts == [1, 2, 3]
        assert await bed.inbox.waiting() == ()
        keys = await bed.keys()
        assert note.key in keys
        assert len(keys) == 2


async def _sent(bed: Bed) -> list[Due]:
    found: list[Due] = []
    while due := await bed.outbox.claim("console", limit=9):
        for one in due:
            await bed.outbox.sent(one.key, one.key)
        found += due
    return found
