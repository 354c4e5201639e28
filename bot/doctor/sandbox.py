"""The check of the sandbox: a command is really run in it, in a folder that is thrown away."""

import asyncio
import tempfile
from pathlib import Path

from bot.doctor.finding import warning
from bot.settings import Settings
from bot.wiring import build_sandbox


def works(settings: Settings) -> str:
    """Whether the agent's commands run confined.

    Raises:
        NoSandbox: they do not run, and the mend.
    """
    if settings.sandbox == "none":
        raise warning(
            "There is none: the agent's commands run with all rights of this user. "
            "Unset HEADWAY_SANDBOX unless that is what you want."
        )

    async def tried() -> str:
        elsewhere = {"state_dir": Path(folder), "workspaces": None}
        sandbox = build_sandbox(settings.model_copy(update=elsewhere))
        await sandbox.check()
        return sandbox.name

    with tempfile.TemporaryDirectory(prefix="headway-doctor-") as folder:
        return f"{asyncio.run(tried())}: commands run confined"
