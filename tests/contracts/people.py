"""What every allow-list does, and every keeper of claims, offers and notices."""

import asyncio

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import OwnerChanged
from bot.ports.chat import Place, Speaker
from bot.ports.doors import TRIES_MOST, Claimed
from bot.ports.people import Answer, Entry, Note, Subject
from bot.ports.room_settings import resolved
from tests.contracts.stores import ANN, Bed

BEN = Subject("person", "console", "ben", name="ben")
HERE = Place("console", "w", "room")
DAY_S = 86_400.0


def silent(outcome: Claimed) -> Answer:
    return Answer()


class PeopleContract:
    """Subclasses give a fixture `bed`."""

    async def test_somebody_who_was_never_seen_is_made_at_first_sight(self, bed: Bed) -> None:
        added = await bed.people.allow(Entry(BEN, "user"))

        [entry] = (await bed.people.register()).entries
        assert added
        assert entry.subject == BEN
        assert (entry.role, entry.room, entry.given_by) == ("user", None, "")
        assert entry.given_at == pytest.approx(await bed.time.now(), abs=60)

    async def test_a_known_name_is_kept(self, bed: Bed) -> None:
        await bed.rooms.person("slack", ANN)

        await bed.people.allow(Entry(Subject("person", "slack", ANN.id), "admin"))

        [entry] = (await bed.people.register()).entries
        assert entry.subject.name == ANN.name

    async def test_the_same_entry_is_there_once(self, bed: Bed) -> None:
        await bed.people.allow(Entry(BEN, "user"))

        assert not await bed.people.allow(Entry(BEN, "user"))
        assert await bed.people.allow(Entry(BEN, "user", HERE))
        assert await bed.people.allow(Entry(BEN, "approver"))
        assert len((await bed.people.register()).entries) == 3

    @pytest.mark.parametrize(
        "subject",
        [
            Subject("room", "slack", "general", "T1"),
            Subject("server", "matrix", "example.org"),
            Subject("group", "slack", "S0123"),
        ],
    )
    async def test_rooms_servers_and_groups_are_listed_too(
        self, bed: Bed, subject: Subject
    ) -> None:
        place = Place("slack", "T1", "ops")
        await bed.people.allow(Entry(subject, "user", place))

        [entry] = (await bed.people.register()).entries
        removed = await bed.people.remove(subject)

        assert entry.subject == subject
        assert entry.room == place
        assert removed == 1

    async def test_entries_are_removed_by_role_by_room_or_all(self, bed: Bed) -> None:
        for entry in (Entry(BEN, "user"), Entry(BEN, "approver"), Entry(BEN, "user", HERE)):
            await bed.people.allow(entry)

        by_room = await bed.people.remove(BEN, room=HERE)
        by_role = await bed.people.remove(BEN, role="approver")
        [left] = (await bed.people.register()).entries
        rest = await bed.people.remove(BEN)

        assert (by_room, by_role, rest) == (1, 1, 1)
        assert (left.role, left.room) == ("user", None)

    async def test_removing_nobody_says_so(self, bed: Bed) -> None:
        with pytest.raises(Refused) as refused:
            await bed.people.remove(BEN)

        assert refused.value.code == "not_listed"

    async def test_the_last_admin_stays(self, bed: Bed) -> None:
        await bed.people.allow(Entry(BEN, "admin"))
        await bed.people.allow(Entry(Subject("person", "console", "eve"), "admin", HERE))

        with pytest.raises(Refused) as refused:
            await bed.people.remove(BEN)
        await bed.people.allow(Entry(Subject("person", "console", "eve"), "admin"))
        removed = await bed.people.remove(BEN)

        assert refused.value.code == "last_admin"
        assert removed == 1

    async def test_of_two_who_remove_each_other_one_stays(self, bed: Bed) -> None:
        eve = Subject("person", "console", "eve")
        await bed.people.allow(Entry(BEN, "admin"))
        await bed.people.allow(Entry(eve, "admin"))

        ends = await asyncio.gather(
            bed.people.remove(BEN), bed.people.remove(eve), return_exceptions=True
        )

        assert len((await bed.people.register()).entries) == 1
        assert [type(end) for end in ends].count(Refused) == 1

    async def test_who_has_gone_is_known_until_they_are_back(self, bed: Bed) -> None:
        ben = Speaker("ben", "ben")

        first = await bed.people.mark("console", ben, is_gone=True)
        again = await bed.people.mark("console", ben, is_gone=True)
        gone = (await bed.people.register()).gone
        back = await bed.people.mark("console", ben, is_gone=False)

        assert (first, again, back) == (True, False, True)
        assert gone == {("console", "ben")}
        assert (await bed.people.register()).gone == frozenset()

    async def test_a_console_has_one_operator_at_a_time(self, bed: Bed) -> None:
        other = Place("console", "v", "room")

        first = await bed.people.note_operator(HERE, Speaker("ann", "ann"))
        again = await bed.people.note_operator(HERE, Speaker("ann", "ann"))
        await bed.people.note_operator(other, Speaker("ann", "ann"))
        await bed.people.note_operator(HERE, Speaker("ben", "ben"))

        register = await bed.people.register()
        assert (first, again) == (True, False)
        assert register.operators == {("console", "w", "ben"), ("console", "v", "ann")}
        assert register.entries == ()

    async def test_a_change_and_its_answer_are_one(self, bed: Bed) -> None:
        session = (await bed.rooms.begin(bed.place())).session
        message = bed.message()
        await bed.inbox.receive(message)
        answer = Answer((Note(session, "reply:1", "Ben may."),), (message.id,))

        await bed.people.allow(Entry(BEN, "user"), answer)
        with pytest.raises(IllegalMove):
            await bed.people.allow(Entry(BEN, "admin"), answer)

        assert await bed.keys() == ["reply:1"]
        assert await bed.inbox.waiting() == ()
        assert len((await bed.people.register()).entries) == 1

    async def test_a_room_setting_is_kept_with_who_and_when(self, bed: Bed) -> None:
        by = await bed.rooms.person("console", ANN)
        await bed.people.set_for_room(HERE, "budget_usd", 5.0, by=by)
        await bed.people.set_for_room(HERE, "goals", False, by=by)
        await bed.people.set_for_room(Place("console", "w", ""), "mention", "ask", by=by)
        await bed.people.set_for_room(HERE, "goals", None, by=by)

        rooms = (await bed.people.register()).rooms
        kept = rooms["console", "w", "room"]
        assert set(kept) == {"budget_usd"}
        assert (kept["budget_usd"].value, kept["budget_usd"].by) == (5.0, by)
        assert kept["budget_usd"].at == pytest.approx(await bed.time.now(), abs=60)
        settings = resolved(kept, rooms["console", "w", ""])
        assert (settings.budget_usd, settings.mention, settings.goals) == (5.0, "ask", True)


class DoorsContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_code_makes_one_admin_once(self, bed: Bed) -> None:
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        await bed.doors.open_claim("hash", lasts_s=900)

        first = await bed.doors.claim("hash", ben, silent)
        again = await bed.doors.claim("hash", ben, silent)

        [entry] = (await bed.people.register()).entries
        assert (first, again) == ("taken", "used")
        assert (entry.subject, entry.role, entry.room) == (BEN, "admin", None)

    async def test_a_code_ends_with_its_time_and_with_a_newer_one(self, bed: Bed) -> None:
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        before = await bed.doors.claim("one", ben, silent)
        await bed.doors.open_claim("one", lasts_s=900)
        await bed.doors.open_claim("two", lasts_s=900)

        older = await bed.doors.claim("one", ben, silent)
        wrong = await bed.doors.claim("three", ben, silent)
        await bed.time.pass_by(901)
        late = await bed.doors.claim("two", ben, silent)

        assert (before, older, wrong, late) == ("none", "expired", "wrong", "expired")
        assert (await bed.people.register()).entries == ()

    async def test_too_many_wrong_codes_end_the_right_one(self, bed: Bed) -> None:
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        await bed.doors.open_claim("right", lasts_s=900)

        tries = [await bed.doors.claim(f"wrong {n}", ben, silent) for n in range(TRIES_MOST)]
        next_one = await bed.doors.claim("another", ben, silent)

        assert set(tries) == {"wrong"}
        assert next_one == "closed"
        assert await bed.doors.claim("right", ben, silent) == "expired"

    async def test_a_code_that_was_seen_by_others_is_void(self, bed: Bed) -> None:
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        await bed.doors.open_claim("seen", lasts_s=900)

        await bed.doors.void_claim("seen")

        assert await bed.doors.claim("seen", ben, silent) == "expired"

    async def test_a_wrong_code_that_was_seen_ends_no_other(self, bed: Bed) -> None:
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        await bed.doors.open_claim("right", lasts_s=900)

        await bed.doors.void_claim("wrong")

        assert await bed.doors.claim("right", ben, silent) == "taken"

    async def test_an_offer_stands_until_the_goal_changes_hands(self, bed: Bed) -> None:
        goal = await bed.open()
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        eve = await bed.rooms.person("console", Speaker("eve", "eve"))
        await bed.doors.offer(goal.id, to=eve, by=goal.owner, answer=Answer())
        await bed.doors.offer(goal.id, to=ben, by=goal.owner, answer=Answer())

        offered = await bed.doors.offered(goal.id)
        await bed.commit(goal, OwnerChanged(ben, ben))

        assert offered is not None
        assert (offered.to, offered.by) == (ben, goal.owner)
        assert await bed.doors.offered(goal.id) is None
        assert (await bed.journal.goal(goal.id)).owner == ben
        [row] = await bed.records.goals()
        assert row.owner == "ben"

    async def test_an_offer_is_withdrawn(self, bed: Bed) -> None:
        goal = await bed.open()
        ben = await bed.rooms.person("console", Speaker("ben", "ben"))
        await bed.doors.offer(goal.id, to=ben, by=goal.owner, answer=Answer())

        await bed.doors.withdraw(goal.id, Answer())

        assert await bed.doors.offered(goal.id) is None

    async def test_something_is_said_once_in_a_while(self, bed: Bed) -> None:
        session = (await bed.rooms.begin(bed.place())).session
        messages = [bed.message() for _ in range(3)]
        for message in messages:
            await bed.inbox.receive(message)

        said = []
        for n, message in enumerate(messages):
            answer = Answer((Note(session, f"k{n}", "No.", "stranger"),), (message.id,))
            said.append(await bed.doors.say_once("stranger:eve", every_s=DAY_S, answer=answer))
            await bed.time.pass_by(DAY_S / 2 + 1)

        assert said == [True, False, True]
        assert await bed.inbox.waiting() == ()
        [due] = await bed.outbox.claim("console", limit=9)
        assert (due.key, due.kind, due.reason) == ("k0", "reply", "stranger")

    async def test_what_was_said_may_be_forgotten(self, bed: Bed) -> None:
        await bed.doors.say_once("k", every_s=1e9, answer=Answer())
        await bed.doors.forget_said("k")
        await bed.doors.forget_said("never said")

        assert await bed.doors.say_once("k", every_s=1e9, answer=Answer())

    async def test_a_session_knows_its_home(self, bed: Bed) -> None:
        place = bed.place("slack", "ops", "1.5")
        session = (await bed.rooms.begin(place)).session

        assert await bed.doors.home(session) == place
        with pytest.raises(KeyError):
            await bed.doors.home("none")

    async def test_a_message_is_found_by_id_and_as_the_last_of_somebody(self, bed: Bed) -> None:
        place = bed.place()
        first, second, other = (bed.message(t, p) for t, p in
                                (("one", place), ("why", place), ("else", bed.place())))  # fmt: skip
        for message in (first, other, second):
            await bed.inbox.receive(message)
        await bed.inbox.handled(first.id)
        person = await bed.rooms.person("console", ANN)

        found = await bed.doors.heeded(first.id)
        last = await bed.doors.last_heeded(place, person, second.id)

        assert found == last
        assert found is not None
        assert (found.message, found.state) == (first, "handled")
        assert await bed.doors.heeded("none") is None
        assert await bed.doors.last_heeded(place, person, first.id) is None
