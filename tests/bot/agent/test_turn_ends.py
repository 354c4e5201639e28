"""How a turn ends, and what its calls meet."""

from typing import Any

import pytest

from bot.agent import prompts
from bot.errors import BadRequest, ModelBusy, StoreBusy
from bot.goals import events as e
from bot.goals.goal import State
from bot.goals.limits import LIMITS
from bot.goals.money import Budget, Usage
from bot.ports.journal import Unit
from bot.ports.model import ModelReply, ModelRequest
from tests.bot.agent.world import (
    SETTINGS,
    World,
    a_world,
    changed,
    is_audited,
    last_user,
    once,
    said,
    use,
)
from tests.doubles.model import ScriptedModel, calls, reply, says


async def test_a_crossed_budget_ends_the_turn_before_the_call() -> None:
    world = a_world(calls("glob", {"pattern": "*"}, usage=Usage(input=90_000)))
    await world.opens("Spend.", budget=Budget(None, 100_000, None))

    goal = await world.runs()

    assert goal.crossed
    assert is_audited(goal)
    assert (await world.events(e.TurnEnded))[-1].how == "budget"
    assert len(world.model.requests) == 1
    await world.checks()


async def test_a_wrap_up_has_three_calls_read_only_tools_and_little_output() -> None:
    spends = calls("glob", {"pattern": "*"}, id="t0", usage=Usage(input=90_000))
    world = a_world(
        spends,
        calls("glob", {"pattern": "a"}, id="t1", usage=Usage(output=1_000)),
        calls("glob", {"pattern": "b"}, id="t2", usage=Usage(output=1_000)),
        calls("glob", {"pattern": "c"}, id="t3", usage=Usage(output=1_000)),
    )
    await world.opens("Spend.", budget=Budget(None, 100_000, None))
    await world.runs()
    await world.audits("continue")

    goal = await world.runs()

    wrap_ups = world.model.requests[1:]
    assert len(wrap_ups) == LIMITS.wrap_up_calls
    assert [r.max_tokens for r in wrap_ups] == [4_000, 3_000, 2_000]
    assert {tool["name"] for tool in wrap_ups[0].tools} == {"read", "glob", "grep"}
    assert prompts.WRAP_UP in said(wrap_ups[0])
    assert goal.state is State.OVER_BUDGET
    await world.checks()


async def test_time_that_is_used_up_ends_a_turn_that_would_go_on_for_ever() -> None:
    world = a_world(*(calls("glob", {"pattern": f"{n}-*"}, id=f"t{n}") for n in range(20)))
    await world.opens("Go on and on.", budget=Budget(None, None, 100.0))

    def pass_time(unit: Unit) -> None:
        world.clock.at += 30.0 * any(isinstance(event, e.CallSettled) for event in unit.events)

    world.journal.after = pass_time
    goal = await world.runs()

    assert goal.crossed
    assert is_audited(goal)
    assert len(world.model.requests) == 4
    assert 120.0 <= goal.ledger.active_s < 125.0
    await world.checks()


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0])
async def test_a_clock_that_is_set_is_no_work(jump_s: float) -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("Done."))
    await world.opens("Look.", budget=Budget(None, None, 4 * 3_600.0))

    def set_clock(unit: Unit) -> None:
        world.clock.at += jump_s * any(isinstance(event, e.ToolEnded) for event in unit.events)

    world.journal.after = set_clock
    goal = await world.runs()

    assert not goal.crossed
    assert 0.0 < goal.ledger.active_s <= SETTINGS.call_timeout_s + 5.0


async def test_a_reply_lost_in_flight_is_charged_and_the_call_made_again() -> None:
    lost = ModelBusy("The reply was lost.", kind="network", maybe_served=True)
    world = a_world(lost, says("Done."))
    await world.opens("Go.")

    goal = await world.runs()

    assert is_audited(goal)
    assert goal.ledger.estimated_tokens > 0
    assert goal.ledger.calls == 2
    await world.checks()


async def test_three_replies_lost_in_a_row_fail_the_turn() -> None:
    lost = ModelBusy("The reply was lost.", kind="network", maybe_served=True)
    world = a_world(lost, lost, lost)
    await world.opens("Go.")

    goal = await world.runs()

    assert (goal.state, goal.reason) == (State.BLOCKED, "failed:network")
    assert not goal.ledger.open


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelBusy("For a day.", kind="overload"), "failed:overload"),
        (BadRequest("It is invalid.", kind="invalid_request"), "failed:invalid_request"),
        (BadRequest("It was refused.", kind="refusal"), "failed:refusal"),
    ],
)
async def test_a_call_that_was_not_served_costs_nothing_and_names_its_cause(
    error: Exception, reason: str
) -> None:
    world = a_world(error)
    await world.opens("Go.")

    goal = await world.runs()

    assert (goal.state, goal.reason) == (State.BLOCKED, reason)
    assert goal.ledger.tokens == 0
    assert not goal.ledger.open
    await world.checks()


async def test_a_refusal_blocks_with_its_cause_and_stays_out_of_the_conversation() -> None:
    world = a_world(reply({"type": "text", "text": "I ca"}, stop_reason="refusal"))
    await world.opens("Go.")

    goal = await world.runs()

    assert goal.reason == "failed:refusal"
    assert "I ca" not in str(await world.built())


