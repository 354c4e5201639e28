"""
An in-memory store: every port of the real one, checked by the same contract suites.

Rule 1: a unit is computed whole before anything of it is kept, so one that raises leaves no trace.
Rule 2: nothing here awaits in the middle of a change: the event loop is its transaction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bot.errors import IllegalMove, Refused
from bot.goals import machine
from bot.goals.events import (
    BOOKINGS,
    CallSettled,
    Event,
    FileShared,
    GoalOpened,
    ObjectiveEdited,
    OwnerChanged,
    ToolEnded,
    ToolStarted,
)
from bot.goals.goal import Goal
from bot.goals.instructions import (
    Allow,
    CloseDecision,
    DropPosts,
    Instruction,
    OpenDecision,
    Post,
    RemovePosts,
    ShowStatus,
)
from bot.goals.limits import LIMITS, Limits
from bot.ports.chat import (
    Network,
    Place,
    Speaker,
)
from bot.ports.clock import Clock
from bot.ports.journal import Applied, Content, Line, Reply, Task, Unit
from bot.ports.mail import NEW, Posted, Thread
from bot.ports.people import NOTHING, Answer, Subject
from bot.ports.records import DecisionRow
from tests.doubles.checkpoints import MemoryCheckpoints
from tests.doubles.files import MemoryAttachments
from tests.doubles.guard import Guard, MemoryHolds, MemoryIncidents
from tests.doubles.installs import MemoryInstalls, MemoryWaysBack
from tests.doubles.mcp_servers import MemoryMcpServers
from tests.doubles.people import MemoryDoors, MemoryPeople
from tests.doubles.permissions import MemoryPermissions
from tests.doubles.repositories import MemoryRepositories
from tests.doubles.secret_uses import MemorySecretUses
from tests.doubles.secrets import MemorySecrets, Unsealed
from tests.doubles.store_leases import MemoryLeases
from tests.doubles.store_mail import MemoryInbox, MemoryOutbox, MemoryPositions
from tests.doubles.store_moves import move_room
from tests.doubles.store_records import MemoryRecords
from tests.doubles.store_rows import (
    Rows,
    inherited,
    is_in,
    is_within,
    live_goal,
    person_id,
    thread_of,
)


class MemoryStore:
    """All ports over one set of rows: `journal`, `leases`, `inbox`, `outbox`, `rooms`, `records`."""

    def __init__(self, clock: Clock, limits: Limits = LIMITS) -> None:
        self.rows = rows = Rows()
        self.guard = guard = Guard(clock)
        self.clock = clock
        self.outbox = outbox = MemoryOutbox(rows, clock, guard)
        self.inbox = MemoryInbox(rows, outbox)
        self.checkpoints = MemoryCheckpoints(rows)
        self.journal = MemoryJournal(rows, clock, limits, self.outbox, self.inbox, self.checkpoints)
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
        self.repositories = MemoryRepositories(self, clock)
        self.secrets = MemorySecrets(Unsealed())
        self.secret_uses = MemorySecretUses(self, self.secrets, clock)
        self.installs = MemoryInstalls(clock)
        self.ways_back = MemoryWaysBack(rows, clock, self.installs)
        self.mcp_servers = MemoryMcpServers(self, clock)
        self.permissions = MemoryPermissions(self, clock)
        self.journal.permissions = self.permissions

    def check(self, answer: Answer) -> None:
        """Raise IllegalMove where a message that is answered does not wait."""
        self.inbox.check(answer.handled)

    def say(self, answer: Answer) -> None:
        """Queue what is said, and mark what it answers."""
        for note in answer.notes:
            self.outbox.answer(note.session, note.key, note.text, note.reason, note.only_for)
        self.inbox.mark(answer.handled)


class MemoryJournal:
    """Port Journal."""

    def __init__(
        self,
        rows: Rows,
        clock: Clock,
        limits: Limits,
        outbox: "MemoryOutbox",
        inbox: "MemoryInbox",
        checkpoints: MemoryCheckpoints,
    ) -> None:
        self._rows, self._clock, self._limits = rows, clock, limits
        self._checkpoints = checkpoints
        self._outbox, self._inbox = outbox, inbox
        self.permissions: MemoryPermissions | None = None

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
        if opened.kind == "goal" and live_goal(rows, opened.session) is not None:
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
        self._keep(moved.goal, (entry,), [inherited(rows, opened, one) for one in contents])
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
        self._checkpoints.check(before, unit.events)
        after = steps[-1][1] if steps else before
        entries = tuple(entry for _, _, entry, _ in steps)
        asked = tuple(one for _, _, _, instructions in steps for one in instructions)
        applied = Applied(after, entries, asked, fenced)
        answer = _answer(unit.reply, applied)
        self._keep(after, entries, () if fenced and not is_last else unit.contents)
        for was, now, entry, instructions in steps:
            self._post(was, now, instructions, at)
            if isinstance(entry.event, ObjectiveEdited):
                self._outbox.edit_root(now, str(now.revision))
            elif _has_ended(was, now):
                self._outbox.edit_root(now, "end")
        if not fenced:
            self._inbox.mark(unit.handled)
            if unit.tasks is not None:
                self._rows.tasks[unit.goal] = unit.tasks
            self._checkpoints.keep(unit, steps, self._rows.tasks)
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
            if self.permissions is not None:
                self.permissions.count(entry.event)
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
                        row, state=one.how, by=one.by, answer=one.answer, closed_at=at,
                        scope=one.scope,
                    )  # fmt: skip
                    number = row.decision.number
                    if f"{goal.id}:decision:{number}" in self._rows.outbox:
                        key = f"{goal.id}:card:{number}"
                        self._outbox.add(key, "card", goal, one.how, one.answer)
                case DropPosts():
                    self._outbox.drop(goal.id)
                case Allow() if self.permissions is not None:
                    self.permissions.give(goal, one, at)
                case _:
                    pass
        open_one = goal.decision and decisions.get(goal.decision.id)
        if goal.decision and open_one:
            decisions[goal.decision.id] = replace(open_one, decision=goal.decision)
        if goal.is_final and before is not None and not before.is_final:
            self._outbox.settle(goal.id)


class MemoryRooms:
    """Port Rooms."""

    def __init__(self, rows: Rows, store: MemoryStore) -> None:
        self._rows, self._store = rows, store

    async def person(self, network: Network, speaker: Speaker) -> str:
        """The person's id."""
        return person_id(self._rows, network, speaker)

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
        return thread_of(rows, found[0]) if found else None

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
        self,
        *,
        states: tuple[str, ...] = (),
        room: Place | None = None,
        number: int | None = None,
        owner: str = "",
        most: int | None = None,
    ) -> tuple[Goal, ...]:
        """Goals, newest first."""
        sessions = self._rows.sessions
        found = [
            goal
            for goal in self._rows.goals.values()
            if goal.kind == "goal"
            and (not states or goal.state in states)
            and (room is None or is_within(sessions[goal.session], room))
            and (number is None or goal.number == number)
            and (not owner or goal.owner == owner)
        ]
        return tuple(sorted(found, key=lambda goal: -goal.number)[:most])

    async def last_goal(self, session: str) -> Goal | None:
        """The session's newest goal."""
        found = [goal for goal in await self.goals() if goal.session == session]
        return found[0] if found else None

    async def posted(self, place: Place, remote: str) -> Posted | None:
        """What of ours stands there."""
        for row in self._rows.outbox.values():
            due = row.due
            if remote and due.remote == remote and is_in(due.place, place):
                at = self._rows.sessions[due.session]
                return Posted(due.key, due.kind, due.goal, due.session, at, due.reason, due.content)
        return None

    async def people(self, persons: Sequence[str]) -> Mapping[str, Speaker]:
        """Who they are."""
        known = {id: speaker for (_, speaker), id in self._rows.people.items()}
        names = self._rows.names
        return {id: Speaker(known[id], names[id]) for id in persons if id in known}

    async def remotes(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Under which ids they stand."""
        rows = self._rows.outbox
        sent = {key: rows[key] for key in keys if key in rows and rows[key].state == "sent"}
        return {key: row.due.remote for key, row in sent.items() if row.due.remote}


def _answer(reply: Reply | None, applied: Applied) -> tuple[str, str, str]:
    """Session, key and text of what is answered."""
    if reply is None or applied.fenced:
        return "", "", ""
    return reply.session, reply.key, reply.text(applied)


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


def _has_ended(was: Goal | None, now: Goal) -> bool:
    """Whether a goal that was not taken back has ended just now."""
    has_ended = now.is_final and was is not None and not was.is_final
    return has_ended and now.kind == "goal" and now.reason != "undone"
