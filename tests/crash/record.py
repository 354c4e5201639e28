"""`python -m tests.crash.record [STORY ..]`: plays each story once and writes its points anew."""

import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.crash.drill import Drill
from tests.crash.hands import STORIES
from tests.crash.scenario import STORY
from tests.crash.story import Story
from tests.peers.messages_api import started

ALL: Final = {story.name: story for story in (STORY, *STORIES)}


def main() -> None:
    """See the module."""
    for name in sys.argv[1:] or ALL:
        points = played(ALL[name])
        points_file(ALL[name]).write_text(points)
        print(f"{name}: {len(points.splitlines())} points")


def played(story: Story) -> str:
    """The points of a story, one a line."""
    with tempfile.TemporaryDirectory() as folder, started(story.script) as api:
        drill = Drill(Path(folder) / "state", api, story=story)
        drill.run()
        return drill.record.read_text()


def points_file(story: Story) -> Path:
    """Where its points are pinned."""
    name = "points.txt" if story is STORY else f"points_{story.name}.txt"
    return Path(__file__).parent / name


if __name__ == "__main__":
    main()
