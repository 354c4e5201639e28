"""
What one goal said and heard, folded from its journal: pure.

Rules: see `bot.agent.transcript`.
"""

from dataclasses import replace
from typing import Any, Final

from bot.agent import prompts, prompts_checks, prompts_rewind
from bot.agent.approved import closed
from bot.agent.pieces import Piece, Replied, Said
from bot.agent.rewinding import Cut
from bot.goals.events import (
    Audited,
    AuditFailed,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Compacted,
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    FileShared,
    GatesRan,
    GoalOpened,
    MessageReceived,
    ObjectiveEdited,
    Resumed,
    ReviewSettled,
    TasksPlanned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitAsked,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import FINAL, State
from bot.goals.hands import Grant
from bot.ports.journal import Line

_SPEAKING: Final = frozenset({"agent", "wrap_up"})
"""Call roles whose replies enter the transcript."""
_CHANGING: Final = frozenset({"workspace", "external"})
"""What tools do that may leave the workspace another one."""
_KEPT: Final = frozenset(
    {
        "agent_asks", "agent_waits", "compacted", "needs_approval", "parked_too_often",
        "plan_proposed", "stopped", "turn_done", "unread_edit", "unread_message",
    }
)  # fmt: skip
"""Rules of turns' ends that make a checkpoint."""


class Strand:
    """What one goal said and heard."""

    def __init__(self, goal: str) -> None:
        self.goal = goal
        self.pieces: list[Piece] = []
        self.row: dict[str, Any] = {}
        self.last: Replied | None = None
        """The last reply of the turn that runs or ran last."""
        self.turn_seq = 0
        """The entry that began that turn."""
        self.called_since = False
        """A call was started after `last`."""
        self.has_progress = False
        self.may_have_changed = False
        """The workspace, since the last turn that ended."""
        self.was_put_back = False
        """Its workspace was made what it had been at a point, or is to be, once at least."""
        self.wrap_up_calls = 0
        self.is_distilled = False
        """The newest objective's acceptance criteria are there."""
        self.carried_messages = 0
        self.carried_revision = 0
        self.granted: dict[Grant, str] = {}
        """The decision that allowed something for all of the goal."""
        self._call: CallStarted | None = None
        self._call_seq = 0
        self._aside_roles: dict[str, str] = {}
        self._held: list[tuple[int, int, Said]] = []
        self._notes: list[Said] = []
        self._note = ""
        self._failing = (0, "")
        self._fired: tuple[Any, str] = (None, "")
        self._resumed: tuple[str, str] = ("", "")
        self._asked = ""

    @property
    def is_resting(self) -> bool:
        """True while no turn of it is open."""
        state = self.row.get("state")
        return not self.row.get("turn_open") or state in FINAL

    @property
    def open_call(self) -> str:
        """The call whose reply would enter the transcript."""
        return self._call.call if self._call is not None else ""

    def feed(self, line: Line) -> None:
        """Take the goal's next line."""
        entry = line.entry
        before = {name: self.row.get(name) for name in ("wait", "decision", "reason", "state")}
        self.row.update(entry.changes)
        event, seq = entry.event, entry.seq
        match event:
            case GoalOpened() | TurnStarted() | TurnResumed() | TurnEnded():
                self._turn(event, seq, entry.rule)
            case CallStarted() | CallSettled() | CallReleased() | CallLost():
                self._call_event(event, seq, entry.rule)
            case ToolStarted() | ToolEnded():
                self._tool(event)
            case MessageReceived() | ObjectiveEdited() | DecisionAnswered() | Resumed():
                self._person(event, seq, entry.rule, before)
            case Audited(note=note):
                self._note = note
            case AuditFailed():
                self._note = ""
            case ReviewSettled(content=content):
                self.may_have_changed = True
                self._notes.append(Said(seq, prompts_checks.reviewed(), content))
            case GatesRan(failing=failing, report=report):
                self.may_have_changed = True
                self._failing = (len(failing), report)
            case WaitFired(why=why):
                self._fired = (before["wait"], why)
            case WaitAsked():
                self._asked = "wait"
            case DecisionAsked():
                self._decision_asked(event)
            case DecisionExpired():
                self._approval(event, before["decision"])
            case TasksPlanned(closed=closed):
                self.has_progress = self.has_progress or closed > 0
            case FileShared():
                self.has_progress = True
            case Compacted():
                self._compact(event, seq)
            case WorkspaceRestored(lacking=lacking):
                self.may_have_changed = self.was_put_back = True
                if lacking:
                    self.pieces.append(Said(seq, prompts_rewind.not_put_back(), lacking))
            case _:
                pass

    @property
    def all(self) -> list[Piece]:
        """Every piece, with those that the next call lets in."""
        return [*self.pieces, *self._notes, *(said for _, _, said in self._held)]

    def uncarried(self) -> list[str]:
        """Hashes of what people said that no call has carried yet."""
        fresh = []
        for piece in reversed(self.pieces):
            if piece.seq <= self._call_seq:
                break
            fresh.append(piece)
        held = (*self._notes, *(said for _, _, said in self._held))
        return [p.content for p in (*fresh, *held) if isinstance(p, Said) and p.is_persons]

    def goes_on(self, cut: Cut) -> None:
        """It was put back to what was fed so far; its row is the one that it had meanwhile."""
        self.row, self.was_put_back = dict(cut.row), True
        self._notes += cut.told

    def take(self) -> list[Piece]:
        """Everything not taken yet, held messages included; the strand forgets it."""
        self._flush(None, None, self.row.get("seq", 0))
        taken, self.pieces = self.pieces, []
        return taken

    def flush(self) -> None:
        """Let in what is held, as the call that is the goal's next entry does."""
        self._flush(None, None, self.row.get("seq", 0) + 1)

    def _turn(
        self, event: GoalOpened | TurnStarted | TurnResumed | TurnEnded, seq: int, rule: str
    ) -> None:
        self._call = None
        match event:
            case GoalOpened():
                label = prompts.objective(event.kind, event.owner, reopens=bool(event.reopens))
                label = prompts_rewind.copy_of() if event.forks else label
                self.pieces.append(Said(seq, label, event.objective, is_persons=True))
                self.carried_revision = 1
            case TurnStarted():
                self._open_turn(seq)
            case TurnEnded():
                self.may_have_changed = self.may_have_changed and rule not in _KEPT
                self._note, self._failing = "", (0, "")
                if self._asked and rule.startswith("unread_"):
                    self._notes.append(Said(seq, prompts.withdrawn(self._asked)))
                self._asked = ""
            case TurnResumed():
                pass

    def _open_turn(self, seq: int) -> None:
        self.last, self.called_since, self.turn_seq = None, False, seq
        self.has_progress = False
        self.wrap_up_calls = 0
        self.pieces += [replace(note, seq=seq) for note in self._notes]
        self._notes = []
        opening = self.row.get("opening")
        owner = self.row.get("owner", "")
        if opening == "continuation":
            label = prompts.continuation(bool(self._note))
            self.pieces.append(Said(seq, label, self._note))
            failing, report = self._failing
            if failing:
                self.pieces.append(Said(seq, prompts_checks.failing(failing), report))
        elif opening == "wait":
            self.pieces.append(Said(seq, prompts.woken(*self._fired)))
        elif opening == "resume":
            by, reason = self._resumed
            self.pieces.append(Said(seq, prompts.resumed(by, owner, reason)))
        elif opening == "wrap_up":
            self.pieces.append(Said(seq, prompts.WRAP_UP))
        if self.row.get("planning") and opening != "wrap_up":
            self.pieces.append(Said(seq, prompts.PLANNING))

    def _call_event(
        self, event: CallStarted | CallSettled | CallReleased | CallLost, seq: int, rule: str
    ) -> None:
        if isinstance(event, CallStarted):
            if rule != "call_started":
                return
            self._aside_roles[event.call] = event.role
            if event.role in _SPEAKING:
                self._call, self._call_seq = event, seq
                self.called_since = True
                self.wrap_up_calls += event.role == "wrap_up"
                self._flush(event.messages, event.revision, seq)
            return
        role = self._aside_roles.pop(event.call, "")
        is_open = self._call is not None and self._call.call == event.call
        if is_open:
            self._call = None
        if not isinstance(event, CallSettled) or not event.content:
            return
        if is_open:
            self._reply(event, seq)
        elif role == "distil":
            self.pieces.append(Said(seq, prompts.criteria(), event.content, is_forced=True))
            self.is_distilled = True

    def _reply(self, event: CallSettled, seq: int) -> None:
        self.last = Replied(
            seq,
            self._call_seq,
            event.content,
            event.stop_reason,
            self.row.get("objective", ""),
            event.usage.tokens,
        )
        self.called_since = False
        self.pieces.append(self.last)

    def _tool(self, event: ToolStarted | ToolEnded) -> None:
        if isinstance(event, ToolEnded) and event.changed:
            self.has_progress = self.may_have_changed = True
        elif isinstance(event, ToolStarted) and event.effects in _CHANGING:
            self.may_have_changed = True
        if self.last is None:
            return
        if isinstance(event, ToolStarted):
            self.last.started[event.tool_use] = event
        else:
            self.last.ended.setdefault(event.tool_use, event)

    def _person(
        self,
        event: MessageReceived | ObjectiveEdited | DecisionAnswered | Resumed,
        seq: int,
        rule: str,
        before: dict[str, Any],
    ) -> None:
        owner = self.row.get("owner", "")
        if rule == "wait_withdrawn":
            self._notes.append(Said(seq, prompts.still_pending(before["wait"])))
        match event:
            case MessageReceived():
                said = Said(seq, prompts.person(event.by, owner), event.content, is_persons=True)
                self._held.append((self.row.get("messages", 0), 0, said))
            case ObjectiveEdited():
                self.is_distilled = False
                said = Said(seq, prompts.edited(event.by, owner), event.objective, is_persons=True)
                self._held.append((0, self.row.get("revision", 0), said))
            case DecisionAnswered():
                self._answered(event, seq, before["decision"])
            case Resumed():
                was_stopped = before["state"] in (State.BLOCKED, State.OVER_BUDGET)
                self._resumed = (event.by, str(before["reason"]) if was_stopped else "")

    def _decision_asked(self, event: DecisionAsked) -> None:
        if event.kind != "approval":
            self._asked = "question"
        elif self.last is not None:
            self.last.asked.add(event.tool_use)

    def _approval(self, event: DecisionAnswered | DecisionExpired, decision: Any) -> None:
        """A call that was put before people has its answer."""
        found = closed(decision, event)
        if found is None:
            return
        if self.last is not None:
            self.last.approvals[found.tool_use] = found.approval
        if found.grant is not None:
            self.granted[found.grant] = found.approval.decision

    def _answered(self, event: DecisionAnswered, seq: int, decision: Any) -> None:
        if decision is None or decision.kind == "approval":
            self._approval(event, decision)
            return
        owner = self.row.get("owner", "")
        if decision.kind == "plan":
            planning = bool(self.row.get("planning"))
            label = prompts.plan_answer(
                event.by, owner, accepted=event.accepted, edits=event.edits, planning=planning
            )
            said = event.answer if event.edits else ""
            self._notes.append(Said(seq, label, said, is_persons=bool(said)))
            return
        label = prompts.answer(event.by, owner, decision.number, accepted=event.accepted)
        self._notes.append(Said(seq, label, event.answer, is_persons=True))

    def _flush(self, messages: int | None, revision: int | None, seq: int) -> None:
        """Let in the messages and edits that a call carries; with None, all of them."""
        kept = []
        for number, edit, said in self._held:
            most = revision if edit else messages
            if most is not None and (edit or number) > most:
                kept.append((number, edit, said))
                continue
            self.pieces.append(replace(said, seq=seq))
            self.carried_messages = max(self.carried_messages, number)
            self.carried_revision = max(self.carried_revision, edit)
        self._held = kept

    def _compact(self, event: Compacted, seq: int) -> None:
        kept = [piece for piece in self.pieces if piece.seq > event.upto]
        objective = self.row.get("objective", "")
        self.pieces = [
            Said(event.upto, prompts.put_back(), objective, is_persons=True),
            *self._put_back_plan(event.upto),
            Said(event.upto, prompts.summary(), event.content),
            *kept,
        ]

    def _put_back_plan(self, seq: int) -> list[Piece]:
        plan = self.row.get("plan", "")
        return [Said(seq, prompts.put_back_plan(), plan)] if plan else []
