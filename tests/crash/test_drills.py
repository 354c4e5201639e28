"""
SIGKILL at every point between two durable steps, a restart, and the same end.

`points.txt` is the list that a recording run passes; `python -m tests.crash.record` writes it anew.
The gate plays a sample that is spread over the list and has one of each kind; with TEST_FULL=1 all.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bot.ports.records import Trace
from tests.crash.checks import check_all
from tests.crash.drill import Drill
from tests.crash.points import Death, Dies
from tests.crash.scenario import CALLS, OBJECTIVE, SCRIPT
from tests.peers.messages_api import BlockingMessagesApi, started

pytestmark = pytest.mark.sandbox

POINTS: Final = (Path(__file__).parent / "points.txt").read_text().splitlines()
KINDS: Final = {
    "commit": 158, "agent call": 30, "audit call": 6, "send": 10, "sandbox": 6, "tool": 12, "tree": 6,
}  # fmt: skip
"""How many points there are of each kind: the pinned number."""
FULL: Final = "TEST_FULL" in os.environ
EVERY: Final = 40
PAIRS: Final = 40
MOMENTS: Final = 40
BREAKS: Final = ("reply_lost", "cut_mid_stream")
PASSED_IN_RECOVERY: Final = 40


def kind(point: str) -> str:
    """What a point is about, without its moment and number."""
    return next(name for name in KINDS if f" {name}" in point)


def moment(point: str) -> str:
    """Its kind with its moment: before, inside, untold, during, after."""
    return f"{point.split(maxsplit=1)[0]} {kind(point)}"


def sample(points: list[str]) -> list[str]:
    """All, or every 40th and the first of each moment of each kind that is not among them."""
    if FULL:
        return points
    chosen = points[::EVERY]
    for point in points:
        if moment(point) not in map(moment, chosen):
            chosen.append(point)
    return chosen


def pairs() -> list[tuple[str, int]]:
    """A point, and how many points the restarted process passes before it dies as well."""
    chance = random.Random(2)
    drawn = [(chance.choice(POINTS), chance.randint(1, PASSED_IN_RECOVERY)) for _ in range(PAIRS)]
    return drawn if FULL else drawn[:3]


def broken() -> list[tuple[str, int]]:
    """How which call is broken; the fourth is an audit."""
    every = [(how, call) for how in BREAKS for call in range(1, CALLS + 1)]
    return every if FULL else [("reply_lost", 4), ("cut_mid_stream", 2)]


def moments() -> list[float]:
    """Seconds after the start, the opening of the store and the sandbox's trial included."""
    chance = random.Random(3)
    drawn = [round(chance.uniform(0.01, 2.5), 3) for _ in range(MOMENTS)]
    return drawn if FULL else drawn[:2]


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started(SCRIPT) as server:
        yield server


@pytest.fixture
def drill(tmp_path: Path, api: BlockingMessagesApi) -> Drill:
    return Drill(tmp_path / "state", api)


def test_a_run_passes_the_points_that_are_pinned(
    drill: Drill, api: BlockingMessagesApi, capsys: pytest.CaptureFixture[str]
) -> None:
    drill.run()

    trace = check_all(drill, api)
    passed = drill.record.read_text().splitlines()
    found = Counter(map(kind, passed))
    with capsys.disabled():
        print(f"\n{len(passed)} points: {dict(found)}")
    assert sorted(passed) == sorted(POINTS)
    assert found == KINDS
    assert lost(trace) == []
    assert trace.goal.ledger.estimated_tokens == 0


@pytest.mark.parametrize("point", sample(POINTS))
def test_killed_at_a_point_it_comes_to_the_same_end(
    drill: Drill, api: BlockingMessagesApi, point: str
) -> None:
    drill.run([Death(point)])

    trace = check_all(drill, api)
    assert len(lost(trace)) <= 1


@pytest.mark.parametrize(("point", "count"), pairs())
def test_killed_again_while_it_recovers_it_comes_to_the_same_end(
    drill: Drill, api: BlockingMessagesApi, point: str, count: int
) -> None:
    drill.run([Death(point), Death(count=count)])

    trace = check_all(drill, api)
    assert len(lost(trace)) <= 2


def test_killed_again_and_again_it_comes_to_the_same_end(
    drill: Drill, api: BlockingMessagesApi
) -> None:
    drill.run([Death(count=count) for count in (20, 17, 23, 19, 13, 29, 11)])

    check_all(drill, api)


@pytest.mark.parametrize("after_s", moments())
def test_killed_at_any_moment_it_comes_to_the_same_end(
    drill: Drill, api: BlockingMessagesApi, after_s: float
) -> None:
    drill.run([Death(after_s=after_s)])

    check_all(drill, api)


@pytest.mark.parametrize("dies", ["alone", "with its group"])
def test_the_process_of_the_command_line_dies_under_a_tool_and_nothing_of_it_lives_on(
    tmp_path: Path, api: BlockingMessagesApi, dies: Dies
) -> None:
    drill = Drill(tmp_path / "state", api, apart=False)

    drill.run([Death("during tool bash #1", dies=dies)])

    assert drill.family >= 3
    check_all(drill, api)


@pytest.mark.parametrize(("break_", "call"), broken())
def test_a_reply_lost_in_flight_is_charged_by_its_reservation_and_asked_for_again(
    tmp_path: Path, api: BlockingMessagesApi, break_: str, call: int
) -> None:
    drill = Drill(tmp_path / "state", api, objective=f"{OBJECTIVE} !break {break_} {call}")

    drill.run()

    trace = check_all(drill, api)
    assert len(lost(trace)) == 1
    assert trace.goal.ledger.estimated_tokens > 0


def lost(trace: Trace) -> list[str]:
    """The calls whose reply did not come."""
    return [step.ref for step in trace.steps if step.state == "lost"]
