"""
An in-memory store: every port of the real one, checked by the same contract suites.

Rule 1: a unit is computed whole before anything of it is kept, so one that raises leaves no trace.
Rule 2: nothing here awaits in the middle of a change: the event loop is its transaction.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.errors import IllegalMove, Refused
from bot.goals import machine
from bot.goals.events import (
    BOOKINGS,
    CallSettled,
    Event,
    FileShared,
    GoalOpened,
    OwnerChanged,
    ToolEnded,
    ToolStarted,
)
from bot.goals.goal import ACTIVE, Goal
from bot.goals.instructions import (
    CloseDecision,
    Instruction,
    OpenDecision,
    Post,
    RemovePosts,
    ShowStatus,
)
from bot.goals.limits import LIMITS, Limits
from bot.ports.chat import (
    EDIT,
    REACTION,
    Arrival,
    Attachment,
    Incoming,
    Network,
    Place,
    Removed,
    Speaker,
    edit_of,
)
from bot.ports.clock import Clock
from bot.ports.doors import Heeded
from bot.ports.incidents import Alert
from bot.ports.journal import Applied, Content, EndpointRow, Lease, Line, Reply, Task, Unit
from bot.ports.mail import NEW, Due, OutState, Posted, Received, Thread
from bot.ports.people import NOTHING, Answer, Note, Subject
from bot.ports.positions import Position, Sealed
from bot.ports.records import DecisionRow, GoalRow, Parked, Spent, Trace
from tests.doubles import store_folds as folds
from tests.doubles.files import MemoryAttachments
from tests.doubles.guard import Guard, MemoryHolds, MemoryIncidents
from tests.doubles.people import MemoryDoors, MemoryPeople
from tests.doubles.store_moves import move_room

LEASE_S = 30.0
CLAIM_S = 60.0
STATUS_AFTER_S = 5.0
STATUS_PAUSE_S = 3.0
FAILINGS = 3


@dataclass(slots=True)
class _Out:
    due: Due
    sequence: int
    not_before: float
    state: OutState = "pending"
    claimed_at: float = 0.0
    looked_up: bool = False

    @property
    def is_anew(self) -> bool:
        """Its room was replaced while it was on its way."""
        return self.state == "superseded" or (self.state == "pending" and self.claimed_at > 0)


@dataclass(slots=True)
class _In:
    received: Received
    state: str = "waiting"
    why: str = ""


@dataclass(slots=True)
class _Held:
    epoch: int = 0
    worker: str = ""
    until: float = 0.0


@dataclass(slots=True)
class _Rows:
    goals: dict[str, Goal] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    contents: dict[tuple[str, str], Content] = field(default_factory=dict)
    tasks: dict[str, tuple[Task, ...]] = field(default_factory=dict)
    decisions: dict[str, dict[str, DecisionRow]] = field(default_factory=lambda: defaultdict(dict))
    leases: dict[str, _Held] = field(default_factory=lambda: defaultdict(_Held))
    endpoints: dict[str, EndpointRow] = field(default_factory=dict)
    inbox: dict[str, _In] = field(default_factory=dict)
    outbox: dict[str, _Out] = field(default_factory=dict)
    people: dict[tuple[str, str], str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, Place] = field(default_factory=dict)
    files: dict[str, tuple[Attachment, ...]] = field(default_factory=dict)
    """Of posts that share them."""
    positions: dict[tuple[str, str], str] = field(default_factory=dict)
    sealed: dict[str, tuple[tuple[str, str], Sealed]] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)
    """Sessions in whose place another one is found."""
    sequence: int = 0

    def next(self) -> int:
        self.sequence += 1
        return self.sequence

    def say_again(self, was: Place, now: Place) -> None:
        for row in self.inbox.values():
            said = row.received.message
            if said.place == was:
                row.received = replace(row.received, message=replace(said, place=now))

    def read_upto(self, upto: Position) -> None:
        account = (upto.network, upto.workspace)
        self.positions[account] = upto.token
        for one in upto.sealed:
            self.sealed.setdefault(one.id, (account, one))
        for id in upto.opened:
            self.sealed.pop(id, None)


class MemoryStore:
    """All ports over one set of rows: `journal`, `leases`, `inbox`, `outbox`, `rooms`, `records`."""

    def __init__(self, clock: Clock, limits: Limits = LIMITS) -> None:
        self.rows = rows = _Rows()
        self.guard = guard = Guard(clock)
        self.clock = clock
        self.outbox = outbox = MemoryOutbox(rows, clock, guard)
        self.inbox = MemoryInbox(rows, outbox)
        self.journal = MemoryJournal(rows, clock, limits, self.outbox, self.inbox)
        self.leases = MemoryLeases(rows, clock, guard)
        self.rooms = MemoryRooms(rows, self)
        self.records = MemoryRecords(rows)
        self.incidents = MemoryIncidents(guard, outbox.alert)
        self.holds = MemoryHolds(
            guard,
            lambda: [(goal, rows.sessions[goal.session]) for goal in rows.goals.values()],
            lambda: rows.names,
            rows.sessions.values,
            self.leases.end,
            lambda goal: outbox.show_status(None, goal, clock.now()),
            outbox.said,
            self.journal.commit,
        )
        self.people = MemoryPeople(self, clock)
        self.doors = MemoryDoors(self, self.people, clock)
        self.positions = MemoryPositions(rows)
        self.attachments = MemoryAttachments(rows)

    def check(self, answer: Answer) -> None:
        """Raise IllegalMove where a message that is answered does not wait."""
        self.inbox.check(answer.handled)

    def say(self, answer: Answer) -> None:
        """Queue what is said, and mark what it answers."""
        for note in answer.notes:
            self.outbox.answer(note.session, note.key, note.text, note.reason)
        self.inbox.mark(answer.handled)


class MemoryJournal:
    """Port Journal."""

    def __init__(
        self,
        rows: _Rows,
        clock: Clock,
        limits: Limits,
        outbox: "MemoryOutbox",
        inbox: "MemoryInbox",
    ) -> None:
        self._rows, self._clock, self._limits = rows, clock, limits
        self._outbox, self._inbox = outbox, inbox

    async def open(
        self,
        opened: GoalOpened,
        contents: Sequence[Content],
        handled: tuple[str, ...] = (),
        reply: Reply | None = None,
        root: Callable[[Applied], str] | None = None,
    ) -> Applied:
        """Write a goal's first entry."""
        rows = self._rows
        if opened.session not in rows.sessions:
            raise KeyError(f"There is no session {opened.session}: begin it first.")
        if opened.owner not in rows.names:
            raise KeyError(f"There is no person {opened.owner}: make them known first.")
        if opened.goal in rows.goals:
            raise IllegalMove(f"Goal {opened.goal} is there already.")
        if opened.kind == "goal" and _live(rows, opened.session) is not None:
            raise Refused("This thread has a live goal already: end it first.", code="one_goal")
        self._inbox.check(handled)
        numbers = [goal.number for goal in rows.goals.values()]
        number = max([0, *numbers]) + 1 if opened.kind == "goal" else 0
        event = replace(opened, number=number, at=self._clock.now())
        moved = machine.open_goal(event, self._limits)
        entry = machine.entry(None, event, moved)
        applied = Applied(moved.goal, (entry,), moved.instructions)
        answer = _answer(reply, applied)
        first = root(applied) if root is not None else ""
        self._keep(moved.goal, (entry,), contents)
        self._inbox.mark(handled)
        self._post(None, moved.goal, moved.instructions, event.at)
        self._outbox.answer(*answer)
        self._outbox.begin(event.session, first, event.goal)
        return applied

    async def commit(self, unit: Unit) -> Applied:
        """Apply the unit's events in order."""
        before = self._rows.goals[unit.goal]
        held = self._rows.leases[unit.goal]
        is_last = held.epoch == unit.epoch
        fenced = unit.epoch is not None and not (held.worker and is_last)
        if not fenced:
            self._inbox.check(unit.handled)
        at = self._clock.now()
        ended = _endings(unit) if is_last else _bookings(unit)
        steps = list(self._decide(before, ended if fenced else unit.events, at))
        after = steps[-1][1] if steps else before
        entries = tuple(entry for _, _, entry, _ in steps)
        asked = tuple(one for _, _, _, instructions in steps for one in instructions)
        applied = Applied(after, entries, asked, fenced)
        answer = _answer(unit.reply, applied)
        self._keep(after, entries, () if fenced and not is_last else unit.contents)
        for was, now, _, instructions in steps:
            self._post(was, now, instructions, at)
        if not fenced:
            self._inbox.mark(unit.handled)
            if unit.tasks is not None:
                self._rows.tasks[unit.goal] = unit.tasks
            for file in unit.files:
                for entry in entries:
                    if isinstance(entry.event, FileShared) and entry.event.file == file.hash:
                        self._rows.files[f"{after.id}:file:{entry.seq}"] = (file,)
        self._outbox.answer(*answer)
        return applied

    async def goal(self, goal: str) -> Goal:
        """The goal's row now."""
        return self._rows.goals[goal]

    async def history(self, session: str, after: int = 0) -> tuple[Line, ...]:
        """The session's lines above `after`."""
        goals = self._rows.goals
        return tuple(
            line
            for line in self._rows.lines
            if line.position > after and goals[line.goal].session == session
        )

    async def contents(self, session: str, hashes: Sequence[str]) -> Mapping[str, str]:
        """The texts that are there."""
        kept = self._rows.contents
        return {one: kept[session, one].text for one in hashes if (session, one) in kept}

    async def changed_hands(self, goal: str) -> float:
        """When the goal last changed hands, or before all time."""
        own = (line.entry.event for line in self._rows.lines if line.goal == goal)
        return max((event.at for event in own if isinstance(event, OwnerChanged)), default=-1.0)

    async def tasks(self, goal: str) -> tuple[Task, ...]:
        """The goal's task list."""
        return self._rows.tasks.get(goal, ())

    def _decide(
        self, goal: Goal, events: Iterable[Event], at: float
    ) -> Iterable[tuple[Goal, Goal, machine.Entry, tuple[Instruction, ...]]]:
        for event in events:
            stamped = replace(event, at=at)
            moved = machine.decide(goal, stamped, self._limits)
            yield goal, moved.goal, machine.entry(goal, stamped, moved), moved.instructions
            goal = moved.goal

    def _keep(
        self, goal: Goal, entries: tuple[machine.Entry, ...], contents: Sequence[Content]
    ) -> None:
        self._rows.goals[goal.id] = goal
        for entry in entries:
            self._rows.lines.append(Line(goal.id, len(self._rows.lines) + 1, entry))
        for content in contents:
            self._rows.contents.setdefault((goal.session, content.hash), content)

    def _post(
        self, before: Goal | None, goal: Goal, instructions: Iterable[Instruction], at: float
    ) -> None:
        decisions = self._rows.decisions[goal.id]
        for one in instructions:
            match one:
                case Post():
                    self._outbox.add(
                        f"{goal.id}:{one.key}", one.kind, goal, one.reason, one.content
                    )
                case ShowStatus():
                    self._outbox.show_status(before, goal, at)
                case RemovePosts():
                    cards = [f"decision:{number + 1}" for number in range(goal.decisions)]
                    for what in ("status", *cards, "root"):
                        self._outbox.add(f"{goal.id}:removal:{what}", "removal", goal, "", "")
                case OpenDecision(decision):
                    decisions[decision.id] = DecisionRow(decision, "open", opened_at=at)
                case CloseDecision(decision=id):
                    row = decisions[id]
                    decisions[id] = replace(
                        row, state=one.how, by=one.by, answer=one.answer, closed_at=at
                    )
                    number = row.decision.number
                    if f"{goal.id}:decision:{number}" in self._rows.outbox:
                        key = f"{goal.id}:card:{number}"
                        self._outbox.add(key, "card", goal, one.how, one.answer)
                case _:
                    pass
        open_one = goal.decision and decisions.get(goal.decision.id)
        if goal.decision and open_one:
            decisions[goal.decision.id] = replace(open_one, decision=goal.decision)
        if goal.is_final and before is not None and not before.is_final:
            self._outbox.settle(goal.id)


