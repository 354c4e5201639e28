"""Whom a message concerns, as its network knows them: a goal's people, admins, who may approve its call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.chat.rows import OF_ADMINS
from bot.goals.goal import Goal
from bot.ports.chat import Place, Shape
from bot.ports.mail import Due, Rooms
from bot.ports.room_settings import DEFAULTS, RoomSettings


def _nobody(place: Place) -> tuple[str, ...]:
    return ()


def _as_usual(place: Place) -> RoomSettings:
    return DEFAULTS


@dataclass(slots=True)
class Concerned:
    """Asks whom it concerns at the moment of sending."""

    rooms: Rooms
    admins: Callable[[Place], tuple[str, ...]] = _nobody
    """A room's admins, as their network knows them."""
    approvers: Callable[[Place], tuple[str, ...]] = _nobody
    """Those who may approve calls there."""
    settings: Callable[[Place], RoomSettings] = _as_usual
    """A room's settings."""

    async def called(self, shape: Shape, due: Due, goal: Goal | None) -> Shape:
        """The shape with their ids for those of persons, and with whom else it concerns."""
        people = await self.rooms.people(shape.mentions) if shape.mentions else {}
        ids = tuple(people[person].id for person in shape.mentions if person in people)
        admins = self.admins(due.place) if due.key.startswith(OF_ADMINS) else ()
        further = (*admins, *self._approving(due, goal, ids))
        return replace(shape, mentions=tuple(dict.fromkeys((*ids, *further))))

    def _approving(self, due: Due, goal: Goal | None, owner: Sequence[str]) -> tuple[str, ...]:
        """Who may approve the call of a card, where its owner may not."""
        decision = goal.decision if goal and due.kind in ("decision", "reminder") else None
        if decision is None or decision.kind != "approval":
            return ()
        room, approvers = self.settings(due.place), self.approvers(due.place)
        may_own = room.self_approve or any(id in approvers for id in owner)
        return () if may_own and not room.four_eyes else approvers
