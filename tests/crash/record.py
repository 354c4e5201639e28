"""`python -m tests.crash.record`: plays the story once and writes the list of its points anew."""

import tempfile
from pathlib import Path

from tests.crash.drill import Drill
from tests.crash.scenario import SCRIPT
from tests.peers.messages_api import started


def main() -> None:
    """See the module."""
    with tempfile.TemporaryDirectory() as folder, started(SCRIPT) as api:
        drill = Drill(Path(folder) / "state", api)
        drill.run()
        points = drill.record.read_text()
    (Path(__file__).parent / "points.txt").write_text(points)
    print(f"{len(points.splitlines())} points")


if __name__ == "__main__":
    main()
