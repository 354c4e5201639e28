"""What every store does with a room that was replaced by another one."""

from dataclasses import replace

from bot.goals.events import (
    Cancelled,
    DecisionAnswered,
    DecisionAsked,
    GoalOpened,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import Incoming, Place
from bot.ports.holds import Hold
from bot.ports.journal import Content
from bot.ports.mail import Due, Thread
from bot.ports.people import Answer, Entry, Note, Subject
from tests.contracts.stores import ANN, Bed

OLD = Place("matrix", "@bot:here", "!old")
NEW = replace(OLD, room="!new")
OTHER = replace(OLD, room="!other")


def root(goal: Goal) -> str:
    """The text of a new root."""
    return f"G{goal.number} goes on in this room"


async def opened(bed: Bed, place: Place) -> Goal:
    """A goal in that thread."""
    owner, content = await bed.rooms.person("matrix", ANN), Content("do it")
    session = (await bed.rooms.begin(place)).session
    event = GoalOpened(f"g{next(bed.ids)}", session, 0, owner, content.hash, DEFAULT_BUDGET)
    goal: Goal = (await bed.journal.open(event, [content], root=lambda _: "a root")).goal
    return goal


async def sent(bed: Bed, start: str = "$") -> list[Due]:
    """All that is to be said, said in its order."""
    told: list[Due] = []
    while due := await bed.outbox.claim("matrix", limit=9):
        for one in due:
            told.append(one)
            await bed.outbox.sent(one.key, one.remote or f"{start}{len(told)}")
    return told


async def said(bed: Bed, place: Place) -> Incoming:
    """A message that waits."""
    message = Incoming(f"$m{next(bed.ids)}", place, ANN, "hello", 5.0)
    await bed.inbox.receive(message)
    return message


class RoomMovesContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_goal_goes_on_under_a_new_root_in_the_new_room(self, bed: Bed) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        await bed.time.pass_by(6)
        before = await sent(bed)

        goals = await bed.rooms.move(OLD, NEW.room, root)

        after = await sent(bed, "$new")
        there = replace(NEW, thread="$new1")
        texts = await bed.journal.contents(goal.session, [after[0].content])
        assert [due.kind for due in before] == ["status"]
        assert goals == (goal,)
        assert [(due.kind, due.place, due.remote) for due in after] == [
            ("root", NEW, ""), ("status", there, ""),
        ]  # fmt: skip
        assert list(texts.values()) == [root(goal)]
        assert await bed.rooms.thread(there) == Thread(goal.session, there, goal.id)
        assert await bed.rooms.goals(room=OLD) == ()
        assert await bed.rooms.goals(room=NEW) == (goal,)

    async def test_its_open_decision_is_asked_there_anew(self, bed: Bed) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        await bed.commit(goal, TurnStarted())
        await bed.commit(goal, DecisionAsked("d", "approval", "text", "t"))
        await sent(bed)

        await bed.rooms.move(OLD, NEW.room, root)

        after = await sent(bed, "$new")
        await bed.commit(goal, DecisionAnswered("d", goal.owner, "yes"))
        [edit] = [due for due in await bed.outbox.claim("matrix", limit=9) if due.kind == "card"]
        cards = [due for due in after if due.kind == "decision"]
        assert [(one.key, one.remote, one.place.room) for one in cards] == [
            (f"{goal.id}:decision:1", "", "!new")
        ]
        assert edit.remote == f"$new{after.index(cards[0]) + 1}"

    async def test_what_was_on_its_way_to_the_old_room_is_said_in_the_new_one(
        self, bed: Bed
    ) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        for key in ("there", "refused", "unsure", "next"):
            await bed.outbox.say(goal.session, key, key)
        await bed.keys("matrix")
        await bed.outbox.sent("there", "$there")
        await bed.keys("matrix")
        await bed.outbox.failed("refused", "the room was replaced")
        await bed.keys("matrix")

        await bed.rooms.move(OLD, NEW.room, root)
        await bed.outbox.sent("unsure", "$in-the-old-room")

        after = [due.key for due in await sent(bed) if due.kind == "reply"]
        assert after == ["refused", "unsure", "next"]

    async def test_the_result_that_the_old_room_refused_is_told_under_a_new_root(
        self, bed: Bed
    ) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        await bed.commit(goal, Cancelled(goal.owner))
        await sent(bed)
        await bed.outbox.say(goal.session, "result", "it is done")
        await bed.keys("matrix")
        await bed.outbox.failed("result", "the room was replaced")

        await bed.rooms.move(OLD, NEW.room, root)

        after = await sent(bed, "$new")
        assert [(due.kind, due.place) for due in after] == [
            ("root", NEW), ("reply", replace(NEW, thread="$new1")),
        ]  # fmt: skip

    async def test_a_thread_whose_goal_has_ended_begins_anew_with_its_next_goal(
        self, bed: Bed
    ) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        await bed.commit(goal, Cancelled(goal.owner))
        await sent(bed)
        await bed.rooms.move(OLD, NEW.room, root)
        silent = await sent(bed)

        event = GoalOpened("again", goal.session, 0, goal.owner, goal.objective, DEFAULT_BUDGET)
        await bed.journal.open(event, [], root=lambda _: "again")

        [due] = await sent(bed)
        assert silent == []
        assert (due.kind, due.place) == ("root", NEW)

    async def test_what_waits_and_has_no_goal_is_said_in_the_main_timeline(self, bed: Bed) -> None:
        await bed.rooms.begin(NEW)
        for place, key in ((OLD, "main"), (replace(OLD, thread="$t"), "threaded")):
            await bed.outbox.say((await bed.rooms.begin(place)).session, key, key)

        await bed.rooms.move(OLD, NEW.room, root)

        assert {(due.key, due.place) for due in await sent(bed)} == {
            ("main", NEW), ("threaded", NEW),
        }  # fmt: skip

    async def test_what_is_asked_in_a_thread_is_answered_in_the_main_timeline(
        self, bed: Bed
    ) -> None:
        session = (await bed.rooms.begin(replace(OLD, thread="$t"))).session
        ask = await bed.open(session, kind="ask")

        await bed.rooms.move(OLD, NEW.room, root)
        await bed.turn(ask)

        [answer] = await sent(bed)
        assert (answer.kind, answer.goal, answer.place) == ("answer", ask.id, NEW)

    async def test_the_goal_of_the_main_timeline_stays_the_one_that_is_found_there(
        self, bed: Bed
    ) -> None:
        await bed.rooms.begin(NEW)
        goal = await opened(bed, OLD)

        await bed.rooms.move(OLD, NEW.room, root)

        found = await bed.rooms.thread(NEW)
        assert found is not None
        assert found.goal == goal.id
        assert "root" not in {due.kind for due in await sent(bed)}

    async def test_of_two_goals_of_main_timelines_one_begins_a_thread(self, bed: Bed) -> None:
        ours, theirs = await opened(bed, NEW), await opened(bed, OLD)

        await bed.rooms.move(OLD, NEW.room, root)

        found = await bed.rooms.thread(NEW)
        assert found is not None
        assert found.goal == ours.id
        [due] = [due for due in await sent(bed) if due.kind == "root"]
        assert (due.goal, due.place) == (theirs.id, NEW)

    async def test_a_goal_whose_root_is_not_there_begins_in_the_new_room(self, bed: Bed) -> None:
        thread = await bed.rooms.begin_new(OLD, "$asked")
        await opened(bed, thread.place)

        await bed.rooms.move(OLD, NEW.room, root)

        assert [(due.kind, due.place) for due in await sent(bed)] == [("root", NEW)]

    async def test_messages_of_the_goal_s_thread_are_the_goal_s_still(self, bed: Bed) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))
        inside, outside = await said(bed, replace(OLD, thread="$t")), await said(bed, OLD)
        await bed.rooms.begin(NEW)
        late = await said(bed, NEW)

        await bed.rooms.move(OLD, NEW.room, root)
        waiting = {row.message.id: row.message.place for row in await bed.inbox.waiting()}
        unsent = await bed.rooms.thread(waiting[inside.id])
        await sent(bed)

        after = {row.message.id: row.message.place for row in await bed.inbox.waiting()}
        assert unsent is not None
        assert unsent.session == goal.session
        assert after == {inside.id: replace(NEW, thread="$1"), outside.id: NEW, late.id: NEW}

    async def test_settings_holds_and_the_list_s_entries_come_along(self, bed: Bed) -> None:
        ben = Subject("person", "matrix", "@ben:here")
        members = Subject("room", "matrix", OLD.room, OLD.workspace)
        entries = [
            Entry(ben, "user", OLD), Entry(ben, "admin", OLD), Entry(ben, "user", NEW),
            Entry(members, "user"), Entry(members, "user", OTHER), Entry(ben, "user", OTHER),
        ]  # fmt: skip
        for entry in entries:
            await bed.people.allow(entry)
        for place, key, value in ((OLD, "zone", "UTC"), (OLD, "mention", "ask"),
                                  (NEW, "mention", "always")):  # fmt: skip
            await bed.people.set_for_room(place, key, value, by="p")
        await bed.rooms.begin(OLD)
        held = await bed.holds.room_at(OLD)
        await bed.holds.hold(held, "")

        await bed.rooms.move(OLD, NEW.room, root)

        register = await bed.people.register()
        settings = register.rooms["matrix", OLD.workspace, "!new"]
        room = await bed.holds.room_at(NEW)
        holds: tuple[Hold, ...] = await bed.holds.standing()
        assert {key: kept.value for key, kept in settings.items()} == {
            "zone": "UTC", "mention": "always",
        }  # fmt: skip
        assert ("matrix", OLD.workspace, "!old") not in register.rooms
        assert sorted(
            (one.subject.kind, one.subject.id, one.role, one.room.room if one.room else "")
            for one in register.entries
        ) == [
            ("person", "@ben:here", "admin", "!new"),
            ("person", "@ben:here", "user", "!new"),
            ("person", "@ben:here", "user", "!other"),
            ("room", "!new", "user", ""),
            ("room", "!new", "user", "!other"),
        ]
        assert [one.scope for one in holds] == [room]

    async def test_what_is_said_of_it_is_said_once_and_the_message_handled(self, bed: Bed) -> None:
        main = (await bed.rooms.begin(OLD)).session
        message = await said(bed, OLD)
        answer = Answer((Note(main, "moved", "The room was replaced."),), (message.id,))

        await bed.rooms.move(OLD, NEW.room, root, answer)

        assert await bed.inbox.waiting() == ()
        assert [(due.key, due.place) for due in await sent(bed)] == [("moved", NEW)]

    async def test_a_room_that_is_not_known_or_is_itself_stays(self, bed: Bed) -> None:
        goal = await opened(bed, replace(OLD, thread="$t"))

        assert await bed.rooms.move(OTHER, NEW.room, root) == ()
        assert await bed.rooms.move(OLD, OLD.room, root) == ()
        assert await bed.rooms.move(OLD, NEW.room, root) == (goal,)
        assert await bed.rooms.move(OLD, NEW.room, root) == ()
