"""`python -m bot.demo.bound CONFIG`: `headway run`, bound to the process that started it.

It ends when its standard input does, so that a demo that is killed leaves nothing behind.
"""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

from adapters.telemetry.logs import configure
from bot.errors import HeadwayError
from bot.settings import read_settings
from bot.wiring import run_until_stopped


def main() -> int:
    """Run Headway until it is told to stop, or its parent is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        settings = read_settings(Path(sys.argv[1]))
        configure(settings.log_level, settings.log_format)
        asyncio.run(run_until_stopped(settings))
    except HeadwayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