async def test_a_call_cut_by_the_output_limit_is_dropped_and_never_run() -> None:
    cut = {**use("write", {}, "t1"), "_partial": True, "_partial_json": '{"path": "a'}
    text = {"type": "text", "text": "Writing."}
    world = a_world(reply(text, cut, stop_reason="max_tokens"), says("Shorter."))
    await world.opens("Write.")

    goal = await world.runs()

    assert world.sandbox.workspaces == {}
    assert last_user(world.model.requests[1])[-1]["text"] == prompts.CUT
    assert is_audited(goal)
    await world.checks()


async def test_a_reply_cut_again_and_again_ends_the_turn_with_all_its_parts() -> None:
    parts = [says(f"part {n}", stop_reason="max_tokens") for n in range(9)]
    world = a_world(*parts)
    await world.opens("Write a book.")

    goal = await world.runs()

    assert len(world.model.requests) == SETTINGS.cuts_in_a_row + 1
    assert await world.text(goal.reply) == "part 0\n\npart 1\n\npart 2\n\npart 3"


async def test_after_a_pause_of_its_own_the_reply_goes_back_alone() -> None:
    searching = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    world = a_world(
        reply({"type": "text", "text": "Searching."}, searching, stop_reason="pause_turn"),
        says("Found."),
    )
    await world.opens("Search.")
    world.journal.after = once(lambda unit: world.says("Hurry."), e.CallStarted)

    goal = await world.runs()

    assert world.model.requests[1].messages[-1]["role"] == "assistant"
    assert (goal.state, goal.opening) == (State.READY, "message")
    assert await world.text(goal.reply) == "Searching.\n\nFound."
    await world.checks()


async def test_a_reply_that_ends_with_a_compaction_says_so() -> None:
    compacted = {"type": "compaction", "content": "Half is done."}
    world = a_world(reply(compacted, stop_reason="compaction"), says("Done."))
    await world.opens("Go on and on.")

    goal = await world.runs()

    assert (goal.state, goal.opening) == (State.READY, "continuation")
    await world.runs()
    assert prompts.put_back() + "\nGo on and on." in said(world.model.requests[1])
    await world.checks()


async def test_a_call_with_unreadable_arguments_is_dropped_and_asked_for_again() -> None:
    torn = {**use("write", {}, "t1"), "_partial": True, "_partial_json": "{"}
    world = a_world(reply({"type": "text", "text": "Now."}, torn), says("Done."))
    await world.opens("Write.")

    goal = await world.runs()

    assert last_user(world.model.requests[1])[-1]["text"] == prompts.CUT
    assert is_audited(goal)
    await world.checks()


async def test_an_empty_reply_is_asked_for_again() -> None:
    world = a_world(reply(), says("Done."))
    await world.opens("Go.")

    goal = await world.runs()

    assert prompts.EMPTY in said(world.model.requests[1])
    assert await world.text(goal.reply) == "Done."


async def test_empty_replies_without_end_end_the_turn() -> None:
    world = a_world(*[reply() for _ in range(9)])
    await world.opens("Go.")

    goal = await world.runs()

    assert is_audited(goal)
    assert len(world.model.requests) == 3


async def test_a_store_that_is_busy_for_a_moment_loses_no_reply() -> None:
    world = a_world(says("Done."))
    await world.opens("Go.")
    busy = iter([True, False])

    def once(unit: Any) -> None:
        if any(isinstance(event, e.CallSettled) for event in unit.events) and next(busy):
            raise StoreBusy("The database is locked.")

    world.journal.before = once

    goal = await world.runs()

    assert is_audited(goal)
    assert len(world.model.requests) == 1
    await world.checks()


async def test_an_unknown_stop_reason_ends_the_turn() -> None:
    world = a_world(says("Done.", stop_reason="new_reason"))
    await world.opens("Go.")

    assert is_audited(await world.runs())


async def test_a_long_conversation_is_compacted_with_the_objective_put_back() -> None:
    def answer(request: ModelRequest) -> ModelReply:
        if request.tool_choice is not None:
            return calls("compaction", {"text": "Looked twice."}, id="c")
        turn = len(world.model.requests)
        if turn < 5:
            usage = Usage(input=90_000 if turn == 4 else 100, output=10)
            return calls("glob", {"pattern": f"{turn}"}, id=f"t{turn}", usage=usage)
        return says("Done.")

    world = World(ScriptedModel(answer), settings=changed(SETTINGS, compact_at=50_000))
    await world.opens("Look around.")

    goal = await world.runs()

    last = world.model.requests[-1]
    assert "Looked twice." in said(last)
    assert "The objective, as it stands" in said(last)
    assert "Look around." in said(last)
    assert sum(message["role"] == "assistant" for message in last.messages) == 2
    assert is_audited(goal)
    await world.checks()


async def test_a_brief_is_shown_whole_and_its_criteria_are_distilledonce() -> None:
    def answer(request: ModelRequest) -> ModelReply:
        if request.tool_choice is not None:
            return calls("distil", {"text": "- the report exists"}, id="d")
        return says("Done.")

    world = World(ScriptedModel(answer))
    objective = "Write the report. " + "Detail. " * 800
    await world.opens(objective)
    await world.runs()
    await world.audits()

    await world.runs()

    assert len(world.model.requests) == 3
    assert "- the report exists" in said(world.model.requests[1])
    assert objective.strip() in said(world.model.requests[1])
    await world.checks()


async def test_a_lost_lease_ends_the_turn_and_books_what_the_reply_cost() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}))
    await world.opens("Write.")
    world.journal.after = once(lambda unit: world.leases(), e.CallStarted)

    goal = await world.runs()

    assert goal.state is State.WORKING
    assert world.sandbox.workspaces == {}
    assert goal.ledger.calls == 1
