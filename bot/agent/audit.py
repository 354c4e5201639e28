"""
The audit of a finished turn: the only authority that ends a goal, within the hard stops.

Rule 1: the call is reserved before it is sent, and settled in the unit of what it led to: a verdict,
        or the class of its failure. A failed audit is never taken for a verdict.
Rule 2: a verdict is about the revision, the turn and the messages that were there when the auditor
        was asked; the machine drops it where any has moved on.
Rule 3: a reply lost in flight is charged in full and asked for again; a time-out is a failed audit.
Rule 4: a goal that has moved on gets what the call cost, and nothing else.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol

from bot.agent import audit_request as asked
from bot.agent.audit_fold import TurnFold
from bot.agent.audit_request import Gate, Seen, SignOff, audit_request, gates_told
from bot.agent.audit_verdict import AskedWait, NoVerdict, Verdict, is_known, verdict_from
from bot.agent.costs import cost_of, dearest
from bot.agent.prompts import REMOVED
from bot.agent.request import forced_text
from bot.errors import BadRequest, HeadwayError, IllegalMove, ModelBusy, ModelRefusesUs, Refused
from bot.goals.estimate import estimate_tokens
from bot.goals.events import (
    Audited,
    AuditFailed,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Event,
    GatesRan,
    TurnResumed,
)
from bot.goals.goal import Goal, State, Wait
from bot.goals.limits import Limits
from bot.ports import question
from bot.ports.clock import Clock
from bot.ports.journal import Applied, Content, Journal, Lease, Unit, content_hash
from bot.ports.model import NOT_SENT, Model, ModelRequest
from bot.tools.untrusted import fenced

__all__ = ["AuditSettings", "Audits", "Gates"]

AUTHOR: Final = "auditor"
REMEMBERED_GOALS: Final = 2_000
"""Whose journal need not be read again from its beginning; each takes about a kilobyte."""


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """What the operator sets of the audit. Seconds, counts."""

    model: str
    fallback_models: tuple[str, ...] = ()
    """Asked by the endpoint in place of `model`; a reservation covers the dearest of them."""
    timeout_s: float = asked.TIMEOUT_S
    """Of one attempt; waiting for the endpoint's limiter is not counted."""
    losses_in_a_row: int = 3
    """Replies lost in flight, one after the other, that fail an audit."""


@cache
def _same_for_all() -> int:
    """Tokens at most of what stands in every audit's request."""
    return estimate_tokens(system=asked.SYSTEM, tools=asked.TOOLS)


class Gates(Protocol):
    """Runs a goal's own checks."""

    async def run(self, goal: Goal) -> tuple[Gate, ...]:
        """Every check, in order; one that could not run says so."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one call ended: its booking, and what it led to (None: it is made again)."""

    booking: Event
    event: Event | None = None
    contents: tuple[Content, ...] = ()


class Audits:
    """Audits goals, one turn each. Holds what it remembers of journals, no state."""

    def __init__(
        self,
        journal: Journal,
        model: Model,
        clock: Clock,
        limits: Limits,
        ids: Callable[[], str],
        settings: AuditSettings,
        gates: Gates | None = None,
    ) -> None:
        self._journal, self._model, self._clock = journal, model, clock
        self._limits, self._ids, self._settings = limits, ids, settings
        self._gates = gates
        self._folds: OrderedDict[str, tuple[int, TurnFold]] = OrderedDict()

    async def run(self, lease: Lease) -> Goal:
        """Audit the goal's finished turn; return the goal as it stands after.

        Raises:
            StoreBusy, StoreUnusable: as the journal; the audit is made again later.
            CancelledError: the call in flight has been written down, as lost if it was sent.
        """
        if lease.goal.state is not State.AUDITING:
            return lease.goal
        audit = _Audit(self, lease)
        try:
            return await audit.run()
        except (IllegalMove, Refused):
            # A person was faster: what they did to the goal stands.
            return await self._journal.goal(lease.goal.id)

    async def fold(self, goal: Goal) -> TurnFold:
        """What the goal's journal tells, read on from where it was read last."""
        position, fold = self._folds.pop(goal.id, (0, TurnFold()))
        if fold.seq < goal.seq:
            position = await self._read_on(goal, position, fold)
        if fold.seq < goal.seq:
            # Something was passed over: the journal from its beginning.
            fold = TurnFold()
            position = await self._read_on(goal, 0, fold)
        self._folds[goal.id] = (position, fold)
        while len(self._folds) > REMEMBERED_GOALS:
            self._folds.popitem(last=False)
        return fold

    def heard(self, applied: Applied) -> None:
        """Take what this process has written, which need not be read then."""
        if applied.goal.id not in self._folds:
            return
        _, fold = self._folds[applied.goal.id]
        for entry in applied.entries:
            if entry.seq == fold.seq + 1:
                fold.feed(entry)

    async def _read_on(self, goal: Goal, position: int, fold: TurnFold) -> int:
        for line in await self._journal.history(goal.session, after=position):
            position = max(position, line.position)
            if line.goal == goal.id and line.entry.seq == fold.seq + 1:
                fold.feed(line.entry)
        return position


