"""
Goals whose owner may have none there any more: they rest, and the room's admins are told.

Rule 1: asked at the start, after each change of the list or of who is gone, and when a turn begins.
Rule 2: nobody is lost by a list that is old: before a goal rests, the list is read once more.
Rule 3: one card a room and person. It is written before the goals rest, under a key that is kept: a
        process that dies between the two goes on with the goals and says nothing twice.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bot.chat.allow_list import AllowList, Lost
from bot.chat.desk import LIVE, Wake
from bot.chat.facts import Manner
from bot.chat.people_words import mentioned
from bot.chat.views import one_line
from bot.errors import HeadwayError, IllegalMove, Refused
from bot.goals.events import OwnerLost
from bot.goals.goal import Goal, State
from bot.ports.chat import Place
from bot.ports.doors import Notices
from bot.ports.journal import Journal, Unit
from bot.ports.mail import Rooms
from bot.ports.people import Answer, Note

log = logging.getLogger(__name__)

MOVING: Final = frozenset(
    {State.READY, State.WORKING, State.AUDITING, State.WAITING, State.DECIDING}
)
"""States that a lost owner ends; the others rest already."""
FOREVER_S: Final = float("inf")


class Departures:
    """Looks after goals that lost their owners."""

    def __init__(
        self,
        allow_list: AllowList,
        journal: Journal,
        rooms: Rooms,
        notices: Notices,
        manner: Manner,
        wake: Wake = lambda goal, instructions: None,
        posted: Callable[[], None] = lambda: None,
    ) -> None:
        """`wake`, `posted`: told of a goal that rests, and of something to deliver."""
        self._allow_list = allow_list
        self._journal = journal
        self._rooms = rooms
        self._notices = notices
        self._manner = manner
        self.wake = wake
        self.posted = posted

    async def look(self) -> None:
        """Let every goal rest whose owner has lost their rights, and tell each room once."""
        try:
            await self._look()
        except HeadwayError as error:
            # The next change, turn or start looks again.
            log.warning("Whether owners have left cannot be looked at: %s", error)

    async def lost(self, goal: Goal) -> bool:
        """Whether a goal that is about to work has lost its owner; then it rests and is told of."""
        if not await self._allow_list.lost(goal):
            return False
        # Another process may have let them in a moment ago.
        await self._allow_list.load()
        await self.look()
        why = await self._allow_list.lost(goal)
        if why and goal.kind == "ask":
            await self._rest(goal, why)
        return why is not None

    async def _look(self) -> None:
        owned: defaultdict[tuple[Place, str], list[Goal]] = defaultdict(list)
        for goal in await self._rooms.goals(states=LIVE):
            place = replace(await self._allow_list.home(goal.session), thread="")
            owned[place, goal.owner].append(goal)
        lost = await self._lost_of(owned)
        if any(lost.values()) and await self._allow_list.load():
            lost = await self._lost_of(owned)
        for (place, owner), goals in owned.items():
            why = lost[place, owner]
            if why:
                await self._let_rest(place, owner, why, goals)
            else:
                await self._notices.forget_said(_key(place, owner))

    async def _lost_of(
        self, owned: Mapping[tuple[Place, str], Sequence[Goal]]
    ) -> dict[tuple[Place, str], Lost]:
        return {key: await self._allow_list.lost(goals[0]) for key, goals in owned.items()}

    async def _let_rest(self, place: Place, owner: str, why: Lost, goals: Sequence[Goal]) -> None:
        session = (await self._rooms.begin(place)).session
        text = await self._card(place, owner, why, goals)
        one = self._manner.texts("goal", number=goals[0].number) if len(goals) == 1 else ""
        reason = f"lost:{one}" if one else ""
        newest = max(goal.id for goal in goals)
        note = Note(session, f"lost:{newest}:{max(goal.seq for goal in goals)}", text, reason)
        key = _key(place, owner)
        if await self._notices.say_once(key, every_s=FOREVER_S, answer=Answer((note,))):
            self.posted()
        for goal in goals:
            await self._rest(goal, why)

    async def _rest(self, goal: Goal, why: Lost) -> None:
        if goal.state not in MOVING or why is None:
            return
        try:
            applied = await self._journal.commit(Unit(goal.id, (OwnerLost(why),), urgent=True))
        except (IllegalMove, Refused) as error:
            log.info("Goal %s rests already: %s", goal.id, error)
            return
        self.wake(goal.id, applied.instructions)
        self.posted()

    async def _card(self, place: Place, owner: str, why: Lost, goals: Sequence[Goal]) -> str:
        texts = self._manner.texts
        people = await self._rooms.people((owner,))
        name = people[owner].name if owner in people else texts("somebody")
        admins = mentioned(self._allow_list.admins(place), texts)
        lines = []
        for goal in goals:
            contents = await self._journal.contents(goal.session, (goal.objective,))
            objective = one_line(contents.get(goal.objective, ""))
            number = texts("goal", number=goal.number)
            lines.append(texts("lost.line", goal=number, objective=objective))
        head = texts(f"lost.{why}", name=name, admins=admins)
        return "\n".join([head, *lines, "", texts("lost.foot")])


def _key(place: Place, owner: str) -> str:
    return f"lost:{place.network}:{place.workspace}:{place.room}:{owner}"
