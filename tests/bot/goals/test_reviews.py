"""A review that was answered is carried out once, before the next turn begins."""

import pytest

from bot.errors import IllegalMove
from bot.goals.events import (
    DecisionAnswered,
    DecisionAsked,
    Paused,
    Resumed,
    ReviewSettled,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import State
from tests.bot.goals.lives import Life


def asked() -> Life:
    """A goal that waits for somebody to look at what it changed."""
    life = Life().take(TurnStarted()).call()
    life.take(DecisionAsked("d1", "review", "the diff", "toolu_1", call="c0ffee"))
    return life.take(TurnEnded("done", "look"))


@pytest.mark.parametrize("is_yes", [True, False])
def test_the_answer_stays_until_it_is_carried_out(is_yes: bool) -> None:
    life = asked()
    assert life.goal.state is State.DECIDING

    life.take(DecisionAnswered("d1", "ann", "word", accepted=is_yes))

    review = life.goal.review
    assert review is not None
    assert (life.goal.state, life.goal.decision) == (State.READY, None)
    assert (review.call, review.answered, review.accepted) == ("c0ffee", True, is_yes)
    assert life.take(ReviewSettled("d1", "told")).goal.review is None
    with pytest.raises(IllegalMove):
        life.take(ReviewSettled("d1", "told"))


def test_an_answer_given_while_it_rests_counts_when_it_goes_on() -> None:
    life = asked().take(Paused("ann"), DecisionAnswered("d1", "ann", "word"))
    was = life.goal.state

    life.take(Resumed("ann"))

    assert (was, life.goal.state) == (State.PAUSED, State.READY)
    assert life.goal.review is not None


def test_another_question_leaves_nothing_to_carry_out() -> None:
    life = Life().take(TurnStarted()).call()
    life.take(DecisionAsked("d1", "question", "which?", "toolu_1"), TurnEnded("done", "asked"))

    life.take(DecisionAnswered("d1", "ann", "word"))

    assert life.goal.review is None
