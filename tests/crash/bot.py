"""
Headway as a process of its own, with points of a drill between its parts.

`python -m tests.crash.bot STATE_DIR RECORD [POINT]`: settings come from the environment as ever.
"""

import asyncio
import sys
from pathlib import Path

from bot.settings import read_settings
from bot.wiring import Around, run_until_stopped
from tests.crash.points import Points


def main() -> None:
    """Run until stopped, or until the point where this drill kills it."""
    state_dir, record, *kill_at = sys.argv[1:]
    points = Points(Path(record), *kill_at)
    around = Around(
        store=points.store, model=points.model, sandbox=points.sandbox, chat=points.chat
    )
    asyncio.run(run_until_stopped(read_settings(state_dir=Path(state_dir)), around))


if __name__ == "__main__":
    main()
