"""
A process that renews one install for ever, for a test that kills it.

    python -m tests.adapters.store.keeps_installs URL STATE_DIR KEY_FOLDER FIRST

Each line that it prints is the number of a renewal that is there. A number stands in the token, in what
renews it, and in when it runs out.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from adapters.clock import WallClock
from adapters.store.open import open_store
from bot.goals.limits import LIMITS
from bot.ports.installs import Install
from tests.contracts.secrets import sealing_in


def numbered(number: int) -> Install:
    """The install of that number."""
    return Install(
        "slack", "T01", "A01", "U01BOT", "Acme", ("commands",), f"xoxb-{number}",
        f"xoxe-{number}", float(number), at=1.0,
    )  # fmt: skip


async def main(url: str, state_dir: str, keys: str, first: str) -> None:
    """Renew it until killed."""
    sealing, _ = sealing_in(Path(keys))
    async with open_store(
        url, clock=WallClock(), limits=LIMITS, state_dir=Path(state_dir), sealing=sealing
    ) as store:
        for number in count(int(first)):
            await store.installs.keep(numbered(number))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
