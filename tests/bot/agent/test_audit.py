"""One audit, from the claimed goal to the unit that its outcome is written in."""

import asyncio
from typing import Any

import pytest

from bot.agent.audit_request import Gate
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.goals.events import (
    Audited,
    AuditFailed,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    DecisionAnswered,
    DecisionAsked,
    MessageReceived,
    ObjectiveEdited,
    Paused,
    Resumed,
    TasksPlanned,
    TurnEnded,
    TurnStarted,
    WaitAsked,
    WaitFired,
)
from bot.goals.goal import Goal, State, Wait
from bot.goals.money import Budget, Usage
from bot.ports import question
from bot.ports.journal import Content, Task, content_hash
from bot.ports.model import ModelReply, ModelRequest
from tests.bot.agent.audited import NOW, Scene
from tests.doubles.model import ScriptedModel, calls, reply, says

LOST = ModelBusy("lost", kind="network", maybe_served=True)


def judged(verdict: str, note: str = "As it is.", **more: Any) -> ModelReply:
    """The auditor's answer."""
    return calls("verdict", {"verdict": verdict, "note": note, "evidence": "the reply", **more})


async def at_audit(*script: Any, **more: Any) -> Scene:
    """A goal whose first turn has ended, and an auditor that plays a script."""
    scene = Scene(list(script), **more)
    await scene.open()
    await scene.turn()
    return scene


def asked_of(scene: Scene, number: int = -1) -> str:
    """What the auditor was told."""
    assert isinstance(scene.model, ScriptedModel)
    text: str = scene.model.requests[number].messages[0]["content"][0]["text"]
    return text


async def test_a_verdict_is_written_with_what_it_cost_in_one_unit() -> None:
    scene = await at_audit(judged("complete", "Fertig."))

    goal = await scene.audit()

    settled, audited = (await scene.events())[-2:]
    assert goal.state is State.COMPLETE
    assert isinstance(settled, CallSettled)
    assert settled.usage == Usage(input=100, output=20)
    assert isinstance(audited, Audited)
    assert (await scene.text(audited.note), await scene.text(audited.evidence)) == (
        "Fertig.",
        "the reply",
    )
    assert goal.ledger.open == ()


async def test_the_call_is_reserved_before_it_is_sent() -> None:
    reserved: list[int] = []

    def answer(request: ModelRequest) -> ModelReply:
        reserved.append(scene.store.journal._rows.goals["g"].ledger.open[0].tokens)
        return judged("continue")

    scene = Scene(answer)
    await scene.open()
    await scene.turn()

    await scene.audit()

    assert 1_024 < reserved[0] < 4_000


async def test_a_goal_that_is_not_to_be_audited_is_left_alone() -> None:
    scene = Scene([])
    await scene.open()

    goal = await scene.audits.run(scene.lease)

    assert goal.state is State.READY


async def test_an_audit_that_the_budget_does_not_cover_is_not_sent() -> None:
    scene = Scene([])
    await scene.open(budget=Budget(None, 900, None))
    await scene.turn()

    goal = await scene.audit()

    assert (goal.state, goal.opening) == (State.READY, "wrap_up")
    assert not asked_count(scene)


def asked_count(scene: Scene) -> int:
    """How many calls the auditor got."""
    assert isinstance(scene.model, ScriptedModel)
    return len(scene.model.requests)


@pytest.mark.parametrize(
    ("answer", "failure", "booking"),
    [
        (says("It is complete."), "unreadable", CallSettled),
        (reply(stop_reason="refusal"), "refusal", CallSettled),
        (judged("perhaps"), "unreadable", CallSettled),
        (BadRequest("no", kind="refusal"), "refusal", CallReleased),
        (BadRequest("no", kind="invalid_request"), "invalid_request", CallReleased),
        (ModelBusy("busy", kind="overload"), "overload", CallReleased),
        (ModelBusy("late", kind="timeout", maybe_served=True), "timeout", CallLost),
    ],
)
async def test_what_is_no_verdict_is_a_failed_audit_of_its_class(
    answer: Any, failure: str, booking: type
) -> None:
    scene = await at_audit(answer)

    goal = await scene.audit()

    booked, failed = (await scene.events())[-2:]
    assert isinstance(booked, booking)
    assert isinstance(failed, AuditFailed)
    assert failed.failure == failure
    assert (goal.state, goal.audit_failures) == (State.READY, 1)


