"""The check of the sandbox: a command is really run in it, in a folder that is thrown away."""

import asyncio
import tempfile
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap, find_bwrap
from adapters.sandbox.inside.limits import MIB, Limits
from bot.doctor import ground
from bot.doctor.finding import Finding, Found, warning, wrong
from bot.errors import HeadwayError, NoSandbox
from bot.settings import Settings
from bot.wiring import build_sandbox
from bot.wiring.program import program
from bot.wiring.sandbox import Built


def works(settings: Settings) -> str:
    """Whether the agent's commands run confined.

    Raises:
        Found: they do not run, and the mend.
    """
    try:
        return _tried(settings)
    except NoSandbox as error:
        found = () if settings.sandbox == "docker" else ground.causes(facts())
        told = f"{found[0].text} (" if found else f"{error} ("
        raise wrong(f"{told}`{program()} doctor sandbox` tells more.)") from error


def explained(settings: Settings) -> list[Finding]:
    """What `headway doctor sandbox` says: whether it works, each cause with its mend, the facts."""
    at_hand = facts()
    shown = Finding("facts", "ok", ground.told(at_hand))
    try:
        told, limits = _looked(settings)
        return [Finding("sandbox", "ok", told), Finding("limits", "ok", limits), shown]
    except Found as found:
        return [Finding("sandbox", found.state, str(found)), shown]
    except HeadwayError as error:
        # What bubblewrap lacks is nothing to a container.
        found_causes = () if settings.sandbox == "docker" else ground.causes(at_hand)
        causes = [Finding(one.name, "wrong", one.text) for one in found_causes]
        return [Finding("sandbox", "wrong", str(error)), *causes, shown]


def facts() -> ground.Ground:
    """What the sandbox stands on here."""
    try:
        return ground.read(find_bwrap())
    except NoSandbox:
        return ground.read("")


def _tried(settings: Settings) -> str:
    return _looked(settings)[0]


def _looked(settings: Settings) -> tuple[str, str]:
    """That it works, and what it limits. Raises as `works`."""
    if settings.sandbox == "none":
        raise warning(
            "There is none: the agent's commands run with all rights of this user. "
            "Unset HEADWAY_SANDBOX unless that is what you want."
        )

    async def tried() -> tuple[str, str]:
        elsewhere = {"state_dir": Path(folder), "workspaces": None}
        sandbox = build_sandbox(settings.model_copy(update=elsewhere))
        await sandbox.check()
        return f"{sandbox.name}: commands run confined", _limited(sandbox)

    with tempfile.TemporaryDirectory(prefix="headway-doctor-") as folder:
        return asyncio.run(tried())


def _limited(sandbox: Built) -> str:
    limits = Limits()
    memory = f"{limits.memory_bytes // MIB} MiB of memory and {limits.processes} processes"
    is_whole = not isinstance(sandbox, Bubblewrap) or sandbox.has_groups
    whole = (
        "for a session as a whole, kept by the kernel"
        if is_whole
        else "(memory for each process: no control group can be made here, see deploy/README.md)"
    )
    facts = [
        f"{memory} {whole}",
        f"{limits.call_s:g} s for a command, {limits.longest_call_s:g} s at most",
        f"{limits.open_files} open files",
        f"{limits.workspace_bytes // MIB} MiB and {limits.workspace_entries} files in a workspace",
        f"{limits.output_chars} characters of output",
        f"{limits.background} commands in the background",
    ]
    if isinstance(sandbox, Bubblewrap):
        facts.append(
            "system calls are filtered" if sandbox.has_filter else "no filter of system calls"
        )
    return "; ".join(facts)
