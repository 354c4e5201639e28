"""
What is to be said, on its way to the networks.

Rule 1: a row is claimed before the network is touched, and rendered at the moment of sending.
Rule 2: a row of unknown outcome is looked up first; nothing is simply sent again.
Rule 3: after a restore a post may be there that the rows do not know: it is made to say this instead.
Rule 4: what cannot be sent is failed with its reason, and later rows pass.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.chat.abilities import WHISPERS
from bot.chat.caps import persons_of, reached_shape
from bot.chat.cards import Closed, closed, number_in
from bot.chat.concerned import Concerned
from bot.chat.facts import Manner, gather
from bot.chat.operations import Operations
from bot.chat.posts import shape
from bot.chat.replies import buttons_of, undo_buttons
from bot.chat.roots import edited_root, root_shape
from bot.chat.rows import ASKING, answered, edits_root, is_silent, offered_to
from bot.chat.typed import as_typed
from bot.chat.yeses import Yeses
from bot.errors import HeadwayError, IllegalMove, OutcomeUnknown, Refused, StoreBusy, Wait
from bot.goals.events import Paused
from bot.ports.chat import THREAD_CLOSED, Chat, Outgoing, Place, Shape
from bot.ports.clock import Clock
from bot.ports.files import Attachments
from bot.ports.holds import Holds
from bot.ports.journal import Content, Journal, Unit
from bot.ports.mail import Due, Outbox, Rooms
from bot.ports.spending import Spending
from bot.redaction import Redactor

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""The longest that a row of another process waits to be sent."""
GAP_S = 0.1
"""Between two looks: what comes together costs one claim, one commit and, of a goal's status, one edit.
Whatever comes after a silence goes at once."""
AT_ONCE = 64
AGAIN_S = 7 * 24 * 3600.0
"""What a room refused longer ago is told to nobody any more."""
RETRY_S = 5.0
"""Where a network asks to wait and does not say how long."""
EDITS = frozenset({"status", "card", "removal"})
AGAIN = frozenset({"status", "removal"})
"""What may be done twice: the second time changes nothing."""
UNPARKING = frozenset({"status", "card", "reply", "cap", "removal"})
"""What may be missing without anybody waiting for an answer to it."""
OURS = frozenset({"reply", "cap"})
"""What is said in sentences of ours."""
OF_OPERATIONS = ("incident:", "recovered:")
"""What keys of the operations room's own posts begin with."""


@dataclass(slots=True)
class _Lane:
    """One network's way out."""

    chat: Chat
    look: asyncio.Event = field(default_factory=asyncio.Event)
    draining: asyncio.Lock = field(default_factory=asyncio.Lock)
    unread: str = ""
    """Why the outbox cannot be read, as the log has been told."""


async def _always(place: Place) -> bool:
    return True