async def test_a_model_that_refuses_us_is_named_by_its_class() -> None:
    class Refusing(ScriptedModel):
        async def call(self, request: ModelRequest, **_: Any) -> ModelReply:
            raise ModelRefusesUs("no", kind="auth")

    scene = await at_audit(model=Refusing([]))

    await scene.audit()

    assert (await scene.events())[-1].failure == "auth"


async def test_the_second_failure_in_a_row_blocks() -> None:
    scene = await at_audit(says("?"), says("?"))
    await scene.audit()
    await scene.turn("Another reply.")

    goal = await scene.audit()

    assert (goal.state, goal.reason) == (State.BLOCKED, "audit:unreadable")


async def test_a_reply_lost_in_flight_is_charged_and_asked_for_again() -> None:
    scene = await at_audit(LOST, judged("complete"))

    goal = await scene.audit()

    assert goal.state is State.COMPLETE
    assert goal.ledger.estimated_tokens > 1_024
    assert asked_count(scene) == 2


async def test_three_lost_replies_are_a_failed_audit() -> None:
    scene = await at_audit(LOST, LOST, LOST)

    goal = await scene.audit()

    assert (await scene.events())[-1].failure == "network"
    assert goal.state is State.READY


async def test_a_cancelled_audit_writes_its_call_down_as_lost() -> None:
    class Slow(ScriptedModel):
        async def call(self, request: ModelRequest, **_: Any) -> ModelReply:
            entered.set()
            await asyncio.Event().wait()
            raise AssertionError

    entered = asyncio.Event()
    scene = await at_audit(model=Slow([]))
    running = asyncio.create_task(scene.audit())
    await entered.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    goal = await scene.store.journal.goal("g")
    assert goal.state is State.AUDITING
    assert goal.ledger.open == ()
    assert goal.ledger.estimated_tokens > 0


async def test_a_call_that_another_process_left_is_charged_and_the_audit_made_again() -> None:
    scene = await at_audit(judged("complete"))
    await scene.take(CallStarted("theirs", "audit", "double", 1_500, 9))

    goal = await scene.audit()

    assert goal.state is State.COMPLETE
    assert goal.ledger.estimated_tokens == 1_500
    assert "audit_resumed" in await scene.rules()


@pytest.mark.parametrize(
    "event",
    [
        MessageReceived("m", "ann", content_hash("wait")),
        ObjectiveEdited("ann", content_hash("another")),
        Paused("ann"),
    ],
)
async def test_a_verdict_is_dropped_when_a_person_was_faster(event: Any) -> None:
    class Interrupted(ScriptedModel):
        async def call(self, request: ModelRequest, **_: Any) -> ModelReply:
            await scene.take(event)
            return judged("complete")

    scene = await at_audit(model=Interrupted([]))

    goal = await scene.audit()

    assert goal.state in {State.READY, State.PAUSED}
    assert isinstance((await scene.events())[-1], CallSettled)
    assert goal.ledger.open == ()


async def test_a_goal_paused_before_the_audit_begins_makes_no_call() -> None:
    scene = await at_audit()
    await scene.claim()
    await scene.take(Paused("ann"))

    goal = await scene.audits.run(scene.lease)

    assert goal.state is State.PAUSED
    assert not asked_count(scene)


async def test_a_lease_that_is_gone_leaves_the_audit_to_its_new_holder() -> None:
    scene = await at_audit()
    await scene.claim()
    stale = scene.lease
    await scene.claim()

    goal = await scene.audits.run(stale)

    assert goal.state is State.AUDITING
    assert not asked_count(scene)


async def test_a_wait_on_a_time_to_come_parks_the_goal() -> None:
    until = "2027-01-15T08:05:00+00:00"
    scene = await at_audit(judged("wait", wait={"kind": "time", "ref": "", "until": until}))

    goal = await scene.audit()

    assert goal.state is State.WAITING
    assert goal.wait is not None
    assert goal.wait.until == NOW + 300


async def test_a_wait_on_a_message_lasts_a_week_at_most() -> None:
    scene = await at_audit(judged("wait", wait={"kind": "message", "ref": "ann"}))

    goal = await scene.audit()

    assert goal.due_at == NOW + 7 * 24 * 3600


