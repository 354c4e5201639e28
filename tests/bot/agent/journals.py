"""Journals of one session as they may come to be: the machine's own moves, in any order."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from adapters.rehearsal.signing import sign
from bot.agent import compaction
from bot.agent.request import Parsed, blocks_of, uses_of
from bot.agent.results import kept
from bot.agent.transcript import Transcript
from bot.errors import IllegalMove, Refused
from bot.goals import events as e
from bot.goals import machine
from bot.goals.goal import Goal, Wait
from bot.goals.instructions import Checkpoint
from bot.goals.limits import ASK_BUDGET, DEFAULT_BUDGET
from bot.goals.money import Usage
from bot.ports.journal import Line, content_hash

Block = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
SESSION = "s1"


@dataclass
class Session:
    """A session in the making: its lines, its texts, its goals."""

    draw: Draw
    lines: list[Line] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    goals: dict[str, Goal] = field(default_factory=dict)
    folds: dict[str, Transcript] = field(default_factory=dict)
    points: list[tuple[int, Goal]] = field(default_factory=list)
    """Checkpoints: their entries, and the goals as they were there."""
    count: int = 0

    def id(self, prefix: str) -> str:
        """A new id."""
        self.count += 1
        return f"{prefix}{self.count}"

    def text(self, text: str) -> str:
        """Keep a text; its hash."""
        self.contents[content_hash(text)] = text
        return content_hash(text)

    def open(self, kind: str) -> None:
        """Open a goal, or an ordinary turn."""
        goal = self.id("g")
        event = e.GoalOpened(
            goal,
            SESSION,
            0 if kind == "ask" else 1,
            "ada",
            self.text(f"objective {goal}"),
            ASK_BUDGET if kind == "ask" else DEFAULT_BUDGET,
            kind="ask" if kind == "ask" else "goal",
        )
        moved = machine.open_goal(event)
        self.folds[goal] = Transcript(goal)
        for line in self.lines:
            self.folds[goal].feed(line)
        self._keep(None, event, moved)

    def apply(self, goal: str, event: Any) -> bool:
        """Write an event, if the goal takes it."""
        before = self.goals[goal]
        try:
            moved = machine.decide(before, event)
        except (IllegalMove, Refused):
            return False
        self._keep(before, event, moved)
        return True

    def _keep(self, before: Goal | None, event: Any, moved: Any) -> None:
        goal = moved.goal
        self.goals[goal.id] = goal
        line = Line(goal.id, len(self.lines) + 1, machine.entry(before, event, moved))
        self.lines.append(line)
        if any(isinstance(one, Checkpoint) for one in moved.instructions):
            self.points.append((goal.seq, goal))
        for fold in self.folds.values():
            fold.feed(line)


@st.composite
def sessions(draw: Draw, most: int = 60) -> Session:
    """A session after some moves of its goals, with texts erased at random."""
    session = Session(draw)
    session.open("goal")
    for _ in range(draw(st.integers(1, 4)) * most // 4):
        _move(session)
    for hash in draw(st.lists(st.sampled_from(sorted(session.contents)), max_size=3)):
        session.contents.pop(hash, None)
    return session


def _move(session: Session) -> None:
    names = sorted(_MOVES)
    first, *others = session.goals
    goal = session.draw(st.sampled_from([first] * 4 + others))
    _MOVES[session.draw(st.sampled_from([*names, *_USUAL * 3]))](session, goal)


def _turn(session: Session, goal: str) -> None:
    started = e.TurnStarted()
    if not session.apply(goal, started):
        session.apply(goal, e.TurnResumed())


def _call(session: Session, goal: str) -> None:
    strand = session.folds[goal].own
    row, call = session.goals[goal], session.id("c")
    carries = session.draw(st.booleans())
    started = e.CallStarted(
        call,
        "wrap_up" if row.wrapping_up else "agent",
        "m",
        100,
        100,
        messages=row.messages if carries else strand.carried_messages,
        revision=row.revision if carries else strand.carried_revision,
    )
    if not session.apply(goal, started):
        return
    ends = st.sampled_from(["settled"] * 6 + ["lost", "released", "killed"])
    match session.draw(ends):
        case "settled":
            _settle(session, goal, call)
        case "lost":
            session.apply(goal, e.CallLost(call))
        case "released":
            session.apply(goal, e.CallReleased(call))
        case _:
            pass


def _settle(session: Session, goal: str, call: str) -> None:
    blocks, stop_reason = session.draw(replies(session))
    content = session.text(json.dumps(blocks)) if blocks else ""
    session.apply(
        goal,
        e.CallSettled(
            call, Usage(input=10, output=5), 100, content=content, stop_reason=stop_reason
        ),
    )


def _late_settle(session: Session, goal: str) -> None:
    lost = session.goals[goal].ledger.lost
    if lost:
        _settle(session, goal, lost[-1].call)


def _tools(session: Session, goal: str) -> None:
    last = session.folds[goal].own.last
    if last is None:
        return
    for use in uses_of(blocks_of(last, session.contents, Parsed())):
        what = session.draw(st.sampled_from(["nothing", "start", "end", "both", "both", "both"]))
        effects = session.draw(st.sampled_from(["none", "workspace", "conversation"]))
        if what in ("start", "both"):
            session.apply(goal, e.ToolStarted(use["id"], use["name"], effects))
        if what in ("end", "both"):
            _end_tool(session, goal, use["id"])


def _end_tool(session: Session, goal: str, use: str) -> None:
    outcome = session.draw(st.sampled_from(["ok", "error", "interrupted", "unknown"]))
    text = session.draw(st.sampled_from(["", " ", "found it", "a\ud800b", "nul\0"]))
    content = session.text(kept(outcome == "ok", text))
    session.apply(goal, e.ToolEnded(use, outcome, content, touched=True))


def _kill(session: Session, goal: str) -> None:
    session.apply(goal, e.TurnResumed())


def _end(session: Session, goal: str) -> None:
    how = session.draw(st.sampled_from(["done", "done", "done", "stopped", "budget", "failed"]))
    compacted = session.draw(st.booleans())
    reply = session.text(session.id("reply "))
    session.apply(goal, e.TurnEnded(how, reply=reply, failed="refusal", compacted=compacted))


def _message(session: Session, goal: str) -> None:
    message = session.id("m")
    said = session.draw(st.sampled_from([f"<{message}>", f"<{message}> lone \ud800", ""]))
    by = session.draw(st.sampled_from(["ada", "bob"]))
    session.apply(goal, e.MessageReceived(message, by, session.text(said)))


def _edit(session: Session, goal: str) -> None:
    session.apply(goal, e.ObjectiveEdited("ada", session.text(session.id("objective "))))


def _person(session: Session, goal: str) -> None:
    kinds = [e.Paused, e.Stopped, *[e.Resumed] * 8, e.Cancelled]
    session.apply(goal, session.draw(st.sampled_from(kinds))("ada"))


def _ask(session: Session, goal: str) -> None:
    if session.draw(st.booleans()):
        wait = Wait(session.id("w"), "time", "the bus", 1e9)
        session.apply(goal, e.WaitAsked(wait))
    else:
        question = session.text(session.id("question "))
        session.apply(goal, e.DecisionAsked(session.id("d"), "question", question, "toolu"))


def _answer(session: Session, goal: str) -> None:
    row = session.goals[goal]
    if row.decision is not None:
        answered = e.DecisionAnswered(row.decision.id, "bob", session.text("yes"))
        session.apply(goal, answered)
    if row.wait is not None:
        session.apply(goal, e.WaitFired(row.wait.id, "it came"))


def _audit(session: Session, goal: str) -> None:
    row = session.goals[goal]
    verdict = session.draw(st.sampled_from(["continue", "continue", "wait", "needs_person"]))
    audited = e.Audited(
        row.revision,
        row.turn,
        row.messages,
        verdict,
        note=session.text(session.id("note ")),
        wait=Wait(session.id("w"), "time", "x", 1e9) if verdict == "wait" else None,
        ref_is_known=True,
        person="question" if verdict == "needs_person" else "",
        decision=session.id("d"),
        text=session.text(session.id("may I ")),
    )
    session.apply(goal, audited)


def _compact(session: Session, goal: str) -> None:
    upto = compaction.cut(session.folds[goal].own.pieces)
    if upto is not None:
        session.apply(goal, e.Compacted(session.text(session.id("summary ")), upto))


def _distil(session: Session, goal: str) -> None:
    call = session.id("c")
    if session.apply(goal, e.CallStarted(call, "distil", "m", 10, 10)):
        block = {
            "type": "tool_use",
            "id": session.id("t"),
            "name": "distil",
            "input": {"text": "x"},
        }
        settled = e.CallSettled(call, Usage(input=1), 1, content=session.text(json.dumps([block])))
        session.apply(goal, settled)


def _open(session: Session, goal: str) -> None:
    if len(session.goals) < 4:
        session.open(session.draw(st.sampled_from(["ask", "ask", "goal"])))


def _rewind(session: Session, goal: str) -> None:
    points = [point for point in session.points if point[1].id == goal]
    if points:
        seq, point = session.draw(st.sampled_from(points))
        session.apply(goal, e.Rewound("bob", seq, point, "empty"))
        session.apply(goal, e.Resumed("ada"))


_MOVES: dict[str, Callable[[Session, str], None]] = {
    "turn": _turn,
    "call": _call,
    "late": _late_settle,
    "tools": _tools,
    "kill": _kill,
    "end": _end,
    "message": _message,
    "edit": _edit,
    "person": _person,
    "ask": _ask,
    "answer": _answer,
    "audit": _audit,
    "compact": _compact,
    "distil": _distil,
    "open": _open,
    "rewind": _rewind,
}
_USUAL = ("turn", "call", "tools", "call", "tools", "call", "end", "audit", "turn")


@st.composite
def replies(draw: Draw, session: Session) -> tuple[list[Block], str]:
    """The blocks of a reply of any kind, and its stop reason."""
    shapes = ["end", "end", "tools", "tools", "tools", "cut", "paused", "compacted", "empty"]
    match draw(st.sampled_from(shapes)):
        case "tools":
            uses = [_use(session) for _ in range(draw(st.integers(1, 3)))]
            return [*_opening(draw), *uses], "tool_use"
        case "cut":
            cut = {**_use(session), "input": {}, "_partial": True, "_partial_json": "{"}
            whole = [_use(session)] if draw(st.booleans()) else []
            return [*_opening(draw), *whole, cut], "max_tokens"
        case "paused":
            searched = {
                "type": "server_tool_use",
                "id": session.id("srv"),
                "name": "web_search",
                "input": {},
            }
            return [*_opening(draw), searched], "pause_turn"
        case "compacted":
            compacted = {"type": "compaction", "content": "What happened."}
            if draw(st.booleans()):
                return [compacted], "compaction"
            return [compacted, {"type": "text", "text": "Going on."}], "end_turn"
        case "empty":
            return draw(st.sampled_from([[], [{"type": "text", "text": " "}]])), "end_turn"
        case _:
            return [*_opening(draw), {"type": "text", "text": "Done."}], "end_turn"


def _opening(draw: Draw) -> list[Block]:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": sign("thinking", "Hm.")}
    said = {"type": "text", "text": "Let me see."}
    empty = {"type": "text", "text": ""}
    return draw(st.sampled_from([[], [thought], [said], [thought, said], [empty]]))


def _use(session: Session) -> Block:
    return {"type": "tool_use", "id": session.id("toolu_"), "name": "read", "input": {"path": "a"}}
