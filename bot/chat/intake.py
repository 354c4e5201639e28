"""
What people say, on its way to the goals.

Rule 1: a message is stored before anything else happens; handling it is a later step.
Rule 2: messages of one thread are handled in their order of arrival, threads beside each other.
Rule 3: a message is marked handled in the transaction of what it caused. One whose handling
        raises three times is failed, and whoever said it is told.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.chat import answers
from bot.chat.abilities import is_unseen
from bot.chat.aiming import Aiming
from bot.chat.commands import Commands
from bot.chat.deciding import Deciding
from bot.chat.desk import HEARING, Desk, Told, is_shared
from bot.chat.edits import Edits
from bot.chat.facts import Facts, gather
from bot.chat.filled import Filled
from bot.chat.forgetting import Removals
from bot.chat.heard import Heard, named_plainly, reference
from bot.chat.lanes import Lanes
from bot.chat.lost_rooms import LostRooms, subjects_of
from bot.chat.operations import Operations
from bot.chat.ownership import Ownership
from bot.chat.parse import ALWAYS, Command, Greeting, Said, Speech, Talk
from bot.chat.patience import STRANGERS, Patience
from bot.chat.pressing import Presses, is_again
from bot.chat.reacting import Reactions
from bot.chat.rights import Act, Roles, may
from bot.chat.taking import TakingAnswers
from bot.chat.times import DAY_S
from bot.chat.typed import as_read
from bot.chat.understanding import Understanding
from bot.chat.undoing import Undoing
from bot.chat.verbs import OF_ANYBODY, START, example
from bot.errors import BadInput, HeadwayError, IllegalMove, Refused, Wait
from bot.goals.events import MessageReceived
from bot.goals.goal import Goal
from bot.ports.attached import with_files
from bot.ports.chat import (
    Arrival,
    Changed,
    Incoming,
    Place,
    edit_of,
    loss_of,
    move_of,
    reaction_of,
    removal_of,
)
from bot.ports.journal import Content
from bot.ports.mail import Received
from bot.ports.people import NOTHING, Answer, Note
from bot.ports.positions import Position

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""The longest that a message stored by another process waits."""
BUSY_PAUSE_S = 0.25
FAILINGS = 3
"""As `Inbox.failed` counts them."""


def _any(place: Place) -> bool:
    return True


