"""
SIGKILL between any two durable steps of an approval, a plan, a check, a rewind: a restart, the same end.

The gate plays a sample of each story's points (`points_NAME.txt`), with TEST_FULL=1 all.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.crash.drill import Drill
from tests.crash.hand_checks import check_all
from tests.crash.hands import SCRIPT, STORIES
from tests.crash.points import Death
from tests.crash.record import points_file
from tests.crash.story import Story
from tests.peers.messages_api import BlockingMessagesApi, started

pytestmark = pytest.mark.sandbox

FULL: Final = "TEST_FULL" in os.environ
SAMPLE: Final = 4
"""Of each story, in the gate."""
PAIRS: Final = 12
"""Of each story: a death, and one in the life after it."""
PASSED_IN_RECOVERY: Final = 25


def points_of(story: Story) -> list[str]:
    """The points that it passes, in order."""
    return points_file(story).read_text().splitlines()


def sample(story: Story) -> list[str]:
    """All, or some that lie around what this story is about, the same ones each time."""
    points = points_of(story)
    if FULL:
        return points
    about = [point for point in points if any(word in point for word in ABOUT[story.name])]
    return random.Random(story.name).sample(about, SAMPLE)


ABOUT: Final = {
    "asked": ("DecisionAsked", "DecisionAnswered", "decision", "card", "tool bash", "ToolStarted"),
    "expired": ("DecisionAsked", "DecisionExpired", "decision", "card"),
    "planned": ("DecisionAsked", "DecisionAnswered", "TurnEnded", "decision", "MessageReceived"),
    "checked": ("GatesRan", "tool bash", "Audited"),
    "rewound": ("Rewound", "WorkspaceRestored", "TurnEnded", "snapshot", "reply"),
}
KILLS: Final = [(story, point) for story in STORIES for point in sample(story)]


def pairs() -> list[tuple[Story, str, int]]:
    """Of each story points, and how many the restarted process passes before it dies as well."""
    chance = random.Random(6)
    return [
        (story, chance.choice(points_of(story)), chance.randint(1, PASSED_IN_RECOVERY))
        for story in STORIES
        for _ in range(PAIRS if FULL else 1)
    ]


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started(SCRIPT) as server:
        yield server


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_run_passes_the_points_that_are_pinned(
    tmp_path: Path, api: BlockingMessagesApi, story: Story
) -> None:
    drill = Drill(tmp_path / "state", api, story=story)

    drill.run()

    check_all(drill, api)
    assert sorted(drill.record.read_text().splitlines()) == sorted(points_of(story))


@pytest.mark.parametrize(
    ("story", "point"), KILLS, ids=[f"{story.name}: {point}" for story, point in KILLS]
)
def test_killed_at_a_point_it_comes_to_the_same_end(
    tmp_path: Path, api: BlockingMessagesApi, story: Story, point: str
) -> None:
    drill = Drill(tmp_path / "state", api, story=story)

    drill.run([Death(point)])

    check_all(drill, api)


@pytest.mark.parametrize(
    ("story", "point", "count"),
    pairs(),
    ids=[f"{story.name}: {point}, then {count}" for story, point, count in pairs()],
)
def test_killed_again_while_it_recovers_it_comes_to_the_same_end(
    tmp_path: Path, api: BlockingMessagesApi, story: Story, point: str, count: int
) -> None:
    drill = Drill(tmp_path / "state", api, story=story)

    drill.run([Death(point), Death(count=count)])

    check_all(drill, api)
