"""
Headway as a process of its own, with the points of a drill between its parts.

`python -m tests.crash.bot STATE_DIR RECORD DEATH`: settings come from the environment as ever, the
death is that of the drill, as JSON.
"""

import asyncio
import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.settings import read_settings
from bot.wiring import Around, run_until_stopped
from tests.crash.points import Death, Points

PR_SET_PDEATHSIG: Final = 1
"""Of linux/prctl.h."""


def live(state_dir: Path, record: Path, death: Death) -> None:
    """Run until stopped, or until the point where this process is to die, or its parent dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    logging.basicConfig(level="INFO", format="%(asctime)s %(name)s %(message)s")
    for name in ("alembic", "apscheduler", "httpx2"):
        logging.getLogger(name).setLevel("WARNING")
    asyncio.run(_live(state_dir, record, death))


def live_apart(environ: Mapping[str, str], state_dir: Path, record: Path, death: Death) -> None:
    """The same in a process that was forked: with its own group, environment and log."""
    os.setsid()
    os.environ.update(environ)
    log = os.open(state_dir / "bot.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    live(state_dir, record, death)


async def _live(state_dir: Path, record: Path, death: Death) -> None:
    points = Points(state_dir, record, death)
    around = Around(
        store=points.store, model=points.model, sandbox=points.sandbox, chat=points.chat
    )
    await run_until_stopped(read_settings(state_dir=state_dir), around)


def main() -> None:
    """See the module."""
    state_dir, record, death = sys.argv[1:]
    live(Path(state_dir), Path(record), Death(**json.loads(death)))


if __name__ == "__main__":
    main()
