"""What every book of holds does: nothing that is held is claimed, and nothing of it starts."""

from bot.goals.events import (
    CallSettled,
    CallStarted,
    Cancelled,
    DecisionAsked,
    Paused,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.money import Usage
from bot.ports.chat import Speaker
from bot.ports.holds import ALL, RESTORE, of_person
from bot.ports.journal import Content, Lease
from bot.ports.people import Answer, Note
from tests.contracts.stores import ANN, Bed


class HoldsContract:
    """Subclasses give a fixture `bed`."""

    async def test_what_is_held_is_not_claimed_until_it_is_released(self, bed: Bed) -> None:
        goal = await bed.open()

        await bed.holds.hold(ALL, goal.owner)
        held = await bed.leases.claim("w", limit=5)
        one = await bed.leases.claim_one("w", goal.id)
        due = await bed.leases.next_due()
        await bed.holds.release(ALL)
        [released] = await bed.leases.claim("w", limit=5)

        assert (held, one, due) == ((), None, None)
        assert released.goal.id == goal.id

    async def test_a_room_and_a_person_are_held_alone(self, bed: Bed) -> None:
        here = await bed.open(place=bed.place(room="here"))
        there = await bed.open(place=bed.place(room="there"))
        scope = await bed.holds.room_at(bed.place(room="here"))
        assert scope is not None

        await bed.holds.hold(scope, here.owner)
        by_room = await bed.leases.claim("w", limit=5)
        await bed.holds.hold(of_person(there.owner), here.owner)
        lost = await bed.leases.lost("w", {there.id: by_room[0].epoch})
        await bed.holds.release(scope)
        by_person = await bed.leases.claim("w", limit=5)

        assert [lease.goal.id for lease in by_room] == [there.id]
        assert lost == {there.id}
        assert by_person == ()
        assert await bed.holds.room_at(bed.place(room="nowhere")) is None

    async def test_nothing_starts_after_a_hold(self, bed: Bed) -> None:
        goal, lease = await _working(bed)

        await bed.holds.hold(ALL, goal.owner)
        late = CallStarted("c2", "agent", "m", 100, 100)
        call = await bed.commit(goal, late, epoch=lease.epoch)
        tool = await bed.commit(goal, ToolStarted("t2", "bash", "workspace"), epoch=lease.epoch)
        end = await bed.commit(goal, TurnEnded("done"), epoch=lease.epoch)

        assert [one.fenced for one in (call, tool, end)] == [True] * 3
        assert [one.rules for one in (call, tool, end)] == [()] * 3
        assert await bed.leases.renew("w", {goal.id: lease.epoch}) == frozenset()
        assert await bed.leases.lost("w", {goal.id: lease.epoch}) == {goal.id}

    async def test_what_was_under_way_says_how_it_ended(self, bed: Bed) -> None:
        goal, lease = await _working(bed)
        text, reply = Content("interrupted", "tool"), Content("[]", "agent")

        await bed.holds.hold(ALL, goal.owner)
        written = await bed.commit(
            goal,
            CallSettled("c1", Usage(input=10), 70, content=reply.hash),
            ToolEnded("t1", "interrupted", text.hash, touched=True),
            ToolStarted("t2", "plan", "conversation"),
            ToolEnded("t2", "ok", text.hash),
            epoch=lease.epoch,
            contents=(text, reply),
        )
        journal = await bed.records.journal(goal.id)
        kept = await bed.journal.contents(goal.session, [text.hash, reply.hash])

        assert written.fenced
        assert written.rules == ("call_settled", "tool_ended")
        assert [entry.event.content for entry in journal[-2:]] == [reply.hash, text.hash]
        assert set(kept) == {text.hash, reply.hash}

    async def test_once_another_worker_has_the_goal_only_bookings_are_written(
        self, bed: Bed
    ) -> None:
        goal, lease = await _working(bed)
        await bed.holds.hold(ALL, goal.owner)
        await bed.holds.release(ALL)
        [new] = await bed.leases.claim("w2", limit=1)

        late = ToolEnded("t1", "interrupted", Content("x").hash)
        written = await bed.commit(goal, late, epoch=lease.epoch)
        resumed = await bed.commit(goal, TurnResumed(), epoch=new.epoch)

        assert written.rules == ()
        assert not resumed.fenced

    async def test_a_held_goal_takes_a_person_s_commands(self, bed: Bed) -> None:
        goal = await bed.open()
        await bed.holds.hold(ALL, goal.owner)

        paused = await bed.commit(goal, Paused(goal.owner))
        cancelled = await bed.commit(goal, Cancelled(goal.owner))

        assert (paused.goal.state, cancelled.goal.state) == ("paused", "cancelled")

    async def test_every_live_goal_shows_a_hold_and_its_release_by_an_edit(self, bed: Bed) -> None:
        goals = [await bed.open() for _ in range(3)]
        await bed.commit(goals[2], Cancelled(goals[2].owner))
        await bed.time.pass_by(10)
        for due in await bed.outbox.claim("console", limit=9):
            await bed.outbox.sent(due.key, f"r{due.goal}")

        await bed.holds.hold(ALL, goals[0].owner)
        held = await bed.outbox.claim("console", limit=9)
        for due in held:
            await bed.outbox.sent(due.key, due.remote)
        await bed.time.pass_by(1)
        await bed.holds.release(ALL)
        released = await bed.outbox.claim("console", limit=9)

        for edits in (held, released):
            assert [(due.kind, due.goal, due.remote) for due in edits] == [
                ("status", goal.id, f"r{goal.id}") for goal in goals[:2]
            ]

    async def test_the_clock_of_an_open_decision_stands_while_its_goal_is_on_hold(
        self, bed: Bed
    ) -> None:
        asked = DecisionAsked("d", "question", Content("Which?").hash, "t")
        goal, lease = await _working(bed)
        ended = (CallSettled("c1", Usage(input=1), 1), asked, TurnEnded("done"))
        asks = (await bed.commit(goal, *ended, epoch=lease.epoch)).goal
        person = of_person(asks.owner)
        assert asks.decision is not None
        assert asks.due_at is not None

        await bed.holds.hold(ALL, asks.owner)
        await bed.time.pass_by(100)
        await bed.holds.hold(person, asks.owner)
        await bed.time.pass_by(100)
        await bed.holds.release(ALL)
        between = await bed.journal.goal(goal.id)
        await bed.time.pass_by(100)
        await bed.holds.release(person)
        after = await bed.journal.goal(goal.id)

        stood = [one.decision.expires_at - asks.decision.expires_at for one in (between, after)]
        assert [round(seconds) for seconds in stood] == [100, 300]
        assert round(after.due_at - asks.due_at) == 300
        assert after.state == "deciding"

    async def test_after_a_restore_nothing_is_sent_until_the_release(self, bed: Bed) -> None:
        goal = await bed.open()
        await bed.outbox.say(goal.session, "k", "hello")

        await bed.holds.hold(RESTORE, "")
        during = await bed.keys()
        claimed = await bed.leases.claim("w", limit=5)
        await bed.holds.release(RESTORE)

        assert (during, claimed) == ([], ())
        assert await bed.keys() == ["k"]

    async def test_a_hold_that_stands_keeps_who_set_it_and_why(self, bed: Bed) -> None:
        ann = await bed.rooms.person("console", ANN)
        ben = await bed.rooms.person("console", Speaker("U2", "Ben"))

        first, is_new = await bed.holds.hold(ALL, ann, "the disk")
        again, is_new_again = await bed.holds.hold(ALL, ben, "no reason")
        person, _ = await bed.holds.hold(of_person(ben), ann)
        standing = await bed.holds.standing()
        none = await bed.holds.release("person:nobody")

        assert (is_new, is_new_again, none) == (True, False, None)
        assert first == again
        assert (first.by, first.by_name, first.why) == (ann, "Ann", "the disk")
        assert person.name.endswith(":Ben")
        assert {hold.scope for hold in standing} == {ALL, of_person(ben)}
        assert await bed.holds.release(ALL) == first
        assert await bed.holds.standing() == (person,)

    async def test_the_widest_hold_is_told_of_a_goal(self, bed: Bed) -> None:
        goal = await bed.open(place=bed.place(room="here"))
        room = await bed.holds.room_at(bed.place(room="here"))
        assert room is not None
        told = []

        for scope in (of_person(goal.owner), room, ALL, RESTORE):
            await bed.holds.hold(scope, goal.owner)
            over = await bed.holds.over(goal.session, goal.owner)
            told.append(over and over.scope)
        for scope in (RESTORE, ALL, room, of_person(goal.owner)):
            await bed.holds.release(scope)

        assert told == [of_person(goal.owner), room, ALL, RESTORE]
        assert await bed.holds.over(goal.session, goal.owner) is None

    async def test_rooms_and_people_are_found_by_name(self, bed: Bed) -> None:
        goal = await bed.open(place=bed.place(room="Ops"))
        await bed.open(place=bed.place(room="console"))
        room = await bed.holds.room_at(bed.place(room="Ops"))

        rooms = await bed.holds.named("room", "#ops")
        [person] = await bed.holds.named("person", "console:@ann")

        assert [(one.scope, one.name) for one in rooms] == [(room, "console:Ops")]
        assert person.scope == of_person(goal.owner)
        assert await bed.holds.named("room", "slack:ops") == ()
        assert await bed.holds.named("person", "zoe") == ()
        assert len(await bed.holds.named("room", "console")) == 1
        assert len(await bed.holds.named("room", "console:console")) == 1

    async def test_a_hold_answers_the_message_that_asked_for_it(self, bed: Bed) -> None:
        message = bed.message("/goal hold all")
        await bed.inbox.receive(message)
        session = (await bed.rooms.begin(message.place)).session
        note = Note(session, f"reply:{message.id}", "on hold")

        await bed.holds.hold(ALL, "p", "", Answer((note,), (message.id,)))

        assert await bed.inbox.waiting() == ()
        assert await bed.keys() == [note.key]


async def _working(bed: Bed) -> tuple[Goal, Lease]:
    """A goal in a turn, with a call and a tool under way, and the lease of worker `w`."""
    goal = await bed.open()
    [lease] = await bed.leases.claim("w", limit=1)
    applied = await bed.commit(
        goal,
        TurnStarted(),
        CallStarted("c1", "agent", "m", 100, 100, revision=1),
        ToolStarted("t1", "bash", "workspace"),
        epoch=lease.epoch,
    )
    return applied.goal, lease
