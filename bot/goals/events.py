"""
Everything that can happen to a goal: a closed union, past tense.

`at` is when, in seconds since 1970 UTC: the store stamps it at the commit. Texts are content
hashes, people are person ids.
"""

# ruff: noqa: PLC0414 - events of other modules are part of this union, and imported from here.

from dataclasses import dataclass
from typing import Literal, get_args

from bot.goals.ask_events import DecisionAnswered as DecisionAnswered
from bot.goals.ask_events import DecisionAsked as DecisionAsked
from bot.goals.ask_events import DecisionExpired as DecisionExpired
from bot.goals.ask_events import DecisionReminded as DecisionReminded
from bot.goals.ask_events import WaitAsked as WaitAsked
from bot.goals.ask_events import WaitChecked as WaitChecked
from bot.goals.ask_events import WaitFired as WaitFired
from bot.goals.call_events import CallLost as CallLost
from bot.goals.call_events import CallReleased as CallReleased
from bot.goals.call_events import CallRole as CallRole
from bot.goals.call_events import CallSettled as CallSettled
from bot.goals.call_events import CallStarted as CallStarted
from bot.goals.call_events import CapReached as CapReached
from bot.goals.goal import Wait
from bot.goals.hand_events import GatesSet as GatesSet
from bot.goals.hand_events import ProfileSet as ProfileSet
from bot.goals.hand_events import ReviewSettled as ReviewSettled
from bot.goals.hand_events import Rewound as Rewound
from bot.goals.hand_events import WorkspaceRestored as WorkspaceRestored
from bot.goals.hands import GateLine
from bot.goals.money import Budget

Effects = Literal["none", "workspace", "external", "conversation"]
ToolOutcome = Literal["ok", "error", "interrupted", "unknown"]
Ended = Literal["done", "stopped", "failed", "budget", "died", "needs_approval"]
VerdictKind = Literal["continue", "complete", "blocked", "wait", "needs_person"]


