"""A goal's life for tests: takes events, keeps the journal, and knows the way into each state."""

from dataclasses import replace
from typing import Any

from bot.goals.events import (
    Audited,
    AuditFailed,
    CallSettled,
    CallStarted,
    Cancelled,
    CapReached,
    DecisionAnswered,
    DecisionAsked,
    Event,
    GoalOpened,
    MessageReceived,
    Paused,
    Resumed,
    Rewound,
    ToolEnded,
    TurnEnded,
    TurnStarted,
    WaitAsked,
)
from bot.goals.goal import DecisionKind, Goal, State, Wait, WaitKind
from bot.goals.hands import Grant, Scope
from bot.goals.instructions import Checkpoint, Instruction, Post
from bot.goals.limits import DEFAULT_BUDGET, LIMITS, Limits
from bot.goals.machine import Entry, decide, entry, open_goal
from bot.goals.money import Budget, Usage

START = 1_000_000.0
HOUR = 3600.0


class Life:
    """One goal and everything that happened to it. The clock moves one second an event."""

    def __init__(
        self,
        *,
        budget: Budget = DEFAULT_BUDGET,
        kind: Any = "goal",
        limits: Limits = LIMITS,
        queued: str = "",
        **opens: Any,
    ) -> None:
        self.limits = limits
        self.at = START
        opened = GoalOpened(
            "g", "s", 1, "ann", "objective", budget, kind, queued=queued, at=self.at, **opens
        )
        moved = open_goal(opened, limits)
        self.goal: Goal = moved.goal
        self.journal: list[Entry] = [entry(None, opened, moved)]
        self.asked: list[Instruction] = list(moved.instructions)
        self.last: tuple[Instruction, ...] = moved.instructions
        self.points: list[Goal] = []

    @property
    def rule(self) -> str:
        """The rule that fired last."""
        return self.journal[-1].rule

    def take(self, *events: Event, after_s: float = 1.0) -> "Life":
        """Let those events happen, each `after_s` after the one before."""
        for event in events:
            at = self.at + after_s
            stamped: Event = replace(event, at=at)
            moved = decide(self.goal, stamped, self.limits)
            self.journal.append(entry(self.goal, stamped, moved))
            self.goal, self.last, self.at = moved.goal, moved.instructions, at
            self.asked.extend(moved.instructions)
            if any(isinstance(one, Checkpoint) for one in moved.instructions):
                self.points.append(moved.goal)
        return self

    def posts(self, kind: str) -> list[Post]:
        """Every post of that kind so far."""
        return [post for post in self.asked if isinstance(post, Post) and post.kind == kind]

    def call(self, call: str = "", *, tokens: int = 100) -> "Life":
        """One agent call that carries every message and the objective as it is now."""
        name = call or f"c{self.goal.seq}"
        return self.take(self.call_event(name, tokens=tokens), settled(name))

    def call_event(self, name: str, *, tokens: int = 100, role: Any = "agent") -> CallStarted:
        """The start of a call that carries all there is."""
        return CallStarted(
            name,
            role,
            "m",
            tokens,
            tokens,
            messages=self.goal.messages,
            revision=self.goal.revision,
        )

    def turn(self, reply: str = "", *, touched: bool = True, **ended: Any) -> "Life":
        """A whole turn of one call, up to its audit."""
        self.take(TurnStarted()).call()
        if touched:
            self.take(ToolEnded("toolu_1", "ok", "result", touched=True))
        return self.take(TurnEnded("done", reply or f"reply {self.goal.turn}", **ended))

    def verdict(self, verdict: Any, **fields: Any) -> "Life":
        """An audit of the goal as it is now."""
        return self.take(self.verdict_event(verdict, **fields))

    def verdict_event(self, verdict: Any, **fields: Any) -> Audited:
        """A verdict on the goal as it is now."""
        goal = self.goal
        return Audited(goal.revision, goal.turn, goal.messages, verdict, **fields)

    def back_event(self, point: Goal | None = None, *, tree: str = "tree") -> Rewound:
        """Ben puts it back to `point`, a checkpoint; None: its last, or else where it is."""
        to = point or (self.points[-1] if self.points else self.goal)
        to = replace(to, closed_at=None, state=State.READY) if to.is_final else to
        return Rewound("ben", to.seq, to, tree)

    def audit_fails(self, failure: str = "timeout") -> "Life":
        """An audit of the goal as it is now that gives no verdict."""
        goal = self.goal
        return self.take(AuditFailed(goal.revision, goal.turn, goal.messages, failure))


