"""
The first message of a goal's thread, where that is one of ours: what it says, and what it says once the
objective was edited or the goal has ended: then it has no buttons any more.
"""

from typing import Final

from bot.chat.abilities import HAS_BUTTONS
from bot.chat.facts import Manner
from bot.chat.replies import root_buttons
from bot.chat.rows import MOVED, ROOT, origin_of
from bot.chat.texts import Texts
from bot.chat.views import one_line
from bot.goals.goal import Goal
from bot.ports.chat import Network, Shape
from bot.ports.journal import Journal
from bot.ports.mail import Due, Rooms

CHARS: Final = 300
"""Of an objective in the first message of its thread."""


def root_text(goal: Goal, owner: str, objective: str, texts: Texts) -> str:
    """What it says. `owner`: as they are called."""
    key = "root.goal" if goal.kind == "goal" else "root.ask"
    name = texts("goal", number=goal.number)
    return texts(key, goal=name, owner=owner, objective=one_line(objective, CHARS))


def root_shape(body: str, of: str, goal: Goal, network: Network, manner: Manner) -> Shape:
    """The message. `of`: the key under which it was first said."""
    buttons = root_buttons(goal, network, manner)
    origin = origin_of(of)
    return Shape("", "", body=body, buttons=buttons, goal=goal.id, state=goal.state, origin=origin)


async def edited_root(
    due: Due, goal: Goal, journal: Journal, rooms: Rooms, manner: Manner
) -> Shape | None:
    """What it says now that the objective was edited or the goal has ended.

    None where it is not there, that text is gone, or it says it already.
    """
    if goal.is_final and due.key.endswith(":end") and due.place.network not in HAS_BUTTONS:
        # It would only lose its buttons.
        return None
    there = await rooms.posted(due.place, due.remote) if due.remote else None
    contents = await journal.contents(goal.session, (goal.objective,))
    objective = contents.get(goal.objective, "")
    if there is None or not objective:
        return None
    texts = manner.texts
    people = await rooms.people((goal.owner,))
    name = people[goal.owner].name if goal.owner in people else texts("somebody")
    body = root_text(goal, texts("mention", name=name), objective, texts)
    if there.key.startswith(f"{ROOT}{MOVED}"):
        body = texts(
            "root.moved", goal=texts("goal", number=goal.number), objective=one_line(objective)
        )
    return root_shape(body, there.key, goal, due.place.network, manner)
