"""Whatever the model replies, the turn ends, and what it sent on the way was valid."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import BadRequest, ModelBusy
from bot.goals.goal import State
from bot.goals.money import Usage
from bot.ports.model import ModelReply, ModelRequest
from tests.bot.agent.journals import Session, replies
from tests.bot.agent.world import SETTINGS, World, changed
from tests.doubles.model import ScriptedModel, calls, says

ERRORS = (
    ModelBusy("Lost.", kind="network", maybe_served=True),
    ModelBusy("For a day.", kind="overload"),
    BadRequest("Invalid.", kind="invalid_request"),
)
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask_person", {"question": "Which?"}),
    ("wait_for", {"kind": "message", "ref": "a word", "reason": "They know."}),
    ("plan", {"tasks": [{"title": "a", "state": "done", "evidence": "b"}]}),
    ("finish_note", {"text": "Done."}),
    ("bash", {"command": "echo x >> log"}),
    ("dance", {}),
    ("read", {"path": ""}),
)


async def _plays(answers: list[Any], has_own: bool) -> None:
    given = iter(answers)

    def answer(request: ModelRequest) -> Any:
        if request.tool_choice is not None:
            return calls("compaction", {"text": "What was."}, id=f"s{id(request)}")
        return next(given, None) or says("Done.")

    model = ScriptedModel(answer, compacting=["agent-model"] if has_own else [])
    world = World(model, settings=changed(SETTINGS, compact_at=50_000))
    await world.opens("Go.")
    for _ in range(3):
        goal = await world.journal.inner.goal("g1")
        if goal.state is State.AUDITING:
            goal = await world.audits()
        if goal.state is State.READY:
            await world.runs()
    await world.checks(was_killed=True)
    goal = await world.journal.inner.goal("g1")
    assert not goal.turn_open
    assert not goal.ledger.open


@st.composite
def _answers(draw: Any) -> list[Any]:
    session = Session(draw)
    given: list[Any] = []
    for number in range(draw(st.integers(1, 10))):
        match draw(st.sampled_from(["reply", "reply", "reply", "tool", "error"])):
            case "reply":
                blocks, stop = draw(replies(session))
                usage = Usage(input=draw(st.sampled_from([10, 60_000])), output=5)
                given.append(ModelReply(tuple(blocks), stop, usage, "agent-model"))
            case "tool":
                name, args = draw(st.sampled_from(TOOLS))
                given.append(calls(name, args, id=f"use{number}"))
            case _:
                given.append(draw(st.sampled_from(ERRORS)))
    return given


@settings(max_examples=150, deadline=None)
@given(_answers(), st.booleans())
def test_a_turn_ends_whatever_the_model_replies(answers: list[Any], has_own: bool) -> None:
    asyncio.run(_plays(answers, has_own))
