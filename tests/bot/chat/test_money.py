"""Budgets, bills and limits, as people meet them at the console."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.console import tables
from bot.chat.facts import Manner
from bot.chat.intake import Intake
from bot.chat.parse import Command, parse
from bot.chat.spend import Total, keys, money, row, summed
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.events import (
    CapReached,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.money import NANO
from bot.ports.chat import Place, Speaker
from bot.ports.mail import Inbox
from bot.ports.people import Answer
from bot.ports.spending import Bill, Share, Swept
from tests.bot.chat import turns
from tests.bot.chat.conftest import ANN, Bench

HOUR_S = 3_600.0
BEN = Speaker("ben", "ben")


class Bills:
    """Port Spending: what a test says was spent."""

    def __init__(self, *bills: Bill, shares: tuple[Share, ...] = ()) -> None:
        self._bills, self._shares = bills, shares
        self.lifted: list[str] = []
        self.inbox: Inbox | None = None

    async def bills(self, since: float | None = None) -> tuple[Bill, ...]:
        return tuple(bill for bill in self._bills if since is None or bill.at >= since)

    async def shares(self, goal: Goal) -> tuple[Share, ...]:
        return self._shares

    async def shares_of(self, person: str, place: Place) -> tuple[Share, ...]:
        return self._shares

    async def lift(self, goal: str, answer: Answer) -> bool:
        self.lifted.append(goal)
        assert self.inbox is not None
        for message in answer.handled:
            await self.inbox.handled(message)
        return True

    async def sweep(self) -> Swept:
        return Swept()


def a_bill(number: int = 1, nano: int = NANO, **more: Any) -> Bill:
    fields: dict[str, Any] = {
        "goal": f"g{number}", "number": number, "owner": "p1", "owner_name": "ann",
        "room_id": "r1", "network": "console", "workspace": "", "room": "console",
        "role": "agent", "model": "claude", "at": 1_000_000.0, "calls": 2, "tokens": 1_500,
        "nano_usd": nano, "estimated_nano_usd": 0, "unpriced_tokens": 0,
    }  # fmt: skip
    return Bill(**{**fields, **more})


def with_bills(bench: Bench, *bills: Bill, shares: tuple[Share, ...] = ()) -> Bills:
    spending = Bills(*bills, shares=shares)
    spending.inbox = bench.store.inbox
    bench.intake = Intake(replace(bench.desk, spending=spending), bench.allow_list.of)
    return spending


async def over_budget(bench: Bench) -> tuple[str, Goal]:
    thread, goal = await bench.start()
    return thread, await turns.over_budget(bench, goal, 1_000, NANO)


@pytest.mark.parametrize("words", ["budget banana", "budget banana and resume"])
async def test_an_amount_that_is_none_says_what_one_looks_like(bench: Bench, words: str) -> None:
    thread, goal = await over_budget(bench)

    await bench.say(words, thread)

    assert goal.state == "over_budget"
    assert "That is no amount." in bench.last(thread)


async def test_over_budget_a_raise_resumes_and_resume_alone_says_what_is_missing(
    bench: Bench,
) -> None:
    thread, _ = await over_budget(bench)
    await bench.say("budget 1.50", thread)
    lowered = bench.last(thread)
    await bench.say("budget +5", thread)
    raised = bench.last(thread)
    await bench.say("resume", thread)

    assert "G1 has $1.50, 2M tokens" in lowered
    assert "`resume` goes on." in raised
    assert (await bench.goal(thread)).state == "ready"


async def test_over_budget_cancel_ends_it_and_reopening_is_not_offered(bench: Bench) -> None:
    thread, _ = await over_budget(bench)
    await bench.say("cancel", thread)
    await bench.say("cancel yes", thread)

    await bench.say("pause", thread)

    assert (await bench.goal(thread)).state == "cancelled"
    assert "reopen" not in bench.last(thread)
    assert "was cancelled" in bench.last(thread)


async def test_a_complete_goal_offers_to_be_reopened(bench: Bench) -> None:
    thread, goal = await bench.start()
    await turns.complete(bench, goal)

    await bench.say("pause", thread)

    assert "`reopen <what is missing>`" in bench.last(thread)


async def test_resume_of_a_held_goal_says_which_cap_and_what_raises_it(bench: Bench) -> None:
    thread, goal = await bench.start()
    until = bench.clock.now() + HOUR_S
    cap = CapReached("person", 10 * NANO, until, nano_usd=NANO)
    await bench.happens(goal, TurnStarted(), cap)

    await bench.say("resume", thread)

    assert "G1 is held: ann's $10 for today might be passed." in bench.last(thread)
    assert "`cap_person_usd`" in bench.last(thread)


async def test_a_question_over_a_cap_is_answered_so(bench: Bench) -> None:
    thread = await bench.say("/goal ask what is the tide table?")
    [row] = await bench.store.records.goals(with_asks=True)
    cap = CapReached("room", 20 * NANO, bench.clock.now() + HOUR_S, nano_usd=NANO)

    ended = await bench.happens(row.goal, TurnStarted(), cap)
    await bench.deliver()

    assert ended.state == "complete"
    assert bench.last(thread).startswith("A cap of today is reached, so this was not answered.")


async def test_an_admin_lets_a_goal_pass_and_nobody_else_does(bench: Bench) -> None:
    spending = with_bills(bench)
    await bench.say("/goal allow @ben")
    thread = await bench.say("/goal write a sonnet", speaker=BEN)
    goal = await bench.goal(thread)
    cap = CapReached("person", 10 * NANO, bench.clock.now() + HOUR_S, nano_usd=NANO)
    await bench.happens(goal, TurnStarted(), cap)

    await bench.say("resume anyway", thread, speaker=BEN)
    refused = (list(spending.lifted), bench.last(thread))
    await bench.say("/goal resume G1 anyway")

    assert refused[0] == []
    assert "admin" in refused[1]
    assert spending.lifted == [goal.id]


async def test_the_status_message_tells_of_a_limit_of_which_four_fifths_are_spent(
    bench: Bench,
) -> None:
    bench.delivery.spending = Bills(shares=(Share("person", 82 * NANO // 10, 10 * NANO),))
    thread, _ = await bench.start()
    bench.clock.move(6)

    await bench.deliver()
    before = len(bench.posts)
    await bench.say("status", thread)

    [status] = [one for one in bench.posts.values() if one.buttons]
    assert status.notes == ("⚠ 82 % of ann's $10 for today",)
    assert len(bench.posts) == before + 1


async def test_a_rooms_cap_is_told_without_whoever_asks_whatever_their_name(bench: Bench) -> None:
    now = bench.clock.now()
    with_bills(bench, a_bill(1, at=now), shares=(Share("room", NANO, 10 * NANO),))

    await bench.say("/goal spend today", speaker=Speaker("ann", "@ann:example.org"))

    assert "this room's $10 for today" in bench.last()


async def test_spend_today_sums_by_goal_and_tells_of_the_caps(bench: Bench) -> None:
    now = bench.clock.now()
    shares = (Share("person", 4 * NANO, 10 * NANO), Share("all", 5 * NANO, 50 * NANO))
    with_bills(
        bench,
        a_bill(1, at=now),
        a_bill(2, 3 * NANO, at=now, estimated_nano_usd=NANO),
        a_bill(3, at=now - 3 * 86_400),
        a_bill(0, NANO // 1000, at=now, unpriced_tokens=900),
        shares=shares,
    )

    await bench.say("/goal spend today")

    told = bench.last().splitlines()
    assert told[0] == "Spent today in this room:"
    assert told[1] == "- **G2** $3.00 ($1.00 of it estimated) · 2 calls · 1.5k tokens"
    assert told[2] == "- **G1** $1.00 · 2 calls · 1.5k tokens"
    assert "**questions** at least <$0.01 and 900 tokens at no known price" in told[3]
    assert told[4].startswith("- **All** at least $4.00")
    assert (
        told[5]
        == "Of today's caps: $4 of ann's $10 for today, $5 of the $50 of all goals for today."
    )


async def test_other_rooms_are_counted_and_not_named(bench: Bench) -> None:
    person = await bench.store.rooms.person("console", ANN)
    with_bills(
        bench,
        a_bill(1, owner=person),
        a_bill(7, 2 * NANO, owner=person, room="secret-plans"),
        a_bill(8, 9 * NANO, owner="p9", owner_name="eve", room="secret-plans"),
    )

    await bench.say("/goal spend mine")
    mine = bench.last()
    await bench.say("/goal spend person @ann")
    named = bench.last()
    await bench.say("/goal spend room")
    of_room = bench.last()

    for told in (mine, named):
        assert "**G1** $1.00" in told
        assert "**in other rooms** $2.00" in told
        assert "G7" not in told
    assert "**ann** $1.00" in of_room
    assert "eve" not in of_room
    assert "secret" not in mine + named + of_room


async def test_spend_in_a_goals_thread_is_that_goals_by_role(bench: Bench) -> None:
    thread, _ = await bench.start()
    with_bills(bench, a_bill(1), a_bill(1, role="audit"), a_bill(2))

    await bench.say("spend", thread)

    assert bench.last(thread).splitlines()[0] == "Spent on G1:"
    assert "**agent** $1.00" in bench.last(thread)
    assert "**All** $2.00" in bench.last(thread)


async def test_nobody_and_nothing_are_said_so(bench: Bench) -> None:
    with_bills(bench)

    await bench.say("/goal spend person @nobody")
    nobody = bench.last()
    await bench.say("/goal spend G7")
    no_goal = bench.last()
    await bench.say("/goal spend week")

    assert no_goal.startswith("There is no G7 in this room.")
    assert nobody == "Nobody called nobody has spent anything here."
    assert bench.last() == "Nothing was spent."


@pytest.mark.parametrize(
    ("text", "goal", "scope"),
    [
        ("/goal spend", None, ""),
        ("/goal spend G12", 12, ""),
        ("/goal spend Today", None, "today"),
        ("/goal spend person @Ben", None, "person @Ben"),
        ("/goal spend model", None, "model"),
    ],
)
def test_spend_is_parsed(text: str, goal: int | None, scope: str) -> None:
    said = parse(text, Texts(), in_thread=False)

    assert isinstance(said, Command)
    assert (said.verb.name, said.goal, said.text) == ("spend", goal, scope)


def test_an_objective_may_begin_with_spend_and_with_budget() -> None:
    for text in ("spend the afternoon on the tests", "budget the trip to Rome for two people"):
        said = parse(f"/goal {text}", Texts(), in_thread=False)

        assert isinstance(said, Command)
        assert (said.verb.name, said.text) == ("", text)


def test_one_word_that_is_no_amount_is_no_objective() -> None:
    with pytest.raises(BadInput, match="no amount"):
        parse("/goal budget banana", Texts(), in_thread=False)


def test_bills_are_summed_by_each_key() -> None:
    bills = [a_bill(1), a_bill(1, at=1_000_000.0 + 86_400), a_bill(2, owner_name="ben")]
    found = keys(Manner())

    assert [one.calls for one in summed(bills, found["goal"])] == [4, 2]
    assert [one.name for one in summed(bills, found["day"])] == ["1970-01-12", "1970-01-13"]
    assert [one.name for one in summed(bills, found["person"])] == ["ann", "ben"]
    assert [one.name for one in summed(bills, found["room"])] == ["console:console"]


def test_money_says_what_is_unknown_and_what_is_estimated() -> None:
    total = Total("x", 1, 10, 2 * NANO, estimated_nano_usd=NANO // 2, unpriced_tokens=5)

    assert money(total, Manner()) == "at least $2.00 ($0.50 of it estimated)"
    assert row(total)["cost_is_at_least"] is True
    assert row(total)["estimated_usd"] == 0.5


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0.0, "$0.00"), (0.004, "<$0.01"), (0.01, "$0.01"), (1234.5, "$1,234.50")],
)
def test_the_tables_say_what_the_chat_says(dollars: float, shown: str) -> None:
    row = {"cost_usd": dollars, "cost_is_at_least": False, "estimated_usd": 0.0}

    assert tables.cost(row) == shown
