"""
Reactions: one under a decision's card answers it, one that aims at a message makes a goal of it.

Rule 1: a reaction is the exact word, no more: the same rights, and too late where the word would be.
        Where messages are encrypted, an approval takes words, unless the room says otherwise.
Rule 2: a message that is aimed at opens one goal, whoever aims and however often. Who takes the aim away
        before the first turn has ended takes the goal back, and what was posted for it.
Rule 3: of strangers, and of every other reaction, nothing is said.
"""

from bot.chat.aiming import Aiming
from bot.chat.deciding import CARDS, Deciding, near
from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.signs import AIM, ANSWERING, NUMBERS, THUMBS, bare
from bot.chat.undoing import Undoing
from bot.goals.goal import Decision
from bot.ports.chat import REACTION, Incoming, reaction_of, removal_of


class Reactions:
    """What follows when somebody reacts to a message."""

    def __init__(self, desk: Desk, aiming: Aiming, deciding: Deciding, undoing: Undoing) -> None:
        self._desk = desk
        self._aiming = aiming
        self._deciding = deciding
        self._undoing = undoing

    async def handle(self, heard: Heard) -> None:
        """Do what the reaction stands for. Raises Refused, BadInput, and as the store does."""
        emoji, text = reaction_of(heard.message) or ("", "")
        sign = bare(emoji)
        if heard.roles and sign == AIM:
            await self._aiming.aim(heard, text)
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
        goal = await self._aiming.aimed(found.message)
        by = await desk.rooms.person(message.place.network, message.speaker)
        if goal is None or not await self._undoing.is_free_to(message, goal, by):
            await desk.inbox.handled(message.id)
        else:
            await self._undoing.undo_quietly(message, goal, by)
        return True

    async def _decide(self, heard: Heard, sign: str) -> None:
        posted = await self._desk.rooms.posted(heard.message.place, heard.message.reply_to)
        is_card = posted is not None and posted.kind in CARDS
        card = await self._deciding.card_of(posted) if posted is not None and is_card else None
        if posted is None or card is None or not _answers(sign, card.decision):
            await self._desk.inbox.handled(heard.id)
            return
        await self._deciding.reacted(near(heard, posted, card.goal), card, THUMBS.get(sign, sign))


def _answers(sign: str, decision: Decision) -> bool:
    """Whether a sign stands for an answer of the kind that a card takes."""
    return (sign in NUMBERS) is (decision.kind == "question")
