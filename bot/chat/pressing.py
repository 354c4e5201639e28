"""
Presses on buttons: each does what its word would do, typed where the message stands.

Rule 1: it is about the goal of the message under which it stands, wherever it was pressed; under a
        decision's card it answers that decision and nothing else.
Rule 2: the same rights as the word. Who may not is told, and only they.
Rule 3: what is pressed under a message that is gone, or of a goal that ended, is answered in a sentence.
Rule 4: a message of ours is there before it is noted that it is, the longer if the process was killed in
        between: a press under one that is not known is looked at again for a while.
"""

from typing import Final

from bot.chat.commands import Commands
from bot.chat.deciding import CARDS, Deciding
from bot.chat.desk import Desk
from bot.chat.filled import about_goal
from bot.chat.heard import Heard, goal_id_in
from bot.chat.parse import Command, parse
from bot.chat.replies import AGAIN, UNDO
from bot.chat.rights import Act
from bot.chat.undoing import Undoing
from bot.chat.verbs import OF_GOAL
from bot.errors import Refused, Wait
from bot.goals.goal import Goal
from bot.ports.chat import Incoming
from bot.ports.mail import Posted

UNNOTED_S: Final = 5.0
"""Since the press. A start takes three, and then what was on its way is looked up at once."""
LOOK_AGAIN_S: Final = 0.5


class Presses:
    """What follows when somebody presses a button."""

    def __init__(
        self,
        desk: Desk,
        commands: Commands,
        deciding: Deciding,
        undoing: Undoing,
    ) -> None:
        self._desk = desk
        self._commands = commands
        self._deciding = deciding
        self._undoing = undoing

    async def handle(self, heard: Heard) -> None:
        """Do what the button says. Raises Refused, BadInput, and as the store does."""
        message, text = heard.message, heard.message.text.strip()
        ours = await self._ours(message)
        is_card = ours is not None and ours.kind in CARDS
        if not is_card and await self._commands.pick(heard, text):
            return
        near = await about_goal(self._desk, heard)
        if near.goal is not None and near.goal.reason == "undone":
            await self._gone(heard)
        elif ours is not None and ours.kind in CARDS and not self._names_its_goal(text):
            await self._decide(near, ours, text)
        elif text == UNDO:
            await self._undo(near)
        else:
            await self._run(near, text, is_known=ours is not None or not message.reply_to)

    async def kept(self, heard: Heard) -> Incoming | None:
        """The message that a press has handled again; None where it does not, and they are told why."""
        of = heard.message.text.strip().partition(" ")[2]
        desk, texts = self._desk, self._desk.manner.texts
        found = await desk.doors.heeded(of)
        message = found.message if found is not None else None
        is_theirs = message is not None and message.speaker.id == heard.message.speaker.id
        is_there = message is not None and (message.text.strip() or message.act == "aim")
        if message is None or not (is_theirs and is_there):
            await self._commands.complain(heard, texts("said.again_gone"))
            return None
        begun = await self._begun(message)
        if begun is None:
            return message
        key = "said.again_done" if begun.kind == "goal" else "said.again_done.ask"
        await self._commands.complain(heard, texts(key, goal=desk.name(begun)))
        return None

    async def _begun(self, message: Incoming) -> Goal | None:
        """What a message has opened already."""
        try:
            return await self._desk.journal.goal(goal_id_in(message.place, message.id))
        except KeyError:
            return None

    async def _ours(self, message: Incoming) -> Posted | None:
        if not message.reply_to:
            return None
        return await self._desk.rooms.posted(message.place, message.reply_to)

    async def _decide(self, heard: Heard, ours: Posted, text: str) -> None:
        card = await self._deciding.card_of(ours)
        if card is None:
            await self._gone(heard)
        else:
            await self._deciding.pressed(heard, card, text)

    async def _undo(self, heard: Heard) -> None:
        if heard.goal is None:
            await self._gone(heard)
        elif await self._commands.may(heard, Act.CANCEL, heard.goal):
            try:
                await self._undoing.undo(heard.message, heard.goal, heard.person)
            except Refused as error:
                await self._commands.refuse(heard, heard.goal, error)

    def _names_its_goal(self, text: str) -> bool:
        """Whether it is a whole command, which stands under a card in a home, and no answer."""
        said = parse(text, self._desk.manner.texts, in_thread=True)
        return isinstance(said, Command) and (said.goal is not None or text.startswith("/"))

    async def _run(self, heard: Heard, text: str, *, is_known: bool) -> None:
        """Do what the word says; of a message that is gone, only what says itself what it is about."""
        said = parse(text, self._desk.manner.texts, in_thread=True)
        if isinstance(said, Command) and (is_known or not _is_of_its_goal(said)):
            await self._commands.run(heard, said)
        elif not is_known and abs(self._desk.clock.now() - heard.message.at) < UNNOTED_S:
            raise Wait("What a press stands under is not known yet.", retry_after_s=LOOK_AGAIN_S)
        else:
            await self._gone(heard)

    async def _gone(self, heard: Heard) -> None:
        await self._commands.complain(heard, self._desk.manner.texts("said.press_gone"))


def _is_of_its_goal(command: Command) -> bool:
    """Whether the word alone does not say which goal it is about."""
    return command.verb.takes in OF_GOAL and command.goal is None


def is_again(message: Incoming) -> bool:
    """Whether a press has an earlier message handled again."""
    word, _, of = message.text.strip().partition(" ")
    return message.via == "button" and word == AGAIN and bool(of)