def settled(call: str, *, tokens: int = 10, nano_usd: int | None = 10) -> CallSettled:
    """The reply of a call."""
    return CallSettled(call, Usage(input=tokens), nano_usd)


def a_wait(
    name: str = "w", *, kind: WaitKind = "probe", ref: str = "ci", in_s: float = HOUR
) -> Wait:
    """A wait that lasts until `in_s` after the start."""
    return Wait(name, kind, ref, START + in_s)


def in_ready() -> Life:
    """Opened, never begun."""
    return Life()


def in_working() -> Life:
    """In its first turn, one call done."""
    return Life().take(TurnStarted()).call()


def in_auditing() -> Life:
    """Its first turn ended by itself."""
    return Life().turn()


def in_waiting() -> Life:
    """Parked on a probe."""
    return in_working().take(WaitAsked(a_wait()), TurnEnded("done", "reply 1"))


def a_cap(**fields: Any) -> CapReached:
    """Ann's cap of the day is reached; it holds for an hour."""
    return CapReached("person", 1_000, START + HOUR, nano_usd=100, **fields)


def in_capped() -> Life:
    """Its turn is suspended by a cap."""
    return in_working().take(a_cap())


def in_capped_audit() -> Life:
    """Its audit is suspended by a cap."""
    return in_auditing().take(a_cap())


def in_queued() -> Life:
    """Opened where too many goals are live."""
    return Life(queued="person:3")


def in_paused_capped() -> Life:
    """Paused while a cap held it."""
    return in_capped().take(Paused("ann"))


def in_deciding(kind: DecisionKind = "question") -> Life:
    """Parked on a person."""
    asked = DecisionAsked("d", kind, "text of d", "toolu_1")
    if kind == "approval":
        return in_working().take(asked)
    return in_working().take(asked, TurnEnded("done", "reply 1"))


def in_restoring() -> Life:
    """In the first turn after a rewind; its files are still those of before."""
    life = in_auditing()
    return life.take(life.back_event(), Resumed("ann"), TurnStarted())


def in_planned() -> Life:
    """Parked on a plan that somebody has to approve."""
    return in_deciding("plan")


def in_approval() -> Life:
    """Its turn is suspended by an approval."""
    return in_deciding("approval")


def in_paused() -> Life:
    """Paused before anything began."""
    return Life().take(Paused("ann"))


def in_paused_waiting() -> Life:
    """Paused while it waited."""
    return in_waiting().take(Paused("ann"))


def in_paused_deciding() -> Life:
    """Paused while a question was open."""
    return in_deciding().take(Paused("ann"))


def in_blocked() -> Life:
    """Its turn's request was refused."""
    return Life().take(TurnStarted()).call().take(TurnEnded("failed", failed="refusal"))


def in_over_budget() -> Life:
    """The budget was crossed, and wrapped up."""
    life = Life(budget=Budget(None, 20_000, None)).take(TurnStarted()).call()
    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget"))
    life.verdict("continue").take(TurnStarted(), TurnEnded("done", "done and left"))
    return life


def in_complete() -> Life:
    """The audit said so."""
    return in_auditing().verdict("complete")


def in_cancelled() -> Life:
    """A person ended it."""
    return Life().take(Cancelled("ann"))


def an_answer(decision: str = "d", *, accepted: bool = True) -> DecisionAnswered:
    """Ann's answer."""
    return DecisionAnswered(decision, "ann", "answer", accepted)


def a_message(name: str = "m1") -> MessageReceived:
    """Ann says something."""
    return MessageReceived(name, "ann", f"text of {name}")


PIP = Grant("command", "hash of pip install")
"""What an approval offers beyond its one call."""


def asked(grant: Grant | None = PIP, id: str = "d") -> DecisionAsked:
    """The agent wants to run a call that is beyond the profile."""
    return DecisionAsked(id, "approval", f"text of {id}", "toolu_1", call="call", grant=grant)


def allowed(scope: Scope = "once", id: str = "d", *, accepted: bool = True) -> DecisionAnswered:
    """Ann's answer to it."""
    return DecisionAnswered(id, "ann", "answer", accepted, scope=scope)


def planning(**more: Any) -> Life:
    """Its first turn, which only looks, has ended."""
    return Life(plan_first=True, **more).take(TurnStarted()).call().take(TurnEnded("done", "plan"))
