"""
An answer on its way into the journal: who may give it, how far, and what is said to a text that is none.

This is the one way in of decisions, and `shown_cards` the one way out: any network shows the `Shape` of a
card by its own means, and gives back a message, a press, a form or a reaction, of which `answers` says what
it answers. No adapter knows a rule of either.

Rule: whatever network an answer came from, and by whatever means, it is taken here and nowhere else.
"""

from bot.chat import answers
from bot.chat.commands import Commands
from bot.chat.desk import Desk, Told
from bot.chat.facts import Facts
from bot.chat.heard import Heard
from bot.chat.held import held_among
from bot.chat.offers import Answer, words_of
from bot.chat.rights import Act, may
from bot.errors import Refused
from bot.goals.events import DecisionAnswered
from bot.goals.goal import Decision, Goal, State
from bot.ports.journal import Content


class TakingAnswers:
    """Takes answers to the open decision of a goal."""

    def __init__(self, desk: Desk, commands: Commands) -> None:
        self._desk = desk
        self._commands = commands

    async def answer(self, heard: Heard, goal: Goal, answer: Answer) -> None:
        """Commit it, or tell whoever gave it that they may not. Raises Refused where it came too late."""
        decision = goal.decision
        assert decision is not None
        if not await self._commands.may(heard, answers.act_of(decision), goal):
            return
        if await self._is_past(heard, goal, decision):
            # The goal is told so by the clock: at once, or once its process is back.
            raise Refused(f"Decision {decision.id} has expired.", code="too_late")
        if answer.scope == "always" and not may(Act.MEMORY, heard.roles, room=heard.room):
            text = self._desk.manner.texts("said.may_not.always", number=decision.number)
            await self._commands.complain(heard, text)
            return
        content = Content(answer.text, heard.person)
        answered = DecisionAnswered(
            decision.id,
            heard.person,
            content.hash,
            accepted=answer.is_accepted,
            scope=answer.scope,
            edits=answer.edits,
        )
        await self._commands.commit(heard, goal, answered, contents=(content,))

    async def _is_past(self, heard: Heard, goal: Goal, decision: Decision) -> bool:
        """Whether an approval's time was over when this was said, though nothing has told the goal yet."""
        runs = decision.kind == "approval" and goal.state is State.DECIDING
        if not runs or heard.message.at <= decision.expires_at:
            return False
        return not await held_among(self._desk.holds, [goal])

    async def lacks(self, heard: Heard, goal: Goal, text: str, facts: Facts) -> bool:
        """Whether it is an exact word that this card does not take: who said it is told why.

        Such a word is not said to the agent.
        """
        lacking = answers.lacking(text, facts, self._desk.manner)
        if not lacking or goal.decision is None:
            return False
        if await self._commands.may(heard, answers.act_of(goal.decision), goal):
            key = "said.number_first" if lacking == "number" else "said.once_only"
            yes, _ = words_of(goal.decision.kind, self._desk.manner)
            shown = {"word": yes[0], "number": goal.decision.number}
            await self._commands.complain(heard, self._desk.manner.texts(key, **shown))
        return True

    def hint(self, goal: Goal, text: str) -> Told | None:
        """What is said to `ok` where only an exact word is a yes: else they think that they have answered."""
        decision, texts = goal.decision, self._desk.manner.texts
        if decision is None or decision.kind == "question" or decision.answered:
            return None
        if text.strip().rstrip(".!").casefold() not in texts("words.assent").split("|"):
            return None
        yes, no = words_of(decision.kind, self._desk.manner)
        said = texts("said.exact_only", yes=yes[0], no=no[0], number=decision.number)
        return lambda applied: said