@dataclass(frozen=True, slots=True)
class GoalOpened:
    """The first entry of every journal."""

    goal: str
    session: str
    number: int
    owner: str
    objective: str
    budget: Budget
    kind: Literal["goal", "ask"] = "goal"
    reopens: str = ""
    """The goal that this one goes on with, when its owner said it was not done."""
    queued: str = ""
    """Which limit of live goals is reached, such as `person:3`: set by the store."""
    profile: str = ""
    plan_first: bool = False
    unattended: bool = False
    gates: tuple[GateLine, ...] = ()
    forks: str = ""
    """The goal whose copy it is, up to that one's journal entry `fork_seq`; `restore`: its files."""
    fork_seq: int = 0
    restore: str = ""
    plan: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A worker began the turn that the goal was ready for."""

    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnResumed:
    """A worker took up a turn that another one left in the middle."""

    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call is about to run."""

    tool_use: str
    name: str
    effects: Effects
    at: float = 0.0
    allowed: str = ""
    """Why it may run: `profile`, `rule`, `once:DECISION`, `goal:DECISION`, `always:PERMISSION`."""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call has its result. `touched`: it read or changed anything outside."""

    tool_use: str
    outcome: ToolOutcome
    content: str
    touched: bool = False
    changed: bool = False
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TasksPlanned:
    """The task list changed; `closed` of them were newly closed with evidence."""

    content: str
    open: int
    done: int
    closed: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class NoteLeft:
    """The agent left its finishing note."""

    content: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class FileShared:
    """The agent gives a file (its SHA-256; its name is in the unit) to the people of the thread."""

    file: str
    caption: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Compacted:
    """The transcript up to and with journal entry `upto` is replaced by a summary."""

    content: str
    upto: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A person said something to the goal."""

    message: str
    by: str
    content: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over.

    `failed` names the class of failure. `compacted`: its last content is a compaction without a
    reply. `progress`: a task closed with evidence, a gate mended, a new artifact, a changed
    workspace. `call`: content hash of the call that nobody is expected to approve.
    """

    how: Ended
    reply: str = ""
    failed: str = ""
    compacted: bool = False
    progress: bool = False
    active_s: float = 0.0
    at: float = 0.0
    call: str = ""
    unkept: str = ""
    """Why its checkpoint has no files: `quota`, `sandbox`, `disk`; empty: it has them."""


@dataclass(frozen=True, slots=True)
class GatesRan:
    """The goal's checks ran after a turn; `broken` could not run at all.

    A check is named by the content hash of its command. `report`: of what they said, cut.
    """

    failing: tuple[str, ...]
    broken: tuple[str, ...]
    at: float = 0.0
    report: str = ""


@dataclass(frozen=True, slots=True)
class Audited:
    """A verdict, fenced by what the auditor saw: (revision, turn, messages)."""

    revision: int
    turn: int
    messages: int
    verdict: VerdictKind
    note: str = ""
    """Content hash: at most 20 words, in the objective's language."""
    evidence: str = ""
    """Content hash of what the verdict rests on."""
    wait: Wait | None = None
    ref_is_known: bool = False
    """The goal's records hold what the wait refers to."""
    person: Literal["", "question", "sign_off"] = ""
    decision: str = ""
    """Id for the decision that `needs_person` opens."""
    text: str = ""
    """Content hash of the question."""
    gates_pass: bool = True
    """False rules out `complete`."""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class AuditFailed:
    """No verdict: `failure` is `timeout`, `refusal`, `unreadable`, `auth`, ..."""

    revision: int
    turn: int
    messages: int
    failure: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Paused:
    """It is to rest after the running step. `note`: hash of why nothing can be said where it lives."""

    by: str
    at: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person asked it to stop now."""

    by: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """A person asked it to go on."""

    by: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A person ended it for good."""

    by: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Undone:
    """Whoever began it took that back before its first turn had ended."""

    by: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ObjectiveEdited:
    """A person changed the objective."""

    by: str
    objective: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """A person changed the budget. The revision stays."""

    by: str
    budget: Budget
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """Somebody took it over: it is theirs, and charged to them, from now on."""

    by: str
    owner: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class OwnerLost:
    """Its owner may have no goals there any more: `removed` from the list, or `gone`."""

    why: Literal["removed", "gone"]
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class RoomWasLost:
    """The bot is no longer in its room: it left, was sent away, or the room is gone, or all of them are."""

    how: Literal["left", "kicked", "banned", "gone", "uninstalled"]
    by: str = ""
    """Who did it; empty where nobody says. `note`: content hash of why, as they said it."""
    note: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class HoldEnded:
    """What stopped it was released: for `held_s` seconds nobody had to answer its open decision."""

    held_s: float
    at: float = 0.0


Event = (
    GoalOpened
    | TurnStarted
    | TurnResumed
    | CallStarted
    | CapReached
    | CallSettled
    | CallReleased
    | CallLost
    | ToolStarted
    | ToolEnded
    | WaitAsked
    | DecisionAsked
    | TasksPlanned
    | NoteLeft
    | FileShared
    | Compacted
    | MessageReceived
    | TurnEnded
    | GatesRan
    | Audited
    | AuditFailed
    | WaitFired
    | WaitChecked
    | DecisionAnswered
    | DecisionExpired
    | DecisionReminded
    | Paused
    | Stopped
    | Resumed
    | Cancelled
    | Undone
    | ObjectiveEdited
    | BudgetSet
    | OwnerChanged
    | OwnerLost
    | RoomWasLost
    | HoldEnded
    | ProfileSet
    | GatesSet
    | Rewound
    | ReviewSettled
    | WorkspaceRestored
)

EVENTS: tuple[type[Event], ...] = get_args(Event)

BOOKINGS = (CallSettled, CallReleased, CallLost)
"""What is written even by a worker whose lease is gone: money is never lost from sight."""

WORKERS = (
    TurnStarted, TurnResumed, CallStarted, CapReached, ToolStarted, ToolEnded, WaitAsked, NoteLeft,
    DecisionAsked, TasksPlanned, FileShared, Compacted, TurnEnded, GatesRan, Audited, AuditFailed,
    WorkspaceRestored, ReviewSettled,
)  # fmt: skip
"""Written under a lease; the rest is written by people, timers and the store."""
