"""What every book of leases does: two workers never hold one goal, epochs only grow."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.goals.events import CallLost, CallStarted, Cancelled, Paused, Stopped, TurnStarted
from bot.ports.journal import EndpointRow
from tests.contracts.stores import SHARED, Bed

WORKERS = ("w1", "w2", "w3")
ACT = st.one_of(
    st.tuples(st.just("claim"), st.sampled_from(WORKERS), st.integers(1, 3)),
    st.tuples(st.just("claim_one"), st.sampled_from(WORKERS), st.integers(0, 2)),
    st.tuples(st.just("renew"), st.sampled_from(WORKERS), st.just(0)),
    st.tuples(st.just("release"), st.sampled_from(WORKERS), st.just(0)),
    st.tuples(st.just("pass"), st.just(""), st.sampled_from((5, 20, 31))),
)


class LeasesContract:
    """Subclasses give a fixture `bed`."""

    async def test_due_goals_are_claimed_oldest_first(self, bed: Bed) -> None:
        goals = []
        for _ in range(3):
            goals.append(await bed.open())
            await bed.time.pass_by(1)

        first = await bed.leases.claim("w1", limit=2)
        rest = await bed.leases.claim("w2", limit=5)

        assert [lease.goal for lease in first] == goals[:2]
        assert [lease.goal.id for lease in rest] == [goals[2].id]
        assert [lease.epoch for lease in first] == [1, 1]

    async def test_a_goal_that_is_not_due_is_not_claimed(self, bed: Bed) -> None:
        goal = await bed.open()
        await bed.commit(goal, Cancelled(goal.owner))

        assert await bed.leases.claim("w", limit=5) == ()
        assert await bed.leases.claim_one("w", goal.id) is None
        assert await bed.leases.next_due() is None

    async def test_calls_that_nobody_will_settle_are_told_once_their_worker_has_gone(
        self, bed: Bed
    ) -> None:
        goals = [await bed.open() for _ in range(3)]
        await bed.leases.claim("w1", limit=3)
        for goal in goals:
            call = CallStarted(f"c{goal.number}", "agent", "m", 100, 100, revision=1)
            await bed.commit(goal, TurnStarted(), call)
        await bed.commit(goals[0], Cancelled(goals[0].owner))
        await bed.commit(goals[1], Paused(goals[1].owner))

        while_held = await bed.leases.abandoned()
        await bed.time.pass_by(31)
        after = await bed.leases.abandoned()
        await bed.commit(goals[0], CallLost("c1"))

        assert while_held == {}
        assert after == {goals[0].id: ("c1",), goals[1].id: ("c2",)}
        assert await bed.leases.abandoned() == {goals[1].id: ("c2",)}

    async def test_a_lease_lapses_and_the_next_one_has_a_higher_epoch(self, bed: Bed) -> None:
        goal = await bed.open()
        [lease] = await bed.leases.claim("w1", limit=1)

        at_once = await bed.leases.claim_one("w2", goal.id)
        await bed.time.pass_by(31)
        later = await bed.leases.claim_one("w2", goal.id)

        assert at_once is None
        assert later is not None
        assert later.epoch == lease.epoch + 1
        assert await bed.leases.renew("w1", {goal.id: lease.epoch}) == frozenset()

    async def test_a_renewed_lease_is_held_on(self, bed: Bed) -> None:
        goal = await bed.open()
        [lease] = await bed.leases.claim("w1", limit=1)

        for _ in range(3):
            await bed.time.pass_by(20)
            kept = await bed.leases.renew("w1", {goal.id: lease.epoch, "gone": 1})
            assert kept == {goal.id}

        assert await bed.leases.claim("w2", limit=1) == ()

    async def test_a_lease_given_back_is_free_at_once(self, bed: Bed) -> None:
        goal = await bed.open()
        [lease] = await bed.leases.claim("w1", limit=1)

        await bed.leases.release("w2", {goal.id: lease.epoch})
        not_theirs = await bed.leases.claim("w2", limit=1)
        await bed.leases.release("w1", {goal.id: lease.epoch})
        [again] = await bed.leases.claim("w2", limit=1)

        assert not_theirs == ()
        assert again.epoch == lease.epoch + 1

    async def test_the_next_due_time_is_of_a_goal_that_nobody_holds(self, bed: Bed) -> None:
        first = await bed.open()
        await bed.time.pass_by(10)
        second = await bed.open()

        before = await bed.leases.next_due()
        await bed.leases.claim_one("w", first.id)
        after = await bed.leases.next_due()

        assert before == first.due_at
        assert after == second.due_at

    async def test_what_a_person_stopped_or_cancelled_is_told(self, bed: Bed) -> None:
        goals = [await bed.work() for _ in range(70)]
        paused, stopped, cancelled = goals[1], goals[2], goals[69]

        before = await bed.leases.stopped([goal.id for goal in goals])
        await bed.commit(paused, Paused(paused.owner))
        await bed.commit(stopped, Stopped(stopped.owner))
        await bed.commit(cancelled, Cancelled(cancelled.owner))
        after = await bed.leases.stopped([goal.id for goal in goals])
        of_one = await bed.leases.stopped([stopped.id])

        assert before == frozenset()
        assert after == {stopped.id, cancelled.id}
        assert of_one == {stopped.id}
        assert await bed.leases.stopped([]) == frozenset()

    async def test_a_claim_shows_the_goal_as_it_is(self, bed: Bed) -> None:
        goal = await bed.open()
        moved = (await bed.commit(goal, TurnStarted())).goal

        [lease] = await bed.leases.claim("w", limit=1)

        assert lease.goal == moved

    async def test_workers_that_claim_at_once_share_out_the_goals(self, bed: Bed) -> None:
        goals = {(await bed.open()).id for _ in range(12)}

        claims = await asyncio.gather(
            *(bed.leases.claim(f"w{n}", limit=4) for n in range(5)),
            *(bed.leases.claim_one(f"v{n}", min(goals)) for n in range(3)),
        )

        taken = [one.goal.id for claim in claims[:5] for one in claim]
        taken += [one.goal.id for one in claims[5:] if one]
        assert sorted(taken) == sorted(goals)

    async def test_an_endpoint_s_trouble_is_remembered_and_forgotten(self, bed: Bed) -> None:
        row = EndpointRow("claude", "overload", 5.0, 3, 99.5)
        worse = EndpointRow("claude", "auth", 6.0, 4, 100.5, 1.0)

        await bed.leases.save_endpoint(row, name="claude")
        kept = await bed.leases.endpoints()
        await bed.leases.save_endpoint(worse, name="claude")
        await bed.leases.save_endpoint(row, name="other")
        await bed.leases.save_endpoint(None, name="other")

        assert kept == (row,)
        assert await bed.leases.endpoints() == (worse,)

    @settings(max_examples=15, deadline=None, suppress_health_check=SHARED)
    @given(acts=st.lists(ACT, max_size=25))
    async def test_two_workers_never_hold_one_goal(
        self, bed: Bed, acts: list[tuple[str, str, int]]
    ) -> None:
        goals = [(await bed.open()).id for _ in range(3)]
        epochs = dict.fromkeys(goals, 0)
        holds: dict[str, tuple[str, int, float]] = {}
        now = 0.0

        for act, worker, n in acts:
            mine = {goal: held[1] for goal, held in holds.items() if held[0] == worker}
            if act == "pass":
                await bed.time.pass_by(n)
                now += n
            elif act == "renew":
                kept = await bed.leases.renew(worker, mine)
                assert kept == set(mine)
                holds |= {goal: (worker, mine[goal], now + 30) for goal in kept}
            elif act == "release":
                await bed.leases.release(worker, mine)
                holds = {goal: held for goal, held in holds.items() if held[0] != worker}
            else:
                one = act == "claim_one" and await bed.leases.claim_one(worker, goals[n])
                many = await bed.leases.claim(worker, limit=n) if act == "claim" else ()
                for lease in (one,) if one else many:
                    if lease.goal.id not in epochs:
                        continue
                    other = holds.get(lease.goal.id)
                    assert other is None or other[2] <= now or (one and other[0] == worker)
                    assert lease.epoch > epochs[lease.goal.id]
                    epochs[lease.goal.id] = lease.epoch
                    holds[lease.goal.id] = (worker, lease.epoch, now + 30)

        for goal in goals:
            await bed.commit(goal, Cancelled("p"))
