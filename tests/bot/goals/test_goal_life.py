"""Whatever happens to a goal, in whatever order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.errors import IllegalMove, Refused
from bot.goals.caps import Booked, booked
from bot.goals.events import (
    EVENTS,
    Audited,
    AuditFailed,
    BudgetSet,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    CapReached,
    Compacted,
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    DecisionReminded,
    Event,
    FileShared,
    GatesRan,
    GatesSet,
    GoalOpened,
    HoldEnded,
    MessageReceived,
    NoteLeft,
    ObjectiveEdited,
    OwnerChanged,
    OwnerLost,
    Paused,
    ProfileSet,
    Resumed,
    ReviewSettled,
    Rewound,
    RoomWasLost,
    Stopped,
    TasksPlanned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    Undone,
    WaitAsked,
    WaitChecked,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import ACTIVE, FINAL, Decision, Goal, State, Wait
from bot.goals.hands import PROFILES, SCOPES, GateLine, Grant
from bot.goals.instructions import (
    Allow,
    Checkpoint,
    CloseDecision,
    CloseWait,
    DropPosts,
    Instruction,
    OpenDecision,
    OpenWait,
    Post,
    RemovePosts,
    ShowStatus,
    StopTurn,
)
from bot.goals.limits import LIMITS
from bot.goals.machine import TABLE, Entry, decide, entry, open_goal, replay
from bot.goals.money import NANO, Budget, Usage
from bot.goals.rules import illegal

START: Final = 1_000_000.0
DUE: Final = ACTIVE | {State.WAITING, State.DECIDING}
TEXTS: Final = st.sampled_from(["", "a", "b", "c"])
COUNTS: Final = st.sampled_from([0, 10, 4_000])
COSTS: Final = st.sampled_from([0, 1_000, NANO // 100, None])
AMPLE: Final = Budget(1000 * NANO, 100_000_000, 1e9)
BUDGETS: Final = st.sampled_from([AMPLE, AMPLE, AMPLE, Budget(None, 20_000, None)]) | st.builds(
    Budget,
    nano_usd=st.none() | st.integers(0, NANO // 10),
    tokens=st.none() | st.integers(0, 60_000),
    active_s=st.none() | st.sampled_from([10.0, 4 * 3600.0]),
)
NEXT: Final[dict[State, list[type[Event]]]] = {
    State.READY: [TurnStarted],
    State.WORKING: [
        CallStarted, CallSettled, ToolEnded, TurnEnded, TurnEnded, DecisionAsked, WaitAsked,
        CapReached,
    ],
    State.AUDITING: [Audited, Audited, Audited, CallStarted, CallSettled, AuditFailed, GatesRan],
    State.WAITING: [WaitFired, WaitFired, MessageReceived, Paused],
    State.DECIDING: [DecisionAnswered, DecisionAnswered, DecisionExpired, Paused],
    State.PAUSED: [Resumed, Resumed, WaitFired, DecisionAnswered],
    State.BLOCKED: [Resumed, MessageReceived],
    State.OVER_BUDGET: [BudgetSet, Resumed],
}  # fmt: skip
"""What usually comes next."""
GATES: Final = [GateLine(number + 1, f"gate{number}", "ann") for number in range(3)]
GRANTS: Final = st.sampled_from([None, Grant("command", "pip"), Grant("host", "pypi")])
PASSES: Final = st.sampled_from([0.0, 1.0, 45.0, 4000.0, 90 * 3600.0, 8 * 24 * 3600.0])


class Draws:
    """Draws an event that could come next, so often right that the goal gets somewhere."""

    def __init__(
        self, goal: Goal, at: float, number: int, draw: Callable[[Any], Any], points: list[Goal]
    ) -> None:
        self.goal, self.at, self.number, self.draw = goal, at, number, draw
        self.points = points

    def event(self, kind: type[Event]) -> Event:
        """An event of that kind."""
        made: Event = replace(getattr(self, kind.__name__)(), at=self.at)
        return made

    def _is(self, likely: float = 0.9) -> bool:
        return bool(self.draw(st.integers(1, 100)) <= likely * 100)

    def _call(self) -> str:
        known = [r.call for r in (*self.goal.ledger.open, *self.goal.ledger.lost)]
        return str(self.draw(st.sampled_from(known))) if known and self._is() else "unknown"

    def _wait(self) -> str:
        return self.goal.wait.id if self.goal.wait and self._is() else "unknown"

    def _decision(self) -> str:
        return self.goal.decision.id if self.goal.decision and self._is() else "unknown"

    def _fence(self) -> tuple[int, int, int]:
        late = 0 if self._is() else 1
        return self.goal.revision, self.goal.turn - late, self.goal.messages

    def _new_wait(self) -> Wait:
        kind = self.draw(st.sampled_from(["time", "process", "probe", "message"]))
        until = self.at + self.draw(st.sampled_from([-5.0, 60.0, 1e9]))
        return Wait(f"w{self.number}", kind, self.draw(TEXTS), until)

    def GoalOpened(self) -> GoalOpened:  # noqa: N802 - named as the event
        return GoalOpened("other", "s", 2, "ann", "o", self.draw(BUDGETS))

    def TurnStarted(self) -> TurnStarted:  # noqa: N802
        return TurnStarted()

    def TurnResumed(self) -> TurnResumed:  # noqa: N802
        return TurnResumed()

    def CallStarted(self) -> CallStarted:  # noqa: N802
        right = "audit" if self.goal.state is State.AUDITING else "agent"
        right = "wrap_up" if self.goal.wrapping_up else right
        roles = ["agent", "audit", "wrap_up", "compaction", "distil"]
        role: Any = right if self._is() else self.draw(st.sampled_from(roles))
        carried = self.goal.messages if self._is(0.95) else 0
        return CallStarted(
            f"c{self.number}", role, "m", self.draw(COUNTS), self.draw(COSTS), carried,
            self.goal.revision,
        )  # fmt: skip

    def CapReached(self) -> CapReached:  # noqa: N802
        until = self.at + self.draw(st.sampled_from([60.0, 1e5]))
        return CapReached(self.draw(st.sampled_from(["person", "room", "all"])), 1_000, until, 10)

    def CallSettled(self) -> CallSettled:  # noqa: N802
        usage = Usage(*(self.draw(COUNTS) for _ in range(5)))
        return CallSettled(self._call(), usage, self.draw(COSTS))

    def CallReleased(self) -> CallReleased:  # noqa: N802
        return CallReleased(self._call())

    def CallLost(self) -> CallLost:  # noqa: N802
        return CallLost(self._call())

    def ToolStarted(self) -> ToolStarted:  # noqa: N802
        return ToolStarted("t", "bash", "workspace")

    def ToolEnded(self) -> ToolEnded:  # noqa: N802
        return ToolEnded("t", "ok", "h", touched=self.draw(st.booleans()))

    def WaitAsked(self) -> WaitAsked:  # noqa: N802
        return WaitAsked(self._new_wait())

    def DecisionAsked(self) -> DecisionAsked:  # noqa: N802
        kinds = ["question", "approval", "approval", "plan", "sign_off", "review"]
        kind: Any = self.draw(st.sampled_from(kinds))
        grant = self.draw(GRANTS)
        return DecisionAsked(f"d{self.number}", kind, self.draw(TEXTS), "toolu", 0.0, "call", grant)

    def TasksPlanned(self) -> TasksPlanned:  # noqa: N802
        return TasksPlanned("h", 1, 2, 1)

    def NoteLeft(self) -> NoteLeft:  # noqa: N802
        return NoteLeft("h")

    def FileShared(self) -> FileShared:  # noqa: N802
        return FileShared("f", "h")

    def Compacted(self) -> Compacted:  # noqa: N802
        return Compacted("h", 1)

    def MessageReceived(self) -> MessageReceived:  # noqa: N802
        return MessageReceived(f"m{self.number}", "ann", "h")

    def TurnEnded(self) -> TurnEnded:  # noqa: N802
        right: Any = "budget" if self.goal.crossed else "done"
        hows = ["done", "stopped", "failed", "budget", "died"]
        how = right if self._is() else self.draw(st.sampled_from(hows))
        flags: Any = {name: not self._is(0.8) for name in ("compacted", "progress")}
        return TurnEnded(how, self.draw(TEXTS), "refusal", active_s=1.0, **flags)

    def GatesRan(self) -> GatesRan:  # noqa: N802
        failing = tuple(gate.command for gate in GATES if not self._is(0.7))
        return GatesRan(failing, failing[:1] if self.draw(st.booleans()) else ())

    def Audited(self) -> Audited:  # noqa: N802
        kinds = ["continue", "blocked", "blocked", "wait", "needs_person", "complete"]
        verdict: Any = self.draw(st.sampled_from(kinds))
        person: Any = self.draw(st.sampled_from(["", "question", "sign_off"]))
        return Audited(
            *self._fence(), verdict, wait=self._new_wait(), ref_is_known=self._is(),
            person=person, decision=f"d{self.number}", text=self.draw(TEXTS), gates_pass=self._is(),
        )  # fmt: skip

    def AuditFailed(self) -> AuditFailed:  # noqa: N802
        return AuditFailed(*self._fence(), "timeout")

    def WaitFired(self) -> WaitFired:  # noqa: N802
        return WaitFired(self._wait(), "probe")

    def WaitChecked(self) -> WaitChecked:  # noqa: N802
        return WaitChecked(self._wait(), self.at + 60)

    def DecisionAnswered(self) -> DecisionAnswered:  # noqa: N802
        return DecisionAnswered(
            self._decision(), "ann", "h", self.draw(st.booleans()),
            scope=self.draw(st.sampled_from(SCOPES)), edits=self.draw(st.booleans()),
        )  # fmt: skip

    def DecisionExpired(self) -> DecisionExpired:  # noqa: N802
        return DecisionExpired(self._decision())

    def DecisionReminded(self) -> DecisionReminded:  # noqa: N802
        return DecisionReminded(self._decision())

    def Paused(self) -> Paused:  # noqa: N802
        return Paused("ann")

    def Stopped(self) -> Stopped:  # noqa: N802
        return Stopped("ann")

    def Resumed(self) -> Resumed:  # noqa: N802
        return Resumed("ann")

    def Cancelled(self) -> Cancelled:  # noqa: N802
        return Cancelled("ann")

    def ObjectiveEdited(self) -> ObjectiveEdited:  # noqa: N802
        return ObjectiveEdited("ann", "h")

    def BudgetSet(self) -> BudgetSet:  # noqa: N802
        return BudgetSet("ann", self.draw(BUDGETS))

    def OwnerChanged(self) -> OwnerChanged:  # noqa: N802
        return OwnerChanged("ben", self.draw(st.sampled_from(["ann", "ben"])))

    def HoldEnded(self) -> HoldEnded:  # noqa: N802
        return HoldEnded(self.draw(st.floats(0, 1e6)))

    def Undone(self) -> Undone:  # noqa: N802
        return Undone("ann")

    def RoomWasLost(self) -> RoomWasLost:  # noqa: N802
        return RoomWasLost(self.draw(st.sampled_from(["left", "kicked", "banned", "gone"])), "ben")

    def OwnerLost(self) -> OwnerLost:  # noqa: N802
        return OwnerLost(self.draw(st.sampled_from(["removed", "gone"])))

    def ProfileSet(self) -> ProfileSet:  # noqa: N802
        return ProfileSet("ann", self.draw(st.sampled_from(["", *PROFILES])))

    def GatesSet(self) -> GatesSet:  # noqa: N802
        return GatesSet("ann", tuple(gate for gate in GATES if self._is(0.5)))

    def Rewound(self) -> Rewound:  # noqa: N802
        point = self.draw(st.sampled_from(self.points)) if self.points else self.goal
        return Rewound("ann", point.seq, point, self.draw(st.sampled_from(["", "tree"])))

    def WorkspaceRestored(self) -> WorkspaceRestored:  # noqa: N802
        return WorkspaceRestored(self.goal.restore if self._is() else "another")

    def ReviewSettled(self) -> ReviewSettled:  # noqa: N802
        review = self.goal.review
        return ReviewSettled(review.id if review and self._is() else "unknown", "h")


class GoalLife(RuleBasedStateMachine):
    """Every event at every time; what must always hold is checked after each."""

    @initialize(
        budget=BUDGETS,
        kind=st.sampled_from(["goal", "goal", "goal", "ask"]),
        queued=st.sampled_from(["", "", "", "person:3"]),
        plan_first=st.booleans(),
    )
    def it_is_opened(
        self, budget: Budget, kind: Any, queued: str = "", plan_first: bool = False
    ) -> None:
        self.at = START
        self.number = 0
        queued = queued if kind == "goal" else ""
        opened = GoalOpened(
            "g", "s", 1, "ann", "o", budget, kind,
            queued=queued, plan_first=plan_first, at=self.at,
        )  # fmt: skip
        moved = open_goal(opened)
        self.goal = moved.goal
        self.journal: list[Entry] = [entry(None, opened, moved)]
        self.open: dict[str, Wait | Decision] = {}
        for instruction in moved.instructions:
            if isinstance(instruction, OpenWait):
                self.open[instruction.wait.id] = instruction.wait
        self.closed: set[str] = set()
        self.keys: list[str] = []
        self.points: list[Goal] = []
        self.allowed: set[Grant] = set()
        self.standing = 0
        self.settled_usage = Usage()
        self.booked = Booked()
        self.blocked_in_a_row = 0
        self.wrap_ups_since_crossing = 0

    # Most draws keep the goal going: a life that ends early teaches nothing.
    @precondition(lambda self: self.goal.is_final)
    @rule()
    def another_goal_is_opened(self) -> None:
        self.it_is_opened(AMPLE, "goal")

    @precondition(lambda self: not self.goal.is_final)
    @rule(data=st.data())
    def a_turn_passes(self, data: st.DataObject) -> None:
        for kind in (TurnStarted, CallStarted, CallSettled, TurnEnded):
            self._happen(kind, 1.0, data)

    @precondition(lambda self: not self.goal.is_final)
    @rule(data=st.data(), passes=PASSES)
    def what_usually_comes_next_happens(self, data: st.DataObject, passes: float) -> None:
        self._happen(data.draw(st.sampled_from(NEXT[self.goal.state])), passes, data)

    @precondition(lambda self: not self.goal.is_final)
    @rule(data=st.data())
    def a_turn_and_its_audit_pass(self, data: st.DataObject) -> None:
        self.a_turn_passes(data)
        self._happen(Audited, 1.0, data)

    @rule(data=st.data(), passes=PASSES)
    def something_that_fits_happens(self, data: st.DataObject, passes: float) -> None:
        cells = TABLE[self.goal.state]
        kinds = [kind for kind in EVENTS if cells[kind] is not illegal and kind is not Cancelled]
        self._happen(data.draw(st.sampled_from(kinds)), passes, data)

    @rule(data=st.data(), passes=PASSES, kind=st.sampled_from(EVENTS))
    def anything_happens(self, data: st.DataObject, passes: float, kind: type[Event]) -> None:
        self._happen(kind, passes, data)

    def _happen(self, kind: type[Event], passes: float, data: st.DataObject) -> None:
        self.at += passes
        self.number += 1
        event = Draws(self.goal, self.at, self.number, data.draw, self.points).event(kind)
        before = self.goal
        copy = replace(before)
        try:
            moved = decide(before, event)
        except (Refused, IllegalMove):
            assert before == copy
            return
        self.goal = moved.goal
        self.journal.append(entry(before, event, moved))
        for instruction in moved.instructions:
            self._carry_out(instruction)
        self._compare(before, event, moved.rule)

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case OpenWait(wait=wait):
                self._opens(wait)
            case OpenDecision(decision=decision):
                self._opens(decision)
            case CloseWait(wait=name) | CloseDecision(decision=name):
                assert name in self.open, f"{name} is closed and was not open"
                del self.open[name]
                self.closed.add(name)
            case Post(key=key):
                self.keys.append(key)
            case Checkpoint():
                self.points.append(self.goal)
            case Allow():
                self.standing += 1
            case ShowStatus() | RemovePosts() | StopTurn() | DropPosts():
                pass

    def _opens(self, opened: Wait | Decision) -> None:
        assert opened.id not in self.open
        assert opened.id not in self.closed
        self.open[opened.id] = opened

    def _compare(self, before: Goal, event: Event, rule: str) -> None:
        after = self.goal
        self.booked += booked(before.ledger, after.ledger, event)
        if before.is_final:
            assert after.state is before.state
        if isinstance(event, TurnStarted):
            assert before.state is State.READY
        if isinstance(event, CallStarted):
            assert before.state in {State.WORKING, State.AUDITING}
        if after.ledger.open != before.ledger.open and isinstance(event, CallStarted):
            assert not before.crossed or event.role in {"wrap_up", "audit"}
        if isinstance(event, CallSettled):
            self.settled_usage += event.usage
        else:
            assert after.ledger.nano_usd >= before.ledger.nano_usd
            assert after.ledger.tokens >= before.ledger.tokens
        self._count_blocked(before, event, rule)
        self._count_wrap_ups(before)
        self._follow_hands(before, event)

    def _follow_hands(self, before: Goal, event: Event) -> None:
        after = self.goal
        if isinstance(event, DecisionAnswered):
            asked = before.decision
            assert asked is not None
            is_yes = asked.kind == "approval" and event.accepted and asked.grant is not None
            is_standing = is_yes and event.scope == "always" and before.profile != "full"
            if is_yes and event.scope != "once" and not is_standing:
                assert asked.grant in after.grants
                self.allowed.add(asked.grant)
            if is_standing:
                assert after.grants == before.grants
            assert self.standing == is_standing
        else:
            assert self.standing == 0
        self.standing = 0
        if before.planning and not after.planning and not isinstance(event, Rewound):
            assert before.decision is not None
            assert before.decision.kind == "plan"
            assert after.plan == before.decision.text
        if isinstance(event, Rewound):
            assert after.restore
            assert not after.is_final
            assert set(after.grants) <= set(before.grants)
        elif not isinstance(event, WorkspaceRestored):
            assert after.restore == before.restore

    def _count_blocked(self, before: Goal, event: Event, rule: str) -> None:
        if isinstance(event, Audited) and rule != "verdict_fenced":
            again = self.blocked_in_a_row + 1
            self.blocked_in_a_row = again if event.verdict == "blocked" else 0
        if rule == "audits":
            assert self.blocked_in_a_row == LIMITS.blocked_audits
        if before.state in {State.BLOCKED, State.OVER_BUDGET} and self.goal.state is State.READY:
            self.blocked_in_a_row = 0
        if isinstance(event, Rewound):
            self.blocked_in_a_row = self.goal.blocked_streak

    def _count_wrap_ups(self, before: Goal) -> None:
        if not self.goal.crossed:
            self.wrap_ups_since_crossing = 0
        elif self.goal.wrapping_up and not before.wrapping_up:
            self.wrap_ups_since_crossing += 1
            assert self.wrap_ups_since_crossing == 1

    @invariant()
    def the_journal_alone_gives_the_goal_back(self) -> None:
        assert replay(self.journal) == self.goal

    @invariant()
    def only_what_can_move_by_itself_is_due(self) -> None:
        assert (self.goal.due_at is not None) == (self.goal.state in DUE)

    @invariant()
    def what_parks_it_is_open_and_nothing_else_is(self) -> None:
        goal = self.goal
        parked = goal.state in {State.WAITING, State.DECIDING, State.PAUSED}
        expected = set()
        if parked and goal.wait and not goal.wait.fired:
            expected.add(goal.wait.id)
        if parked and goal.decision and not goal.decision.answered:
            expected.add(goal.decision.id)
        assert set(self.open) == expected

    @invariant()
    def a_wait_and_a_decision_are_where_they_belong(self) -> None:
        goal = self.goal
        if goal.wait is not None:
            assert goal.state in {State.WORKING, State.WAITING, State.PAUSED}
        if goal.decision is not None:
            assert goal.state in {State.WORKING, State.DECIDING, State.PAUSED}
        if goal.aside is not None:
            assert goal.state in {State.DECIDING, State.WAITING, State.PAUSED}
        assert goal.wait is None or goal.decision is None
        assert (goal.state is State.WAITING) <= (goal.wait is not None)
        assert (goal.state is State.DECIDING) <= (goal.decision is not None)
        assert (goal.paused_at is not None) == (goal.state is State.PAUSED)

    @invariant()
    def a_post_is_said_once(self) -> None:
        assert len(self.keys) == len(set(self.keys))
        assert self.keys.count("settle") == (self.goal.state is State.COMPLETE)

    @invariant()
    def money_is_counted_and_never_lost(self) -> None:
        ledger = self.goal.ledger
        assert all(r.tokens >= 0 and (r.nano_usd or 0) >= 0 for r in ledger.open)
        assert ledger.usage == self.settled_usage
        assert (self.booked.tokens, self.booked.nano_usd) == (ledger.tokens, ledger.nano_usd)
        assert ledger.has_unknown_price or self.booked.unpriced_tokens == 0
        assert ledger.estimated_tokens >= sum(r.tokens for r in ledger.lost)
        assert ledger.estimated_nano_usd >= sum(r.nano_usd or 0 for r in ledger.lost)
        assert 0 <= ledger.estimated_nano_usd <= ledger.nano_usd
        assert not {r.call for r in ledger.open} & {r.call for r in ledger.lost}

    @invariant()
    def limits_hold(self) -> None:
        goal = self.goal
        assert goal.allowance <= LIMITS.continuations_most
        assert goal.continuations <= goal.allowance
        assert goal.compactions <= LIMITS.compactions_in_a_row
        assert goal.audit_failures <= LIMITS.audit_failures
        assert goal.blocked_streak <= LIMITS.blocked_audits
        assert goal.seen_messages <= goal.messages
        assert goal.seen_revision <= goal.revision

    @invariant()
    def over_a_crossed_budget_only_the_wrap_up_opens(self) -> None:
        goal = self.goal
        if goal.kind == "goal" and goal.crossed and goal.state is State.READY:
            assert goal.opening == "wrap_up"
        if goal.wrapping_up:
            assert goal.crossed
            assert goal.state not in {State.READY, State.AUDITING, State.WAITING, State.BLOCKED}

    @invariant()
    def only_what_people_allowed_is_allowed(self) -> None:
        assert set(self.goal.grants) <= self.allowed

    @invariant()
    def nothing_unplanned_is_complete(self) -> None:
        assert not (self.goal.planning and self.goal.state is State.COMPLETE)

    @invariant()
    def a_turn_that_only_looks_asks_for_no_more(self) -> None:
        goal = self.goal
        if goal.decision is not None and goal.decision.kind == "approval":
            assert goal.kind == "goal"
            assert not goal.wrapping_up

    @invariant()
    def an_end_has_its_time(self) -> None:
        assert (self.goal.closed_at is not None) == (self.goal.state in FINAL)


TestGoalLife = GoalLife.TestCase
TestGoalLife.settings = settings(
    max_examples=80,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