class Delivery:
    """Sends what the outbox holds, network by network."""

    def __init__(
        self,
        outbox: Outbox,
        journal: Journal,
        rooms: Rooms,
        chats: Sequence[Chat],
        manner: Manner,
        clock: Clock,
        redactor: Redactor | None = None,
        manner_in: Callable[[Place], Manner] | None = None,
        *,
        spending: Spending | None = None,
        holds: Holds | None = None,
        operations: Operations | None = None,
    ) -> None:
        """Send nothing yet.

        Args:
            manner_in: how a room is spoken to, where rooms differ.
            spending: by it the status message tells how much of the day's caps is spent.
            holds: by them the status message of a goal that is on hold says so.
            operations: is told of what cannot be sent.
        """
        self._redactor = redactor or Redactor()
        self._outbox = outbox
        self._journal = journal
        self._rooms = rooms
        self._manner = manner
        self._manner_in = manner_in or (lambda place: manner)
        self._clock = clock
        self.spending = spending
        self.holds = holds
        self.operations = operations
        self.attachments: Attachments | None = None
        """By them the complete post tells which files there are."""
        self.approves: Callable[[Place], Awaitable[bool]] = _always
        """Whether a reaction approves a call there."""
        self.concerned, self._yeses = Concerned(rooms), Yeses()
        self._tried_again: set[str] = set()
        self._lanes = tuple(_Lane(chat) for chat in chats)

    def notify(self) -> None:
        """Look now: there may be something to send."""
        for lane in self._lanes:
            lane.look.set()

    async def run(self) -> None:
        """Send what is due until cancelled; a network that is slow holds up no other."""
        running = [asyncio.create_task(self._run(lane)) for lane in self._lanes]
        try:
            await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def drain(self) -> None:
        """Send everything that is due now; returns when what is on its way has arrived, too."""
        await asyncio.gather(*(self._drain(lane, 0.0) for lane in self._lanes))

    async def _run(self, lane: "_Lane") -> None:
        clock = asyncio.get_running_loop().time
        while True:
            lane.look.clear()
            await self._drain(lane, GAP_S)
            next_at = clock() + GAP_S
            # Not `wait_for`, which in Python 3.11 may swallow the cancellation that ends this.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await lane.look.wait()
            await asyncio.sleep(next_at - clock())

    async def _drain(self, lane: "_Lane", gap_s: float) -> None:
        """Send what is due, thread beside thread: one that is slow holds up no other."""
        async with lane.draining:
            under_way: set[asyncio.Task[None]] = set()
            try:
                while True:
                    lane.look.clear()
                    rows = await self._due(lane, AT_ONCE - len(under_way))
                    under_way |= {
                        asyncio.create_task(self._deliver(lane.chat, row)) for row in rows
                    }
                    if not under_way:
                        return
                    done = await _mostly_done(under_way, lane.look)
                    under_way -= done
                    for task in done:
                        self._settled(lane, task)
                    # Edits of a status are worth waiting for; what people read is sent without a pause.
                    are_edits = bool(rows) and all(row.kind in EDITS for row in rows)
                    await asyncio.sleep(gap_s if are_edits else 0)
            finally:
                for task in under_way:
                    task.cancel()
                await asyncio.gather(*under_way, return_exceptions=True)

    async def _due(self, lane: "_Lane", limit: int) -> Sequence[Due]:
        try:
            rows = await self._claimed(lane.chat, limit) if limit else ()
        except HeadwayError as error:
            self._unread(lane, error)
            return ()
        lane.unread = ""
        return rows

    def _settled(self, lane: "_Lane", task: "asyncio.Task[None]") -> None:
        """Look at how a row ended: where that could not be written, its claim lapses."""
        try:
            task.result()
        except HeadwayError as error:
            self._unread(lane, error)

    def _unread(self, lane: "_Lane", error: HeadwayError) -> None:
        if str(error) != lane.unread:
            # Once, not at every look: the log may lie on the disk that is full.
            lane.unread = str(error)
            log.warning("The outbox cannot be read: %s", error)

    async def _claimed(self, chat: Chat, limit: int) -> Sequence[Due]:
        return await self._outbox.claim(chat.network, limit=limit, workspace=chat.workspace)

    async def _deliver(self, chat: Chat, due: Due) -> None:
        """One row, to its end; no error of it reaches the others."""
        try:
            found = await self._look_up(chat, due)
            if found and due.may_differ:
                due = replace(due, remote=found)
            remote = await self._send(chat, due) if due.may_differ or not found else found
            await self._outbox.sent(due.key, remote)
            if remote != due.remote and not due.only_for:
                # An edit, or what one person sees, is no proof that the room takes posts.
                await self._mended(due)
        except OutcomeUnknown as error:
            log.warning("Whether %s arrived is unknown: %s", due.key, error)
            if due.state == "unknown":
                await self._outbox.later(due.key, error.retry_after_s or RETRY_S)
            else:
                await self._outbox.unknown(due.key)
        except StoreBusy as error:
            # The claim lapses, and the row is looked up: it may be there already.
            log.warning("What became of %s cannot be written down: %s", due.key, error)
        except Wait as error:
            await self._outbox.later(due.key, error.retry_after_s or RETRY_S)
        except Exception as error:
            is_ours = not isinstance(error, HeadwayError)
            log.error("%s cannot be sent: %s", due.key, _why(error), exc_info=is_ours)
            is_closed = isinstance(error, Refused) and error.code == THREAD_CLOSED
            await self._failed(due, self._redactor.text(_why(error)), is_closed=is_closed)

    async def _mended(self, due: Due) -> None:
        """Its room takes posts: results and questions that it refused lately are tried once more."""
        if self.operations is None or ("post", _room(due)) not in self.operations.open:
            return
        keys = await self._outbox.again(due.place, within_s=AGAIN_S, but=self._tried_again)
        self._tried_again |= set(keys)
        self.operations.mended("post", _room(due))

    async def _failed(self, due: Due, why: str, *, is_closed: bool = False) -> None:
        """It goes nowhere: its goal is parked, and the operator told once of the room."""
        if due.goal and (is_closed or due.kind not in UNPARKING):
            with contextlib.suppress(Refused, IllegalMove):
                note = Content(why)
                paused = Paused("", note=note.hash)
                await self._journal.commit(Unit(due.goal, (paused,), (note,), urgent=True))
        alert = None
        # A room that is lost is an incident already.
        is_known = self.operations is not None and ("room", _room(due)) in self.operations.open
        is_ours = due.key.startswith(OF_OPERATIONS) or bool(due.only_for)
        if self.operations is not None and not is_known and not is_ours:
            alert = self.operations.alert("post", _room(due), why)
        await self._outbox.failed(due.key, why, alert)

    async def _look_up(self, chat: Chat, due: Due) -> str | None:
        """The remote id of a row of unknown outcome, where it turns out to be there."""
        if due.state != "unknown" or (due.remote and (due.kind in AGAIN or due.may_differ)):
            # An edit of the status may be made again: it says what is true now.
            return None
        return await chat.find(due.place, due.key, due.created_at)

    async def _send(self, chat: Chat, due: Due) -> str:
        only_for = await self._only_for(due)
        shape = await self._shape(due) if only_for is not None else None
        if shape is None or only_for is None:
            return due.remote
        goal = await self._journal.goal(due.goal) if due.goal else None
        shape = as_typed(
            await self.concerned.called(shape, due, goal),
            due.place,
            is_ours=not due.goal or due.kind in OURS,
            names=self._manner.commands,
        )
        message = Outgoing(
            due.key,
            due.place,
            self._redactor.all(shape),
            silent=is_silent(due),
            edits=due.remote if due.kind in EDITS or due.may_differ else "",
            removes=due.kind == "removal",
            files=due.files,
            only_for=only_for,
            answers=answered(due),
            created_at=due.created_at,
        )
        return await chat.send(message)

    async def _only_for(self, due: Due) -> str | None:
        """Whom alone it concerns, as their network knows them; None for nobody who is known still."""
        if not due.only_for:
            return ""
        found = (await self._rooms.people((due.only_for,))).get(due.only_for)
        if found is not None:
            return found.id
        return None if due.place.network in WHISPERS else ""

    async def _shape(self, due: Due) -> Shape | None:
        """What the row says now; None where it says nothing any more."""
        now = self._clock.now()
        if due.kind == "removal":
            return Shape("", "", body=self._manner.texts("said.taken_back")) if due.remote else None
        if due.kind == "cap":
            people = await self._rooms.people(persons_of(due))
            names = {person: speaker.name for person, speaker in people.items()}
            return reached_shape(due, names, now, self._manner_in(due.place))
        if due.kind == "reply" or not due.goal:
            return await self._reply(due)
        goal = await self._journal.goal(due.goal)
        if due.kind == "root":
            body = (await self._reply(due)).body
            return root_shape(body, due.key, goal, due.place.network, self._manner)
        if goal.reason == "undone" or (due.kind == "file" and not due.files):
            # Taken back, or forgotten meanwhile.
            return None
        if edits_root(due):
            return await edited_root(due, goal, self._journal, self._rooms, self._manner)
        card = await self._card(due) if due.kind == "card" else None
        further = {due.content} - {""}
        is_status = due.kind == "status"
        facts = await gather(
            goal,
            self._journal,
            self._rooms,
            now,
            tuple(further),
            card,
            spending=self.spending if is_status else None,
            holds=self.holds if is_status else None,
            room=self.concerned.settings(due.place),
            yeses=self._yeses,
        )
        shared = due.files
        if due.kind == "complete" and self.attachments is not None:
            shared = await self.attachments.of_goal(goal.id)
        facts = replace(facts, files=shared) if shared else facts
        shown = shape(due, facts, self._manner_in(due.place))
        if is_status and (undo := undo_buttons(goal, due.place.network, self._manner)):
            shown = replace(shown, buttons=(*undo, *shown.buttons))
        if goal.decision is not None and goal.decision.kind == "approval" and shown.reactions:
            return shown if await self.approves(due.place) else replace(shown, reactions=())
        return shown

    async def _card(self, due: Due) -> Closed | None:
        lines = await self._journal.history(due.session)
        return closed(lines, due.goal, number_in(due.key))

    async def _reply(self, due: Due) -> Shape:
        """An answer to a command; it tells the state of its thread's goal, too."""
        contents = await self._journal.contents(due.session, (due.content,))
        body = contents.get(due.content, due.content)
        buttons = buttons_of(due.reason, self._manner, due.place.network)
        goal = await self._rooms.last_goal(due.session)
        if goal is None:
            return Shape("", "", body=body, buttons=buttons)
        asked = (goal.owner,) if due.key.startswith(ASKING) else offered_to(due)
        return Shape(
            "", "", body=body, buttons=buttons, mentions=asked, goal=goal.id, state=goal.state
        )


async def _mostly_done(
    under_way: set["asyncio.Task[None]"], look: asyncio.Event
) -> set["asyncio.Task[None]"]:
    """Wait until all have ended, or, where one is slow, until there may be more to send.

    Returns those that have ended. Most do at once: looking after each would cost a claim for each.
    """
    _, slow = await asyncio.wait(under_way, timeout=GAP_S)
    if slow:
        looking = asyncio.create_task(look.wait())
        waits: set[asyncio.Task[Any]] = {looking, *slow}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=LOOK_S)
        finally:
            looking.cancel()
    return {task for task in under_way if task.done()}


def _room(due: Due) -> str:
    return f"{due.place.network}:{due.place.room}"


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, HeadwayError) else type(error).__name__
