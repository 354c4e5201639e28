"""What a person sets about a goal: its profile, its checks."""

import pytest

from bot.errors import Refused
from bot.goals.events import (
    GatesRan,
    GatesSet,
    ObjectiveEdited,
    ProfileSet,
)
from bot.goals.goal import State
from bot.goals.hands import GateLine
from bot.goals.instructions import (
    ShowStatus,
)
from bot.goals.limits import LIMITS
from tests.bot.goals import lives

LINT = GateLine(1, "lint", "ann")
TEST = GateLine(2, "test", "ann")


def test_a_profile_is_set_where_the_goal_is_and_no_turn_is_fenced() -> None:
    life = lives.in_auditing()
    verdict = life.verdict_event("complete")

    life.take(ProfileSet("ann", "read_only"))
    shown = life.last
    life.take(verdict)

    assert ShowStatus() in shown
    assert life.goal.profile == "read_only"
    assert life.goal.state is State.COMPLETE


def test_checks_are_numbered_onwards() -> None:
    life = lives.in_working().take(GatesSet("ann", (LINT, TEST)), GatesSet("ann", (LINT,)))

    assert (life.goal.gates, life.goal.gates_made) == ((LINT,), 2)
    life.take(GatesSet("ann", ()))
    assert (life.goal.gates, life.goal.gates_made) == ((), 2)


def test_a_change_that_was_made_from_other_checks_is_refused() -> None:
    life = lives.in_working().take(GatesSet("ann", (LINT,), over=()))

    with pytest.raises(Refused) as refused:
        life.take(GatesSet("ben", (TEST,), over=()))

    assert refused.value.code == "gates_changed"
    life.take(GatesSet("ben", (LINT, TEST), over=(LINT.number,)))
    assert life.goal.gates == (LINT, TEST)


def test_a_check_that_was_mended_adds_a_continuation_once_a_turn() -> None:
    life = lives.in_auditing().take(GatesSet("ann", (LINT, TEST)))
    life.take(GatesRan(("lint", "test"), ())).verdict("continue").turn()

    life.take(GatesRan(("test",), ()))
    once = life.goal.allowance
    life.take(GatesRan((), ()))

    assert once == LIMITS.continuations + 1
    assert life.goal.allowance == once


def test_a_turn_with_progress_and_a_mended_check_adds_one_continuation() -> None:
    life = lives.in_auditing().take(GatesRan(("lint",), ())).verdict("continue")

    life.turn(progress=True).take(GatesRan((), ()))

    assert life.goal.allowance == LIMITS.continuations + 1


def test_progress_of_each_turn_counts() -> None:
    life = lives.in_auditing().verdict("continue").turn(progress=True).verdict("continue")

    life.turn(progress=True)

    assert life.goal.allowance == LIMITS.continuations + 2


def test_a_check_that_was_taken_away_has_not_been_mended() -> None:
    life = lives.in_auditing().take(GatesSet("ann", (LINT, TEST)))
    life.take(GatesRan(("lint", "test", "line"), ())).verdict("continue")

    life.take(GatesSet("ann", (TEST,)))
    left = life.goal.failing
    life.turn().take(GatesRan(("test", "line"), ()))

    assert left == ("test", "line")
    assert life.goal.allowance == LIMITS.continuations


def test_a_check_of_an_objective_that_was_changed_has_not_been_mended() -> None:
    life = lives.in_auditing().take(GatesRan(("line",), ()), ObjectiveEdited("ann", "o2"))

    life.turn().take(GatesRan((), ()))

    assert life.goal.allowance == LIMITS.continuations
