"""Messages in and out, and positions of networks, in memory."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from bot.errors import IllegalMove
from bot.goals.goal import ACTIVE, Goal
from bot.ports.chat import (
    EDIT,
    REACTION,
    REMOVAL,
    Arrival,
    Incoming,
    Network,
    Place,
    Removed,
    Unreacted,
    edit_of,
)
from bot.ports.clock import Clock
from bot.ports.doors import Heeded
from bot.ports.incidents import Alert
from bot.ports.journal import Content
from bot.ports.mail import NEW, Due, OutState, Received
from bot.ports.people import NOTHING, Answer, Note
from bot.ports.positions import Position, Sealed
from tests.doubles.guard import Guard
from tests.doubles.store_rows import In, Out, Rows, is_in, is_within, person_id, person_of

CLAIM_S = 60.0
STATUS_AFTER_S = 5.0
STATUS_PAUSE_S = 3.0
FAILINGS = 3


class MemoryInbox:
    """Port Inbox."""

    def __init__(self, rows: Rows, outbox: "MemoryOutbox") -> None:
        self._rows, self._outbox = rows, outbox

    async def receive(self, message: Incoming) -> bool:
        """Store it once."""
        rows = self._rows
        if message.id in rows.inbox:
            return False
        person = person_id(rows, message.place.network, message.speaker)
        edited = rows.inbox.get(edit_of(message))
        if edited is not None:
            said = edited.received.message
            if is_in(said.place, message.place) and person != person_of(rows, said):
                return False
        if not message.place.thread and message.reply_to:
            message = replace(message, place=_place_under(rows, message.place, message.reply_to))
        rows.inbox[message.id] = In(
            Received(rows.next(), message), received_at=self._outbox.now()
        )  # fmt: skip
        return True

    async def receive_all(self, arrivals: Sequence[Arrival], upto: Position | None = None) -> int:
        """Store what came, in its order, and how far that is."""
        new = 0
        for one in arrivals:
            if isinstance(one, Removed):
                new += await self.remove(one)
            elif isinstance(one, Unreacted):
                sign = self._sign_of(one)
                new += sign is not None and await self.remove(sign)
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
            self._blank(row)
        return bool(taken) and await self.receive(gone)

    def _sign_of(self, undone: Unreacted) -> Removed | None:
        """The removal of the last such reaction."""
        rows = sorted(self._rows.inbox.items(), key=lambda one: -one[1].received.message.at)
        for id, row in rows:
            said = row.received.message
            is_theirs = id.startswith(REACTION) and said.speaker.id == undone.speaker.id
            if not (is_theirs and said.reply_to == undone.to and said.at <= undone.at):
                continue
            name = id.removeprefix(REACTION)
            gone = self._rows.inbox.get(f"{REMOVAL}{name}")
            if gone is not None and gone.received.message.at == undone.at:
                return None
            if gone is None and said.text.partition("\n")[0] == undone.emoji:
                return Removed(name, undone.place, undone.speaker, undone.at)
        return None

    def _blank(self, row: In) -> None:
        rows, said = self._rows, row.received.message
        author = person_of(rows, said)
        made = [
            (session, hash)
            for (session, hash), content in rows.contents.items()
            if content.message == said.id
            or (
                content.author == author
                and content.text in said.text
                and is_in(rows.sessions[session], said.place)
            )
        ]
        begun = {
            goal.session for goal in rows.goals.values() if (goal.session, goal.objective) in made
        }
        made += [
            (one.due.session, one.due.content)
            for one in rows.outbox.values()
            if one.due.kind == "root" and one.due.session in begun
        ]
        for key in made:
            rows.contents.pop(key, None)
        row.received = replace(
            row.received, message=replace(said, text="", files=(), form=(), way_back="")
        )

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

    def __init__(self, rows: Rows, clock: Clock, guard: Guard) -> None:
        self._rows, self._clock, self._guard = rows, clock, guard

    def now(self) -> float:
        """The store's time."""
        return self._clock.now()

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

    async def say(
        self,
        session: str,
        key: str,
        text: str,
        handled: tuple[str, ...] = (),
        *,
        only_for: str = "",
        reason: str = "",
    ) -> None:
        """Queue a reply."""
        self.said(Answer((Note(session, key, text, reason, only_for),), handled))

    def said(self, answer: Answer) -> None:
        """Queue an answer with the mark on what it answers."""
        inbox = MemoryInbox(self._rows, self)
        inbox.check(answer.handled)
        for note in answer.notes:
            self.answer(note.session, note.key, note.text, note.reason, note.only_for)
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

    def answer(
        self, session: str, key: str, text: str, reason: str = "", only_for: str = ""
    ) -> None:
        """Queue a reply, as a part of what else is written; one without a key is none."""
        if not key:
            return
        content = Content(text)
        self._rows.contents.setdefault((session, content.hash), content)
        self._queue(key, "reply", "", session, reason, content.hash, only_for=only_for)

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

    async def again(
        self, place: Place, *, within_s: float, but: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Try results and questions again that failed in that room lately and still hold."""
        since = self._clock.now() - within_s
        failed = [
            row
            for row in self._rows.outbox.values()
            if row.state == "failed"
            and is_within(self._rows.sessions[row.due.session], place)
            and row.due.created_at > since
            and row.due.key not in but
            and row.due.goal
            and _holds(row.due.kind, self._rows.goals[row.due.goal].state)
        ]
        for row in failed:
            row.state, row.looked_up, row.not_before = "unknown", True, self._clock.now()
        return tuple(row.due.key for row in failed)

    async def give_up(self, place: Place, why: str) -> int:
        """Withdraw what waits to be said in that room."""
        waits = [
            row
            for row in self._rows.outbox.values()
            if row.state in ("pending", "unknown")
            and is_within(self._rows.sessions[row.due.session], place)
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

    def _revive(self, rows: Iterable[Out]) -> None:
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

    def edit_root(self, goal: Goal, why: str) -> None:
        """The first message of its thread tells how it is now."""
        if self._roots_of(goal.id):
            self.add(f"{goal.id}:card:root:{why}", "card", goal, "", "")

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

    def drop(self, goal: str) -> None:
        """What was not sent of it is not sent, nor is the end of a card that was never shown."""
        own = {key: row for key, row in self._rows.outbox.items() if row.due.goal == goal}
        for row in own.values():
            if row.state == "pending" and row.due.kind not in ("status", "card", "removal", "root"):
                row.state = "superseded"
        for key, row in own.items():
            shown = own.get(key.replace(":card:", ":decision:"))
            is_of_none = shown is not None and shown.state == "superseded" and not shown.due.remote
            if row.state == "pending" and row.due.kind == "card" and is_of_none:
                row.state = "superseded"

    def _roots_of(self, goal: str) -> list[Out]:
        rows = self._rows.outbox.values()
        return [row for row in rows if row.due.goal == goal and row.due.kind == "root"]

    def _status_of(self, goal: str) -> list[Out]:
        rows = self._rows.outbox.values()
        return [row for row in rows if row.due.goal == goal and row.due.kind == "status"]

    def _take(self, row: Out, now: float) -> Due:
        remote = row.due.remote
        if row.due.kind == "status":
            shown = [one.due.remote for one in self._status_of(row.due.goal) if one.due.remote]
            remote = shown[-1] if shown else ""
        if ":card:root:" in row.due.key:
            shown = [one.due.remote for one in self._roots_of(row.due.goal) if one.due.remote]
            remote = shown[-1] if shown else ""
        elif row.due.kind == "card":
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
        if row.due.kind == "root" or ":card:root:" in row.due.key:
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
        only_for: str = "",
    ) -> None:
        if key in self._rows.outbox:
            return
        now = self._clock.now()
        place = self._rows.sessions[session]
        due = Due(
            key, kind, goal, session, place, reason, content, created_at=now, only_for=only_for
        )  # fmt: skip
        self._rows.outbox[key] = Out(due, self._rows.next(), max(not_before, now))


class MemoryPositions:
    """Port Positions."""

    def __init__(self, rows: Rows) -> None:
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


def _goes_with(row: In, id: str, removed: str) -> bool:
    """The message itself, what it said later, and reactions that brought its text with them."""
    if id == removed or id.startswith(f"{EDIT}{removed}:"):
        return True
    said = row.received.message
    return id.startswith(REACTION) and said.reply_to == removed and "\n" in said.text


def _place_under(rows: Rows, place: Place, message: str) -> Place:
    """Where whatever answers a message of that room is said."""
    came = rows.inbox.get(message)
    there = came.received.message.place if came else None
    if came is not None and there is not None and came.state == "waiting" and is_in(there, place):
        return replace(place, thread=there.thread)
    root = replace(place, thread=message)
    if root in rows.sessions.values():
        return root
    for row in rows.outbox.values():
        if row.due.remote == message and is_in(row.due.place, place):
            return replace(place, thread=rows.sessions[row.due.session].thread)
    return replace(place, thread=there.thread if there and is_in(there, place) else "")


def _holds(kind: str, state: str) -> bool:
    """Whether a post of that kind says what is still true of a goal in that state."""
    if kind == "decision":
        return state in ("deciding", "paused")
    return kind in ("complete", "answer", "file") or kind == state