class Intake:
    """Receives messages, and carries each to what it is for."""

    def __init__(
        self,
        desk: Desk,
        roles: Roles,
        is_ours: Callable[[Place], bool] = _any,
        operations: Operations | None = None,
    ) -> None:
        """`is_ours`: whether this process handles a place; `operations` is told of what cannot be."""
        self._desk = desk
        self._is_ours = is_ours
        self._understanding = Understanding(desk, roles)
        self._commands = Commands(desk)
        self._removals = Removals(desk)
        self._edits = Edits(desk, self._commands.commit)
        self._rooms = LostRooms(desk, operations)
        aiming, undoing = Aiming(desk, self._commands), Undoing(desk, roles)
        self._taking = TakingAnswers(desk, self._commands)
        self._deciding = Deciding(desk, self._commands, self._taking.answer, self._facts)
        deciding = self._deciding
        self._reactions = Reactions(desk, aiming, deciding, undoing)
        self._presses = Presses(desk, self._commands, deciding, undoing)
        self._filled = Filled(desk, self._commands, deciding, aiming)
        self.operations = operations
        self._strangers = Patience(*STRANGERS)
        self._look = asyncio.Event()

    async def receive(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Store what came; it is handled soon. What was taken back is blank from then on."""
        await self._desk.inbox.receive_all(tuple(map(self._plain, arrivals)), upto)
        self._look.set()

    async def run(self) -> None:
        """Handle what comes, and first what was waiting, until cancelled."""
        lanes = Lanes(self._lane)
        try:
            while True:
                self._look.clear()
                try:
                    lanes.end()
                    lanes.begin(await self.waiting())
                except HeadwayError as error:
                    log.warning("The inbox cannot be read: %s", error)
                await lanes.rest(self._look, LOOK_S)
        finally:
            await lanes.close()

    async def drain(self) -> None:
        """Handle everything that waits now."""
        lanes = Lanes(self._lane)
        try:
            while waiting := await self.waiting():
                lanes.begin(waiting)
                while lanes.end():
                    await lanes.rest(asyncio.Event())
        finally:
            await lanes.close()

    async def waiting(self) -> Sequence[Received]:
        """What this process has to handle still, in order of arrival."""
        waiting = await self._desk.inbox.waiting()
        return [row for row in waiting if self._is_ours(row.message.place)]

    async def _lane(self, rows: Sequence[Received]) -> None:
        for row in rows:
            while not await self._try(row):
                pass

    async def _try(self, row: Received) -> bool:
        """Handle one message; False to try again."""
        message = row.message
        try:
            await self._handle(message)
        except Wait as error:
            log.warning("Message %s waits: %s", message.id, error)
            await self._desk.clock.sleep(error.retry_after_s or BUSY_PAUSE_S)
            return False
        except Exception as error:  # noqa: BLE001 - the edge of the loop
            return await self._failed(message, error)
        if self.operations is not None:
            self.operations.mended_all("message")
            if loss_of(message) is None:
                for subject in subjects_of(message.place):
                    self.operations.mended("room", subject)
        return True

    async def _failed(self, message: Incoming, error: Exception) -> bool:
        inbox, ref = self._desk.inbox, reference(message.id)
        if isinstance(error, IllegalMove) and not await self._is_waiting(message):
            return True
        told, more = (message.id, ref), {"ref": ref}
        log.error("Message %s cannot be handled (ref %s)", *told, exc_info=error, extra=more)
        text, answer, alert = self._desk.manner.texts("said.failed", ref=ref), NOTHING, None
        try:
            thread = await self._desk.rooms.begin(message.place)
            person = await self._desk.rooms.person(message.place.network, message.speaker)
            note = Note(thread.session, f"failed:{message.id}", text, only_for=person)
            answer = Answer((note,))
        except HeadwayError as unsaid:
            log.error("That cannot be said either (ref %s): %s", ref, unsaid, extra=more)
        if self.operations is not None:
            alert = self.operations.alert("message", type(error).__name__, ref)
        why = f"{type(error).__name__} (ref {ref})"
        return await inbox.failed(message.id, why, answer, alert) >= FAILINGS

    async def _is_waiting(self, message: Incoming) -> bool:
        waiting = await self._desk.inbox.waiting()
        return any(row.message.id == message.id for row in waiting)

    async def _handle(self, message: Incoming) -> None:
        if loss_of(message) is not None:
            await self._rooms.lost(message)
            return
        if move_of(message):
            await self._rooms.moved(message)
            return
        if message.speaker.id == message.place.workspace:
            # The bot itself: its networks keep its words from it, and this is for when one does not.
            await self._desk.inbox.handled(message.id)
            return
        if removal_of(message):
            if not await self._reactions.taken_away(message):
                await self._removals.handle(message)
            return
        if edit_of(message):
            await self._edits.handle(await self._understanding.hear(message))
            return
        await self._take(await self._understanding.hear(message))

    async def _take(self, heard: Heard) -> None:
        """Do what was said, or answer why not."""
        message = heard.message
        try:
            if reaction_of(message) is not None:
                await self._reactions.handle(heard)
            elif not heard.roles:
                said = await self._understanding.said(heard)
                is_rather_talk = is_unseen(message) and not isinstance(said, Command)
                await self._stranger(heard, Greeting() if is_rather_talk else said)
            elif is_again(message):
                await self._again(heard)
            elif message.via == "button":
                await self._presses.handle(heard)
            elif message.via == "form":
                await self._filled.handle(heard)
            else:
                await self._act(heard, await self._understanding.said(heard))
        except BadInput as error:
            if not heard.roles:
                await self._stranger(heard, Greeting())
            else:
                await self._commands.complain(heard, str(error))
        except Refused as error:
            await self._commands.refuse(heard, heard.goal, error)

    async def _again(self, heard: Heard) -> None:
        """Handle an earlier message as if it came now."""
        kept = await self._presses.kept(heard)
        if kept is not None:
            now = heard.message
            said = replace(kept, id=now.id, at=now.at, way_back=now.way_back)
            again = await self._understanding.hear(said)
            await self._take(replace(again, of=kept.id))

    def _plain(self, one: Arrival) -> Arrival:
        speaker = named_plainly(one.speaker)
        if speaker is not one.speaker:
            one = replace(one, speaker=speaker)
        if isinstance(one, Incoming | Changed):
            names = self._desk.manner.commands
            one = replace(one, text=as_read(one.text, one.place.network, names))
        # The lines of its files are a part of what it says: they go where that goes, and when it goes.
        return with_files(one) if isinstance(one, Incoming) else one

    async def _act(self, heard: Heard, said: Said) -> None:
        if await self._commands.pick(heard, heard.message.text.strip()):
            return
        match said:
            case Talk():
                await self._desk.inbox.handled(heard.id)
            case Greeting():
                await self._greet(heard, said)
            case Command():
                if said.is_bare and await self._is_answer(heard, said):
                    return
                if said.is_bare and await self._is_rather_speech(heard, said):
                    await self._speech(heard, heard.message.text.strip())
                    return
                if said.verb is START and await self._commands.lets_be(heard):
                    return
                await self._commands.run(heard, said)
            case Speech():
                await self._speech(heard, said.text)

    async def _greet(self, heard: Heard, said: Greeting) -> None:
        texts = self._desk.manner.texts
        if said.is_bare:
            await self._commands.overview(heard)
        elif heard.thread is not None:
            await self._commands.complain(heard, texts("said.start_how"))
        else:
            shown = example(START, texts)
            await self._commands.complain(heard, texts("said.hello", example=shown))

    async def _speech(self, heard: Heard, text: str) -> None:
        goal = heard.goal
        if goal is None:
            if await self._commands.lets_be(heard):
                return
            if await self._commands.may(heard, Act.START):
                await self._commands.ask(heard, text)
            return
        facts = await self._facts(goal)
        # An exact word is what was asked for, however much was said before it.
        if (exact := answers.exact(text, facts, self._desk.manner)) is not None:
            await self._taking.answer(heard, goal, exact)
            return
        if await self._taking.lacks(heard, goal, text, facts):
            return
        if await self._deciding.names_closed(heard, goal, text):
            return
        words = answers.in_words(text, facts, replies_to_card=bool(heard.message.reply_to))
        begins = words is not None or goal.state not in HEARING
        if begins and await self._commands.lets_be(heard):
            return
        if words is not None:
            await self._taking.answer(heard, goal, words)
        elif not await self._deciding.comes_late(heard, goal, text, is_over=begins):
            await self._steer(heard, goal, text, self._taking.hint(goal, text))

    async def _is_answer(self, heard: Heard, command: Command) -> bool:
        """A command's word may be the very words of an option: then it is the answer."""
        goal = heard.goal
        if goal is None or goal.decision is None or command.verb.name in ALWAYS:
            return False
        facts = await self._facts(goal)
        answer = answers.exact(heard.message.text.strip(), facts, self._desk.manner)
        if answer is None:
            return False
        if command.verb.name in Ownership.verbs and await self._commands.is_offered(heard):
            text = self._desk.manner.texts("said.which_yes", number=goal.decision.number)
            await self._commands.answer(heard, text)
            return True
        await self._taking.answer(heard, goal, answer)
        return True

    async def _is_rather_speech(self, heard: Heard, command: Command) -> bool:
        """A bare word that is a verb, and is one only where there is something that it is about."""
        if command.verb.name in Ownership.verbs:
            return not await self._commands.is_offered(heard) and command.goal is None
        if command.verb.name == "plan":
            # In the thread of a goal that lives: how that one is to go about it.
            return heard.goal is not None and not heard.goal.is_final
        return command.verb.name == "why"

    async def _steer(self, heard: Heard, goal: Goal, text: str, told: Told | None = None) -> None:
        if not may(Act.STEER, heard.roles, is_owner=heard.is_owner_of(goal)):
            await self._desk.inbox.handled(heard.id)
            return
        content = Content(text, heard.person)
        received = MessageReceived(heard.id, heard.person, content.hash)
        try:
            await self._commands.commit(heard, goal, received, contents=(content,), told=told)
        except Refused as error:
            if error.code != "ordinary":
                raise
            await self._commands.ask(heard, text)

    async def _stranger(self, heard: Heard, said: Said) -> None:
        """Who is not on the list is told once a day; they may ask to be, or claim it."""
        place = heard.message.place
        if isinstance(said, Talk | Speech) or (
            is_shared(place) and self._strangers.has_ended(place.room, self._desk.clock.now())
        ):
            await self._desk.inbox.handled(heard.id)
            return
        if isinstance(said, Command) and said.verb.name in OF_ANYBODY:
            await self._commands.run(heard, said)
            return
        text = self._desk.manner.texts("said.stranger")
        answer = await self._desk.reply(heard, text, reason="stranger", is_public=False)
        key = f"stranger:{heard.person}"
        await self._desk.doors.say_once(key, every_s=DAY_S, answer=answer)
        self._desk.posted()

    async def _facts(self, goal: Goal) -> Facts:
        desk = self._desk
        return await gather(goal, desk.journal, desk.rooms, desk.clock.now())
