"""
What must be true after a drill, whatever died when.

The tokens of the server are laid beside those of the journal call by call: both are in order, for a
goal makes one call at a time. A settled call is a served one with the same tokens. A lost one is a
served one whose reply did not come, charged at least what it cost, or was never sent.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.goals.goal import Goal, State
from bot.goals.machine import replay
from bot.goals.money import NANO
from bot.ports.records import Step, Trace
from bot.settings import read_settings
from bot.wiring import reading
from tests.crash.drill import Drill
from tests.crash.scenario import FILES, NOTE, POSTS, TURNS
from tests.crash.story import name_of
from tests.peers.messages_api import BlockingMessagesApi


def check_all(drill: Drill, api: BlockingMessagesApi) -> Trace:
    """Everything below, of a story that has come to its end; returns what the journal tells."""
    trace, left = asyncio.run(_read(drill.state_dir))
    check_goal(trace)
    check_files(drill.state_dir, trace.goal)
    check_posts(drill, left)
    check_tools(trace)
    check_tokens(trace, api.calls(user=trace.goal.id))
    return trace


def check_goal(trace: Trace) -> None:
    """It is complete after three turns, its budget raised once, and the journal folds to its row."""
    goal = trace.goal

    assert goal.state is State.COMPLETE
    assert goal.turn == TURNS
    assert goal.messages == 1
    assert goal.budget.nano_usd == 3 * NANO
    assert not goal.turn_open
    assert replay(line.entry for line in trace.lines) == goal
    assert [row.state for row in trace.decisions] == ["answered"]
    verdicts = [row.verdict for row in trace.audits if row.rule in ("continue", "complete")]
    assert verdicts == ["continue", "complete"]


def check_files(state_dir: Path, goal: Goal) -> None:
    """The objective is done, and every effect is there once."""
    workspace = state_dir / "workspaces" / goal.session

    found = {path: (workspace / path).read_text() for path in FILES}

    assert found == FILES


def check_posts(drill: Drill, left: Mapping[str, int]) -> None:
    """Each post is in the room once, in order, and nothing is left to be sent."""
    drill.read()
    posts = [line for line in drill.lines if not name_of(line).startswith("status:")]

    assert [name_of(line) for line in posts] == list(POSTS)
    assert posts[-1].shape.body.startswith(NOTE.format(1))
    assert dict(left) == {}


def check_tools(trace: Trace) -> None:
    """No call with effects was started twice, and none is left without an end."""
    tools = [step for step in trace.steps if step.kind == "tool"]

    assert [step for step in tools if step.state == "started"] == []
    assert [step for step in tools if step.runs > 1 and step.effects != "none"] == []


def check_tokens(trace: Trace, served: Sequence[Mapping[str, Any]]) -> None:
    """What was served is what was counted, save lost replies, charged by their reservation."""
    ledger = trace.goal.ledger
    calls = [step for step in trace.steps if step.kind == "call"]
    lost = [step for step in calls if step.state == "lost"]
    estimated_nano_usd = sum(step.estimated_nano_usd for step in lost)
    billed = [call for call in served if call["served"]]

    assert ledger.open == ()
    assert {step.state for step in calls} <= {"settled", "lost", "released"}
    assert ledger.tokens == sum(step.usage.tokens + step.estimated_tokens for step in calls)
    assert ledger.estimated_tokens == sum(step.estimated_tokens for step in lost)
    assert ledger.nano_usd == sum(step.nano_usd or 0 for step in calls) + estimated_nano_usd
    assert ledger.estimated_nano_usd == estimated_nano_usd
    assert all(step.estimated_tokens > 0 for step in lost)
    counted = [step for step in calls if step.state != "released"]
    tokens = [call["tokens"] for call in billed]
    assert _lie_beside(counted, tokens), "\n".join(
        [*(f"{step.state} {step.usage}" for step in counted), *map(str, tokens)]
    )


def _lie_beside(calls: Sequence[Step], served: Sequence[Mapping[str, int]]) -> bool:
    """Whether the calls explain what was served, each at most one of it, in order."""
    if not calls:
        return not served
    first, rest = calls[0], calls[1:]
    if first.state == "settled":
        return bool(served) and _same(first, served[0]) and _lie_beside(rest, served[1:])
    was_served = bool(served) and sum(served[0].values()) <= first.estimated_tokens
    return (was_served and _lie_beside(rest, served[1:])) or _lie_beside(rest, served)


def _same(call: Step, tokens: Mapping[str, int]) -> bool:
    usage = call.usage
    return dict(tokens) == {
        "input": usage.input,
        "cache_write": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read": usage.cache_read,
        "output": usage.output,
    }


async def _read(state_dir: Path) -> tuple[Trace, Mapping[str, int]]:
    async with reading(read_settings(state_dir=state_dir)) as store:
        [row] = await store.records.goals(with_asks=True)
        return await store.records.trace(row.goal.id), await store.records.outbox_depth()
