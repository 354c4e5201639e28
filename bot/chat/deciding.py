"""
Answers that are given under a decision's card: by a reaction, a press, or in words.

Rule 1: each is the exact word, no more: the same rights, and too late where the word would be.
Rule 2: it answers the decision of that card and no other, whichever is open meanwhile.
Rule 3: who comes too late is told who was there before, where somebody was.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from bot.chat import answers
from bot.chat.cards import Closed, closed, number_in
from bot.chat.commands import Commands
from bot.chat.desk import Desk
from bot.chat.facts import Facts
from bot.chat.heard import Heard
from bot.chat.offers import Answer, is_long, words_of
from bot.chat.signs import NO, NUMBERS, YES
from bot.errors import Refused
from bot.goals.goal import Decision, Goal, State
from bot.ports.journal import content_hash
from bot.ports.mail import Posted, Thread

CARDS: Final = frozenset({"decision", "reminder"})
"""Kinds of posts under which a decision is answered."""
LATE_S: Final = 60.0
"""How long after an answer its word is one that came too late."""
LATE_CHARS: Final = 200
"""Of such a word, with its number, or of an option."""
Answering = Callable[[Heard, Goal, Answer], Awaitable[None]]
Gathering = Callable[[Goal], Awaitable[Facts]]


@dataclass(frozen=True, slots=True)
class Card:
    """A decision, open or not, of a goal as it is now."""

    goal: Goal
    decision: Decision

    @property
    def is_open(self) -> bool:
        """Whether it can be answered still."""
        now = self.goal.decision
        return now is not None and now.number == self.decision.number and not now.answered


class Deciding:
    """Finds the decision of a card, and answers it."""

    def __init__(self, desk: Desk, commands: Commands, answer: Answering, facts: Gathering) -> None:
        """`answer`: commits an answer to a decision; `facts`: what is known of a goal."""
        self._desk = desk
        self._commands = commands
        self._answer = answer
        self._facts = facts

    async def card(self, goal: Goal, number: int) -> Card | None:
        """The goal's decision of that number; None where it never had one."""
        if goal.decision is not None and goal.decision.number == number:
            return Card(goal, goal.decision)
        found = closed(await self._desk.journal.history(goal.session), goal.id, number)
        return Card(goal, found.decision) if found else None

    async def card_of(self, posted: Posted) -> Card | None:
        """The decision of a card that was posted."""
        goal = await self._desk.journal.goal(posted.goal)
        return await self.card(goal, number_in(posted.key))

    async def reacted(self, heard: Heard, card: Card, sign: str) -> None:
        """Answer by a reaction: one that stands for a yes, for a no, or for an option's number."""
        try:
            if not card.is_open:
                raise Refused("That decision is closed.", code="too_late")
            facts = await self._facts(card.goal)
            answer = self._signed(sign, facts)
            if answer is None:
                await self._desk.inbox.handled(heard.id)
            elif answer.is_accepted and is_long(card.decision, facts):
                # What it asks may stand in a file: who has read that says the card's number.
                if await self._commands.may(heard, answers.act_of(card.decision), card.goal):
                    await self._say_exact(heard, card.decision, "said.number_first")
            elif not await self._takes_words_only(heard, card.decision):
                await self._answer(heard, card.goal, answer)
            elif await self._commands.may(heard, answers.act_of(card.decision), card.goal):
                await self._say_exact(heard, card.decision, "said.words_only")
        except Refused as error:
            await self._commands.refuse(heard, card.goal, error)

    async def pressed(self, heard: Heard, card: Card, text: str, *, in_words: bool = False) -> None:
        """Answer by a button, or, `in_words`, by what was filled in: a question takes any."""
        try:
            if not card.is_open:
                raise Refused("That decision is closed.", code="too_late")
            facts = await self._facts(card.goal)
            if in_words:
                answer = answers.in_form(text, facts, self._desk.manner)
            else:
                answer = self._read(text, facts)
            if answer is not None:
                await self._answer(heard, card.goal, answer)
            elif card.decision.kind == "question":
                # Asked by a turn that goes on: no card of it is to be seen.
                raise Refused("That decision is not open.", code="too_late")
            elif await self._commands.may(heard, answers.act_of(card.decision), card.goal):
                await self._say_exact(heard, card.decision, "said.exact_only")
        except Refused as error:
            if error.code != "too_late" or not await self._told_by_whom(heard, card, text):
                await self._commands.refuse(heard, card.goal, error)

    async def names_closed(self, heard: Heard, goal: Goal, text: str) -> bool:
        """Whether a text is an answer's word with the number of a card that is closed: then it is told so.

        It is none to whatever else is open, and nothing that is said to the agent.
        """
        number = answers.named(text) if len(text) <= LATE_CHARS else 0
        if not 1 <= number <= goal.decisions:
            return False
        found = await self._closed(goal, number)
        if found is None or found.decision.kind == "question":
            return False
        return await self._told_late(heard, goal, text, found)

    async def comes_late(self, heard: Heard, goal: Goal, text: str, *, is_over: bool) -> bool:
        """Whether a text is an answer's very word, said a moment after the decision was closed.

        Then it is none of the ordinary questions that are asked of an ended goal: they are told. Of one
        that goes on (not `is_over`), what answers a question may as well be said to its agent.
        """
        may_be = bool(goal.decisions) and len(text) <= LATE_CHARS
        found = await self._closed(goal, goal.decisions) if may_be else None
        if found is None:
            return False
        # Where nobody has answered, the word is meant for that card for as long as the goal rests.
        is_unanswered = not found.by and is_over
        if heard.message.at - found.at > LATE_S and not is_unanswered:
            return False
        if found.decision.kind == "question" and not (is_over and found.by):
            return False
        return await self._told_late(heard, goal, text, found)

    async def _closed(self, goal: Goal, number: int) -> Closed | None:
        """The goal's decision of that number, where it has been answered, has expired, or was withdrawn."""
        found = closed(await self._desk.journal.history(goal.session), goal.id, number)
        return found if found is not None and found.at else None

    async def _told_late(self, heard: Heard, goal: Goal, text: str, found: Closed) -> bool:
        """Say how the decision ended, where the text is one of its answers."""
        card = Card(goal, found.decision)
        if self._read(text, await self._as_asked(card)) is None:
            return False
        if found.by:
            return await self._told_by_whom(heard, card, text)
        how = "withdrawn" if not found.has_expired else "expired"
        if how == "expired" and found.decision.kind == "approval":
            how = "expired.approval"
        number, name = found.decision.number, self._desk.name(goal)
        said = self._desk.manner.texts(f"said.too_late.{how}", number=number, goal=name)
        await self._commands.complain(heard, said)
        return True

    async def _told_by_whom(self, heard: Heard, card: Card, text: str) -> bool:
        """Say who has answered it; nothing to whoever says again what they have said."""
        number = card.decision.number
        found = closed(await self._desk.journal.history(card.goal.session), card.goal.id, number)
        if found is None or not found.by:
            return False
        there = await self._desk.journal.contents(card.goal.session, (found.answer,))
        answer = there.get(found.answer, "")
        if found.by == heard.person and await self._means(card, text, found.answer):
            await self._desk.inbox.handled(heard.id)
            return True
        values = {
            "name": await self._desk.mention(found.by),
            "number": number,
            "goal": self._desk.name(card.goal),
            "answer": answer,
        }
        key = "said.too_late_by" if answer else "said.too_late_by.bare"
        await self._commands.complain(heard, self._desk.manner.texts(key, **values))
        return True

    async def _means(self, card: Card, text: str, answer: str) -> bool:
        """Whether a text says the answer of that hash to the decision."""
        meant = self._read(text, await self._as_asked(card))
        return answer == content_hash(meant.text if meant else text)

    async def _as_asked(self, card: Card) -> Facts:
        """What was known when the decision was open."""
        asked = replace(card.decision, answered=False)
        return await self._facts(replace(card.goal, state=State.DECIDING, decision=asked))

    def _signed(self, sign: str, facts: Facts) -> Answer | None:
        """What a reaction means under an open card."""
        if sign in (YES, NO):
            return answers.by_sign(sign == YES, facts, self._desk.manner)
        return answers.by_number(NUMBERS.index(sign) + 1, facts, self._desk.manner)

    def _read(self, text: str, facts: Facts) -> Answer | None:
        """What a sign or a button means: a number is the place of an option, and no option's words."""
        if text.isascii() and text.isdigit():
            return answers.by_number(int(text[:9]), facts, self._desk.manner)
        return answers.exact(text, facts, self._desk.manner)

    async def _takes_words_only(self, heard: Heard, decision: Decision) -> bool:
        if decision.kind != "approval":
            return False
        return not await self._desk.allow_list.approves_by_reaction(heard.message.place)

    async def _say_exact(self, heard: Heard, decision: Decision, key: str) -> None:
        yes, no = words_of(decision.kind, self._desk.manner)
        shown = {"yes": yes[0], "no": no[0], "word": yes[0], "number": decision.number}
        await self._commands.complain(heard, self._desk.manner.texts(key, **shown))


def near(heard: Heard, posted: Posted, goal: Goal) -> Heard:
    """A message as if it were said in the thread of a goal, about it."""
    return replace(heard, thread=Thread(posted.session, posted.place, goal.id), goal=goal)
