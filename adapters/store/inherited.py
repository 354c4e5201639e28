"""
Whose the texts are that a copy of a goal brings along.

Rule: they are whose they are in the goal that it is made of, and of the message that they are taken from
there: they go when that message goes, or whoever said them.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from sqlalchemy import bindparam, select

from adapters.store import queries
from adapters.store.transaction import Transaction
from bot.goals.events import GoalOpened
from bot.ports.chat import EDIT, REACTION
from bot.ports.journal import Content

_C, _G, _I = queries.CONTENT, queries.GOAL, queries.INBOX
_said: Final = _C.alias("said")

_THERE: Final = (
    select(_C.c.author, _C.c.message, _C.c.at)
    .join(_G, _G.c.session == _C.c.session)
    .where(
        _G.c.id == bindparam("of_goal"),
        _C.c.hash == bindparam("of_hash"),
        _C.c.text.is_not(None),
    )
)
_HANDLED: Final = (
    select(_I.c.id, _I.c.reply_to, _said.c.text)
    .join(_said, (_said.c.session == _I.c.session) & (_said.c.hash == _I.c.content))
    .where(
        _I.c.person == bindparam("of_person"),
        _I.c.handled_at == bindparam("of_at"),
        _said.c.text.is_not(None),
    )
    .order_by(_I.c.sequence)
)


def inherited(
    tx: Transaction, opened: GoalOpened, contents: Iterable[Content]
) -> tuple[Content, ...]:
    """The texts of an opening, those that it copies as whose they are."""
    return tuple(_of(tx, opened.forks, one) if opened.forks else one for one in contents)


def _of(tx: Transaction, goal: str, content: Content) -> Content:
    there = tx.one(_THERE, of_goal=goal, of_hash=content.hash)
    if there is None:
        return content
    author, message, at = there
    return replace(content, author=author, message=message or _source(tx, author, at, content))


def _source(tx: Transaction, author: str, at: float, content: Content) -> str:
    """The message that was handled as the text was made of it; an edit's is the one that it edits."""
    for id, reply_to, said in tx.all(_HANDLED, of_person=author, of_at=at):
        if content.text in said:
            return str(reply_to if id.startswith((EDIT, REACTION)) else id)
    return ""
