"""Rules of what ends a goal from outside: its beginning is taken back, or its room is lost."""

from bot.errors import Refused
from bot.goals.copying import replace
from bot.goals.events import Cancelled, RoomWasLost, Undone
from bot.goals.goal import Goal
from bot.goals.instructions import Instruction, RemovePosts, ShowStatus
from bot.goals.limits import Limits
from bot.goals.people_rules import cancelled, rest
from bot.goals.rules import Moved


def undone(goal: Goal, event: Undone, limits: Limits) -> Moved:
    """As if it had never begun, as far as anybody sees; later than its first turn, it has."""
    if goal.turn > 1 or (goal.turn == 1 and not goal.turn_open):
        raise Refused(f"Goal G{goal.number} has done a turn: cancel it.", code="begun")
    ended = cancelled(goal, Cancelled(event.by, event.at), limits)
    unseen = replace(ended.goal, reason="undone")
    return Moved(unseen, "undone", (*_unsaid(ended), RemovePosts()))


def room_lost(goal: Goal, event: RoomWasLost, limits: Limits) -> Moved:
    """Nobody hears it there: it rests after the running step, and says nothing."""
    if goal.kind == "ask":
        ended = cancelled(goal, Cancelled("", event.at), limits)
        return Moved(ended.goal, "room_lost", _unsaid(ended))
    return Moved(rest(goal, event.by, event.at, _lost(event)), "room_lost")


def room_lost_paused(goal: Goal, event: RoomWasLost, limits: Limits) -> Moved:
    """It rests already, and now for this reason; what was stopped stays stopped."""
    if goal.reason == "stopped":
        return Moved(goal, "room_lost")
    return Moved(replace(goal, by=event.by, reason=_lost(event)), "room_lost")


def _lost(event: RoomWasLost) -> str:
    return f"room_lost:{event.how}:{event.note}"


def _unsaid(moved: Moved) -> tuple[Instruction, ...]:
    return tuple(one for one in moved.instructions if not isinstance(one, ShowStatus))
