"""
What a message is about before anything is done with it: who said it, in which session, and what it says.

Rule: what is no message (a command that shows nowhere, a press, a form) is for the bot by itself; nobody
asks whether it was addressed.
"""

from dataclasses import replace

from bot.chat.abilities import ROOTS_THREADS, is_unseen
from bot.chat.claims import may_be_code
from bot.chat.desk import Desk, is_shared
from bot.chat.heard import Heard
from bot.chat.parse import Command, Said, Talk, is_about_somebody, is_command, parse
from bot.chat.rights import Roles
from bot.chat.verbs import VERBS
from bot.goals.goal import Goal
from bot.ports.chat import Incoming, edit_of, reaction_of
from bot.ports.mail import Thread


class Understanding:
    """Hears what comes, and reads what is said."""

    def __init__(self, desk: Desk, roles: Roles) -> None:
        self._desk = desk
        self._roles = roles

    async def hear(self, message: Incoming) -> Heard:
        """Who said it, in which session. Raises as the store does."""
        rooms = self._desk.rooms
        person = await rooms.person(message.place.network, message.speaker)
        thread = await self._thread(message)
        goal = await self.goal_of(thread) if thread is not None else None
        roles = await self._roles(message)
        room = self._desk.allow_list.settings(message.place)
        return Heard(message, person, roles, thread, goal, room)

    async def goal_of(self, thread: Thread) -> Goal | None:
        """The session's live goal, else its last one."""
        live = await self._desk.journal.goal(thread.goal) if thread.goal else None
        return live or await self._desk.rooms.last_goal(thread.session)

    async def said(self, heard: Heard) -> Said:
        """What it says; a claim in private and a `why` to a message need no name in front.

        Raises:
            BadInput: it is for the bot and cannot be taken as it is.
        """
        message, texts = heard.message, self._desk.manner.texts
        text = message.text.strip()
        names = heard.thread is not None and is_about_somebody(text, texts)
        if message.is_aside and not (names or is_command(text)):
            return Talk()
        if message.reply_to and text.lower().rstrip("?") == "why":
            return Command(VERBS["why"])
        word, _, code = text.partition(" ")
        is_alone = heard.thread is None or await self._is_new_talk(heard)
        is_claim = word.lower() == "claim" and may_be_code(code) and is_alone
        if is_claim and await self._desk.allow_list.members.is_direct(message.place):
            return Command(VERBS["claim"], text=code.strip())
        if heard.thread is not None and not is_alone:
            mention = await self._desk.mention_in(heard.thread.place)
            if mention != heard.room.mention and await self._is_answer_to_us(heard):
                mention = heard.room.mention
            return parse(message.text, texts, in_thread=True, mention=mention)
        return parse(
            message.text,
            texts,
            in_thread=False,
            mention=heard.room.mention,
            is_direct=await self._desk.is_direct(message.place),
            is_shared=is_shared(message.place),
        )

    async def _thread(self, message: Incoming) -> Thread | None:
        """The session in which it is said."""
        rooms, place = self._desk.rooms, message.place
        if place.thread:
            return await rooms.thread(place)
        is_answer = message.reply_to and not (edit_of(message) or reaction_of(message))
        if is_answer and not is_unseen(message):
            # They came together: when it came, no thread hung under what it answers.
            begun = await rooms.thread(replace(place, thread=message.reply_to))
            if begun is not None:
                return begun
        thread = await rooms.thread(place)
        # In the main timeline, only a goal that lives there makes a difference.
        return thread if thread is not None and thread.goal else None

    async def _is_new_talk(self, heard: Heard) -> bool:
        """Whether nothing has begun in a thread where only a person and the bot are.

        There every message has a thread: what is said under an answer is said as if in the room.
        """
        thread = heard.thread
        if thread is None or heard.goal is not None or thread.goal:
            return False
        place = heard.message.place
        if place.network not in ROOTS_THREADS or not await self._desk.is_direct(place):
            return False
        return not await self._desk.journal.history(thread.session)

    async def _is_answer_to_us(self, heard: Heard) -> bool:
        """A plain reply to what we posted for the goal needs no name, wherever the goal lives."""
        message = heard.message
        if not message.reply_to or heard.thread is None:
            return False
        ours = await self._desk.rooms.posted(message.place, message.reply_to)
        return ours is not None and ours.session == heard.thread.session
