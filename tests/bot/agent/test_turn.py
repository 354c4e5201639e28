"""The turn: what it commits, in which order, and what it hears."""

from typing import Any

import pytest

from bot.agent import prompts
from bot.goals import events as e
from bot.goals.goal import State
from bot.ports.journal import Applied, content_hash
from bot.ports.model import ModelReply, ModelRequest
from tests.bot.agent.world import (
    a_world,
    is_audited,
    last_user,
    once,
    said,
    while_it_runs,
)
from tests.doubles.model import ScriptedModel, calls, reply, says


async def test_a_turn_of_two_calls_and_a_reading_tool_takes_four_commits() -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("Done."))
    await world.opens("Count the files.")

    goal = await world.runs()

    assert is_audited(goal)
    assert len(world.journal.units) == 4
    assert await world.text(goal.reply) == "Done."
    await world.checks()


async def test_nothing_is_sent_before_the_commit_that_records_it() -> None:
    world = a_world()
    committed: list[str] = []
    world.journal.after = lambda unit: committed.extend(type(x).__name__ for x in unit.events)

    def answer(request: ModelRequest) -> ModelReply:
        assert committed.count("CallStarted") == committed.count("CallSettled") + 1
        return calls("write", {"path": "a", "content": "b"}) if len(committed) < 3 else says("ok")

    world.model = ScriptedModel(answer)
    world.start_anew()
    await world.opens("Write a file.")

    goal = await world.runs()

    assert is_audited(goal)
    assert world.sandbox.workspaces[world.session] == {"a": "b"}


async def test_a_continuation_says_that_nobody_wrote_it_and_what_the_audit_noted() -> None:
    world = a_world(says("Half done."), says("All done."))
    await world.opens("Do two things.")
    await world.runs()
    await world.audits(note="The second thing is missing.")
    world.journal.reads = 0

    goal = await world.runs()

    assert is_audited(goal)
    nudge = last_user(world.model.requests[-1])[-1]["text"]
    assert nudge.startswith("[Automatic] Continuation")
    assert "The second thing is missing." in nudge
    await world.checks()


@pytest.mark.parametrize("hears", [True, False])
async def test_a_continuation_does_not_load_the_journal_again(hears: bool) -> None:
    world = a_world(says("One."), says("Two."), hears=hears)
    await world.opens("Go.")
    await world.runs()
    before = await world.audits()
    asked: list[int] = []
    inner = world.journal.history

    async def history(session: str, after: int = 0) -> Any:
        asked.append(after)
        return await inner(session, after)

    world.journal.history = history  # type: ignore[method-assign]

    await world.runs()

    assert before.seq > 5
    assert bool(asked) is not hears
    assert 0 not in asked
    await world.checks()


async def test_what_was_asked_between_two_turns_is_heard_by_the_second() -> None:
    world = a_world(says("One."), says("Half way."), says("Two."))
    await world.opens("Go.")
    await world.runs()
    await world.opens("How far are you?", kind="ask", id="a1")
    await world.runs("a1")
    await world.audits()

    await world.runs()

    assert "How far are you?" in said(world.model.requests[-1])
    await world.checks()


async def test_a_unit_that_wrote_nothing_hides_nothing_that_was_said_before_it() -> None:
    world = a_world(says("One."), says("In blue, then."))
    await world.opens("Paint it.")
    await world.runs()
    goal = await world.says("Make it blue.")
    world.journal.heard(Applied(goal, (), (), fenced=True))

    await world.runs()

    assert "Make it blue." in said(world.model.requests[-1])
    await world.checks()


async def test_what_a_person_says_enters_before_the_next_call() -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("In blue, then."))
    await world.opens("Paint it.")
    while_it_runs(world, lambda: world.says("Make it blue."))

    goal = await world.runs()

    blocks = last_user(world.model.requests[1])
    assert blocks[0]["type"] == "tool_result"
    assert blocks[1]["text"] == "[Message from the owner:]\nMake it blue."
    assert is_audited(goal)
    assert not goal.has_unread
    await world.checks()


async def test_a_message_during_the_last_call_opens_the_next_turn_and_is_saidonce() -> None:
    world = a_world(says("Done."), says("Blue it is."))
    await world.opens("Paint it.")
    world.journal.after = once(lambda unit: world.says("Make it blue."), e.CallStarted)
    goal = await world.runs()
    assert (goal.state, goal.opening) == (State.READY, "message")

    goal = await world.runs()

    assert said(world.model.requests[1]).count("Make it blue.") == 1
    assert is_audited(goal)
    await world.checks()


async def test_an_edit_while_it_runs_is_told_as_the_new_objective() -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("Two, then."))
    goal = await world.opens("Count to one.")
    text = "Count to two."

    async def edit() -> None:
        await world.happens(e.ObjectiveEdited(world.person, content_hash(text)), texts=(text,))

    while_it_runs(world, edit)

    goal = await world.runs()

    assert last_user(world.model.requests[1])[-1]["text"].endswith("Count to two.")
    assert goal.seen_revision == 2
    await world.checks()


