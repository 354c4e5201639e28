"""What every store does with the names of files: those that came, those that goals share."""

from dataclasses import replace

import pytest

from bot.errors import IllegalMove
from bot.goals.events import (
    Event,
    FileShared,
    Paused,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.ports.chat import Attachment, Removed
from bot.ports.journal import Applied, Content, Unit
from tests.contracts.stores import ANN, Bed

CSV = Attachment("report.csv", "text/csv", 12, "a" * 64)
PNG = Attachment("dot.png", "image/png", 70, "b" * 64)
MD = Attachment("summary.md", "text/markdown", 7, "c" * 64)


async def at_work(bed: Bed) -> tuple[Goal, int]:
    """A goal whose turn runs, and its lease's epoch."""
    goal = await bed.open()
    lease = await bed.leases.claim_one("w", goal.id)
    assert lease is not None
    applied = await bed.journal.commit(Unit(goal.id, (TurnStarted(),), epoch=lease.epoch))
    return applied.goal, lease.epoch


async def shares(
    bed: Bed, goal: Goal, epoch: int | None, *files: Attachment, caption: str = ""
) -> Applied:
    """A step that shares these files."""
    content = Content(caption, "agent")
    named = content.hash if caption else ""
    events: tuple[Event, ...] = (
        ToolStarted("t", "share_file", "conversation"),
        *(FileShared(file.hash, named) for file in files),
        ToolEnded("t", "ok", "h"),
    )
    contents = (content,) if caption else ()
    return await bed.journal.commit(Unit(goal.id, events, contents, epoch, files=files))


class AttachmentsContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_shared_file_is_a_post_with_its_name_in_the_goals_thread(
        self, bed: Bed
    ) -> None:
        goal, epoch = await at_work(bed)

        await shares(bed, goal, epoch, MD, caption="The summary.")
        await shares(bed, goal, epoch, PNG)

        rows = []
        for _ in range(2):
            [due] = await bed.outbox.claim("console", limit=9)
            await bed.outbox.sent(due.key, f"r:{due.key}")
            rows.append(due)
        assert [due.files for due in rows] == [(MD,), (PNG,)]
        assert [due.kind for due in rows] == ["file", "file"]
        texts = await bed.journal.contents(goal.session, [rows[0].content])
        assert list(texts.values()) == ["The summary."]
        assert await bed.attachments.of_goal(goal.id) == (MD, PNG)

    async def test_what_is_shared_in_one_step_has_a_post_each(self, bed: Bed) -> None:
        goal, epoch = await at_work(bed)

        await shares(bed, goal, epoch, MD, PNG, replace(CSV, name="again.csv"))

        assert await bed.attachments.of_goal(goal.id) == (MD, PNG, replace(CSV, name="again.csv"))

    async def test_a_step_that_does_not_fit_shares_nothing(self, bed: Bed) -> None:
        goal, epoch = await at_work(bed)
        await bed.journal.commit(Unit(goal.id, (Paused(goal.owner),)))

        with pytest.raises(IllegalMove):
            await shares(bed, goal, epoch, MD)

        assert await bed.attachments.of_goal(goal.id) == ()
        assert MD.hash not in await bed.attachments.named()

    async def test_a_worker_whose_lease_is_gone_shares_nothing(self, bed: Bed) -> None:
        goal, epoch = await at_work(bed)
        await bed.time.pass_by(31.0)
        assert await bed.leases.claim_one("other", goal.id) is not None

        applied = await shares(bed, goal, epoch, MD)

        assert applied.fenced
        assert await bed.attachments.of_goal(goal.id) == ()

    async def test_files_that_came_are_found_by_their_names_in_the_room(self, bed: Bed) -> None:
        room = replace(bed.place(), thread="")
        opened = replace(bed.message("sum it up", room), files=(CSV,))
        thread = replace(room, thread=opened.id)
        later = replace(bed.message("and this", thread), files=(PNG, MD))
        elsewhere = replace(bed.message("not this", bed.place(room="other")), files=(CSV,))
        await bed.inbox.receive_all((opened, later, elsewhere))
        session = (await bed.rooms.begin(thread)).session

        both = await bed.attachments.came(session, [CSV.name, MD.name, "no.such"])
        none = await bed.attachments.came(session, [])

        assert both == {opened.id: (CSV,), later.id: (MD,)}
        assert none == {}

    async def test_every_file_is_named_until_nothing_tells_of_it(self, bed: Bed) -> None:
        goal, epoch = await at_work(bed)
        await shares(bed, goal, epoch, MD)
        came = replace(bed.message("look"), files=(CSV, PNG))
        twin = replace(bed.message("look"), files=(CSV,))
        await bed.inbox.receive_all((came, twin))

        before = await bed.attachments.named()
        await bed.inbox.remove(Removed(came.id, came.place, ANN, 6.0))
        after = await bed.attachments.named()

        assert {CSV.hash, PNG.hash, MD.hash} <= before
        assert before - after == {PNG.hash}

    async def test_a_turn_that_ends_after_it_has_shared_folds_to_its_row(self, bed: Bed) -> None:
        goal, epoch = await at_work(bed)
        await shares(bed, goal, epoch, MD)

        applied = await bed.journal.commit(
            Unit(goal.id, (TurnEnded("done", "reply", progress=True),), epoch=epoch)
        )

        assert applied.goal.turn == 1
