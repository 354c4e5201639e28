"""The store as commands have it where no process is at work."""

from pathlib import Path

from bot.goals.events import Cancelled, GoalOpened
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Content, Unit
from bot.settings import Settings
from bot.wiring.holding import own_store


async def test_no_more_goals_begin_than_may_be_live_where_a_command_ends_one(
    tmp_path: Path,
) -> None:
    settings = Settings(state_dir=tmp_path, live_goals_all=1)

    async with own_store(settings) as store:
        owner = await store.rooms.person("console", Speaker("ann", "ann"))
        for goal in ("g1", "g2", "g3"):
            session = (await store.rooms.begin(Place("console", "", "den", goal))).session
            content = Content(goal, owner)
            opened = GoalOpened(goal, session, 0, owner, content.hash, settings.budget)
            await store.journal.open(opened, [content])
        await store.journal.commit(Unit("g1", (Cancelled(owner),)))
        queued = {row.goal.id for row in await store.records.goals() if row.goal.wait is not None}

    assert queued == {"g3"}