@pytest.mark.parametrize(
    "wait",
    [
        {"kind": "time", "ref": ""},
        {"kind": "time", "ref": "", "until": "2020-01-01T00:00:00Z"},
        {"kind": "probe", "ref": "test -e /etc/passwd"},
        {"kind": "process", "ref": "1"},
    ],
)
async def test_a_wait_that_the_records_do_not_hold_counts_as_continue(wait: Any) -> None:
    scene = await at_audit(judged("wait", wait=wait))

    goal = await scene.audit()

    assert (goal.state, (await scene.rules())[-1]) == (State.READY, "continue")


async def test_a_probe_that_the_agent_named_before_may_be_waited_for() -> None:
    scene = Scene([judged("wait", wait={"kind": "probe", "ref": "test -e done"})])
    await scene.open()
    probe = Wait("w", "probe", "test -e done", NOW + 60)
    await scene.take(TurnStarted(), WaitAsked(probe), CallStarted("c", "agent", "m", 1, 1, 0, 1))
    await scene.take(TurnEnded("done"), WaitFired("w", "probe"))
    await scene.turn("It runs again.")

    goal = await scene.audit()

    assert goal.state is State.WAITING
    assert "probe: test -e done" in asked_of(scene)


async def test_needing_a_person_asks_in_the_form_that_the_agent_asks_in() -> None:
    person = {"kind": "question", "text": "Which of the two?"}
    scene = await at_audit(judged("needs_person", person=person))

    goal = await scene.audit()

    assert goal.state is State.DECIDING
    assert goal.decision is not None
    assert question.read(await scene.text(goal.decision.text)).text == "Which of the two?"


async def test_the_auditor_sees_the_turn() -> None:
    scene = Scene([judged("continue")])
    await scene.open("Compare the two drafts.")
    tasks = (Task("Read both", "done", "seen"), Task("Compare", "doing"), Task("Skip", "dropped"))
    await scene.take(TurnStarted(), TasksPlanned("h", 1, 1, 1), tasks=tasks)
    await scene.take(TurnEnded("stopped"))
    await scene.take(Resumed("ann"))
    await scene.turn("They differ in one line.", "read", "bash", "read")

    await scene.audit()

    told = asked_of(scene)
    assert "Compare the two drafts." in told
    assert "They differ in one line." in told
    assert "Tools used: read, bash." in told
    assert "- Compare" in told
    assert "Read both" not in told
    assert "Skip" not in told
    assert "Time now: 2027-01-15T08:00:00+00:00" in told


async def test_a_turn_without_a_reply_is_not_judged_by_an_earlier_one() -> None:
    scene = await at_audit(judged("continue"), judged("continue"))
    await scene.audit()
    await scene.turn("", "glob")

    await scene.audit()

    assert "The report is written." not in asked_of(scene)
    assert "(no reply)" in asked_of(scene)


async def test_the_auditor_is_told_of_sign_offs_of_this_revision() -> None:
    scene = Scene([judged("complete")])
    await scene.open()
    text = question.written("Is the report good?")
    await scene.take(TurnStarted(), CallStarted("c", "agent", "m", 1, 1, 0, 1))
    await scene.take(DecisionAsked("d", "sign_off", content_hash(text), "t"), texts=(text,))
    await scene.take(TurnEnded("done"), DecisionAnswered("d", scene.goal.owner, "h"))

    goal = await scene.audit()

    assert goal.state is State.COMPLETE
    assert "- the owner agreed to: Is the report good?" in asked_of(scene)


async def test_a_sign_off_of_an_earlier_revision_is_not_told() -> None:
    scene = Scene([judged("complete")])
    await scene.open()
    await scene.take(TurnStarted(), CallStarted("c", "agent", "m", 1, 1, 0, 1))
    await scene.take(DecisionAsked("d", "sign_off", "h", "t"), TurnEnded("done"))
    await scene.take(DecisionAnswered("d", scene.goal.owner, "h", accepted=False))
    await scene.take(ObjectiveEdited("ann", content_hash("Another.")), texts=("Another.",))
    await scene.turn()

    await scene.audit()

    assert "sign-offs" not in asked_of(scene)
    assert "Another." in asked_of(scene)


