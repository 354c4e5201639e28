"""
The message with a goal's objective was edited where it stands.

Rule: the objective is a copy. The edit counts only if whoever made it may edit the goal; else nothing
changes, and the owner is shown both texts.
"""

from dataclasses import replace

from bot.chat import views
from bot.chat.desk import Commit, Desk
from bot.chat.gate_words import refuse_unfit_checks
from bot.chat.heard import Heard, goal_id
from bot.chat.parse import Command, parse, wanted
from bot.chat.repo_commands import refuse_unknown
from bot.chat.rights import Act, may
from bot.chat.verbs import START, VERBS
from bot.errors import BadInput
from bot.goals.events import ObjectiveEdited
from bot.ports.chat import edit_of
from bot.ports.journal import Content
from bot.ports.mail import Thread


class Edits:
    """What follows when a message was edited."""

    def __init__(self, desk: Desk, commit: Commit) -> None:
        self._desk = desk
        self._commit = commit

    async def handle(self, heard: Heard) -> None:
        """Change the objective, or tell its owner or whoever edited it why not. Raises as the store does."""
        before = replace(heard.message, id=edit_of(heard.message))
        goal = await self._desk.opened_by(before)
        is_aimed = goal is not None and goal.id != goal_id(before)
        content = self._objective(heard, is_aimed=is_aimed)
        if goal is None or content is None or content.hash == goal.objective:
            await self._desk.inbox.handled(heard.id)
            return
        desk, texts = self._desk, self._desk.manner.texts
        there = await desk.journal.contents(goal.session, (goal.objective,))
        both = {
            "old": views.quoted(there.get(goal.objective, "")),
            "new": views.quoted(content.text),
        }
        # What is said about it is said in the goal's own thread.
        home = Thread(goal.session, await desk.doors.home(goal.session), goal.id)
        near = replace(heard, thread=home)
        if may(Act.EDIT, heard.roles, is_owner=heard.is_owner_of(goal), room=heard.room):
            try:
                refuse_unfit_checks(content.text, texts)
                await refuse_unknown(desk, home.place, content.text)
            except BadInput as error:
                await desk.answer(near, str(error))
                return
            text = texts("said.edited", goal=desk.name(goal), **both)
            edited = ObjectiveEdited(heard.person, content.hash)
            await self._commit(near, goal, edited, contents=(content,), told=lambda _: text)
            return
        text = texts(
            "said.edit_kept",
            goal=desk.name(goal),
            owner=await desk.mention(goal.owner),
            name=heard.message.speaker.name,
            **both,
        )
        await desk.answer(near, text, is_public=True)

    def _objective(self, heard: Heard, *, is_aimed: bool) -> Content | None:
        """The objective that the message gives now, if it still gives one."""
        texts, mention = self._desk.manner.texts, heard.room.mention
        try:
            if is_aimed:
                return Content(wanted(heard.message.text, texts), heard.person)
            said = parse(heard.message.text, texts, in_thread=False, mention=mention)
        except BadInput:
            return None
        if not isinstance(said, Command) or said.verb not in (START, VERBS["plan"]):
            return None
        return Content(said.text, heard.person)
