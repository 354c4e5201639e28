"""`headway run` with its tools in memory, for measurements: python -m tests.bench.loop_bot."""

import asyncio

from bot.cli import tune
from bot.settings import read_settings
from bot.wiring import Around, run_until_stopped
from tests.bench.loop_goals import Files

if __name__ == "__main__":
    tune()
    asyncio.run(run_until_stopped(read_settings(), Around(sandbox=lambda _: Files())))
