"""What is said of a hold: who set it, since when, and why."""

from collections.abc import Iterable

from bot.chat.facts import Manner
from bot.chat.times import DAY_S, clock_time, moment
from bot.goals.goal import Goal
from bot.ports.holds import RESTORE, Hold, Holds


def since(hold: Hold, now: float, manner: Manner) -> str:
    """`by ann since 14:05`."""
    texts = manner.texts
    is_old = now - hold.at >= DAY_S
    time = moment(hold.at, now, manner.zone, texts) if is_old else clock_time(hold.at, manner.zone)
    if hold.scope == RESTORE:
        return texts("held.restored", time=time)
    return texts("held.since", name=hold.by_name or texts("somebody"), time=time)


def why(hold: Hold, manner: Manner) -> str:
    """`Why: the disk.`, or nothing."""
    return manner.texts("held.why", why=hold.why.rstrip(".")) if hold.why else ""


async def held_among(holds: Holds | None, goals: Iterable[Goal]) -> frozenset[str]:
    """Ids of those of the goals that are on hold."""
    if holds is None or not await holds.standing():
        return frozenset()
    live = [goal for goal in goals if not goal.is_final]
    return frozenset([goal.id for goal in live if await holds.over(goal.session, goal.owner)])


def kept(hold: Hold, now: float, manner: Manner) -> str:
    """What is added to an answer about a goal that is on hold."""
    line = manner.texts("held.kept", since=since(hold, now, manner))
    return " ".join(part for part in (line, why(hold, manner)) if part)
