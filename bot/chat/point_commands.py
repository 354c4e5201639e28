"""
The verbs `rewind` and `fork`: back to a point, or on from one in a copy.

Rule 1: a point is taken whole or not at all: goal, transcript, tasks and files. Where its files are not
        kept any more it is refused, and nothing has changed.
Rule 2: what cannot be undone is said with the answer.
Rule 3: a copy has what is left of the budget, and nothing that was allowed.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from bot.chat import views
from bot.chat.desk import Commit, Desk
from bot.chat.gate_words import refuse_unfit_checks
from bot.chat.heard import Heard
from bot.chat.parse import Command, objective
from bot.chat.point_words import (
    HEARD_CHARS,
    heard_text,
    lasting_text,
    later_text,
    list_text,
    point_text,
    read_copy,
    read_point,
)
from bot.chat.repo_commands import refuse_unknown
from bot.chat.starting import Starting
from bot.errors import BadInput, Refused, StoreUnusable
from bot.goals.events import GoalOpened, Rewound
from bot.goals.goal import Goal, State
from bot.goals.rewinding import lasting, said_since
from bot.ports.checkpoints import Checkpoint, Checkpoints
from bot.ports.journal import Applied, Content
from bot.tools.policy.verdict import tighter

log = logging.getLogger(__name__)


class PointCommands:
    """`rewind [G12] [number]` and `fork [G12] [number] [objective]`."""

    def __init__(self, desk: Desk, commit: Commit, starting: Starting) -> None:
        self._desk, self._commit, self._starting = desk, commit, starting

    async def rewind(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Put the goal back, or show to what it can be put. Raises Refused, BadInput."""
        number = read_point(command.text) or 0
        points = await self._points(goal)
        if not number:
            await self._show(heard, goal, points, "rewind")
            return
        if goal.is_final:
            raise Refused("The goal has ended.", code="final")
        point = await self._point(goal, points, number)
        desk, manner = self._desk, self._desk.manner_in(heard.message.place)
        lines = await desk.journal.history(goal.session)
        done = lasting((line.entry for line in lines if line.goal == goal.id), point.seq)
        posts = await self._checkpoints().posted_since(goal.id, point.at)
        where = point_text(point, desk.clock.now(), manner)

        after = [lasting_text(done, posts, manner.texts)]
        if later := later_text(points, point, manner.texts):
            after.append(later)
        hashes = said_since((line.entry for line in lines if line.goal == goal.id), point.seq)
        there = await desk.journal.contents(goal.session, hashes)
        said = [views.one_line(there[one], HEARD_CHARS) for one in hashes if there.get(one)]
        after.append(heard_text(said, manner.texts))

        def told(applied: Applied) -> str:
            is_over = applied.goal.state is State.OVER_BUDGET
            key = "said.rewound.over_budget" if is_over else "said.rewound"
            head = manner.texts(key, goal=desk.name(goal), point=where)
            return "\n".join(part for part in (head, *after) if part)

        event = Rewound(heard.person, point.seq, point.point, point.tree)
        await self._commit(heard, goal, event, told=told)

    async def fork(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Open a copy of the goal in a thread of its own. Raises Refused, BadInput."""
        number, wanted = read_copy(command.text) or (0, "")
        points = await self._points(goal)
        if not number:
            await self._show(heard, goal, points, "fork")
            return
        self._starting.refuse_where_off(heard)
        point = await self._point(goal, points, number)
        desk = self._desk
        texts, name = desk.manner.texts, desk.name(goal)
        rest = views.rest(goal)
        if rest is None:
            raise BadInput(texts("bad.nothing_left", goal=name))
        there = await desk.journal.contents(goal.session, self._texts_of(point))
        said = objective(wanted, texts) if wanted else there.get(point.point.objective, "")
        if not said:
            raise BadInput(texts("bad.fork.no_objective", goal=name))
        refuse_unfit_checks(said, texts)
        await refuse_unknown(desk, heard.message.place, said)
        thread = await self._starting.apart(heard)
        content = Content(said, heard.person, heard.of)
        opened = self._starting.opened(heard, thread, content, rest)
        opened, further = self._copied(opened, point, there, is_new=bool(wanted))
        opened = replace(opened, profile=tighter(goal, heard.room, desk.profile))
        where = point_text(point, desk.clock.now(), desk.manner_in(heard.message.place))

        def told(applied: Applied) -> str:
            return texts("said.forked", goal=name, new=desk.name(applied.goal), point=where)

        await self._starting.open(heard, opened, content, told, further=further)

    def _copied(
        self, opened: GoalOpened, point: Checkpoint, there: Mapping[str, str], *, is_new: bool
    ) -> tuple[GoalOpened, tuple[Content, ...]]:
        """The copy's opening, and the texts that it brings along."""
        was = point.point
        gates = tuple(gate for gate in was.gates if there.get(gate.command))
        # A plan was approved for its objective, and for no other one. Where one was wanted, it still is.
        plan = "" if is_new or not there.get(was.plan) else was.plan
        copied = replace(
            opened,
            forks=point.goal,
            fork_seq=point.seq,
            restore=point.tree,
            plan=plan,
            plan_first=not plan and (opened.plan_first or was.planning or bool(was.plan)),
            gates=gates,
        )
        hashes = (*(gate.command for gate in gates), *([plan] if plan else []))
        return copied, tuple(Content(there[hash], "agent") for hash in dict.fromkeys(hashes))

    def _texts_of(self, point: Checkpoint) -> tuple[str, ...]:
        was = point.point
        hashes = (was.objective, was.plan, *(gate.command for gate in was.gates))
        return tuple(hash for hash in dict.fromkeys(hashes) if hash)

    async def _points(self, goal: Goal) -> tuple[Checkpoint, ...]:
        return await self._checkpoints().of_goal(goal.id)

    async def _point(self, goal: Goal, points: tuple[Checkpoint, ...], number: int) -> Checkpoint:
        """The checkpoint of that number, whose files are there. Raises Refused, BadInput."""
        name, texts = self._desk.name(goal), self._desk.manner.texts
        if not 1 <= number <= len(points):
            key = "bad.no_point" if points else "said.points.none"
            raise BadInput(texts(key, goal=name, n=number, last=len(points)))
        point = points[number - 1]
        is_kept = bool(point.tree)
        if is_kept and self._desk.snapshots is not None:
            try:
                await self._desk.snapshots.entries(point.tree)
            except BadInput:
                is_kept = False
            except StoreUnusable as error:
                log.error("Checkpoint %d of %s cannot be read: %s", number, name, error)
                raise BadInput(texts("bad.point_unreadable", goal=name, n=number)) from error
        if not is_kept:
            raise BadInput(texts("bad.point_without_files", goal=name, n=number))
        return point

    async def _show(
        self, heard: Heard, goal: Goal, points: tuple[Checkpoint, ...], verb: str
    ) -> None:
        desk = self._desk
        manner = desk.manner_in(heard.message.place)
        await desk.answer(heard, list_text(goal, points, verb, desk.clock.now(), manner))

    def _checkpoints(self) -> Checkpoints:
        if self._desk.checkpoints is None:
            raise Refused("Checkpoints are not kept here.", code="no_checkpoints")
        return self._desk.checkpoints