class MemoryLeases:
    """Port Leases."""

    def __init__(self, rows: _Rows, clock: Clock, guard: Guard) -> None:
        self._rows, self._clock, self._guard = rows, clock, guard

    async def claim(self, worker: str, *, limit: int) -> tuple[Lease, ...]:
        """Take due goals that nobody holds."""
        now = self._clock.now()
        due = [goal for goal in self._free() if (goal.due_at or 0.0) <= now]
        due.sort(key=lambda goal: (goal.due_at or 0.0, goal.id))
        return tuple(self._take(worker, goal, now) for goal in due[:limit])

    async def claim_one(self, worker: str, goal: str) -> Lease | None:
        """Take this one."""
        now = self._clock.now()
        row, held = self._rows.goals[goal], self._rows.leases[goal]
        if row.due_at is None or row.due_at > now or self._is_stopped(row):
            return None
        if held.worker not in ("", worker) and held.until > now:
            return None
        return self._take(worker, row, now)

    async def renew(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Extend the leases."""
        kept = [goal for goal, epoch in held.items() if self._is_held(worker, goal, epoch)]
        for goal in kept:
            self._rows.leases[goal].until = self._clock.now() + LEASE_S
        return frozenset(kept)

    async def release(self, worker: str, held: Mapping[str, int]) -> None:
        """Give leases back."""
        for goal, epoch in held.items():
            if self._is_held(worker, goal, epoch):
                self._rows.leases[goal].worker = ""

    async def next_due(self) -> float | None:
        """The earliest due time of a goal that nobody holds."""
        times = [goal.due_at for goal in self._free()]
        return min((time for time in times if time is not None), default=None)

    async def lost(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Those that a hold or another worker has ended."""
        return frozenset(g for g, epoch in held.items() if not self._is_held(worker, g, epoch))

    def end(self, goal: str) -> None:
        """A hold ends it."""
        self._rows.leases[goal].worker = ""

    async def stopped(self, goals: Sequence[str]) -> frozenset[str]:
        """Those of the goals that a person has stopped or cancelled."""
        rows = (self._rows.goals[goal] for goal in goals)
        return frozenset(row.id for row in rows if row.is_final or row.reason == "stopped")

    async def abandoned(self) -> Mapping[str, tuple[str, ...]]:
        """Calls in flight that nobody will settle."""
        return {
            goal.id: tuple(call.call for call in goal.ledger.open)
            for goal in self._rows.goals.values()
            if goal.due_at is None and goal.ledger.open and self._is_free(goal.id)
        }

    async def save_endpoint(self, row: EndpointRow | None, *, name: str) -> None:
        """Remember or forget an endpoint's trouble."""
        self._rows.endpoints.pop(name, None)
        if row is not None:
            self._rows.endpoints[name] = row

    async def endpoints(self) -> tuple[EndpointRow, ...]:
        """Every endpoint in trouble."""
        return tuple(self._rows.endpoints[name] for name in sorted(self._rows.endpoints))

    def _free(self) -> list[Goal]:
        goals = self._rows.goals.values()
        return [
            goal
            for goal in goals
            if goal.due_at is not None and self._is_free(goal.id) and not self._is_stopped(goal)
        ]

    def _is_stopped(self, goal: Goal) -> bool:
        return self._guard.is_held(goal, self._rows.sessions[goal.session])

    def _is_free(self, goal: str) -> bool:
        held = self._rows.leases[goal]
        return not (held.worker and held.until > self._clock.now())

    def _take(self, worker: str, goal: Goal, now: float) -> Lease:
        held = self._rows.leases[goal.id]
        held.epoch, held.worker, held.until = held.epoch + 1, worker, now + LEASE_S
        return Lease(goal, held.epoch)

    def _is_held(self, worker: str, goal: str, epoch: int) -> bool:
        held = self._rows.leases[goal]
        return held.worker == worker and held.epoch == epoch


class MemoryInbox:
    """Port Inbox."""

    def __init__(self, rows: _Rows, outbox: "MemoryOutbox") -> None:
        self._rows, self._outbox = rows, outbox

    async def receive(self, message: Incoming) -> bool:
        """Store it once."""
        rows = self._rows
        if message.id in rows.inbox:
            return False
        person = _person(rows, message.place.network, message.speaker)
        edited = rows.inbox.get(edit_of(message))
        if edited is not None:
            said = edited.received.message
            if _is_in(said.place, message.place) and person != _person_of(rows, said):
                return False
        if not message.place.thread and message.reply_to:
            message = replace(message, place=_place_under(rows, message.place, message.reply_to))
        rows.inbox[message.id] = _In(Received(rows.next(), message))
        return True

    async def receive_all(self, arrivals: Sequence[Arrival], upto: Position | None = None) -> int:
        """Store what came, in its order, and how far that is."""
        new = 0
        for one in arrivals:
            if isinstance(one, Removed):
                new += await self.remove(one)
            else:
                new += await self.receive(one if isinstance(one, Incoming) else one.as_message)
        if upto is not None:
            self._rows.read_upto(upto)
        return new

    async def remove(self, removed: Removed) -> bool:
        """Blank what it said and what its author made of it, and store the removal."""
        rows, gone = self._rows, removed.as_message
        if gone.id in rows.inbox:
            return False
        taken = [row for id, row in rows.inbox.items() if _goes_with(row, id, removed.id)]
        sign = rows.inbox.get(f"{REACTION}{removed.id}")
        if sign is not None and not taken:
            said = sign.received.message
            sign.received = replace(sign.received, message=replace(said, text=""))
            thread = gone.place.thread or said.place.thread
            return await self.receive(replace(gone, place=replace(gone.place, thread=thread)))
        for row in taken:
            self._blank(row, removed.id)
        return bool(taken) and await self.receive(gone)

    def _blank(self, row: _In, root: str) -> None:
        rows, said = self._rows, row.received.message
        author = _person_of(rows, said)
        near = {said.place.thread or said.id, root}
        for (session, hash), content in list(rows.contents.items()):
            is_near = rows.sessions[session].thread in near
            if is_near and content.author == author and content.text in said.text:
                del rows.contents[session, hash]
        row.received = replace(row.received, message=replace(said, text="", files=()))

    async def waiting(self) -> tuple[Received, ...]:
        """Everything not handled yet."""
        return tuple(row.received for row in self._rows.inbox.values() if row.state == "waiting")

    async def handled(self, message: str) -> None:
        """Mark one."""
        self.check((message,))
        self.mark((message,))

    async def failed(
        self, message: str, why: str, answer: Answer = NOTHING, alert: Alert | None = None
    ) -> int:
        """Count one failed handling."""
        self.check((message,))
        row = self._rows.inbox[message]
        row.received = replace(row.received, attempts=row.received.attempts + 1)
        row.why = why
        if row.received.attempts >= FAILINGS:
            row.state = "failed"
            self._outbox.said(answer)
            self._outbox.raised(alert)
        return row.received.attempts

    def all(self) -> list[Heeded]:
        """Every message, in order of arrival."""
        rows = self._rows.inbox.values()
        return [Heeded(row.received.message, row.state, row.why) for row in rows]

    def check(self, messages: Iterable[str]) -> None:
        """Raise IllegalMove for a message that does not wait."""
        for message in messages:
            row = self._rows.inbox.get(message)
            if row is None or row.state != "waiting":
                raise IllegalMove(f"Message {message} does not wait to be handled: drop it.")

    def mark(self, messages: Iterable[str]) -> None:
        """Their consequence is there."""
        for message in messages:
            self._rows.inbox[message].state = "handled"


class MemoryOutbox:
    """Port Outbox."""

    def __init__(self, rows: _Rows, clock: Clock, guard: Guard) -> None:
        self._rows, self._clock, self._guard = rows, clock, guard

    async def claim(
        self, network: Network, *, limit: int, workspace: str | None = None
    ) -> tuple[Due, ...]:
        """Take what is due, one row a thread."""
        now = self._clock.now()
        rows = sorted(self._rows.outbox.values(), key=lambda row: row.sequence)
        for row in rows:
            if row.state == "claimed" and row.claimed_at < now - CLAIM_S:
                row.state = "unknown"
        taken: list[Due] = []
        if "restore" in self._guard.holds:
            return ()
        closed = {row.due.session for row in rows if row.state == "claimed"}
        self._revive(rows)
        for row in rows:
            session = row.due.session
            place = self._rows.sessions[session]
            if place.thread.startswith(NEW) and row.due.kind != "root":
                continue
            if row.state not in ("pending", "unknown") or place.network != network:
                continue
            if workspace not in (None, place.workspace):
                continue
            if session not in closed and row.not_before <= now and len(taken) < limit:
                taken.append(self._take(row, now))
                closed.add(session)
            if row.due.kind != "status" or row.state != "pending":
                closed.add(session)
        return tuple(taken)

    async def say(self, session: str, key: str, text: str, handled: tuple[str, ...] = ()) -> None:
        """Queue a reply."""
        self.said(Answer((Note(session, key, text),), handled))

    def said(self, answer: Answer) -> None:
        """Queue an answer with the mark on what it answers."""
        inbox = MemoryInbox(self._rows, self)
        inbox.check(answer.handled)
        for note in answer.notes:
            self.answer(note.session, note.key, note.text, note.reason)
        inbox.mark(answer.handled)

    def raised(self, alert: Alert | None) -> None:
        """Open an incident."""
        if alert is not None:
            self._guard.open(alert, self.alert)

    def alert(self, place: Place, key: str, text: str) -> None:
        """Queue what is said in the operations room."""
        found = [id for id, there in self._rows.sessions.items() if there == place]
        session = found[0] if found else f"s{len(self._rows.sessions) + 1}"
        self._rows.sessions[session] = place
        self.answer(session, key, text)

    def answer(self, session: str, key: str, text: str, reason: str = "") -> None:
        """Queue a reply, as a part of what else is written; one without a key is none."""
        if not key:
            return
        content = Content(text)
        self._rows.contents.setdefault((session, content.hash), content)
        self._queue(key, "reply", "", session, reason, content.hash)

    async def sent(self, key: str, remote: str) -> None:
        """It is there."""
        row, sessions = self._rows.outbox[key], self._rows.sessions
        if row.is_anew:
            return
        row.state, row.due = "sent", replace(row.due, remote=remote)
        session = row.due.session
        was = sessions[session]
        if row.due.kind == "root" and was.thread.startswith(NEW):
            now = replace(was, thread=remote)
            for other in [id for id, place in sessions.items() if place == now]:
                self._rows.beside.add(other)
            sessions[session] = now
            self._rows.say_again(was, now)

    async def unknown(self, key: str) -> None:
        """It may be there."""
        row = self._rows.outbox[key]
        if not row.is_anew:
            row.state, row.looked_up = "unknown", True

    async def failed(self, key: str, why: str, alert: Alert | None = None) -> None:
        """It cannot be sent."""
        row = self._rows.outbox[key]
        if not row.is_anew:
            row.state = "failed"
            self.raised(alert)

    async def later(self, key: str, delay_s: float) -> None:
        """Try again."""
        row = self._rows.outbox[key]
        if row.is_anew:
            return
        row.not_before = self._clock.now() + delay_s
        row.state = "unknown" if row.looked_up else "pending"
        if row.due.kind == "status" and row.state == "pending":
            pending = [one for one in self._status_of(row.due.goal) if one.state == "pending"]
            if len(pending) > 1:
                row.state = "superseded"

    async def give_up(self, place: Place, why: str) -> int:
        """Withdraw what waits to be said in that room."""
        waits = [
            row
            for row in self._rows.outbox.values()
            if row.state in ("pending", "unknown")
            and _is_in(self._rows.sessions[row.due.session], place)
        ]
        for row in waits:
            row.state = "superseded"
            if row.due.kind == "root":
                row.state, row.claimed_at = "failed", self._clock.now()
        return len(waits)

    def begin(self, session: str, text: str, goal: str) -> None:
        """Queue the first message of a thread that has none."""
        thread = self._rows.sessions[session].thread
        if not (text and thread.startswith(NEW)):
            return
        content = Content(text)
        self._rows.contents.setdefault((session, content.hash), content)
        key = f"root:{thread.removeprefix(NEW)}"
        self._queue(key, "root", goal, session, "", content.hash)

    def _revive(self, rows: Iterable[_Out]) -> None:
        """A root that was refused is tried again when something is to be said after it."""
        for row in rows:
            if row.due.kind == "root" and row.state == "failed":
                newer = [
                    one
                    for one in rows
                    if one.due.session == row.due.session
                    and one.state in ("pending", "unknown")
                    and one.due.created_at > row.claimed_at
                ]
                row.state = "pending" if newer else "failed"

    def add(self, key: str, kind: str, goal: Goal, reason: str, content: str) -> None:
        """Queue one message of a goal."""
        self._queue(key, kind, goal.id, goal.session, reason, content)

    def show_status(self, before: Goal | None, goal: Goal, at: float) -> None:
        """One pending edit a goal, at the sooner of two times unless its network put it off."""
        goes_on = before is not None and before.state in ACTIVE and goal.state in ACTIVE
        not_before = max(goal.opened_at + STATUS_AFTER_S, at + STATUS_PAUSE_S if goes_on else at)
        for row in self._status_of(goal.id):
            if row.state == "pending":
                if not row.claimed_at:
                    row.not_before = min(row.not_before, not_before)
                return
        key = f"{goal.id}:status:{goal.seq}"
        if key in self._rows.outbox:
            key = f"{key}.{self._rows.next()}"
        self._queue(key, "status", goal.id, goal.session, "", "", not_before)

    def settle(self, goal: str) -> None:
        """A status that was never shown is not shown any more."""
        rows = self._status_of(goal)
        if all(row.state in ("pending", "superseded", "failed") for row in rows):
            for row in rows:
                if row.state == "pending":
                    row.state = "superseded"

    def _roots_of(self, goal: str) -> list[_Out]:
        rows = self._rows.outbox.values()
        return [row for row in rows if row.due.goal == goal and row.due.kind == "root"]

    def _status_of(self, goal: str) -> list[_Out]:
        rows = self._rows.outbox.values()
        return [row for row in rows if row.due.goal == goal and row.due.kind == "status"]

    def _take(self, row: _Out, now: float) -> Due:
        remote = row.due.remote
        if row.due.kind == "status":
            shown = [one.due.remote for one in self._status_of(row.due.goal) if one.due.remote]
            remote = shown[-1] if shown else ""
        if row.due.kind == "card":
            number = row.due.key.rpartition(":")[2]
            remote = self._rows.outbox[f"{row.due.goal}:decision:{number}"].due.remote
        if row.due.kind == "removal":
            of = row.due.key.replace(":removal:", ":", 1)
            posts = [one for key, one in self._rows.outbox.items() if key == of]
            posts = self._status_of(row.due.goal) if of.endswith(":status") else posts
            posts = self._roots_of(row.due.goal) if of.endswith(":root") else posts
            shown = [one.due.remote for one in posts if one.due.remote]
            remote = shown[-1] if shown else ""
        was = row.state
        row.due = replace(row.due, files=self._rows.files.get(row.due.key, ()))
        row.looked_up = was == "unknown"
        row.state, row.claimed_at = "claimed", now
        place = self._rows.sessions[row.due.session]
        if row.due.kind == "root":
            place = replace(place, thread="")
        state: OutState = "unknown" if was == "unknown" else "claimed"
        return replace(row.due, place=place, remote=remote, state=state)

    def _queue(
        self,
        key: str,
        kind: str,
        goal: str,
        session: str,
        reason: str,
        content: str,
        not_before: float = 0.0,
    ) -> None:
        if key in self._rows.outbox:
            return
        now = self._clock.now()
        place = self._rows.sessions[session]
        due = Due(key, kind, goal, session, place, reason, content, created_at=now)
        self._rows.outbox[key] = _Out(due, self._rows.next(), max(not_before, now))


class MemoryRooms:
    """Port Rooms."""

    def __init__(self, rows: _Rows, store: MemoryStore) -> None:
        self._rows, self._store = rows, store

    async def person(self, network: Network, speaker: Speaker) -> str:
        """The person's id."""
        return _person(self._rows, network, speaker)

    async def known(self, network: Network, id: str) -> str:
        """Their name, or nothing for somebody who was never seen."""
        return self.name_of(network, id)

    def name_of(self, network: Network, id: str) -> str:
        """Their name."""
        return self._rows.names.get(self._rows.people.get((network, id), ""), "")

    def subject(self, person: str) -> Subject:
        """Somebody by their person id."""
        [(network, id)] = [key for key, one in self._rows.people.items() if one == person]
        return Subject("person", network, id, name=self._rows.names[person])  # type: ignore[arg-type]

    def place(self, session: str) -> Place:
        """Where a session lives."""
        return self._rows.sessions[session]

    async def thread(self, place: Place) -> Thread | None:
        """The session that lives there."""
        rows = self._rows
        found = [
            id for id, there in rows.sessions.items() if there == place and id not in rows.beside
        ]
        return _thread(rows, found[0]) if found else None

    async def begin_new(self, place: Place, of: str) -> Thread:
        """A session of a thread that begins with a message of ours."""
        return await self.begin(replace(place, thread=f"{NEW}{of}"))

    async def move(
        self, old: Place, to: str, root: Callable[[Goal], str], answer: Answer = NOTHING
    ) -> tuple[Goal, ...]:
        """A room was replaced."""
        self._store.check(answer)
        goals = move_room(self._store, old, to, root)
        self._store.say(answer)
        return goals

    async def begin(self, place: Place) -> Thread:
        """A session there."""
        there = await self.thread(place)
        if there is not None:
            return there
        session = f"s{len(self._rows.sessions) + 1}"
        self._rows.sessions[session] = place
        return Thread(session, place)

    async def goals(
        self, *, states: tuple[str, ...] = (), room: Place | None = None, number: int | None = None
    ) -> tuple[Goal, ...]:
        """Goals, newest first."""
        sessions = self._rows.sessions
        found = [
            goal
            for goal in self._rows.goals.values()
            if goal.kind == "goal"
            and (not states or goal.state in states)
            and (room is None or _is_in(sessions[goal.session], room))
            and (number is None or goal.number == number)
        ]
        return tuple(sorted(found, key=lambda goal: -goal.number))

    async def last_goal(self, session: str) -> Goal | None:
        """The session's newest goal."""
        found = [goal for goal in await self.goals() if goal.session == session]
        return found[0] if found else None

    async def posted(self, place: Place, remote: str) -> Posted | None:
        """What of ours stands there."""
        for row in self._rows.outbox.values():
            due = row.due
            if remote and due.remote == remote and _is_in(due.place, place):
                at = self._rows.sessions[due.session]
                return Posted(due.key, due.kind, due.goal, due.session, at, due.reason, due.content)
        return None

    async def people(self, persons: Sequence[str]) -> Mapping[str, Speaker]:
        """Who they are."""
        known = {id: speaker for (_, speaker), id in self._rows.people.items()}
        names = self._rows.names
        return {id: Speaker(known[id], names[id]) for id in persons if id in known}


class MemoryRecords:
    """Port Records."""

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows

    async def goals(self, *, with_asks: bool = False) -> tuple[GoalRow, ...]:
        """Every goal, newest first."""
        rows = self._rows
        found = [goal for goal in rows.goals.values() if with_asks or goal.kind == "goal"]
        return tuple(
            GoalRow(goal, rows.sessions[goal.session], rows.names[goal.owner])
            for goal in reversed(found)
        )

    async def journal(self, goal: str) -> tuple[machine.Entry, ...]:
        """The goal's entries."""
        self._rows.goals[goal]
        return tuple(line.entry for line in self._rows.lines if line.goal == goal)

    async def trace(self, goal: str) -> Trace:
        """All that it did."""
        lines = tuple(line for line in self._rows.lines if line.goal == goal)
        entries = [line.entry for line in lines]
        return Trace(
            self._rows.goals[goal],
            lines,
            folds.steps(entries),
            folds.audits(entries),
            tuple(self._rows.decisions[goal].values()),
        )

    async def spend(self, goal: str) -> tuple[Spent, ...]:
        """By role."""
        entries = [line.entry for line in self._rows.lines if line.goal == goal]
        return folds.spend(folds.steps(entries))

    async def sessions(self) -> tuple[Thread, ...]:
        """Every session."""
        return tuple(_thread(self._rows, session) for session in self._rows.sessions)

    async def outbox_depth(self) -> Mapping[str, int]:
        """Rows by state."""
        depth: dict[str, int] = {}
        for row in self._rows.outbox.values():
            if row.state not in ("sent", "superseded"):
                depth[row.state] = depth.get(row.state, 0) + 1
        return depth

    async def wait_due(self, by: float) -> tuple[Parked, ...]:
        """Open waits that want a look."""
        parked = [
            Parked(goal.id, goal.wait, goal.due_at)
            for goal in self._rows.goals.values()
            if goal.state == "waiting" and goal.wait and goal.due_at is not None
        ]
        return tuple(sorted((p for p in parked if p.due_at <= by), key=lambda p: p.due_at))


class MemoryPositions:
    """Port Positions."""

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows

    async def position(self, network: Network, workspace: str) -> str | None:
        """The token to go on from."""
        return self._rows.positions.get((network, workspace))

    async def sealed(self, network: Network, workspace: str) -> tuple[Sealed, ...]:
        """What cannot be read yet."""
        own = [one for of, one in self._rows.sealed.values() if of == (network, workspace)]
        return tuple(sorted(own, key=lambda one: (one.at, one.id)))

    async def told(self, ids: Sequence[str]) -> None:
        """Their rooms know."""
        for id in ids:
            if id in self._rows.sealed:
                account, one = self._rows.sealed[id]
                self._rows.sealed[id] = (account, replace(one, is_told=True))


def _person(rows: _Rows, network: Network, speaker: Speaker) -> str:
    id = rows.people.setdefault((network, speaker.id), f"p{len(rows.people) + 1}")
    rows.names[id] = speaker.name
    return id


def _person_of(rows: _Rows, said: Incoming) -> str:
    return rows.people[said.place.network, said.speaker.id]


def _goes_with(row: _In, id: str, removed: str) -> bool:
    """The message itself, what it said later, and reactions that brought its text with them."""
    if id == removed or id.startswith(f"{EDIT}{removed}:"):
        return True
    said = row.received.message
    return id.startswith(REACTION) and said.reply_to == removed and "\n" in said.text


def _place_under(rows: _Rows, place: Place, message: str) -> Place:
    """Where whatever answers a message of that room is said."""
    came = rows.inbox.get(message)
    there = came.received.message.place if came else None
    if came is not None and there is not None and came.state == "waiting" and _is_in(there, place):
        return replace(place, thread=there.thread)
    root = replace(place, thread=message)
    if root in rows.sessions.values():
        return root
    for row in rows.outbox.values():
        if row.due.remote == message and _is_in(row.due.place, place):
            return replace(place, thread=rows.sessions[row.due.session].thread)
    return replace(place, thread=there.thread if there and _is_in(there, place) else "")


def _thread(rows: _Rows, session: str) -> Thread:
    live = _live(rows, session)
    return Thread(session, rows.sessions[session], live.id if live else "")


def _answer(reply: Reply | None, applied: Applied) -> tuple[str, str, str]:
    """Session, key and text of what is answered."""
    if reply is None or applied.fenced:
        return "", "", ""
    return reply.session, reply.key, reply.text(applied)


def _live(rows: _Rows, session: str) -> Goal | None:
    for goal in rows.goals.values():
        if goal.session == session and goal.kind == "goal" and not goal.is_final:
            return goal
    return None


def _endings(unit: Unit) -> tuple[Event, ...]:
    # What ended before a hold took the lease is true; what the unit itself starts does not run.
    begun = {event.tool_use for event in unit.events if isinstance(event, ToolStarted)}
    kinds = (*BOOKINGS, ToolEnded)
    return tuple(
        event
        for event in unit.events
        if isinstance(event, kinds)
        and not (isinstance(event, ToolEnded) and event.tool_use in begun)
    )


def _bookings(unit: Unit) -> tuple[Event, ...]:
    # A reply that comes after its turn was taken over is paid for and stays out of the transcript.
    return tuple(
        replace(event, content="") if isinstance(event, CallSettled) else event
        for event in unit.events
        if isinstance(event, BOOKINGS)
    )


def _is_in(place: Place, room: Place) -> bool:
    """The consoles of one database are one room."""
    is_near = room.network == "console" or place.workspace == room.workspace
    return is_near and (place.network, place.room) == (room.network, room.room)
