"""A goal's checks: where they run, as the goal and its room have it now."""

from dataclasses import dataclass

from bot.agent.gates import Ground as GateGround
from bot.agent.gates import SandboxGates
from bot.agent.reach import Lines, NoLines
from bot.chat.allow_list import AllowList
from bot.errors import NoSandbox
from bot.goals.goal import Goal
from bot.goals.objective_lines import repository_in
from bot.wiring.ground import Ground

CHECKOUTS = "checkouts"


@dataclass(frozen=True, slots=True)
class GateGrounds:
    """Tells it: checks write where the goal's tools may, and run in the checkout that it starts from."""

    ground: Ground
    allow_list: AllowList
    lines: Lines

    async def __call__(self, goal: Goal) -> GateGround:
        """Where the checks of a goal run."""
        place = await self.allow_list.home(goal.session)
        profile = goal.profile or self.allow_list.settings(place).profile
        looks = (profile or self.ground.settings.profile) == "read_only"
        try:
            line = await self.lines.open(goal, place)
        except NoSandbox:
            # What needs the network fails and says so; the others run.
            line = None
        texts = await self.ground.store.journal.contents(goal.session, (goal.objective,))
        name = repository_in(texts.get(goal.objective, ""))
        folder = f"{CHECKOUTS}/{name}" if name else ""
        return GateGround("read_only" if looks else "workspace", line, folder)


def build_gates(ground: Ground, allow_list: AllowList, lines: Lines | None = None) -> SandboxGates:
    """The checks of a process's goals."""
    where = GateGrounds(ground, allow_list, lines or NoLines())
    limit_s = ground.settings.gate_timeout_s
    return SandboxGates(ground.store.journal, ground.sandbox, where, limit_s=limit_s)