async def test_a_pause_lets_the_running_call_end_and_starts_nothing_more() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}))
    await world.opens("Write.")
    world.journal.after = once(lambda unit: world.happens(e.Paused(world.person)), e.CallStarted)

    goal = await world.runs()

    assert goal.state is State.PAUSED
    assert not goal.turn_open
    assert goal.ledger.calls == 1
    assert world.sandbox.workspaces == {}
    await world.checks()


async def test_after_a_pause_the_agent_is_told_that_its_call_was_not_run() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}), says("Then again."))
    await world.opens("Write.")
    world.journal.after = once(lambda unit: world.happens(e.Paused(world.person)), e.CallStarted)
    await world.runs()
    await world.happens(e.Resumed(world.person))

    goal = await world.runs()

    result = world.model.requests[1].messages[2]["content"][0]
    assert result["content"] == prompts.NOT_RUN
    assert result["is_error"]
    assert is_audited(goal)
    await world.checks()


async def test_an_ordinary_turn_looks_only_and_ends_with_its_reply() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}), says("It is three."))
    await world.opens("How many?", kind="ask")

    goal = await world.runs()

    assert goal.state is State.COMPLETE
    assert world.sandbox.workspaces == {}
    assert last_user(world.model.requests[1])[0]["is_error"]
    assert world.model.requests[0].system[0]["text"] == prompts.ASK_SYSTEM


async def test_an_ordinary_turn_hears_the_paused_goal_and_the_goal_hears_it_later() -> None:
    world = a_world(says("Half done."), says("Half of it."), says("All done."))
    await world.opens("Do it.")
    await world.runs()
    await world.happens(e.Paused(world.person))
    await world.opens("How far are you?", kind="ask", id="a1")

    await world.runs("a1")
    await world.happens(e.Resumed(world.person))
    await world.runs()

    assert "Half done." in said(world.model.requests[1])
    assert "How far are you?" in said(world.model.requests[2])
    assert "Half of it." in said(world.model.requests[2])
    await world.checks()


async def test_the_container_of_a_reply_is_gone_on_in_even_by_another_process() -> None:
    world = a_world(says("One.", container="box-1"), says("Two."))
    await world.opens("Go.")
    await world.runs()
    await world.audits()
    world.start_anew()

    await world.runs()

    assert [r.container for r in world.model.requests] == [None, "box-1"]
    await world.checks()


async def test_erased_words_leave_the_next_request() -> None:
    world = a_world(says("One."), says("Two."))
    await world.opens("Go.")
    await world.says("My number is 555.")
    await world.runs()
    await world.audits()
    del world.store.journal._rows.contents[world.session, content_hash("My number is 555.")]

    await world.runs()

    assert "555" in said(world.model.requests[0])
    assert "555" not in said(world.model.requests[1])
    assert prompts.REMOVED in said(world.model.requests[1])


async def test_blocks_of_any_kind_go_back_as_they_came() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    unknown = {"type": "block_of_tomorrow", "payload": {"deep": [1, None, "ü"]}}
    called = {"type": "tool_use", "id": "t1", "name": "glob", "input": {"pattern": "*"}}
    world = a_world(reply(thought, unknown, called), says("Done."))
    await world.opens("Go.")

    await world.runs()

    assert world.model.requests[1].messages[1]["content"] == [thought, unknown, called]


async def test_a_wait_that_a_person_ends_is_told_as_still_pending() -> None:
    wait = {"kind": "message", "ref": "a word", "reason": "They know."}
    later = {**wait, "kind": "time", "until": "2100-01-01T00:00:00Z"}
    world = a_world(calls("wait_for", later), says("I wait."), says("Now."))
    await world.opens("Wait.")
    await world.runs()
    await world.happens(e.Resumed(world.person))

    await world.runs()

    assert "(time: a word)" not in said(world.model.requests[2])
    assert "Your wait for time: a word was still pending" in said(world.model.requests[2])
    await world.checks()


async def test_a_goal_that_goes_on_with_an_earlier_one_hears_what_that_one_said() -> None:
    world = a_world(says("The report is in artifacts/."), says("With figures now."))
    await world.opens("Write a report.")
    await world.runs()
    await world.audits("complete")
    await world.opens("The figures are missing.", id="g2")

    await world.runs("g2")

    request = world.model.requests[1]
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert "Write a report." in said(request)
    assert request.messages[2]["content"][0]["text"].endswith("The figures are missing.")
    await world.checks()


async def test_a_turn_that_is_drained_ends_its_step_and_is_gone_on_with_later() -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("Done."))
    await world.opens("Count the files.")

    async def drain() -> None:
        world.turns.drain()

    while_it_runs(world, drain)
    left = await world.runs()
    results = [end.outcome for end in await world.events(e.ToolEnded)]
    world.start_anew()

    goal = await world.runs()

    assert (left.state, left.turn_open, results) == (State.WORKING, True, ["ok"])
    assert is_audited(goal)
    assert await world.events(e.CallLost) == []
    assert len(await world.events(e.TurnStarted)) == 1
    await world.checks()
