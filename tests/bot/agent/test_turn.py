"""The turn: what it commits, in which order, and how it ends."""

from typing import Any

import pytest

from bot.agent import prompts
from bot.errors import BadRequest, ModelBusy, StoreBusy
from bot.goals import events as e
from bot.goals.goal import State
from bot.goals.limits import LIMITS
from bot.goals.money import Budget, Usage
from bot.ports.journal import content_hash
from bot.ports.model import ModelReply, ModelRequest
from tests.bot.agent.world import SETTINGS, World, changed, is_audited, last_user, said
from tests.doubles.model import ScriptedModel, calls, reply, says
from tests.doubles.sandbox import MemorySandbox, MemorySession


def a_world(*answers: Any, **more: Any) -> World:
    return World(ScriptedModel(list(answers), **more))


def use(name: str, args: dict[str, Any], id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": args}


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


async def test_a_continuation_does_not_load_the_journal_again() -> None:
    world = a_world(says("One."), says("Two."))
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
    assert asked
    assert 0 not in asked


async def test_what_a_person_says_enters_before_the_next_call() -> None:
    world = a_world(calls("glob", {"pattern": "*"}), says("In blue, then."))
    await world.opens("Paint it.")
    _while_it_runs(world, lambda: world.says("Make it blue."))

    goal = await world.runs()

    blocks = last_user(world.model.requests[1])
    assert blocks[0]["type"] == "tool_result"
    assert blocks[1]["text"] == "[Message from the owner:]\nMake it blue."
    assert is_audited(goal)
    assert not goal.has_unread
    await world.checks()


async def test_a_message_during_the_last_call_opens_the_next_turn_and_is_said_once() -> None:
    world = a_world(says("Done."), says("Blue it is."))
    await world.opens("Paint it.")
    world.journal.after = _once(lambda unit: world.says("Make it blue."), e.CallStarted)
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

    _while_it_runs(world, edit)

    goal = await world.runs()

    assert last_user(world.model.requests[1])[-1]["text"].endswith("Count to two.")
    assert goal.seen_revision == 2
    await world.checks()


async def test_a_pause_lets_the_running_call_end_and_starts_nothing_more() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}))
    await world.opens("Write.")
    world.journal.after = _once(lambda unit: world.happens(e.Paused(world.person)), e.CallStarted)

    goal = await world.runs()

    assert goal.state is State.PAUSED
    assert not goal.turn_open
    assert goal.ledger.calls == 1
    assert world.sandbox.workspaces == {}
    await world.checks()


async def test_after_a_pause_the_agent_is_told_that_its_call_was_not_run() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}), says("Then again."))
    await world.opens("Write.")
    world.journal.after = _once(lambda unit: world.happens(e.Paused(world.person)), e.CallStarted)
    await world.runs()
    await world.happens(e.Resumed(world.person))

    goal = await world.runs()

    result = world.model.requests[1].messages[2]["content"][0]
    assert result["content"] == prompts.NOT_RUN
    assert result["is_error"]
    assert is_audited(goal)
    await world.checks()


async def test_a_pause_before_a_command_has_begun_says_that_it_was_not_run() -> None:
    world = a_world(calls("bash", {"command": "echo x >> log"}), says("Then again."))
    await world.opens("Write.")
    world.journal.after = _once(lambda unit: world.happens(e.Paused(world.person)), e.ToolStarted)
    # The pause is in the row before the turn hears of its own commit, and something else differs.
    world.journal.before = _once(lambda unit: world.says("Hurry."), e.ToolStarted)

    goal = await world.runs()

    assert goal.state is State.PAUSED
    (ended,) = await world.events(e.ToolEnded)
    assert (ended.outcome, ended.touched) == ("interrupted", False)
    assert not world.sandbox.workspaces.get(world.session)
    await world.checks()


