"""Answers to approvals whose time is over: no yes comes after the end of what was asked."""

import pytest

from bot.goals.events import Paused
from bot.goals.goal import State
from bot.goals.limits import LIMITS
from tests.bot.chat.conftest import Bench
from tests.bot.chat.test_decisions import answer_of, call, of_kind

LATE = LIMITS.approval_expires_s + 1


async def test_a_yes_after_the_end_is_too_late(bench: Bench) -> None:
    thread, goal = await call(bench)
    bench.clock.move(LATE)

    await bench.say("approve always", thread)

    assert (await bench.goal(thread)).state is State.DECIDING
    assert bench.last(thread) == "Too late: that decision is no longer open."
    assert (await bench.goal(thread)).messages == goal.messages


async def test_a_yes_before_the_end_counts(bench: Bench) -> None:
    thread, goal = await call(bench)
    bench.clock.move(LIMITS.approval_expires_s - 60)

    await bench.say("approve", thread)

    assert (await answer_of(bench, goal)).accepted


@pytest.mark.parametrize("stands", ["held", "paused"])
async def test_the_clock_stands_while_the_goal_is_held_or_paused(bench: Bench, stands: str) -> None:
    thread, goal = await call(bench)
    if stands == "held":
        await bench.say("/goal hold all")
    else:
        await bench.happens(goal, Paused("ann"))
    bench.clock.move(LATE)

    await bench.say("approve", thread)

    assert (await answer_of(bench, goal)).accepted


async def test_another_question_is_answered_until_the_clock_has_closed_it(bench: Bench) -> None:
    thread, goal = await of_kind(bench, "question", "Which port?")
    bench.clock.move(LIMITS.question_expires_s + 1)

    await bench.say("1984", thread)

    assert (await answer_of(bench, goal)).accepted
