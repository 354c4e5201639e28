"""The audit with the model's adapter and a server that speaks the Messages API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.rehearsal.script import Answer, Fault, Memory, Request, verdict
from bot.agent.audit import Audits, AuditSettings
from bot.goals.events import AuditFailed
from bot.goals.goal import State
from bot.goals.limits import LIMITS
from tests.adapters.claude.serving import MODEL, served
from tests.bot.agent.audited import Scene


@asynccontextmanager
async def scene(*answers: Answer, timeout_s: float = 30.0) -> AsyncIterator[Scene]:
    """A goal whose first turn has ended, audited over HTTP by a server that plays `answers`."""
    left = list(answers)

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return left.pop(0)

    async with served(script) as (_, model):
        made = Scene(model=model)
        settings = AuditSettings(MODEL, timeout_s=timeout_s)
        made.audits = Audits(made.store.journal, model, made.clock, LIMITS, made.ids, settings)
        await made.open()
        await made.turn()
        yield made


async def test_a_verdict_comes_over_the_wire_and_is_paid_for() -> None:
    async with scene(verdict("complete", "Written.", evidence="the file")) as made:
        goal = await made.audit()

    assert goal.state is State.COMPLETE
    assert goal.ledger.usage.output > 0
    assert goal.ledger.estimated_tokens == 0
    assert not goal.ledger.has_unknown_price


@pytest.mark.parametrize("kind", ["hang", "cut_mid_stream"])
async def test_a_reply_that_does_not_come_to_its_end_is_charged(kind: Any) -> None:
    broken = Fault(kind=kind, reply=verdict("continue", "Go on.", evidence="x"), hold_s=5.0)
    good = verdict("complete", "Written.", evidence="the file")
    async with scene(broken, good, timeout_s=0.5) as made:
        goal = await made.audit()

    assert goal.ledger.open == ()
    assert goal.ledger.estimated_tokens > 0


async def test_a_server_that_hangs_is_a_failed_audit_after_its_time() -> None:
    async with scene(Fault(kind="hang", hold_s=5.0), timeout_s=0.3) as made:
        goal = await made.audit()
        failed = (await made.events())[-1]

    assert isinstance(failed, AuditFailed)
    assert failed.failure == "timeout"
    assert (goal.state, goal.audit_failures) == (State.READY, 1)


async def test_an_overload_is_waited_out_and_counts_as_no_failure() -> None:
    good = verdict("complete", "Written.", evidence="the file")
    async with scene(Fault(status=529), Fault(status=529), good) as made:
        goal = await made.audit()

    assert (goal.state, goal.audit_failures) == (State.COMPLETE, 0)


async def test_an_invalid_request_is_a_failed_audit() -> None:
    async with scene(Fault(status=400)) as made:
        await made.audit()
        failed = (await made.events())[-1]

    assert failed.failure == "invalid_request"
