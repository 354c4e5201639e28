"""What every journal does, whatever it is kept in."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    Audited,
    AuditFailed,
    BudgetSet,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    DecisionReminded,
    Event,
    GatesRan,
    GatesSet,
    GoalOpened,
    MessageReceived,
    NoteLeft,
    ObjectiveEdited,
    Paused,
    ProfileSet,
    Resumed,
    Stopped,
    TasksPlanned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitAsked,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import Goal, State, Wait
from bot.goals.hands import GateLine, Grant
from bot.goals.limits import ASK_BUDGET, DEFAULT_BUDGET
from bot.goals.money import Usage
from bot.ports.journal import Applied, Content, Task, Unit, content_hash
from tests.contracts.stores import SHARED, Bed

ODD = "nul \x00, surrogate \ud800, dle \x10\x100000, \U0001f600 and \\u0000"
MANY = st.lists(st.integers(0, 40), max_size=30)


class JournalContract:
    """Subclasses give a fixture `bed`."""

    async def test_goals_are_numbered_in_order_and_asks_have_none(self, bed: Bed) -> None:
        first = await bed.open()
        ask = await bed.open(first.session, kind="ask", budget=ASK_BUDGET)
        second = await bed.open()

        assert (first.number, ask.number, second.number) == (1, 0, 2)
        assert await bed.journal.goal(second.id) == second

    async def test_a_session_has_one_live_goal(self, bed: Bed) -> None:
        goal = await bed.open()

        with pytest.raises(Refused) as refused:
            await bed.open(goal.session)
        await bed.commit(goal, Cancelled(goal.owner))
        after = await bed.open(goal.session)

        assert refused.value.code == "one_goal"
        assert after.number == goal.number + 1

    async def test_a_goal_needs_a_session_and_an_owner_that_are_there(self, bed: Bed) -> None:
        goal = await bed.open()
        content = Content("x")
        await bed.commit(goal, Cancelled(goal.owner))

        for session, owner in (("nowhere", goal.owner), (goal.session, "nobody")):
            with pytest.raises(KeyError):
                await bed.journal.open(
                    GoalOpened("g", session, 0, owner, content.hash, DEFAULT_BUDGET), [content]
                )
        with pytest.raises(KeyError):
            await bed.commit("no such goal", TurnStarted())
        with pytest.raises(KeyError):
            await bed.journal.goal("no such goal")

    async def test_every_event_is_stamped_with_the_store_s_time(self, bed: Bed) -> None:
        goal = await bed.open()
        await bed.time.pass_by(100)
        before = await bed.time.now()

        applied = await bed.commit(goal, TurnStarted(at=1.0))

        [entry] = applied.entries
        assert before - 1 <= entry.event.at <= await bed.time.now()
        assert applied.goal.turn_started_at == entry.event.at
        assert applied.rules == ("turn_started",)

    async def test_a_unit_with_one_event_that_does_not_fit_writes_nothing(self, bed: Bed) -> None:
        goal = await bed.work()
        content = Content("never")

        with pytest.raises(IllegalMove):
            await bed.commit(
                goal,
                NoteLeft(content.hash),
                TurnStarted(),
                contents=(content,),
                tasks=(Task("t", "open"),),
            )

        assert await bed.journal.goal(goal.id) == goal
        assert await bed.journal.contents(goal.session, [content.hash]) == {}
        assert await bed.journal.tasks(goal.id) == ()

    async def test_texts_come_back_as_they_were(self, bed: Bed) -> None:
        goal = await bed.work()
        odd, plain = Content(ODD, "p1"), Content("plain")

        await bed.commit(goal, NoteLeft(odd.hash), contents=(odd, plain))
        await bed.commit(goal, NoteLeft(odd.hash), contents=(odd,))

        texts = await bed.journal.contents(goal.session, [odd.hash, plain.hash, "missing"])
        assert texts == {odd.hash: ODD, plain.hash: "plain"}
        assert await bed.journal.contents("elsewhere", [odd.hash]) == {}

    async def test_odd_characters_in_an_event_come_back_too(self, bed: Bed) -> None:
        goal = await bed.work()

        await bed.commit(goal, ToolStarted(ODD, ODD, "none"), ToolEnded(ODD, "ok", ""))
        await bed.commit(goal, WaitAsked(Wait(ODD, "probe", ODD, 5.0, ODD)))

        wait = (await bed.journal.goal(goal.id)).wait
        assert wait == Wait(ODD, "probe", ODD, 5.0, ODD)

    async def test_a_session_s_history_is_in_order_and_can_be_gone_on_with(self, bed: Bed) -> None:
        goal = await bed.work()
        ask = await bed.open(goal.session, kind="ask")
        await bed.work()
        await bed.commit(goal, NoteLeft("a"), NoteLeft("b"))

        lines = await bed.journal.history(goal.session)

        assert [(line.goal, line.entry.seq) for line in lines] == [
            (goal.id, 1), (goal.id, 2), (ask.id, 1), (goal.id, 3), (goal.id, 4),
        ]  # fmt: skip
        assert await bed.journal.history(goal.session, lines[2].position) == lines[3:]
        assert await bed.journal.history(goal.session, lines[-1].position) == ()

    async def test_tasks_are_replaced_whole_and_keep_their_order(self, bed: Bed) -> None:
        goal = await bed.work()
        first = (Task("b", "doing"), Task("a", "done", "saw it"), Task(ODD, "open"))

        await bed.commit(goal, TasksPlanned("h", 2, 1, 1), tasks=first)
        kept = await bed.journal.tasks(goal.id)
        await bed.commit(goal, TasksPlanned("h", 0, 1, 1), tasks=first[1:2])

        assert kept == first
        assert await bed.journal.tasks(goal.id) == first[1:2]
        await bed.commit(goal, NoteLeft("x"))
        assert await bed.journal.tasks(goal.id) == first[1:2]

    async def test_without_the_lease_only_bookings_are_written(self, bed: Bed) -> None:
        goal = await bed.open()
        [old] = await bed.leases.claim("w1", limit=1)
        await bed.commit(goal, TurnStarted(), epoch=old.epoch)
        await bed.commit(goal, CallStarted("c", "agent", "m", 100, 50), epoch=old.epoch)
        await bed.time.pass_by(31)
        new = await bed.leases.claim_one("w2", goal.id)
        reply = Content("too late")

        late = await bed.commit(
            goal,
            CallSettled("c", Usage(input=5), 7, content=reply.hash),
            NoteLeft("n"),
            contents=(reply,),
            tasks=(Task("t", "open"),),
            epoch=old.epoch,
        )
        nothing = await bed.commit(goal, NoteLeft("n"), epoch=old.epoch)
        fits = await bed.commit(goal, NoteLeft("n"), epoch=new.epoch)

        assert late.fenced
        assert nothing.fenced
        assert not fits.fenced
        assert [type(entry.event) for entry in late.entries] == [CallSettled]
        assert late.goal.ledger.nano_usd == 7
        assert nothing.entries == ()
        assert await bed.journal.contents(goal.session, [reply.hash]) == {}
        assert await bed.journal.tasks(goal.id) == ()
        assert all(reply.hash not in str(line) for line in await bed.journal.history(goal.session))

    async def test_a_lease_given_back_fences_too(self, bed: Bed) -> None:
        goal = await bed.open()
        [lease] = await bed.leases.claim("w", limit=1)
        await bed.leases.release("w", {goal.id: lease.epoch})

        applied = await bed.commit(goal, TurnStarted(), epoch=lease.epoch)

        assert applied.fenced
        assert applied.goal == goal

    async def test_a_message_is_handled_with_its_consequence_and_once(self, bed: Bed) -> None:
        goal = await bed.work()
        message = bed.message("and this")
        await bed.inbox.receive(message)
        content = Content(message.text)
        heard = MessageReceived(message.id, goal.owner, content.hash)

        await bed.commit(goal, heard, contents=(content,), handled=(message.id,))
        with pytest.raises(IllegalMove):
            await bed.commit(goal, heard, handled=(message.id,))

        assert await bed.inbox.waiting() == ()
        assert (await bed.journal.goal(goal.id)).messages == 1

    async def test_a_unit_that_fails_leaves_its_message_waiting(self, bed: Bed) -> None:
        goal = await bed.work()
        message = bed.message()
        await bed.inbox.receive(message)

        with pytest.raises(IllegalMove):
            await bed.commit(goal, TurnStarted(), handled=(message.id,))

        assert [one.message.id for one in await bed.inbox.waiting()] == [message.id]

    async def test_one_that_fails_among_many_fails_alone(self, bed: Bed) -> None:
        goals = [await bed.work() for _ in range(5)]

        outcomes = await asyncio.gather(
            *(bed.commit(goal, NoteLeft("x")) for goal in goals),
            bed.commit(goals[0], TurnStarted()),
            bed.commit(goals[1], DecisionAnswered("no", "p", "h")),
            *(bed.commit(goal, NoteLeft("y")) for goal in goals),
            return_exceptions=True,
        )

        failed = [type(one) for one in outcomes if isinstance(one, BaseException)]
        assert failed == [IllegalMove, Refused]
        for goal in goals:
            assert (await bed.journal.goal(goal.id)).seq == goal.seq + 2

    async def test_a_hundred_tasks_on_ten_goals_lose_nothing(self, bed: Bed) -> None:
        goals = [await bed.work() for _ in range(10)]

        applied: list[Applied] = await asyncio.gather(
            *(bed.commit(goals[n % 10], NoteLeft(str(n)), urgent=n % 7 == 0) for n in range(100))
        )

        for place, goal in enumerate(goals):
            seqs = [entry.seq for one in applied[place::10] for entry in one.entries]
            assert sorted(seqs) == list(range(goal.seq + 1, goal.seq + 11))
            notes = [
                line.entry.event.content
                for line in await bed.journal.history(goal.session)
                if isinstance(line.entry.event, NoteLeft)
            ]
            assert notes == [str(n) for n in range(place, 100, 10)]

    async def test_a_cancelled_caller_waits_for_its_unit(self, bed: Bed) -> None:
        goal = await bed.work()
        tasks = [asyncio.create_task(bed.commit(goal, NoteLeft(str(n)))) for n in range(20)]
        await asyncio.sleep(0)

        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert all(isinstance(one, Applied) for one in outcomes[1::2])
        assert all(isinstance(one, Applied | asyncio.CancelledError) for one in outcomes[::2])
        written = (await bed.journal.goal(goal.id)).seq - goal.seq
        assert written == 20

    async def test_a_reply_lost_and_one_that_comes_late_are_booked(self, bed: Bed) -> None:
        goal = await bed.work()

        await bed.commit(
            goal,
            CallStarted("a", "agent", "m", 900, 90),
            CallStarted("b", "agent", "m", 800, None),
            CallStarted("c", "distil", "m", 700, 70),
            CallStarted("d", "distil", "m", 600, 60),
        )
        await bed.commit(goal, CallReleased("c"), CallLost("d"), TurnResumed())
        after = (await bed.commit(goal, CallSettled("a", Usage(output=9), 8))).goal

        steps = {s.ref: s for s in (await bed.records.trace(goal.id)).steps}
        assert {ref: step.state for ref, step in steps.items()} == {
            "a": "settled", "b": "lost", "c": "released", "d": "lost",
        }  # fmt: skip
        assert steps["b"].nano_usd is None
        assert after.ledger.estimated_tokens == 1400
        spent = await bed.records.spend(goal.id)
        assert sum(one.estimated_tokens for one in spent) == 1400
        assert sum(one.nano_usd + one.estimated_nano_usd for one in spent) == after.ledger.nano_usd
        assert [one.calls for one in spent] == [2, 1]

    async def test_a_tool_that_runs_again_is_one_step(self, bed: Bed) -> None:
        goal = await bed.work()

        await bed.commit(goal, ToolStarted("t", "read", "none"), TurnResumed())
        await bed.commit(goal, ToolStarted("t", "read", "none"), ToolEnded("t", "ok", "h"))

        [step] = (await bed.records.trace(goal.id)).steps
        assert (step.state, step.runs, step.name, step.content) == ("ok", 2, "read", "h")

    async def test_a_decision_s_row_says_how_it_ended(self, bed: Bed) -> None:
        goal = await bed.work()
        asked = await bed.commit(goal, DecisionAsked("d1", "approval", "text", "tool"))
        decision = asked.goal.decision
        await bed.commit(goal, Paused(goal.owner))
        await bed.time.pass_by(10)
        await bed.commit(goal, Resumed(goal.owner))
        open_row = (await bed.records.trace(goal.id)).decisions[0]
        await bed.commit(goal, DecisionAnswered("d1", goal.owner, "yes"))

        [row] = (await bed.records.trace(goal.id)).decisions
        assert decision is not None
        assert open_row.state == "open"
        assert open_row.decision.expires_at >= decision.expires_at + 10
        assert (row.state, row.by, row.answer) == ("answered", goal.owner, "yes")

    async def test_waits_that_want_a_look_are_found(self, bed: Bed) -> None:
        goals = [await bed.open() for _ in range(3)]
        now = await bed.time.now()
        for goal, until in zip(goals, (500, 20, 90_000), strict=True):
            wait = Wait(f"{goal.id}.w", "time", "noon", now + until)
            await bed.turn(goal, WaitAsked(wait))

        parked = await bed.records.wait_due(now + 1_000)

        assert [one.goal for one in parked] == [goals[1].id, goals[0].id]
        assert parked[0].wait.until == parked[0].due_at == now + 20

    @settings(max_examples=12, deadline=None, suppress_health_check=SHARED)
    @given(choices=MANY, is_ask=st.booleans())
    async def test_any_life_is_kept_and_replays(
        self, bed: Bed, choices: list[int], is_ask: bool
    ) -> None:
        goal = await bed.open(kind="ask" if is_ask else "goal")
        lived = 0

        for n, choice in enumerate(choices):
            now = await bed.journal.goal(goal.id)
            try:
                lived += len((await bed.commit(goal, _event(now, choice, n))).entries)
            except (IllegalMove, Refused):
                assert await bed.journal.goal(goal.id) == now

        assert (await bed.journal.goal(goal.id)).seq == lived + 1
        await bed.check()

    async def test_an_urgent_unit_keeps_its_place_in_its_goal(self, bed: Bed) -> None:
        goal = await bed.work()

        units = [bed.commit(goal, NoteLeft(str(n))) for n in range(5)]
        await asyncio.gather(*units, bed.commit(goal, Paused(goal.owner), urgent=True))

        lines = await bed.journal.history(goal.session)
        assert isinstance(lines[-1].entry.event, Paused)
        assert (await bed.journal.goal(goal.id)).state is State.PAUSED

    async def test_hashes_are_of_the_text_as_it_is(self, bed: Bed) -> None:
        assert Content(ODD).hash == content_hash(ODD)
        assert Unit("g", ()).contents == ()


def _event(goal: Goal, choice: int, n: int) -> Event:
    """One of many events, told so that it often fits the goal as it is."""
    seen = (goal.revision, goal.turn, goal.messages)
    decision = goal.decision.id if goal.decision else "none"
    wait = goal.wait.id if goal.wait else "none"
    text = content_hash(f"text {n}")
    asked = Wait(f"w{n}", "probe", f"ref{choice % 2}", 1e10)
    call = goal.ledger.open[0].call if goal.ledger.open else "c0"
    events: list[Event] = [
        TurnStarted(),
        TurnStarted(),
        TurnStarted(),
        TurnEnded("done", reply=text),
        TurnEnded("done", reply="same"),
        TurnEnded("stopped"),
        TurnEnded("failed", failed="refusal"),
        TurnEnded("budget"),
        TurnResumed(),
        CallStarted(f"c{n}", "agent", "m", 5_000, 3, goal.messages, goal.revision),
        CallStarted(f"c{n}", "audit", "m", 100, None),
        CallStarted(f"c{n}", "agent", "m", 10**9, 3),
        CallSettled(call, Usage(1, 2, 3, 4, 5, 6), 9, text),
        CallLost(call),
        CallReleased(call),
        ToolStarted(f"t{n % 3}", "bash", "workspace"),
        ToolEnded(f"t{n % 3}", "ok", text, touched=True),
        WaitAsked(asked),
        DecisionAsked(f"d{n}", "approval", text, "t", 0.0, text, Grant("command", text)),
        DecisionAsked(f"d{n}", "plan", text, "t"),
        DecisionAsked(f"d{n}", "question", text, "t"),
        DecisionAnswered(decision, goal.owner, text),
        DecisionAnswered(decision, goal.owner, text, n % 2 == 0, 0.0, "goal", n % 3 == 0),
        DecisionExpired(decision),
        DecisionReminded(decision),
        WaitFired(wait, "time"),
        MessageReceived(f"m{n}", goal.owner, text),
        GatesRan((), ("sh",)),
        GatesRan((text, "sh"), (), 0.0, text),
        GatesSet(goal.owner, (GateLine(goal.gates_made + 1, text, goal.owner),)),
        ProfileSet(goal.owner, "networked"),
        WorkspaceRestored(goal.restore),
        Audited(*seen, "continue"),
        Audited(*seen, "wait", wait=asked, ref_is_known=True),
        Audited(*seen, "needs_person", person="sign_off", decision=f"d{n}", text=text),
        AuditFailed(*seen, "timeout"),
        Paused(goal.owner),
        Resumed(goal.owner),
        BudgetSet(goal.owner, DEFAULT_BUDGET),
        ObjectiveEdited(goal.owner, text),
        Stopped(goal.owner),
    ]
    return events[choice]
