"""The check of the sandbox: a command is really run in it, in a folder that is thrown away."""

import asyncio
import tempfile
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from bot.doctor.finding import warning
from bot.settings import Settings


def works(settings: Settings) -> str:
    """Whether the agent's commands run confined."""
    with tempfile.TemporaryDirectory(prefix="headway-doctor-") as folder:
        if settings.sandbox == "none":
            asyncio.run(Unconfined(Path(folder)).check())
            raise warning(
                "There is none: the agent's commands run with all rights of this user. "
                "Unset HEADWAY_SANDBOX unless that is what you want."
            )
        sandbox = Bubblewrap(Path(folder), hidden=(str(settings.state_dir),))
        asyncio.run(sandbox.check())
    filtered = "" if sandbox.has_filter else "; system calls are not filtered (no libseccomp)"
    return f"{sandbox.name}: commands run confined{filtered}"
