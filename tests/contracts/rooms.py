"""What every book of people, rooms and threads does."""

from bot.goals.events import Cancelled
from bot.ports.chat import Place, Speaker
from tests.contracts.stores import ANN, Bed


class RoomsContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_person_is_one_to_a_network_whatever_their_name(self, bed: Bed) -> None:
        ann = await bed.rooms.person("slack", ANN)
        renamed = await bed.rooms.person("slack", Speaker(ANN.id, "Anne \x00\ud800"))
        elsewhere = await bed.rooms.person("matrix", ANN)

        assert ann == renamed
        assert elsewhere != ann

    async def test_a_name_that_is_not_known_for_the_moment_replaces_none(self, bed: Bed) -> None:
        new, known = Speaker("T01TEST:U07NEW", "U07NEW"), Speaker("T01TEST:U07NEW", "Nell")
        person = await bed.rooms.person("slack", new)
        before = await bed.rooms.people([person])
        for speaker in (known, new, Speaker(new.id, ""), Speaker(new.id, new.id)):
            await bed.rooms.person("slack", speaker)

        assert before[person].name == "U07NEW"
        assert (await bed.rooms.people([person]))[person].name == "Nell"

    async def test_a_thread_has_one_session(self, bed: Bed) -> None:
        place = Place("slack", "w", "r", "1.5")

        nobody = await bed.rooms.thread(place)
        begun = await bed.rooms.begin(place)
        again = await bed.rooms.begin(place)

        assert nobody is None
        assert begun == again == await bed.rooms.thread(place)
        assert begun.place == place
        for other in (
            Place("matrix", "w", "r", "1.5"),
            Place("slack", "v", "r", "1.5"),
            Place("slack", "w", "q", "1.5"),
            Place("slack", "w", "r", "1.6"),
        ):
            assert await bed.rooms.thread(other) is None

    async def test_a_message_alone_begins_no_session(self, bed: Bed) -> None:
        place = Place("slack", "w", "r", "")

        await bed.inbox.receive(bed.message("hi", place))

        assert await bed.rooms.thread(place) is None
        assert await bed.records.sessions() == ()

    async def test_a_thread_names_its_live_goal(self, bed: Bed) -> None:
        place = bed.place()
        goal = await bed.open(place=place)
        await bed.open(goal.session, kind="ask")

        live = await bed.rooms.thread(place)
        await bed.commit(goal, Cancelled(goal.owner))
        ended = await bed.rooms.thread(place)

        assert live is not None
        assert live.goal == goal.id
        assert ended is not None
        assert ended.goal == ""
        assert (await bed.records.sessions()) == (ended,)

    async def test_goals_are_found_by_state_room_and_number(self, bed: Bed) -> None:
        first = await bed.open(place=bed.place(room="here"))
        second = await bed.open(place=bed.place(room="there"))
        third = await bed.open(place=bed.place(room="here"))
        await bed.open(third.session, kind="ask")
        over = (await bed.commit(first, Cancelled(first.owner))).goal

        assert await bed.rooms.goals() == (third, second, over)
        here = bed.place(room="here")
        assert await bed.rooms.goals(room=here) == (third, over)
        assert await bed.rooms.goals(room=here, states=("ready",)) == (third,)
        assert await bed.rooms.goals(states=("cancelled", "complete")) == (over,)
        assert await bed.rooms.goals(number=second.number) == (second,)
        assert await bed.rooms.goals(number=99) == ()

    async def test_goals_are_found_by_owner_the_newest_first_and_no_more_than_asked_for(
        self, bed: Bed
    ) -> None:
        first, second = await bed.open(), await bed.open()

        assert await bed.rooms.goals(owner=first.owner) == (second, first)
        assert await bed.rooms.goals(owner=first.owner, most=1) == (second,)
        assert await bed.rooms.goals(most=0) == ()
        assert await bed.rooms.goals(owner="nobody") == ()

    async def test_what_stands_under_a_key_is_found_and_what_is_on_its_way_is_not(
        self, bed: Bed
    ) -> None:
        session = (await bed.rooms.begin(bed.place())).session
        await bed.outbox.say(session, "said", "hello")
        await bed.outbox.say(session, "waits", "hello again")
        [due] = await bed.outbox.claim("console", limit=1)
        before = await bed.rooms.remotes([due.key])

        await bed.outbox.sent(due.key, "r7")

        assert before == {}
        assert await bed.rooms.remotes(["said", "waits", "never"]) == {"said": "r7"}

    async def test_a_room_of_another_workspace_is_another_room(self, bed: Bed) -> None:
        ours = await bed.open(place=Place("slack", "us", "C1", "t1"))
        await bed.open(place=Place("slack", "them", "C1", "t1"))

        assert await bed.rooms.goals(room=Place("slack", "us", "C1")) == (ours,)
        assert await bed.rooms.goals(room=Place("matrix", "us", "C1")) == ()

    async def test_a_workspace_s_goals_are_found_in_whatever_room(self, bed: Bed) -> None:
        one = await bed.open(place=Place("slack", "us", "C1", "t1"))
        two = await bed.open(place=Place("slack", "us", "C2", "t1"))
        await bed.open(place=Place("slack", "them", "C1", "t1"))
        await bed.open(place=Place("matrix", "us", "C1", "t1"))
        over = (await bed.commit(two, Cancelled(two.owner))).goal

        assert await bed.rooms.goals(room=Place("slack", "us", "")) == (over, one)
        assert await bed.rooms.goals(room=Place("slack", "us", ""), states=("ready",)) == (one,)
        assert await bed.rooms.goals(room=Place("slack", "nobody", "")) == ()

    async def test_the_last_goal_of_a_session_may_be_over(self, bed: Bed) -> None:
        session = (await bed.rooms.begin(bed.place())).session
        before = await bed.rooms.last_goal(session)
        first = await bed.open(session)
        await bed.commit(first, Cancelled(first.owner))
        second = await bed.open(session)
        ask = await bed.open(session, kind="ask")

        assert before is None
        assert await bed.rooms.last_goal(session) == second
        rows = await bed.records.goals()
        assert [row.goal for row in rows] == [second, await bed.journal.goal(first.id)]
        assert rows[0].owner == ANN.name
        assert ask in [row.goal for row in await bed.records.goals(with_asks=True)]
