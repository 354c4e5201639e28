"""
A bot in miniature: opens one session, runs a command that leaves processes everywhere, waits.

Run as a script with the sandbox's kind, a folder and the heartbeat's limit in seconds.
"""

import asyncio
import sys
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.none import Unconfined

COMMAND = """
(setsid sleep 987 &)
(trap '' TERM HUP INT; setsid bash -c 'sleep 987; true' &)
echo started > notes/started
sleep 987
"""


BEHIND = "(setsid sleep 987 &) ; sleep 987"
"""What runs in the background beside it."""


async def hold(kind: str, folder: Path, heartbeat_s: float) -> None:
    limits = Limits(heartbeat_s=heartbeat_s)
    sandbox = (Bubblewrap if kind == "bubblewrap" else Unconfined)(folder, limits=limits)
    session = await sandbox.open("G1", "workspace")
    behind = {"command": BEHIND, "background": True}
    assert (await session.call("bash", behind, timeout_s=600)).ok
    await session.call("bash", {"command": COMMAND, "timeout_s": 600}, timeout_s=600)


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