async def test_a_brief_is_named_by_its_hash_with_its_criteria() -> None:
    brief = "A long brief. " * 400
    scene = Scene([judged("complete")])
    await scene.open(brief)
    raw = '[{"type": "tool_use", "name": "distil", "input": {"text": "It is short."}}]'
    await scene.take(TurnStarted(), CallStarted("d", "distil", "m", 1, 1))
    await scene.take(CallSettled("d", Usage(), 0, Content(raw).hash), texts=(raw,))
    await scene.take(CallStarted("c", "agent", "m", 1, 1, 0, 1), TurnEnded("done"))

    await scene.audit()

    told = asked_of(scene)
    assert "It is short." in told
    assert content_hash(brief) in told
    assert brief not in told


async def test_an_erased_objective_is_said_to_be_removed() -> None:
    scene = await at_audit(judged("blocked"))
    scene.store.journal._rows.contents.clear()

    await scene.audit()

    assert asked_of(scene).count("[removed]") == 2


async def test_what_was_read_once_is_read_on_and_a_new_process_reads_it_whole() -> None:
    scene = await at_audit(judged("continue"), judged("continue"), judged("continue"))
    await scene.audit()
    await scene.turn("Second.", "grep")
    await scene.audit()
    remembered = asked_of(scene)
    await scene.turn("Second.", "grep")

    scene.restart()
    await scene.audit()

    assert "Tools used: grep." in remembered
    assert asked_of(scene).replace("Turn: 3", "Turn: 2")[:80] == remembered[:80]


class Through:
    """The store's journal, with something between."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


async def test_a_journal_that_was_passed_over_in_part_is_read_from_its_beginning() -> None:
    class Skipping(Through):
        async def history(self, session: str, after: int = 0) -> Any:
            lines = await self._journal.history(session, after)
            return lines[2:] if after else lines

    scene = await at_audit(judged("continue"), judged("continue"))
    scene.restart(Skipping(scene.journal))
    await scene.audit()
    await scene.turn("Second.", "grep")

    await scene.audit()

    assert "Tools used: grep." in asked_of(scene)


async def test_an_audit_cancelled_while_it_reserves_its_call_owes_nothing() -> None:
    class Hanging(Through):
        async def commit(self, unit: Any) -> Any:
            applied = await self._journal.commit(unit)
            if isinstance(unit.events[-1], CallStarted):
                entered.set()
                await asyncio.Event().wait()
            return applied

    entered = asyncio.Event()
    scene = await at_audit(judged("complete"))
    scene.restart(Hanging(scene.journal))
    running = asyncio.create_task(scene.audit())
    await entered.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    goal = await scene.store.journal.goal("g")
    assert (goal.ledger.open, goal.ledger.estimated_tokens) == ((), 0)
    assert not asked_count(scene)


async def test_an_auditor_of_unknown_price_runs_under_a_token_budget_and_is_shown_as_unknown() -> (
    None
):
    scene = await at_audit(model=ScriptedModel([judged("complete")], price=None))

    goal = await scene.audit()

    assert goal.state is State.COMPLETE
    assert goal.ledger.has_unknown_price


class FixedGates:
    """Checks that give what a test says."""

    def __init__(self, *gates: Gate) -> None:
        self.gates = gates

    async def run(self, goal: Goal) -> tuple[Gate, ...]:
        return self.gates


async def test_a_failing_gate_is_shown_and_rules_complete_out() -> None:
    scene = await at_audit(judged("complete"), gates=FixedGates(Gate("tests", 1, "2 failed")))

    goal = await scene.audit()

    assert (goal.state, goal.opening) == (State.READY, "continuation")
    assert "tests: exit code 1\n2 failed" in asked_of(scene)


async def test_gates_that_cannot_run_block_at_the_third_time_without_a_call() -> None:
    broken = FixedGates(Gate("tests", None, "no such file"))
    scene = await at_audit(judged("continue"), judged("continue"), gates=broken)
    for _ in range(2):
        await scene.audit()
        await scene.turn("More.", "bash")

    goal = await scene.audit()

    assert (goal.state, goal.reason) == (State.BLOCKED, f"gate:{content_hash('tests')}")
    assert asked_count(scene) == 2
