"""What a goal is at one moment: the row that the journal folds to."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from bot.goals.hands import GateLine, Grant
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.money import Budget, Ledger


class State(StrEnum):
    """Where a goal is in its life; the last two are final."""

    READY = "ready"
    WORKING = "working"
    AUDITING = "auditing"
    WAITING = "waiting"
    DECIDING = "deciding"
    PAUSED = "paused"
    BLOCKED = "blocked"
    OVER_BUDGET = "over_budget"
    COMPLETE = "complete"
    CANCELLED = "cancelled"


FINAL = frozenset({State.COMPLETE, State.CANCELLED})
ACTIVE = frozenset({State.READY, State.WORKING, State.AUDITING})

Opening = Literal[
    "objective", "continuation", "message", "edit", "wait", "answer", "resume", "wrap_up"
]
"""Why a turn is opened. Only `continuation` counts as one."""

WaitKind = Literal["time", "process", "probe", "message"]
HeldKind = Literal["cap", "slot"]
"""What the agent does not ask for: a day's cap is reached, or too many goals are live."""
DecisionKind = Literal["question", "approval", "plan", "sign_off", "review"]


@dataclass(frozen=True, slots=True)
class Wait:
    """What a parked goal waits for. `until` is its time or its back-stop, seconds since 1970."""

    id: str
    kind: WaitKind | HeldKind
    ref: str
    """Of a cap and a slot: whose, and the limit (nano-dollars or tokens; goals): `person:3`."""
    until: float
    reason: str = ""
    """Content hash of why, as the agent said it."""
    fired: bool = False
    nano_usd: int = 0
    """Of a cap: what must be free of it for the goal to go on; `tokens` where the price is unknown."""
    tokens: int = 0

    @property
    def is_held(self) -> bool:
        """The goal did not ask for it and no message ends it: a cap, or a slot."""
        return self.kind in ("cap", "slot")


@dataclass(frozen=True, slots=True)
class Decision:
    """A question that a person must answer. Its text and options are content, by hash."""

    id: str
    number: int
    kind: DecisionKind
    text: str
    expires_at: float
    tool_use: str = ""
    """The call it is about: its id for `ask_person`, the suspended call for an approval."""
    reminded: bool = False
    answered: bool = False
    accepted: bool = False
    """Of one that is answered: it was a yes."""
    edits: bool = False
    """Of a plan that was answered: what is to be changed was said."""
    call: str = ""
    """Of an approval: sha256 hex of the exact call, as `bot.tools.calls.call_hash` has it. Of a review: the
    commit that it is about."""
    grant: Grant | None = None
    """Of an approval: what may be allowed for the goal or the room; None: this call alone."""


@dataclass(frozen=True)
class Goal:
    """
    One goal. Texts are content hashes; times are seconds since 1970, UTC.

    Without slots: see `bot.goals.copying`.
    """

    id: str
    session: str
    number: int
    owner: str
    objective: str
    kind: Literal["goal", "ask"] = "goal"
    """An `ask` is one ordinary turn: read-only, not audited, not continued."""
    state: State = State.READY
    budget: Budget = DEFAULT_BUDGET
    ledger: Ledger = field(default_factory=Ledger)
    revision: int = 1
    seq: int = 0
    """Journal entries so far."""
    opened_at: float = 0.0
    closed_at: float | None = None
    due_at: float | None = None
    """When the goal next wants a worker; None: only a person or an event moves it."""
    # The turn.
    turn: int = 0
    opening: Opening = "objective"
    """Of the turn that runs, or, between turns, of the next one."""
    turn_open: bool = False
    """A turn has begun and not ended (it may be suspended by an approval)."""
    turn_started_at: float = 0.0
    touched: bool = False
    """This turn called something that reads or changes anything outside the conversation."""
    reply: str = ""
    """Content hash of the last turn's final reply."""
    note: str = ""
    """Content hash of the last audit's note."""
    finish_note: str = ""
    """Content hash of the closing words that this turn left for the person."""
    # People.
    messages: int = 0
    seen_messages: int = 0
    """How many of `messages` a model call has carried."""
    seen_revision: int = 0
    last_message_at: float = 0.0
    by: str = ""
    """Who last paused, stopped or cancelled it."""
    paused_at: float | None = None
    """While paused the clock of an open decision stands still."""
    reason: str = ""
    """Why it is where it is: a code such as `stall:same_reply`, for the texts."""
    # What parks it.
    wait: Wait | None = None
    decision: Decision | None = None
    aside: Wait | Decision | None = None
    """What the running turn had asked for when an approval suspended it: asked again after."""
    decisions: int = 0
    questions: tuple[str, ...] = ()
    """Content hashes of what was asked in this revision: nothing is asked twice."""
    parked_ref: str = ""
    parkings: int = 0
    # Streaks.
    continuations: int = 0
    allowance: int = 20
    progress_turn: int = 0
    """The last turn that a continuation was added for."""
    blocked_streak: int = 0
    audit_failures: int = 0
    compactions: int = 0
    gate_breaks: int = 0
    idle_turns: int = 0
    same_replies: int = 0
    """Continuations in a row that ended with `reply`."""
    # Ends.
    crossed: bool = False
    """The budget did not cover a call: after the audit comes one wrap-up, then over_budget."""
    wrapping_up: bool = False
    tasks_open: int = 0
    tasks_done: int = 0
    # Hands.
    profile: str = ""
    """What its tools may do, where a person said so; empty: as the room has it."""
    unattended: bool = False
    """No person began it: nobody is expected to answer."""
    planning: bool = False
    """Turns only look, until a person approves a plan."""
    plan: str = ""
    """Content hash of the approved plan."""
    grants: tuple[Grant, ...] = ()
    """What people allowed for this goal beyond its profile."""
    review: Decision | None = None
    """A review that was answered, and whose answer is to be carried out before the next turn."""
    gates: tuple[GateLine, ...] = ()
    gates_made: int = 0
    failing: tuple[str, ...] = ()
    """Content hashes of the commands of the gates that failed when they ran last."""
    restore: str = ""
    """The snapshot that its workspace has to be put back to before its next turn."""
    forks: str = ""
    """The goal that this one is a copy of, up to that one's journal entry `fork_seq`."""
    fork_seq: int = 0

    @property
    def is_final(self) -> bool:
        """True once nothing can change it any more."""
        return self.state in FINAL

    @property
    def has_unread(self) -> bool:
        """True while a person's message has been carried by no model call."""
        return self.messages > self.seen_messages
