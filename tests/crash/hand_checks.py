"""What must be true after a drill of the stories in `tests.crash.hands`, whatever died when."""

import asyncio
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.goals.events import Audited, GatesRan, ToolStarted
from bot.goals.goal import State
from bot.goals.machine import replay
from bot.ports.records import Trace
from bot.settings import read_settings
from bot.wiring import reading
from tests.crash.checks import check_tokens, check_tools
from tests.crash.drill import Drill
from tests.crash.hands import (
    ASKED,
    CHECKED,
    DONE,
    EXPIRED,
    ODD_BYTES,
    ODD_FILE,
    PLANNED,
    REWOUND,
)
from tests.crash.scenario import EFFECTS
from tests.crash.story import name_of
from tests.peers.messages_api import BlockingMessagesApi

Texts = Mapping[str, str]


def check_all(drill: Drill, api: BlockingMessagesApi) -> Trace:
    """Everything that holds of every story, then what holds of this one."""
    trace, left, texts = asyncio.run(_read(drill))
    goal = trace.goal

    assert goal.state is State.COMPLETE
    assert not goal.turn_open
    assert replay(line.entry for line in trace.lines) == goal
    assert texts[goal.reply].startswith(DONE) or DONE in texts[goal.reply]
    assert dict(left) == {}
    assert "open" not in {row.state for row in trace.decisions}
    _check_posts(drill, trace)
    check_tools(trace)
    _check_approved(trace)
    check_tokens(trace, api.calls(user=goal.id))
    _CHECKS[drill.story.name](drill, trace, texts)
    return trace


def _check_posts(drill: Drill, trace: Trace) -> None:
    """Each post is in the room once; every card that was shown has its end."""
    drill.read()
    names = [name_of(line) for line in drill.lines]
    counts = Counter(name for name in names if not name.startswith("status:"))

    assert {name: count for name, count in counts.items() if count > 1} == {}
    assert counts["settle"] == 1
    for row in trace.decisions:
        assert f"decision:{row.decision.number}" in names
        assert f"card:{row.decision.number}" in names


def _check_approved(trace: Trace) -> None:
    """A call that took a yes ran by that yes, and by each of them once."""
    started = [entry.event for _, entry in _entries(trace) if isinstance(entry.event, ToolStarted)]
    once = Counter(each.allowed for each in started if each.allowed.startswith("once:"))
    yes = {row.decision.id for row in trace.decisions if row.scope == "once"}

    assert set(once) <= {f"once:{decision}" for decision in yes}
    assert {why: count for why, count in once.items() if count > 1} == {}


def _asked(drill: Drill, trace: Trace, texts: Texts) -> None:
    """What was allowed happened once, what was denied never; the agent was told why."""
    assert _effects(drill, trace) == "once-1\n"
    scopes = {row.scope for row in trace.decisions if row.state == "answered"}
    assert scopes == {"once", ""}
    assert "I was told why: True" in texts[trace.goal.reply]
    runs = [each for each in _started(trace) if each.name == "bash"]
    assert all(each.allowed.startswith("once:") for each in runs)
    assert len(runs) == sum(row.scope == "once" for row in trace.decisions)


def _expired(drill: Drill, trace: Trace, texts: Texts) -> None:
    """It never happened."""
    assert _effects(drill, trace) == ""
    assert [row.state for row in trace.decisions] == ["expired"]
    assert "Nobody answered: True" in texts[trace.goal.reply]
    assert not [each for each in _started(trace) if each.name == "bash"]


def _planned(drill: Drill, trace: Trace, texts: Texts) -> None:
    """Nothing was done before somebody approved what is done."""
    goal = trace.goal
    assert [row.state for row in trace.decisions] == ["withdrawn", "answered"]
    assert texts[goal.plan].startswith("One line.")
    assert not goal.planning
    assert _effects(drill, trace) == "once-1\n"
    approved = next(n for n, entry in _entries(trace) if entry.rule == "plan_accepted")
    ran = [n for n, entry in _entries(trace) if getattr(entry.event, "name", "") == "bash"]
    assert min(ran) > approved


def _checked(drill: Drill, trace: Trace, texts: Texts) -> None:
    """A check that failed ruled out what the audit said; mended, it counts."""
    assert _effects(drill, trace) == "once-1\n"
    ran = [entry.event for _, entry in _entries(trace) if isinstance(entry.event, GatesRan)]
    assert [bool(event.failing) for event in ran if event.failing][:1] == [True]
    assert ran[-1].failing == ran[-1].broken == ()
    verdicts = [
        (entry.event.verdict, entry.event.gates_pass)
        for _, entry in _entries(trace)
        if isinstance(entry.event, Audited) and entry.rule != "verdict_fenced"
    ]
    assert verdicts == [("complete", False), ("complete", True)]
    assert trace.goal.turn == 2


def _rewound(drill: Drill, trace: Trace, texts: Texts) -> None:
    """The files are what they were at the point, byte for byte, and it was put back once."""
    odd = drill.state_dir / "workspaces" / trace.goal.session / ODD_FILE
    assert _effects(drill, trace) == "once-1\n"
    assert odd.read_bytes() == ODD_BYTES
    assert stat.S_IMODE(odd.stat().st_mode) == 0o640
    assert [row.state for row in trace.decisions] == ["answered", "withdrawn"]
    rules = Counter(entry.rule for _, entry in _entries(trace))
    assert (rules["rewound"], rules["workspace_restored"]) == (1, 1)
    assert trace.goal.restore == ""


_CHECKS: Final[Mapping[str, Callable[[Drill, Trace, Texts], None]]] = {
    ASKED.name: _asked, EXPIRED.name: _expired, PLANNED.name: _planned, CHECKED.name: _checked,
    REWOUND.name: _rewound,
}  # fmt: skip


def _entries(trace: Trace) -> list[tuple[int, Any]]:
    return [(line.entry.seq, line.entry) for line in trace.lines]


def _started(trace: Trace) -> list[ToolStarted]:
    return [entry.event for _, entry in _entries(trace) if isinstance(entry.event, ToolStarted)]


def _effects(drill: Drill, trace: Trace) -> str:
    file = drill.state_dir / "workspaces" / trace.goal.session / EFFECTS
    return file.read_text() if file.exists() else ""


async def _read(drill: Drill) -> tuple[Trace, Mapping[str, int], Texts]:
    async with reading(read_settings(state_dir=drill.state_dir)) as store:
        [row] = await store.records.goals(with_asks=True)
        trace = await store.records.trace(row.goal.id)
        wanted = [row.goal.reply, row.goal.plan]
        texts = await store.journal.contents(row.goal.session, [one for one in wanted if one])
        return trace, await store.records.outbox_depth(), texts
