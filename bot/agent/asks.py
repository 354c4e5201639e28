"""
The tools that speak to the conversation itself: `ask_person`, `wait_for`, `plan`, `propose_plan`,
`finish_note`, `share_file`.

Rule 1: they change nothing outside: their events are staged with their results, in one unit.
Rule 2: with an approved plan nothing else is worked at: a task that is no step of it is proposed first.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.agent import prompts
from bot.agent.filing import Filing, told
from bot.agent.record import Record
from bot.errors import BadInput
from bot.goals.events import DecisionAsked, FileShared, NoteLeft, TasksPlanned, WaitAsked
from bot.goals.goal import Wait
from bot.goals.limits import Limits
from bot.ports import question
from bot.ports.artifacts import Artifact
from bot.ports.clock import Clock
from bot.ports.journal import Content, Journal, Task
from bot.tools.ask_person import ask
from bot.tools.finish_note import note
from bot.tools.plan import plan
from bot.tools.propose_plan import proposed
from bot.tools.wait_for import wait_for

Told = tuple[bool, str]
"""Whether it was taken, and what the agent is told."""


class Asks:
    """What the agent asks of the loop in one turn."""

    def __init__(
        self,
        record: Record,
        journal: Journal,
        clock: Clock,
        limits: Limits,
        ids: Callable[[], str],
        filing: Filing,
        *,
        tools_on: bool,
        process: Callable[[str], str | None] = lambda id: None,
    ) -> None:
        """`process` tells of a background command: `running`, how it ended, None: there is none."""
        self._record, self._journal, self._clock = record, journal, clock
        self._filing = filing
        self._limits, self._ids, self._tools_on = limits, ids, tools_on
        self._process = process
        self._tasks: tuple[Task, ...] | None = None

    async def take(self, name: str, args: Mapping[str, Any], tool_use: str) -> Told:
        """Stage what the call asks for. Raises as the journal does."""
        match name:
            case "ask_person":
                return self._ask(args, tool_use)
            case "wait_for":
                return self._wait(args)
            case "plan":
                return await self._plan(args)
            case "propose_plan":
                return self._propose(args, tool_use)
            case "share_file":
                return await self._share(args)
            case _:
                return self._note(args)

    async def take_up_plan(self) -> None:
        """Make the steps of the approved plan the list of tasks, once. Raises as the journal does."""
        steps = await self._steps()
        kept = await self._listed() if steps else ()
        titles = {task.title for task in kept}
        if all(step in titles for step in steps):
            return
        known = {task.title: task for task in kept}
        planned = [known.get(step, Task(step, "open")) for step in steps]
        # What was done stays told; what was begun and is no step any more is no longer needed.
        left = [task for task in kept if task.title not in steps]
        others = [task if task.state == "done" else replace(task, state="dropped") for task in left]
        self._stage_tasks((*planned, *others))

    def _ask(self, args: Mapping[str, Any], tool_use: str) -> Told:
        goal = self._record.goal
        asked = ask(args)
        text = Content(question.written(asked.question, asked.options), "agent")
        if text.hash in goal.questions:
            return False, "You have asked this already. Do not ask it again; go on without it."
        told = prompts.asked(goal)
        self._record.stage(
            DecisionAsked(self._ids(), "question", text.hash, tool_use), contents=(text,)
        )
        return True, told

    def _wait(self, args: Mapping[str, Any]) -> Told:
        wanted = wait_for(args)
        now = self._clock.now()
        if wanted.kind == "process" and (refused := self._refused(wanted.ref)):
            return False, refused
        if wanted.kind == "probe" and not self._tools_on:
            return False, "Without a sandbox there are no probes. Use kind time or message."
        if wanted.until is not None and wanted.until <= now:
            it_is = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
            return False, f"That time is past: it is {it_is}. Give a later one, or go on now."
        until = now + self._limits.wait_most_s if wanted.until is None else wanted.until
        reason = Content(wanted.reason, "agent")
        wait = Wait(self._ids(), wanted.kind, wanted.ref, until, reason.hash)
        self._record.stage(WaitAsked(wait), contents=(reason,))
        return True, "The goal is parked on this when your turn ends. End it now."

    def _propose(self, args: Mapping[str, Any], tool_use: str) -> Told:
        goal = self._record.goal
        if not (goal.planning or goal.plan):
            return (
                False,
                "Nobody wants to approve a plan here. Keep your list with plan, and go on.",
            )
        text = Content(proposed(args).whole, "agent")
        if text.hash == goal.plan and not goal.planning:
            return False, "That is the approved plan, word for word. Go on with it."
        told = prompts.proposed(goal)
        self._record.stage(
            DecisionAsked(self._ids(), "plan", text.hash, tool_use), contents=(text,)
        )
        return True, told

    def _refused(self, process: str) -> str:
        """Why nobody can wait for this background command; empty where one can."""
        match self._process(process):
            case None:
                return (
                    f"There is no background command {process!r}: it never was, or it has gone with its "
                    "sandbox. Start one with bash and background, and give the id that it gives you."
                )
            case "running":
                return ""
            case ending:
                return f"{process} has {ending} already. See its output with poll, and go on."

    async def _plan(self, args: Mapping[str, Any]) -> Told:
        if self._record.goal.planning:
            return False, "No plan is approved yet: propose yours with propose_plan."
        planned, steps = plan(args).tasks, await self._steps()
        active = [task.title for task in planned if task.state in ("open", "doing")]
        beyond = [title for title in active if " ".join(title.split()) not in steps]
        if steps and beyond:
            return False, prompts.beyond_plan(beyond)
        await self._listed()
        left, done = self._stage_tasks(planned)
        return True, f"The list is kept: {left} to do, {done} done."

    async def _steps(self) -> tuple[str, ...]:
        """The steps of the approved plan; none where there is none, or it names no steps."""
        goal = self._record.goal
        if not goal.plan or goal.planning:
            return ()
        there = await self._journal.contents(goal.session, (goal.plan,))
        return question.read(there.get(goal.plan, "")).options

    async def _listed(self) -> tuple[Task, ...]:
        if self._tasks is None:
            self._tasks = await self._journal.tasks(self._record.goal.id)
        return self._tasks

    def _stage_tasks(self, planned: tuple[Task, ...]) -> tuple[int, int]:
        """Stage the list; returns how many tasks are left, and how many are done."""
        were_done = {task.title for task in self._tasks or () if task.state == "done"}
        done = [task for task in planned if task.state == "done"]
        closed = sum(1 for task in done if task.evidence and task.title not in were_done)
        left = sum(1 for task in planned if task.state in ("open", "doing"))
        content = Content(_as_text(planned), "agent")
        self._tasks = planned
        self._record.stage(
            TasksPlanned(content.hash, left, len(done), closed), contents=(content,), tasks=planned
        )
        return left, len(done)

    def _note(self, args: Mapping[str, Any]) -> Told:
        left = Content(note(args).text, "agent")
        self._record.stage(NoteLeft(left.hash), contents=(left,))
        return True, "The note is kept."

    async def _share(self, args: Mapping[str, Any]) -> Told:
        try:
            file = await self._filing.take(self._record.goal.id, args)
        except BadInput as error:
            return False, str(error)
        caption = Content(str(args.get("caption", "")).strip(), "agent")
        contents = (caption,) if caption.text else ()
        shared = FileShared(file.hash, caption.hash if contents else "")
        path = str(args["path"])
        made = Artifact(path, file.hash, file.size, file.media_type, "shared")
        self._record.stage(shared, contents=contents, files=(file,), artifacts=(made,))
        return True, told(file)


def _as_text(tasks: tuple[Task, ...]) -> str:
    return "\n".join(
        f"[{task.state}] {task.title}" + (f" ({task.evidence})" if task.evidence else "")
        for task in tasks
    )
