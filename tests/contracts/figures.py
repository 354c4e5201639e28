"""What every store can count."""

import random
from typing import Any

import pytest

from adapters.store import step_sums
from adapters.store.figures import StoreFigures
from bot.goals.events import (
    Audited,
    AuditFailed,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    ToolEnded,
    ToolStarted,
    TurnStarted,
)
from bot.goals.money import Usage
from bot.ports.figures import Now, Reserved, Totals
from bot.ports.incidents import Alert
from bot.ports.journal import EndpointRow
from tests.contracts.stores import Bed


class FiguresContract:
    """Subclasses give a fixture `bed`."""

    async def test_of_an_empty_store_everything_is_nothing(self, bed: Bed) -> None:
        now, totals = await bed.figures.now(), await bed.figures.totals()

        assert now == Now(now.at)
        assert totals == Totals()

    async def test_live_goals_are_counted_by_state_and_final_ones_apart(self, bed: Bed) -> None:
        await bed.open()
        await bed.work()
        await bed.work()
        await bed.open(kind="ask")
        await bed.commit(await bed.open(), Cancelled("p"))
        done = await bed.turn(await bed.open())
        await bed.commit(done.goal, Audited(1, 1, 0, "complete"))

        now, totals = await bed.figures.now(), await bed.figures.totals()

        assert now.live == {"ready": 1, "working": 2}
        assert totals.goals == {"cancelled": 1, "complete": 1}

    async def test_calls_in_flight_are_counted_by_role_with_what_they_may_cost(
        self, bed: Bed
    ) -> None:
        for cost in (5_000, None):
            goal = await bed.work()
            await bed.commit(goal, CallStarted(f"{goal.id}.c", "agent", "m", 1_000, cost))

        now = await bed.figures.now()

        assert now.reserved == {"agent": Reserved(2, 2_000, 5_000)}

    async def test_ended_calls_are_counted_by_role_and_outcome(self, bed: Bed) -> None:
        await bed.turn(await bed.open())
        await bed.turn(await bed.open())
        goal = await bed.work()
        await bed.commit(goal, CallStarted("a", "agent", "m", 1_000, 5_000), CallReleased("a"))
        await bed.commit(goal, CallStarted("b", "agent", "m", 1_000, 5_000), CallLost("b"))

        found = {one.outcome: one for one in (await bed.figures.totals()).calls}

        assert found.keys() == {"settled", "released", "lost"}
        assert (found["settled"].role, found["settled"].calls) == ("agent", 2)
        assert found["settled"].usage == Usage(input=200, output=40)
        assert found["settled"].nano_usd == 1_400
        lost = found["lost"]
        assert (lost.estimated_tokens, lost.estimated_nano_usd, lost.nano_usd) == (1_000, 5_000, 0)

    async def test_turns_audits_and_tools_are_counted_by_how_they_ended(self, bed: Bed) -> None:
        first = await bed.turn(
            await bed.open(), ToolStarted("t", "read", "none"), ToolEnded("t", "ok", "h")
        )
        await bed.commit(first.goal, Audited(1, 1, 0, "continue"))
        second = await bed.turn(await bed.open())
        await bed.commit(second.goal, AuditFailed(1, 1, 0, "timeout"))
        await bed.commit(await bed.open(), TurnStarted())

        totals = await bed.figures.totals()

        assert totals.turns == {"": 1, "done": 2}
        assert totals.verdicts == {"continue": 1}
        assert totals.audits_failed == {"timeout": 1}
        assert totals.tools == {("read", "ok"): 1}

    async def test_what_is_to_be_sent_and_handled_is_counted_with_the_oldest(
        self, bed: Bed
    ) -> None:
        began = await bed.time.now()
        thread = await bed.rooms.begin(bed.place())
        await bed.outbox.say(thread.session, "k1", "one")
        await bed.inbox.receive(bed.message())
        await bed.time.pass_by(30)
        await bed.outbox.say(thread.session, "k2", "two")
        message = bed.message()
        await bed.inbox.receive(message)

        now = await bed.figures.now()
        await bed.outbox.sent("k1", "r1")
        await bed.outbox.failed("k2", "closed")
        after, totals = await bed.figures.now(), await bed.figures.totals()

        assert now.outbox.rows == {"pending": 2}
        assert now.inbox.rows == {"waiting": 2}
        for waiting in (now.outbox, now.inbox):
            assert waiting.oldest_at is not None
            assert abs(waiting.oldest_at - began) < 5
        assert after.outbox.rows == {}
        assert totals.posts == {"sent": 1, "failed": 1}

    async def test_the_last_message_of_each_network_is_known(self, bed: Bed) -> None:
        await bed.inbox.receive(bed.message(place=bed.place("slack")))
        await bed.time.pass_by(60)
        await bed.inbox.receive(bed.message(place=bed.place("matrix")))

        heard = (await bed.figures.now()).heard

        assert heard.keys() == {"slack", "matrix"}
        assert 55 < heard["matrix"] - heard["slack"] < 65

    async def test_what_is_wrong_or_held_is_counted_by_kind(self, bed: Bed) -> None:
        await bed.leases.save_endpoint(EndpointRow("api", "auth", 7.0, 1, 9.0), name="api")
        for subject in ("one", "two", "over"):
            await bed.incidents.open(Alert("key", subject))
        await bed.incidents.recovered(Alert("key", "over"))
        await bed.holds.hold("all", "p")
        await bed.holds.hold("room:r1", "p")
        await bed.holds.hold("room:r2", "p")

        now = await bed.figures.now()

        assert now.endpoints == {"api": ("auth", 7.0)}
        assert now.incidents == {"key": 2}
        assert now.holds == {"all": 1, "room": 2}

    async def test_a_lease_that_lapsed_and_is_taken_by_another_worker_is_a_takeover(
        self, bed: Bed
    ) -> None:
        await bed.open()
        await bed.leases.claim("one.1", limit=5)
        await bed.time.pass_by(100)

        await bed.leases.claim("two.2", limit=5)

        assert bed.leases.takeovers == 1

    @pytest.mark.parametrize("margin", [0, 3, 1_000])
    async def test_sums_that_are_kept_up_are_those_of_a_first_look(
        self, bed: Bed, margin: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(step_sums, "MARGIN", margin)
        chance = random.Random(margin)
        goals = [await bed.work() for _ in range(4)]
        for n in range(30):
            goal = chance.choice(goals)
            await bed.commit(goal, *chance.choice(_happenings(f"{n}")))
            if n % 5 == 0:
                goals.append(await bed.work())
                await bed.turn(await bed.open())
            if chance.random() < 0.7:
                assert await bed.figures.totals() == await _looked(bed)

        assert await bed.figures.totals() == await _looked(bed)

    async def test_a_goal_that_moves_after_it_was_forgotten_is_counted_all_the_same(
        self, bed: Bed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(step_sums, "KEPT_S", -1.0)
        goal = await bed.work()
        await bed.commit(goal, CallStarted("c", "agent", "m", 1_000, 5_000))
        await bed.figures.totals()
        await bed.commit(goal, Cancelled("p"))
        await bed.figures.totals()

        await bed.commit(goal, CallSettled("c", Usage(input=7), 700))
        totals = await bed.figures.totals()

        assert totals == await _looked(bed)
        assert [(one.outcome, one.usage.input) for one in totals.calls] == [("settled", 7)]

    async def test_only_goals_that_moved_are_added_up_again(
        self, bed: Bed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await bed.turn(await bed.open())
        await bed.figures.totals()
        monkeypatch.setattr(step_sums, "_begin", None)

        await bed.turn(await bed.open())
        totals = await bed.figures.totals()

        assert sum(one.calls for one in totals.calls) == 2


async def _looked(bed: Bed) -> Totals:
    return await StoreFigures(bed.figures._readers).totals()


def _happenings(name: str) -> list[tuple[Any, ...]]:
    call = CallStarted(f"c{name}", "agent", "m", 1_000, 5_000)
    settled = CallSettled(f"c{name}", Usage(input=3, output=1), 11)
    return [
        (call,),
        (call, settled),
        (call, CallLost(f"c{name}")),
        (call, CallLost(f"c{name}"), settled),
        (call, CallReleased(f"c{name}")),
        (ToolStarted(f"t{name}", "bash", "workspace"),),
        (ToolStarted(f"t{name}", "read", "none"), ToolEnded(f"t{name}", "error", "h")),
    ]