class _Audit:
    """One audit of one goal."""

    def __init__(self, audits: Audits, lease: Lease) -> None:
        self._audits, self._goal, self._epoch = audits, lease.goal, lease.epoch
        self._journal, self._model, self._clock = audits._journal, audits._model, audits._clock
        self._settings, self._ids = audits._settings, audits._ids
        self._known: dict[tuple[str, str], Wait] = {}
        self._gates: tuple[Gate, ...] = ()
        self._is_fenced = False

    async def run(self) -> Goal:
        """See `Audits.run`."""
        if self._goal.ledger.open:
            await self._commit(TurnResumed())
        if self._audits._gates is not None and self._is_here:
            await self._run_gates(self._audits._gates)
        if not self._is_here:
            return self._goal
        seen = await self._look()
        request = audit_request(
            seen,
            model=self._settings.model,
            goal=self._goal.id,
            timeout_s=self._settings.timeout_s,
        )
        for attempt in range(1, self._settings.losses_in_a_row + 1):
            call = await self._start(request)
            if call is None:
                return self._goal
            is_last = attempt == self._settings.losses_in_a_row
            outcome = await self._ask(call, request, is_last=is_last)
            await self._conclude(outcome)
            if outcome.event is not None or not self._is_here:
                break
        return self._goal

    @property
    def _is_here(self) -> bool:
        """The goal is still this audit's."""
        return self._goal.state is State.AUDITING and not self._is_fenced

    async def _run_gates(self, gates: Gates) -> None:
        self._gates = await gates.run(self._goal)
        failing = tuple(content_hash(gate.name) for gate in self._gates if not gate.passes)
        broken = tuple(content_hash(gate.name) for gate in self._gates if gate.exit_code is None)
        before = (await self._audits.fold(self._goal)).ran
        if before is not None and (before.failing, before.broken) == (failing, broken):
            # This turn's checks were written down before the process ended: they count once.
            return
        if not self._gates and not self._goal.failing:
            return
        told = gates_told(self._gates)
        report = Content(fenced(told, self._goal.id) if told else "", "tool")
        names = tuple(Content(gate.name, self._goal.owner) for gate in self._gates)
        kept = (report, *names) if told else ()
        ran = GatesRan(failing, broken, report=report.hash if told else "")
        await self._commit(ran, contents=kept)

    async def _look(self) -> Seen:
        """What the auditor is shown."""
        goal = self._goal
        fold = await self._audits.fold(goal)
        self._known = fold.waits
        hashes = [goal.objective, fold.reply, fold.criteria, *(g.text for g in fold.sign_offs)]
        wanted = sorted({hash for hash in hashes if hash})
        texts = await self._journal.contents(goal.session, wanted)
        tasks = await self._journal.tasks(goal.id) if goal.tasks_open else ()
        return Seen(
            objective=texts.get(goal.objective, REMOVED),
            reply=texts.get(fold.reply, REMOVED) if fold.reply else "",
            now=self._clock.now(),
            criteria=forced_text(texts[fold.criteria]) if fold.criteria in texts else "",
            turn=goal.turn,
            gates=self._gates,
            open_tasks=tuple(task.title for task in tasks if task.state in ("open", "doing")),
            tools=tuple(fold.tools),
            waits=tuple(fold.waits.values()),
            sign_offs=tuple(
                SignOff(
                    question.read(texts.get(given.text, REMOVED)).text,
                    "the owner" if given.by == goal.owner else given.by,
                    given.accepted,
                )
                for given in fold.sign_offs
            ),
        )

    async def _start(self, request: ModelRequest) -> str | None:
        """Reserve the call; None where the goal does not make it."""
        call, settings = self._ids(), self._settings
        prompt = _same_for_all() + estimate_tokens(messages=request.messages)
        models = (settings.model, *settings.fallback_models)
        most = dearest(self._model, models, prompt, request.max_tokens)
        try:
            applied = await self._commit(
                CallStarted(call, "audit", settings.model, prompt + request.max_tokens, most)
            )
        except asyncio.CancelledError:
            with contextlib.suppress(HeadwayError):
                await self._commit(CallReleased(call, NOT_SENT))
            raise
        return call if applied.rules[-1:] == ("call_started",) and self._is_here else None

    async def _ask(self, call: str, request: ModelRequest, *, is_last: bool) -> _Outcome:
        """Send it, and say how it ended."""
        try:
            reply = await self._model.call(request)
        except asyncio.CancelledError as cancelled:
            is_sent = cancelled.args != (NOT_SENT,)
            left = CallLost(call, "interrupted") if is_sent else CallReleased(call, NOT_SENT)
            with contextlib.suppress(HeadwayError):
                await self._commit(left)
            raise
        except ModelBusy as busy:
            if not busy.maybe_served:
                return _Outcome(CallReleased(call, busy.kind), self._failed(busy.kind))
            is_over = is_last or busy.kind == "timeout"
            return _Outcome(CallLost(call, busy.kind), self._failed(busy.kind) if is_over else None)
        except (BadRequest, ModelRefusesUs) as error:
            return _Outcome(CallReleased(call, error.kind), self._failed(error.kind))
        booking = CallSettled(
            call, reply.usage, cost_of(self._model, reply), stop_reason=reply.stop_reason
        )
        verdict = verdict_from(reply)
        if isinstance(verdict, NoVerdict):
            return _Outcome(booking, self._failed(verdict.failure))
        return self._audited(booking, verdict)

    async def _conclude(self, outcome: _Outcome) -> None:
        """Write what the call cost together with what it led to."""
        if outcome.event is None:
            await self._commit(outcome.booking)
            return
        try:
            await self._commit(outcome.booking, outcome.event, contents=outcome.contents)
        except (IllegalMove, Refused):
            await self._commit(outcome.booking)

    def _failed(self, failure: str) -> AuditFailed:
        goal = self._goal
        return AuditFailed(goal.revision, goal.turn, goal.messages, failure)

    def _audited(self, booking: CallSettled, verdict: Verdict) -> _Outcome:
        goal = self._goal
        note = Content(verdict.note, AUTHOR)
        evidence = Content(verdict.evidence, AUTHOR)
        contents = [note, evidence] if verdict.evidence else [note]
        event = Audited(
            goal.revision,
            goal.turn,
            goal.messages,
            verdict.kind,
            note=note.hash,
            evidence=evidence.hash if verdict.evidence else "",
            gates_pass=all(gate.passes for gate in self._gates),
        )
        if verdict.wait is not None:
            wait = self._wait(verdict.wait, note.hash)
            known = is_known(verdict.wait, self._known, self._clock.now())
            event = replace(event, wait=wait, ref_is_known=known)
        if verdict.person is not None:
            text = Content(question.written(verdict.person.text), AUTHOR)
            contents.append(text)
            event = replace(event, person=verdict.person.kind, text=text.hash, decision=self._ids())
        return _Outcome(booking, event, tuple(contents))

    def _wait(self, wanted: AskedWait, reason: str) -> Wait:
        most = self._clock.now() + self._audits._limits.wait_most_s
        until = most if wanted.until is None else wanted.until
        return Wait(self._ids(), wanted.kind, wanted.ref, until, reason)

    async def _commit(self, *events: Event, contents: tuple[Content, ...] = ()) -> Applied:
        applied = await self._journal.commit(
            Unit(self._goal.id, events, contents, epoch=self._epoch)
        )
        self._goal, self._is_fenced = applied.goal, applied.fenced
        return applied
