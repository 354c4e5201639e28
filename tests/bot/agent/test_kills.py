"""Whatever ends a turn in the middle, another process takes it up: nothing is lost or done twice."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bot.agent import prompts
from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.goals.money import Budget, Usage
from bot.ports.model import ModelReply, ModelRequest
from bot.ports.sandbox import Outcome
from tests.bot.agent.world import World, is_audited, said
from tests.doubles.model import ScriptedModel, calls, reply, says

USAGE = Usage(input=100, output=20)


class Killed(BaseException):
    """The process is gone at this point."""


def answer(request: ModelRequest) -> ModelReply:
    """Looks, appends twice, plans, asks nobody, is done: by what the conversation holds."""
    done = sum(message["role"] == "assistant" for message in request.messages)
    match done:
        case 0:
            look = {"type": "tool_use", "id": "t0", "name": "glob", "input": {"pattern": "*"}}
            seek = {"type": "tool_use", "id": "t1", "name": "grep", "input": {"pattern": "x"}}
            return reply(look, seek, usage=USAGE)
        case 1:
            return calls("bash", {"command": "echo one >> log"}, id="t2", usage=USAGE)
        case 2:
            first = {"type": "tool_use", "id": "t3", "name": "write"}
            second = {"type": "tool_use", "id": "t4", "name": "bash"}
            tasks = {"tasks": [{"title": "a", "state": "done", "evidence": "log"}]}
            third = {"type": "tool_use", "id": "t5", "name": "plan", "input": tasks}
            return reply(
                {**first, "input": {"path": "a", "content": "b"}},
                {**second, "input": {"command": "echo two >> log"}},
                third,
                usage=USAGE,
            )
        case _:
            return says("Done.", usage=USAGE)


class Points:
    """Counts the places where a process may die, and kills it at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, *_: Any) -> None:
        self.count += 1
        if self.count == self.at:
            raise Killed


class KilledSession:
    """A sandbox session with a place to die before and after each call."""

    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    async def call(self, tool: str, args: Any, *, timeout_s: float) -> Outcome:
        self._point()
        outcome: Outcome = await self._inner.call(tool, args, timeout_s=timeout_s)
        self._point()
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class KilledSandbox:
    """A sandbox whose sessions have places to die."""

    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    async def open(self, workspace: str, access: Any, line: Any = None) -> Any:
        return KilledSession(await self._inner.open(workspace, access, line), self._point)


def a_world(point: Callable[..., None]) -> tuple[World, list[str]]:
    """A world that dies at a point; the list holds what the model served."""
    served: list[str] = []

    def serve(request: ModelRequest) -> ModelReply:
        point()
        served.append("reply")
        given = answer(request)
        point()
        return given

    world = World(ScriptedModel(serve))
    world.journal.before = point
    world.journal.after = point
    return world, served


async def run_to_the_end(world: World) -> Goal:
    goal = await world.journal.inner.goal("g1")
    while not is_audited(goal):
        world.start_anew()
        goal = await world.runs()
    return goal


def ran(world: World, sandbox: Any, tool: str) -> list[Any]:
    return [args for session in sandbox.sessions for name, args in session.calls if name == tool]


async def killed_at(at: int) -> tuple[World, Points, Goal, Any]:
    point = Points(at)
    world, served = a_world(point)
    sandbox = world.sandbox
    world.sandbox = KilledSandbox(sandbox, point)
    world.start_anew()
    await world.opens("Append two lines.")
    try:
        goal = await world.runs()
    except Killed:
        goal = await run_to_the_end(world)
    await world.checks(was_killed=True)
    ledger = goal.ledger
    lost = len(await world.events(e.TurnResumed))
    assert 120 * (len(served) - lost) <= ledger.usage.tokens <= 120 * len(served)
    assert (ledger.estimated_tokens > 0) or ledger.usage.tokens == 120 * len(served)
    assert not ledger.open
    for command in ("echo one >> log", "echo two >> log"):
        assert ran(world, sandbox, "bash").count({"command": command}) <= 1
    return world, point, goal, sandbox


