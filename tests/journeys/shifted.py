"""`python -m tests.journeys.shifted FILE COMMAND..`: headway under a clock that a test may move.

The wall's clock reads as many seconds more (or less) as the file says, looked at each time.
"""

import sys
import time
from pathlib import Path

from bot.cli import main


def _shifted(file: Path) -> None:
    true = time.time

    def now() -> float:
        return true() + float(file.read_text() or 0)

    time.time = now


if __name__ == "__main__":
    _shifted(Path(sys.argv.pop(1)))
    main()
