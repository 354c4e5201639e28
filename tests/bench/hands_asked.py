"""A goal whose every call takes a yes, by a real process, and a person who says it at once."""

import asyncio
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adapters.rehearsal.script import (
    Answer,
    Memory,
    Request,
    call,
    calls_of,
    role_of,
    say,
    verdict,
    whole_text,
)
from bot.ports.records import Trace
from bot.settings import read_settings
from bot.wiring import reading
from tests.crash.drill import Drill
from tests.crash.story import Lines, Saying, Story, has_settled, name_of
from tests.peers.messages_api import started

SCRIPT: Final = "tests.bench.hands_asked:script"
_TIMES: Final = re.compile(r"Leave (\d+) lines")


def script(request: Request, number: int, memory: Memory) -> Answer:
    """One call after the other, as often as the objective says."""
    if role_of(request) == "audit":
        return verdict("complete", "It was asked for often enough.", evidence="the calls")
    made, found = calls_of(request), _TIMES.search(whole_text(request))
    if len(made) < int(found[1] if found else 1):
        return call("bash", {"command": f"echo {len(made)} >> notes/asked.txt"})
    return say("That is all.")


def asked(times: int) -> Trace:
    """What the journal tells of so many calls, each allowed by an answer."""
    story = Story(
        "bench", SCRIPT, f"Leave {times} lines.", _says_yes, has_settled,
        environ={"HEADWAY_PROFILE": "read_only"},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, started(SCRIPT) as api:
        drill = Drill(Path(folder) / "state", api, story=story, apart=False)
        drill.run()
        return asyncio.run(_trace(drill.state_dir))


def _says_yes(lines: Lines) -> Iterable[Saying]:
    for line in lines:
        number = name_of(line).removeprefix("decision:")
        if number.isdigit():
            yield f"yes{number}", f"approve {number}", line.thread


async def _trace(state_dir: Path) -> Trace:
    async with reading(read_settings(state_dir=state_dir)) as store:
        [row] = await store.records.goals()
        return await store.records.trace(row.goal.id)