async def test_a_tool_that_changes_things_runs_alone_and_those_that_do_not_run_together() -> None:
    uses = [
        use("glob", {"pattern": "*"}, "t1"),
        use("grep", {"pattern": "x"}, "t2"),
        use("write", {"path": "a", "content": "1"}, "t3"),
        use("read", {"path": "a"}, "t4"),
    ]
    world = a_world(reply(*uses), says("Done."))
    await world.opens("Go.")

    goal = await world.runs()

    starts = [
        tuple(x.tool_use for x in unit.events if isinstance(x, e.ToolStarted))
        for unit in world.journal.units
    ]
    assert [s for s in starts if s] == [("t1", "t2"), ("t3",), ("t4",)]
    assert goal.touched
    assert (await world.events(e.TurnEnded))[-1].progress
    await world.checks()


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("dance", {}, "There is no tool 'dance'"),
        ("read", {}, "path is missing"),
        ("read", {"path": 3}, "must be a string"),
    ],
)
async def test_a_call_that_cannot_run_is_an_error_result(
    name: str, args: dict[str, Any], told: str
) -> None:
    world = a_world(calls(name, args), says("I see."))
    await world.opens("Go.")

    goal = await world.runs()

    result = last_user(world.model.requests[1])[0]
    assert result["is_error"]
    assert told in result["content"]
    assert is_audited(goal)
    assert not goal.touched


async def test_a_sandbox_that_does_not_start_is_told_to_the_agent() -> None:
    world = a_world(calls("bash", {"command": "ls"}), says("I cannot look."))
    world.sandbox.broken = "bubblewrap is missing: install it."
    await world.opens("Look.")

    goal = await world.runs()

    result = last_user(world.model.requests[1])[0]
    assert "bubblewrap is missing" in result["content"]
    assert is_audited(goal)


async def test_without_a_sandbox_its_tools_are_not_offered() -> None:
    world = World(ScriptedModel([says("Done.")]), sandbox=None)
    await world.opens("Explain tides.")

    await world.runs()

    names = {tool["name"] for tool in world.model.requests[0].tools}
    assert names == {"ask_person", "wait_for", "plan", "finish_note"}
    assert prompts.TOOLS_OFF in world.model.requests[0].system[0]["text"]


async def test_a_question_parks_the_goal_and_its_answer_opens_the_next_turn() -> None:
    asked = calls("ask_person", {"question": "Which colour?", "options": ["red", "blue"]})
    world = a_world(asked, says("I wait."), says("Blue."))
    await world.opens("Paint it.")
    goal = await world.runs()
    assert goal.state is State.DECIDING
    assert goal.decision is not None
    assert await world.text(goal.decision.text) == "Which colour?\n\n1. red\n2. blue"

    answered = e.DecisionAnswered(goal.decision.id, world.person, content_hash("blue"))
    await world.happens(answered, texts=("blue",))
    goal = await world.runs()

    words = last_user(world.model.requests[2])[-1]["text"]
    assert words == "[Answer of the owner to question 1:]\nblue"
    assert is_audited(goal)
    await world.checks()


async def test_a_question_is_not_asked_twice_in_one_revision() -> None:
    again = {"question": "Which colour?"}
    world = a_world(
        calls("ask_person", again, id="t1"),
        says("I wait."),
        calls("ask_person", again, id="t2"),
        says("Red then."),
    )
    await world.opens("Paint it.")
    await world.runs()
    await world.says("Decide yourself.")
    goal = await world.journal.inner.goal("g1")
    assert goal.decision is not None
    await world.happens(e.Paused(world.person), e.ToolEnded("x", "ok", ""))
    await world.happens(e.Resumed(world.person))
    goal = await world.journal.inner.goal("g1")
    assert goal.decision is not None
    answered = e.DecisionAnswered(goal.decision.id, world.person, content_hash("any"))
    await world.happens(answered, texts=("any",))

    await world.runs()

    result = last_user(world.model.requests[3])[0]
    assert "asked this already" in result["content"]
    assert result["is_error"]


