"""
Reactions: one under a decision's card answers it, one that aims at a message makes a goal of it.

Rule 1: a reaction is the exact word, no more: the same rights, and too late where the word would be.
        Where messages are encrypted, an approval takes words, unless the room says otherwise.
Rule 2: a message that is aimed at opens one goal, whoever aims and however often. Who takes the aim away
        before the first turn has ended takes the goal back, and what was posted for it.
Rule 3: of strangers, and of every other reaction, nothing is said.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Final

from bot.chat import answers
from bot.chat.cards import closed, number_in
from bot.chat.commands import Commands
from bot.chat.desk import Desk
from bot.chat.facts import Facts
from bot.chat.heard import Heard, aimed_id_in, goal_id_in
from bot.chat.parse import wanted
from bot.chat.posts import words_of
from bot.chat.rights import Act, Roles, may
from bot.chat.signs import AIM, ANSWERING, NO, NUMBERS, YES, bare
from bot.errors import Refused
from bot.goals.events import Undone
from bot.goals.goal import Decision, Goal
from bot.ports.attached import edited
from bot.ports.chat import REACTION, Incoming, reaction_of, removal_of
from bot.ports.journal import Content, Unit
from bot.ports.mail import Posted, Thread

CARDS: Final = frozenset({"decision", "reminder"})
"""Kinds of posts under which a reaction answers."""
OURS: Final = "agent"
"""Who wrote what was posted by the bot itself."""
Answering = Callable[[Heard, Goal, answers.Answer], Awaitable[None]]
Gathering = Callable[[Goal], Awaitable[Facts]]


class Reactions:
    """What follows when somebody reacts to a message."""

    def __init__(
        self, desk: Desk, commands: Commands, roles: Roles, answer: Answering, facts: Gathering
    ) -> None:
        """`answer`: commits an answer to a decision; `facts`: what is known of a goal."""
        self._desk = desk
        self._commands = commands
        self._roles = roles
        self._answer = answer
        self._facts = facts

    async def handle(self, heard: Heard) -> None:
        """Do what the reaction stands for. Raises Refused, BadInput, and as the store does."""
        emoji, text = reaction_of(heard.message) or ("", "")
        sign = bare(emoji)
        if heard.roles and sign == AIM:
            await self._aim(heard, text)
        elif heard.roles and sign in ANSWERING:
            await self._decide(heard, sign)
        else:
            await self._desk.inbox.handled(heard.id)

    async def taken_away(self, message: Incoming) -> bool:
        """Take a goal back whose aim was taken away; False where the message removes no reaction."""
        desk, of = self._desk, f"{REACTION}{removal_of(message)}"
        found = await desk.doors.heeded(of)
        if found is None:
            return False
        goal = await self._aimed(found.message)
        by = await desk.rooms.person(message.place.network, message.speaker)
        if goal is None or not await self._may_undo(message, goal, by):
            await desk.inbox.handled(message.id)
            return True
        unit = Unit(goal.id, (Undone(by),), handled=(message.id,), urgent=True)
        try:
            applied = await desk.journal.commit(unit)
        except Refused:
            # Its first turn has ended: what it made is there, and is ended by words.
            await desk.inbox.handled(message.id)
            return True
        desk.wake(goal.id, applied.instructions)
        desk.posted()
        return True

    async def _decide(self, heard: Heard, sign: str) -> None:
        posted = await self._desk.rooms.posted(heard.message.place, heard.message.reply_to)
        if posted is None or posted.kind not in CARDS:
            await self._desk.inbox.handled(heard.id)
            return
        goal = await self._desk.journal.goal(posted.goal)
        near = replace(heard, thread=Thread(posted.session, posted.place, goal.id), goal=goal)
        decision = await self._decision(goal, posted)
        word = _word(sign, decision) if decision else ""
        if decision is None or not word:
            await self._desk.inbox.handled(heard.id)
            return
        try:
            if goal.decision is None or goal.decision.number != decision.number:
                raise Refused("That decision is closed.", code="too_late")
            await self._answer_by(near, goal, goal.decision, word)
        except Refused as error:
            await self._commands.refuse(near, goal, error)

    async def _answer_by(self, heard: Heard, goal: Goal, decision: Decision, word: str) -> None:
        if decision.answered:
            raise Refused("That decision is answered.", code="too_late")
        answer = answers.exact(word, await self._facts(goal), self._desk.manner)
        if answer is None:
            await self._desk.inbox.handled(heard.id)
        elif not await self._takes_words_only(heard, decision):
            await self._answer(heard, goal, answer)
        elif await self._commands.may(heard, answers.act_of(decision), goal):
            yes, no = words_of(decision.kind, self._desk.manner)
            shown = {"yes": yes[0], "no": no[0], "number": decision.number}
            await self._commands.complain(
                heard, self._desk.manner.texts("said.words_only", **shown)
            )

    async def _takes_words_only(self, heard: Heard, decision: Decision) -> bool:
        if decision.kind != "approval":
            return False
        return not await self._desk.allow_list.approves_by_reaction(heard.message.place)

    async def _decision(self, goal: Goal, posted: Posted) -> Decision | None:
        """The decision of a card, open or not."""
        number = number_in(posted.key)
        if goal.decision is not None and goal.decision.number == number:
            return goal.decision
        found = closed(await self._desk.journal.history(goal.session), goal.id, number)
        return found.decision if found else None

    async def _aim(self, heard: Heard, text: str) -> None:
        desk, message = self._desk, heard.message
        goal = await self._free_name(message)
        if goal is None:
            await desk.inbox.handled(heard.id)
            return
        if not await self._commands.may(heard, Act.START):
            return
        said = await self._aimed_at(heard, text)
        if said is None:
            text = desk.manner.texts("said.aim_unreadable")
            await self._commands.complain(heard, text)
            return
        content = replace(said, text=wanted(said.text, desk.manner.texts))
        await self._commands.starting.start(heard, content, under=message.reply_to, goal=goal)

    async def _aimed_at(self, heard: Heard, text: str) -> Content | None:
        """What the message says, with who said it; None where it cannot be read."""
        desk, place, of = self._desk, heard.message.place, heard.message.reply_to
        target = await desk.doors.heeded(of)
        if target is not None:
            said = text or target.message.text
            if target.message.files:
                said = edited(said, target.message)
            author = await desk.rooms.person(place.network, target.message.speaker)
            return Content(said, author, of) if said.strip() else None
        if text.strip():
            return Content(text, heard.person, of)
        ours = await desk.rooms.posted(place, of)
        if ours is None:
            return None
        there = await desk.journal.contents(ours.session, (ours.content,))
        said = there.get(ours.content, "")
        return Content(said, OURS) if said.strip() else None

    async def _free_name(self, message: Incoming) -> str | None:
        """The id of the goal that aiming opens; None where the message has opened one."""
        if await self._goal(goal_id_in(message.place, message.reply_to)) is not None:
            return None
        for one in count(1):
            id = aimed_id_in(message.place, message.reply_to, one)
            goal = await self._goal(id)
            if goal is None:
                return id
            if goal.reason != "undone":
                return None
        return None

    async def _aimed(self, reaction: Incoming) -> Goal | None:
        """The live goal that a reaction opened."""
        owner = await self._desk.rooms.person(reaction.place.network, reaction.speaker)
        for one in count(1):
            goal = await self._goal(aimed_id_in(reaction.place, reaction.reply_to, one))
            if goal is None:
                break
            if not goal.is_final:
                return goal if goal.owner == owner else None
        return None

    async def _goal(self, id: str) -> Goal | None:
        try:
            return await self._desk.journal.goal(id)
        except KeyError:
            return None

    async def _may_undo(self, message: Incoming, goal: Goal, by: str) -> bool:
        return may(Act.CANCEL, await self._roles(message), is_owner=by == goal.owner)


def _word(sign: str, decision: Decision) -> str:
    """The exact word that a sign stands for under a card; empty where it stands for none."""
    if decision.kind == "question":
        return str(NUMBERS.index(sign) + 1) if sign in NUMBERS else ""
    return {YES: "1", NO: "2"}.get(sign, "")
