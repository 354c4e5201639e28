"""What `budget` and `spend` do, and what is said where money or a limit stands in the way."""

from typing import Final

from bot.chat import caps, spend, views
from bot.chat.amounts import budget_with, limit_reached, of_limit, raise_of, reached, spent
from bot.chat.desk import Commit, Desk
from bot.chat.facts import Manner, gather
from bot.chat.heard import Heard
from bot.chat.parse import Command
from bot.errors import Refused
from bot.goals.events import BudgetSet, Resumed
from bot.goals.goal import Goal, State
from bot.ports.journal import Applied
from bot.ports.spending import Bill, Spending

WEEK_S: Final = 7 * 24 * 3600.0
_RESTS: Final = (State.PAUSED, State.BLOCKED, State.OVER_BUDGET)


class MoneyCommands:
    """One method a verb."""

    def __init__(self, desk: Desk, commit: Commit) -> None:
        self._desk = desk
        self._commit = commit

    async def budget(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Tell the budget, or set it; `and resume` goes on where that lets it."""
        desk, texts, amount = self._desk, self._desk.manner.texts, command.amount
        if amount is None:
            limits = views.budget_text(goal.budget, desk.manner)
            values = {"goal": desk.name(goal), "spent": spent(goal, texts), "budget": limits}
            await desk.answer(heard, texts("said.budget", **values))
            return
        if goal.is_final:
            raise Refused("The goal has ended.", code="final")
        budget = budget_with(goal, amount, texts)
        rests = goal.state in _RESTS
        still = goal.state is State.OVER_BUDGET and bool(reached(budget, goal.ledger))
        resumed = (Resumed(heard.person),) if amount.resumes and rests and not still else ()
        key = "still" if still else "resumed" if resumed else "resume" if rests else "set"

        def told(applied: Applied) -> str:
            return texts(
                f"said.budget_set.{key}",
                goal=desk.name(goal),
                budget=views.budget_text(budget, desk.manner),
                spent=spent(applied.goal, texts),
                **self.used_up(applied.goal),
            )

        await self._commit(heard, goal, BudgetSet(heard.person, budget), *resumed, told=told)

    async def spend(self, heard: Heard, command: Command) -> None:
        """Tell what was spent, by what was asked."""
        desk = self._desk
        manner = desk.manner_in(heard.message.place)
        if desk.spending is None:
            await desk.answer(heard, manner.texts("spend.none"))
            return
        named = command.goal
        if named is not None and not await desk.rooms.goals(room=heard.message.place, number=named):
            goal = manner.texts("goal", number=named)
            await desk.answer(heard, manner.texts("said.no_such_goal", goal=goal))
            return
        await desk.answer(heard, await self._told(heard, command, desk.spending, manner))

    async def lift(self, heard: Heard, goal: Goal) -> None:
        """An admin's word: the goal passes the caps of today, within its own budget."""
        desk = self._desk
        values = {"goal": desk.name(goal), "budget": views.budget_text(goal.budget, desk.manner)}
        answer = await desk.reply(heard, desk.manner.texts("said.cap_lifted", **values))
        if desk.spending is None or not await desk.spending.lift(goal.id, answer):
            raise Refused("No cap holds the goal.", code="active")
        desk.wake(goal.id, ())
        desk.posted()

    def used_up(self, goal: Goal) -> dict[str, str]:
        """What a goal has used up of its budget, and a raise that lets it go on."""
        texts = self._desk.manner.texts
        units = reached(goal.budget, goal.ledger) or (limit_reached(goal) or "usd",)
        used = texts("list_of").join(of_limit(goal, unit, texts) for unit in units)
        return {"used": used, "raise_by": raise_of(goal, units[0], texts)[0]}

    async def held(self, heard: Heard, goal: Goal) -> dict[str, str]:
        """What holds a goal that is not resumed for it."""
        desk = self._desk
        if goal.wait is None or not goal.wait.is_held:
            return {"what": "", "time": "", "mend": ""}
        facts = await gather(goal, desk.journal, desk.rooms, desk.clock.now())
        return caps.refusal(goal.wait, facts, desk.manner_in(heard.message.place))

    async def _told(
        self, heard: Heard, command: Command, spending: Spending, manner: Manner
    ) -> str:
        scope, name = _scope(heard, command)
        now = self._desk.clock.now()
        since = now - WEEK_S if scope in ("today", "week") else None
        bills = [bill for bill in await spending.bills(since) if _is_in(bill, scope, now, manner)]
        if scope == "goal":
            number = command.goal or (heard.goal.number if heard.goal else 0)
            name = manner.texts("goal", number=number)
            bills = [bill for bill in bills if bill.number == number]
        if scope == "mine":
            bills = [bill for bill in bills if bill.owner == heard.person]
        if scope == "person":
            bills = [bill for bill in bills if bill.owner_name.casefold() == name.casefold()]
            if not bills:
                return manner.texts("spend.nobody", name=name)
        here = [bill for bill in bills if _is_here(bill, heard)]
        head = manner.texts(f"spend.head.{scope}", name=name)
        rows = spend.summed(here, spend.keys(manner)[_BY[scope]])
        rows = rows if scope == "week" else spend.dearest(rows)
        shown = here
        if scope in ("mine", "person"):
            # Of other rooms the sum is told, and nothing else.
            others = [bill for bill in bills if not _is_here(bill, heard)]
            if others:
                rows += (spend.total(manner.texts("spend.elsewhere"), others),)
            shown = bills
        everything = spend.total("", shown)
        foot = await self._caps(heard, spending, manner) if scope == "today" else ()
        return spend.table_text(head, rows, everything, foot, manner)

    async def _caps(self, heard: Heard, spending: Spending, manner: Manner) -> tuple[str, ...]:
        shares = await spending.shares_of(heard.person, heard.message.place)
        speaker = heard.message.speaker.name
        parts = [
            manner.texts(
                "spend.cap",
                spent=caps.short_usd(share.spent),
                what=caps.cap_of(share.scope, share.limit, speaker, manner),
            )
            for share in shares
        ]
        return (
            (manner.texts("spend.caps", caps=manner.texts("list_of").join(parts)),) if parts else ()
        )


_BY: Final = {
    "today": "goal", "week": "day", "room": "person", "mine": "goal", "person": "goal",
    "goal": "role", "model": "model",
}  # fmt: skip
"""What each answer is summed by."""


def _scope(heard: Heard, command: Command) -> tuple[str, str]:
    """What is asked for, and whose."""
    scope, _, name = command.text.partition(" ")
    if command.goal is not None or (not scope and heard.goal is not None):
        return "goal", ""
    return scope or "today", name.strip().removeprefix("@")


def _is_here(bill: Bill, heard: Heard) -> bool:
    place = heard.message.place
    return (bill.network, bill.workspace, bill.room) == (place.network, place.workspace, place.room)


def _is_in(bill: Bill, scope: str, now: float, manner: Manner) -> bool:
    return scope != "today" or spend.day(bill.at, manner.zone) == spend.day(now, manner.zone)
