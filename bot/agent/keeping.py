"""
A goal's workspace at its checkpoints: kept when a turn ends, put back before one begins.

Rule 1: nothing is looked at where nothing can have changed: the tree before still stands.
Rule 2: what cannot be kept never fails a turn: the checkpoint is made without its files, and says why.
Rule 3: a workspace is put back before the turn's first step; cut off, it is done again.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from bot.agent.filing import Filing
from bot.agent.hands import Hands
from bot.agent.record import Record
from bot.errors import BadInput, NoSandbox, StoreUnusable
from bot.goals.events import TasksPlanned, WorkspaceRestored
from bot.ports.artifacts import Artifact
from bot.ports.attached import type_of
from bot.ports.checkpoints import Checkpoints
from bot.ports.journal import Content
from bot.ports.snapshots import EMPTY, Entry, Snapshots

log = logging.getLogger(__name__)

Unkept = Literal["", "quota", "sandbox", "disk"]
MADE: Final = "artifacts/"
"""Where the files are that a person gets."""
FAILED_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """Where workspaces are kept, and what tells which were."""

    snapshots: Snapshots
    checkpoints: Checkpoints


@dataclass(frozen=True, slots=True)
class Taken:
    """What a checkpoint names. `tree`: None where the one before still stands."""

    tree: str | None = None
    unkept: Unkept = ""
    artifacts: tuple[Artifact, ...] = ()


class Keeping:
    """The workspace of one turn."""

    def __init__(self, kept: Kept | None, record: Record, hands: Hands, filing: Filing) -> None:
        self._kept, self._record, self._hands, self._filing = kept, record, hands, filing

    async def taken(self) -> Taken:
        """Keep it, where it may be another one than at the last checkpoint.

        Raises:
            StoreBusy, StoreUnusable: as the journal.
        """
        goal, kept = self._record.goal, self._kept
        if kept is None:
            return Taken()
        if goal.restore:
            # It could not be put back yet; that is what it has to be all the same.
            return Taken(goal.restore)
        before = await kept.checkpoints.latest(goal.session)
        if before != "" and not self._may_have_changed():
            return Taken()
        try:
            tree = await self._hands.keep(kept.snapshots, before or "")
            return Taken(tree, "", await self._made(kept.snapshots, tree, before or ""))
        except BadInput as error:
            return self._untaken("quota", error)
        except NoSandbox as error:
            return self._untaken("sandbox", error)
        except StoreUnusable as error:
            return self._untaken("disk", error)

    async def put_back(self) -> bool:
        """Make it what the goal was put back to, if it was; False where that cannot be done.

        Raises:
            StoreBusy, StoreUnusable: as the journal.
        """
        record, kept = self._record, self._kept
        tree = record.goal.restore
        if not tree or kept is None or not self._hands.are_on:
            return True
        await record.commit()
        if record.is_over:
            return True
        try:
            restored = await self._hands.put_back(kept.snapshots, tree)
        except NoSandbox as error:
            # The tools are off, so nothing is changed; it is put back when they are there again.
            log.warning("Goal %s is put back later: %s", record.goal.id, error)
            return True
        except (BadInput, StoreUnusable) as error:
            log.warning("Goal %s cannot be put back: %s", record.goal.id, error)
            return False
        if restored.failed:
            log.warning("Goal %s: not put back: %s", record.goal.id, restored.failed)
        await self._take_over_tasks(kept.checkpoints)
        paths = Content("\n".join(sorted(restored.failed)[:FAILED_TOLD]), "tool")
        lacking = (paths,) if restored.failed else ()
        done = WorkspaceRestored(tree, lacking=paths.hash if lacking else "")
        record.stage(done, contents=lacking)
        await record.commit()
        return True

    async def _take_over_tasks(self, checkpoints: Checkpoints) -> None:
        """A copy begins with the list of tasks that there was at its point."""
        goal, was_put_back = self._record.goal, self._record.transcript.own.was_put_back
        if not goal.forks or was_put_back or goal.tasks_open or goal.tasks_done:
            return
        tasks = await checkpoints.tasks(goal.forks, goal.fork_seq)
        if tasks:
            done = sum(task.state == "done" for task in tasks)
            left = sum(task.state in ("open", "doing") for task in tasks)
            content = Content("\n".join(task.title for task in tasks), "agent")
            planned = TasksPlanned(content.hash, left, done, 0)
            self._record.stage(planned, contents=(content,), tasks=tasks)

    def _may_have_changed(self) -> bool:
        return (
            self._hands.leave_something
            or self._filing.has_placed
            or self._record.transcript.may_have_changed
        )

    def _untaken(self, why: Unkept, error: Exception) -> Taken:
        log.warning("Goal %s: its files are not kept: %s", self._record.goal.id, error)
        return Taken("", why)

    async def _made(self, snapshots: Snapshots, tree: str, before: str) -> tuple[Artifact, ...]:
        """The files for people that are new or changed."""
        if tree in (before, EMPTY):
            return ()
        try:
            known = set(_hashes(await snapshots.entries(before or EMPTY)))
        except (BadInput, StoreUnusable):
            known = set()
        return tuple(
            Artifact(one.path, one.hash, one.size, type_of(one.path), "made")
            for one in await snapshots.entries(tree)
            if one.kind == "file" and one.path.startswith(MADE) and _is_text(one.path)
            if (one.path, one.hash) not in known
        )


def _hashes(entries: Iterable[Entry]) -> Iterable[tuple[str, str]]:
    return ((one.path, one.hash) for one in entries)


def _is_text(path: str) -> bool:
    """A name that is no text can be in no row."""
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)