async def test_a_turn_killed_at_any_point_ends_as_it_would_have_and_repeats_no_effect() -> None:
    _, point, goal, sandbox = await killed_at(0)
    world = sandbox.workspaces[goal.session]
    assert world == {"log": "one\ntwo\n", "a": "b"}
    points = point.count
    assert points == 2 * 9 + 2 * 4 + 2 * 5

    for at in range(1, points + 1):
        _, _, goal, sandbox = await killed_at(at)

        assert is_audited(goal), at
        log = sandbox.workspaces.get(goal.session, {}).get("log", "")
        assert log in ("one\ntwo\n", "one\n", "two\n"), at


async def test_a_turn_cancelled_at_any_await_leaves_a_journal_that_goes_on() -> None:
    at = 0
    while True:
        at += 1
        world, _ = a_world(lambda *_: None)
        sandbox = world.sandbox
        await world.opens("Append two lines.")
        task = asyncio.ensure_future(world.runs())
        for _ in range(at):
            await asyncio.sleep(0)
        if task.done():
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await world.checks(was_killed=True)
        assert not (await world.journal.inner.goal("g1")).ledger.open, at

        goal = await run_to_the_end(world)

        await world.checks(was_killed=True)
        assert is_audited(goal)
        for command in ("echo one >> log", "echo two >> log"):
            assert ran(world, sandbox, "bash").count({"command": command}) <= 1, at
    assert at > 10


async def test_a_stop_closes_the_turn_and_books_its_time() -> None:
    started = asyncio.Event()

    class Slow(ScriptedModel):
        async def call(self, request: ModelRequest, **more: Any) -> ModelReply:
            started.set()
            await asyncio.sleep(60)
            raise AssertionError

    world = World(Slow([]))
    await world.opens("Go.")
    task = asyncio.ensure_future(world.runs())
    await started.wait()
    await world.happens(e.Stopped(world.person))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    goal = await world.journal.inner.goal("g1")
    assert (goal.state, goal.turn_open) == (State.PAUSED, False)
    assert goal.ledger.estimated_tokens > 0
    assert goal.ledger.active_s > 0
    await world.checks(was_killed=True)


async def test_a_command_that_is_stopped_is_told_as_interrupted() -> None:
    world = World(ScriptedModel([calls("bash", {"command": "sleep 60"}), says("I see.")]))
    await world.opens("Go.")
    task = asyncio.ensure_future(world.runs())
    while not any(session.calls for session in world.sandbox.sessions):
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    goal = await world.runs()

    assert prompts.INTERRUPTED in said(world.model.requests[1])
    assert is_audited(goal)
    await world.checks()


async def test_a_command_whose_end_was_not_seen_is_told_as_unknown() -> None:
    world = World(ScriptedModel([calls("bash", {"command": "echo x >> log"}), says("I see.")]))

    def die(unit: Any) -> None:
        if any(isinstance(event, e.ToolStarted) for event in unit.events):
            raise Killed

    world.journal.after = die
    await world.opens("Go.")
    with pytest.raises(Killed):
        await world.runs()
    world.start_anew()

    goal = await world.runs()

    assert prompts.UNKNOWN in said(world.model.requests[1])
    assert not world.sandbox.sessions
    assert is_audited(goal)


async def test_files_that_changed_since_they_were_read_are_named_when_a_turn_is_resumed() -> None:
    world = World(ScriptedModel([calls("read", {"path": "a"}), says("Again.")]))
    await world.opens("Read.")
    world.sandbox.workspaces[world.session] = {"a": "old"}

    def die(unit: Any) -> None:
        if any(isinstance(event, e.ToolEnded) for event in unit.events):
            raise Killed

    world.journal.after = die
    with pytest.raises(Killed):
        await world.runs()
    world.journal.after = lambda unit: None
    world.sandbox.workspaces[world.session]["a"] = "new"
    world.start_anew()

    goal = await world.runs()

    assert prompts.stale(("a",)) in said(world.model.requests[-1])
    assert is_audited(goal)


async def test_a_wrap_up_that_dies_is_not_begun_again() -> None:
    spends = calls("glob", {"pattern": "*"}, usage=Usage(input=90_000))
    world = World(ScriptedModel([spends, spends]))
    await world.opens("Spend.", budget=Budget(None, 100_000, None))
    await world.runs()
    await world.audits()

    def die(unit: Any) -> None:
        raise Killed

    world.journal.after = die
    with pytest.raises(Killed):
        await world.runs()
    world.journal.after = lambda unit: None
    world.start_anew()

    goal = await world.runs()

    assert goal.state is State.OVER_BUDGET
    assert len(world.model.requests) == 1