async def test_a_wait_parks_the_goal_and_what_fires_it_is_told() -> None:
    wait = {
        "kind": "time",
        "ref": "the bus",
        "until": "2100-01-01T00:00:00Z",
        "reason": "It comes.",
    }
    world = a_world(calls("wait_for", wait), says("I wait."), says("It came."))
    await world.opens("Wait for the bus.")
    goal = await world.runs()
    assert goal.state is State.WAITING
    assert goal.wait is not None

    await world.happens(e.WaitFired(goal.wait.id, "It is time"))
    await world.runs()

    assert "The wait is over (time: the bus). It is time." in said(world.model.requests[2])
    await world.checks()


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        ({"kind": "time", "ref": "x", "until": "2001-01-01T00:00:00Z", "reason": "r"}, "past"),
        ({"kind": "time", "ref": "x", "reason": "r"}, "needs `until`"),
        ({"kind": "process", "ref": "12", "reason": "r"}, "no processes"),
    ],
)
async def test_a_wait_that_cannot_be_is_an_error_result(wait: dict[str, Any], told: str) -> None:
    world = a_world(calls("wait_for", wait), says("Then not."))
    world.clock.at = 2e9
    await world.opens("Wait.")

    goal = await world.runs()

    assert told in last_user(world.model.requests[1])[0]["content"]
    assert is_audited(goal)


async def test_a_withdrawn_question_is_told() -> None:
    asked = calls("ask_person", {"question": "Which colour?"})
    world = a_world(asked, says("I wait."), says("Blue."))
    await world.opens("Paint it.")
    count = iter(range(9))
    world.journal.after = lambda unit: (
        world.says("Blue, please.")
        if any(isinstance(x, e.CallStarted) for x in unit.events) and next(count) == 1
        else None
    )
    goal = await world.runs()
    assert (goal.state, goal.opening) == (State.READY, "message")

    await world.runs()

    assert "Your question was withdrawn" in said(world.model.requests[2])
    await world.checks()


async def test_a_plan_counts_the_tasks_that_were_closed_with_evidence() -> None:
    first = {"tasks": [{"title": "a", "state": "doing"}, {"title": "b", "state": "open"}]}
    second = {
        "tasks": [
            {"title": "a", "state": "done", "evidence": "ls"},
            {"title": "b", "state": "open"},
        ]
    }
    world = a_world(calls("plan", first, id="t1"), calls("plan", second, id="t2"), says("On."))
    await world.opens("Two tasks.")

    goal = await world.runs()

    planned = await world.events(e.TasksPlanned)
    assert [(p.open, p.done, p.closed) for p in planned] == [(2, 0, 0), (1, 1, 1)]
    assert (goal.tasks_open, goal.tasks_done) == (1, 1)
    assert [t.state for t in await world.journal.tasks("g1")] == ["done", "open"]
    assert (await world.events(e.TurnEnded))[-1].progress


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
    world.journal.after = _once(lambda unit: world.says("Hurry."), e.CallStarted)

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


async def test_the_container_of_a_reply_is_gone_on_in_even_by_another_process() -> None:
    world = a_world(says("One.", container="box-1"), says("Two."))
    await world.opens("Go.")
    await world.runs()
    await world.audits()
    world.start_anew()

    await world.runs()

    assert [r.container for r in world.model.requests] == [None, "box-1"]
    await world.checks()


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


async def test_a_brief_is_shown_whole_and_its_criteria_are_distilled_once() -> None:
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


async def test_a_lost_lease_ends_the_turn_and_books_what_the_reply_cost() -> None:
    world = a_world(calls("write", {"path": "a", "content": "b"}))
    await world.opens("Write.")
    world.journal.after = _once(lambda unit: world.leases(), e.CallStarted)

    goal = await world.runs()

    assert goal.state is State.WORKING
    assert world.sandbox.workspaces == {}
    assert goal.ledger.calls == 1


def _once(what: Any, kind: Any) -> Any:
    left = [True]

    def hook(unit: Any) -> Any:
        if left[0] and any(isinstance(event, kind) for event in unit.events):
            left[0] = False
            return what(unit)
        return None

    return hook


def _while_it_runs(world: World, what: Any) -> Any:
    """Something that happens while a tool runs, which takes a second."""
    call = MemorySession.call

    class Slow(MemorySandbox):
        async def open(self, workspace: str, profile: Any) -> Any:
            session = await super().open(workspace, profile)

            async def slow(tool: str, args: Any, *, timeout_s: float) -> Any:
                world.clock.at += 1.0
                await what()
                return await call(session, tool, args, timeout_s=timeout_s)  # type: ignore[arg-type]

            session.call = slow  # type: ignore[method-assign]
            return session

    world.sandbox = Slow()
    world.start_anew()
