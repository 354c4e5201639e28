"""What holds for the calls of a world's goal, in a test's hand; and what people answer to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.goals import events as e
from bot.goals.goal import Decision, Goal
from bot.goals.hands import Scope
from bot.ports.chat import Place
from bot.ports.journal import Content
from bot.ports.permissions import Permission
from bot.ports.room_settings import RoomSettings
from bot.tools.policy.verdict import ByDefault, Law, law_of
from tests.bot.agent.world import World
from tests.doubles.model import ScriptedModel

ROOM = Place("console", "w", "r")


@dataclass
class Ruled:
    """Port Rules."""

    room: RoomSettings = field(default_factory=RoomSettings)
    default: ByDefault = field(default_factory=ByDefault)
    permissions: list[Permission] = field(default_factory=list)
    approves: bool = True
    looked: int = 0
    """How often the standing permissions were looked up."""

    async def place(self, goal: Goal) -> Place:
        return ROOM

    async def law(self, goal: Goal) -> Law:
        return law_of(goal, self.room, self.default)

    async def standing(self, goal: Goal) -> Sequence[Permission]:
        self.looked += 1
        return tuple(self.permissions)

    async def has_approver(self, goal: Goal) -> bool:
        return self.approves


def ruled(*answers: Any, toolboxes: Sequence[Any] = (), **room: Any) -> World:
    """A world whose room has these settings; operators ask for `git` and deny `dd`."""
    rules = Ruled(RoomSettings(**room), ByDefault(ask=(("git",),), deny=(("dd",),)))
    return World(ScriptedModel(list(answers)), rules=rules, toolboxes=toolboxes)


async def asked(world: World, goal: str = "g1") -> Decision:
    """The approval that the goal waits for."""
    decision = (await world.journal.inner.goal(goal)).decision
    assert decision is not None
    assert decision.kind == "approval"
    return decision


async def answers(
    world: World, text: str = "yes", *, accepted: bool = True, scope: Scope = "once"
) -> Goal:
    """Somebody answers it."""
    decision = await asked(world)
    said = Content(text, world.person)
    answer = e.DecisionAnswered(decision.id, world.person, said.hash, accepted, scope=scope)
    return await world.happens(answer, texts=(text,))


async def results(world: World) -> dict[str, str]:
    """What the agent was told of each call, by its id, in the last request."""
    return {
        block["tool_use_id"]: str(block["content"])
        for message in world.model.requests[-1].messages
        for block in message["content"]
        if block.get("type") == "tool_result"
    }


def ran(world: World) -> list[str]:
    """The commands that ran, in order, whichever session they ran in."""
    return [
        str(args.get("command") or args.get("path"))
        for session in world.sandbox.sessions
        for _, args in session.calls
    ]


async def why(world: World) -> list[str]:
    """Why each call ran."""
    return [event.allowed for event in await world.events(e.ToolStarted)]


def moved(world: World, **changes: Any) -> None:
    """The room's settings change."""
    world.rules.room = replace(world.rules.room, **changes)
