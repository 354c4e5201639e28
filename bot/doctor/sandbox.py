"""The check of the sandbox: a command is really run in it, in a folder that is thrown away."""

import asyncio
import tempfile
from pathlib import Path

from adapters.sandbox.bubblewrap import find_bwrap
from bot.doctor import ground
from bot.doctor.finding import Finding, Found, warning, wrong
from bot.errors import HeadwayError, NoSandbox
from bot.settings import Settings
from bot.wiring import build_sandbox
from bot.wiring.program import program


def works(settings: Settings) -> str:
    """Whether the agent's commands run confined.

    Raises:
        Found: they do not run, and the mend.
    """
    try:
        return _tried(settings)
    except NoSandbox as error:
        found = ground.causes(facts())
        told = f"{found[0].text} (" if found else f"{error} ("
        raise wrong(f"{told}`{program()} doctor sandbox` tells more.)") from error


def explained(settings: Settings) -> list[Finding]:
    """What `headway doctor sandbox` says: whether it works, each cause with its mend, the facts."""
    at_hand = facts()
    shown = Finding("facts", "ok", ground.told(at_hand))
    try:
        return [Finding("sandbox", "ok", _tried(settings)), shown]
    except Found as found:
        return [Finding("sandbox", found.state, str(found)), shown]
    except HeadwayError as error:
        causes = [Finding(one.name, "wrong", one.text) for one in ground.causes(at_hand)]
        return [Finding("sandbox", "wrong", str(error)), *causes, shown]


def facts() -> ground.Ground:
    """What the sandbox stands on here."""
    try:
        return ground.read(find_bwrap())
    except NoSandbox:
        return ground.read("")


def _tried(settings: Settings) -> str:
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
