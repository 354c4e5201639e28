"""Points that a goal can be put back to, in words: how one is named, how they are shown. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from bot.chat.facts import Manner
from bot.chat.texts import Texts
from bot.chat.times import moment
from bot.goals.goal import Goal
from bot.goals.rewinding import Lasting
from bot.ports.checkpoints import Checkpoint

SHOWN_MOST: Final = 20
HEARD_MOST: Final = 5
HEARD_CHARS: Final = 120
_POINT: Final = re.compile(r"(?:#?([0-9]{1,6}))?")
_COPY: Final = re.compile(r"(?:#?([0-9]{1,6})(?:\s+(\S.*))?)?", re.DOTALL)


def read_point(text: str) -> int | None:
    """The number of a checkpoint; 0 where none is named; None where that is rather an objective."""
    found = _POINT.fullmatch(text.strip())
    return int(found[1] or 0) if found else None


def read_copy(text: str) -> tuple[int, str] | None:
    """The number of a checkpoint, and a new objective, if there is one; None as `read_point`."""
    found = _COPY.fullmatch(text.strip())
    return (int(found[1] or 0), (found[2] or "").strip()) if found else None


def list_text(
    goal: Goal, points: Sequence[Checkpoint], verb: str, now: float, manner: Manner
) -> str:
    """The last checkpoints, newest first, and how one goes back to one."""
    texts, name = manner.texts, manner.texts("goal", number=goal.number)
    if not points:
        return texts("said.points.none", goal=name)
    shown = list(reversed(points))[:SHOWN_MOST]
    lines = [_line(one, now, manner) for one in shown]
    if len(points) > len(shown):
        lines.append(texts("said.points.more", n=len(points) - len(shown)))
    foot = texts(f"said.points.{verb}", n=shown[0].number)
    return "\n".join([texts("said.points.head", goal=name), *lines, "", foot])


def point_text(one: Checkpoint, now: float, manner: Manner) -> str:
    """`checkpoint 3 (turn 2, Tue 14:05 CET)`."""
    at = moment(one.at, now, manner.zone, manner.texts)
    return manner.texts("said.point", n=one.number, turn=one.turn, time=at)


def later_text(points: Sequence[Checkpoint], to: Checkpoint, texts: Texts) -> str:
    """How the rewind is taken back, and what would not come back with it; empty where none can be."""
    later = [one for one in points if one.number > to.number]
    if not later:
        return ""
    whole = [one.number for one in later if one.tree]
    if not whole:
        return texts("said.rewound.not_back")
    told = texts("said.rewound.later", n=whole[-1])
    if whole[-1] == later[-1].number:
        return told
    return f"{told} {texts('said.rewound.later.without', n=whole[-1])}"


def heard_text(said: Sequence[str], texts: Texts) -> str:
    """What people said since, a line each, the last of it; empty where they said nothing."""
    if not said:
        return ""
    lines = [f"> {one}" for one in said[-HEARD_MOST:]]
    if len(said) > HEARD_MOST:
        lines.insert(0, texts("said.rewound.heard.more", n=len(said) - HEARD_MOST))
    return "\n".join([texts("said.rewound.heard"), *lines])


def lasting_text(done: Lasting, posts: int, texts: Texts) -> str:
    """What stays done although the goal is put back; empty where nothing does."""
    parts = [
        texts("said.lasting.tool" if count == 1 else "said.lasting.tools", name=name, n=count)
        for name, count in done.external
    ]
    for key, count in (("posts", posts), ("files", done.shared), ("approved", done.approved)):
        if count:
            parts.append(texts(f"said.lasting.{key}" if count > 1 else f"said.lasting.{key}.one",
                               n=count))  # fmt: skip
    return texts("said.lasting", what=texts("list_of").join(parts)) if parts else ""


def _line(one: Checkpoint, now: float, manner: Manner) -> str:
    texts = manner.texts
    point = one.point
    tasks = point.tasks_open + point.tasks_done
    notes = [
        texts("said.points.plan") if one.is_plan else "",
        texts("said.points.tasks", done=point.tasks_done, all=tasks) if tasks else "",
        "" if one.tree else texts("said.points.no_files"),
    ]
    return texts(
        "said.points.line",
        n=one.number,
        turn=one.turn,
        time=moment(one.at, now, manner.zone, texts),
        notes="".join(f" · {note}" for note in notes if note),
    )
