"""
Rooms that the bot has lost, alone or with all of their workspace, and rooms that were replaced.

Rule 1: the goals of a lost room rest, each with the reason, once; nothing more is said in that room. They
        go on when somebody says so, here again or elsewhere.
Rule 2: what happens to a room may be told twice, or half done when the process dies: it is done again,
        and changes nothing the second time.
"""

import logging
from dataclasses import replace
from typing import Final

from bot.chat.desk import LIVE, Desk
from bot.chat.operations import Operations
from bot.chat.views import one_line
from bot.errors import IllegalMove, Refused
from bot.goals.events import RoomWasLost
from bot.goals.goal import Goal, State
from bot.ports.chat import Incoming, Place, loss_of, move_of
from bot.ports.journal import Content, Unit
from bot.ports.people import Answer, Note
from bot.ports.plain import unmarked

log = logging.getLogger(__name__)

RESTING: Final = frozenset({State.BLOCKED, State.OVER_BUDGET})
"""States that wait for a person anyway, and have a reason of their own."""
REASON_CHARS: Final = 200


class LostRooms:
    """What follows when a room is lost or replaced."""

    def __init__(self, desk: Desk, operations: Operations | None = None) -> None:
        """`operations` is told once of a room whose goals rest."""
        self._desk = desk
        self._operations = operations

    async def lost(self, message: Incoming) -> None:
        """Let the goals of the room rest. Raises as the store does."""
        desk, place = self._desk, replace(message.place, thread="")
        how, why = loss_of(message) or ("gone", "")
        by = await desk.rooms.person(place.network, message.speaker)
        note = (
            Content(one_line(unmarked(why), REASON_CHARS).rstrip("."), by) if why.strip() else None
        )
        goals = await desk.rooms.goals(states=LIVE, room=place)
        for goal in goals:
            if goal.state not in RESTING and not goal.reason.startswith("room_lost:"):
                await self._rest(goal, RoomWasLost(how, by, note.hash if note else ""), note)  # type: ignore[arg-type]
        reason = f"room lost: {how}"
        await desk.outbox.give_up(place, reason)
        if goals and self._operations is not None:
            names = desk.manner.texts("list_of").join(desk.name(goal) for goal in reversed(goals))
            name = message.speaker.name
            more = {"name": name, "goals": names, "why": f": {note.text}" if note else ""}
            await self._operations.trouble("room", subject_of(place), how, **more)
        await desk.inbox.handled(message.id)

    async def moved(self, message: Incoming) -> None:
        """Take goals and settings along. Raises as the store does."""
        desk, texts = self._desk, self._desk.manner.texts
        old = replace(message.place, thread="")
        goals = await desk.rooms.goals(states=LIVE, room=old)
        objectives = {goal.id: one_line(await desk.objective(goal)) for goal in goals}

        def root(goal: Goal) -> str:
            name = desk.name(goal)
            if goal.id not in objectives:
                return texts("root.moved.ended", goal=name)
            return texts("root.moved", goal=name, objective=objectives[goal.id])

        answer = Answer(handled=(message.id,))
        if goals or desk.allow_list.kept(old):
            # It waits in the old room, and comes along.
            main = (await desk.rooms.begin(old)).session
            note = Note(main, f"moved:{message.id}", texts("said.moved"))
            answer = Answer((note,), (message.id,))
        await desk.rooms.move(old, move_of(message), root, answer)
        await desk.allow_list.room_moved()
        desk.posted()

    async def _rest(self, goal: Goal, event: RoomWasLost, note: Content | None) -> None:
        contents = (note,) if note else ()
        try:
            applied = await self._desk.journal.commit(
                Unit(goal.id, (event,), contents, urgent=True)
            )
        except (IllegalMove, Refused) as error:
            log.info("Goal %s rests already: %s", goal.id, error)
            return
        self._desk.wake(goal.id, applied.instructions)


def subject_of(place: Place) -> str:
    """What an incident of a room is called; without a room, of the workspace."""
    return f"{place.network}:{place.room or place.workspace}"


def subjects_of(place: Place) -> tuple[str, str]:
    """What is well again when something is said in a place: its room, and its workspace."""
    return subject_of(place), subject_of(replace(place, room=""))
