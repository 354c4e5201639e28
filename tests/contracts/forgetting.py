"""What every store that forgets does: texts go, the journal stays and replays."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy import select

from adapters.store.tables import METADATA
from bot.errors import BadInput, IllegalMove, Refused
from bot.goals.events import (
    Audited,
    Cancelled,
    DecisionAnswered,
    DecisionAsked,
    FileShared,
    GoalOpened,
    MessageReceived,
    NoteLeft,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    WaitAsked,
)
from bot.goals.goal import Goal, Wait
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import Attachment, Incoming, Place, Removed, Speaker
from bot.ports.forgetting import Kept, Step, Trail, Wanted
from bot.ports.installs import Install
from bot.ports.journal import Content, Task, content_hash
from bot.ports.positions import Position, Sealed
from bot.ports.words import MARK
from tests.contracts import journal
from tests.contracts.stores import SHARED, Bed

ANN = Speaker("U-MRK-ext", "Ann MRK-name")
BEN = Speaker("U-ben", "Ben")
DAY = 86_400.0
INSTALL = Install(
    "slack",
    "T01",
    "A01",
    "U01BOT",
    "Acme",
    ("commands",),
    "xoxb-token",
    installed_by=ANN.id,
    at=5.0,
)
ROOM = "room"


@dataclass(frozen=True)
class Scene:
    """Ann's own thread, and one of Ben's in which she spoke as well."""

    ann: str
    ben: str
    own: Goal
    shared: Goal


async def say(bed: Bed, who: Speaker, text: str, thread: str = "", file: str = "") -> Incoming:
    """A message in the room, stored, with a file of that name."""
    files = (Attachment(file, "text/plain", 3, content_hash(file)),) if file else ()
    place = Place("console", "w", ROOM, thread)
    message = Incoming(f"m{next(bed.ids)}", place, who, text, 5.0, files=files)
    await bed.inbox.receive(message)
    return message


async def begin(bed: Bed, who: Speaker, objective: str) -> tuple[Goal, str]:
    """A goal of theirs in a thread that begins with its message; and the thread."""
    message = await say(bed, who, f"/goal {objective}")
    session = await bed.rooms.begin(Place("console", "w", ROOM, message.id))
    owner = await bed.rooms.person("console", who)
    content = Content(objective, owner)
    id = f"g{next(bed.ids)}"
    opened = GoalOpened(id, session.session, 0, owner, content.hash, DEFAULT_BUDGET)
    applied = await bed.journal.open(opened, [content], (message.id,))
    return applied.goal, message.id


async def steer(bed: Bed, goal: Goal, thread: str, who: Speaker, text: str) -> Incoming:
    """A message to the goal, handled."""
    message = await say(bed, who, text, thread)
    by = await bed.rooms.person("console", who)
    content = Content(text, by)
    received = MessageReceived(message.id, by, content.hash)
    await bed.commit(goal, received, contents=(content,), handled=(message.id,))
    return message


async def work(bed: Bed, goal: Goal, *texts: str) -> None:
    """A turn whose reply and tool result are these texts; they are its task as well."""
    contents = [Content(text, "agent") for text in texts]
    n = next(bed.ids)
    await bed.turn(
        goal,
        ToolStarted(f"t{n}", "bash", "workspace"),
        ToolEnded(f"t{n}", "ok", contents[-1].hash),
        NoteLeft(contents[0].hash),
    )
    tasks = (Task(texts[0], "done", texts[-1]),)
    await bed.commit(goal, contents=tuple(contents), tasks=tasks)


async def scene(bed: Bed) -> Scene:
    """Marks of hers in everything that a goal writes down."""
    own, thread = await begin(bed, ANN, "find MRK-objective")
    await steer(bed, own, thread, ANN, "and MRK-steering too")
    await work(bed, own, "reply MRK-reply", "tool MRK-tool")
    note = Content("note MRK-note", "auditor")
    now = await bed.journal.goal(own.id)
    await bed.commit(
        own, Audited(now.revision, now.turn, now.messages, "continue", note=note.hash),
        contents=(note,),
    )  # fmt: skip
    reason, asked = Content("reason MRK-reason", "agent"), Content("MRK-question?", "agent")
    wait = Wait(f"w{next(bed.ids)}", "probe", "test -f MRK-probe", 1e10, reason.hash)
    await bed.commit(own, TurnStarted(), WaitAsked(wait), contents=(reason,))
    await bed.commit(own, TurnEnded("done"))
    now = await bed.journal.goal(own.id)
    seen = (now.revision, now.turn, now.messages)
    await bed.commit(own, Audited(*seen, "continue")) if now.state == "auditing" else None
    await _question(bed, own, asked)
    shared, other = await begin(bed, BEN, "count the boats")
    await work(bed, shared, "a reply about boats", "seven boats")
    await steer(bed, shared, other, ANN, "what of the MRK-shared ones, then?")
    await work(bed, shared, "You asked: what of the MRK-shared ones, then?", "quiet tool")
    await steer(bed, shared, other, BEN, "Ann MRK-name is right")
    near = Wait(f"w{next(bed.ids)}", "probe", "grep MRK-shared log", 1e10)
    await bed.commit(shared, TurnStarted(), WaitAsked(near))
    await bed.commit(shared, TurnEnded("done"))
    session = await bed.rooms.begin(Place("console", "w", ROOM))
    await bed.outbox.say(session.session, f"k{next(bed.ids)}", "G1 find MRK-objective")
    await bed.outbox.say(session.session, f"secret:{ANN.id}:{next(bed.ids)}", "a note")
    await say(bed, ANN, "and a MRK-file", other, file="MRK-file.txt")
    await say(bed, BEN, "this as well", other, file="for Ann MRK-name.txt")
    shared_one = Attachment("MRK-answer.txt", "text/plain", 3, "f" * 64)
    await bed.commit(
        own, TurnStarted(), FileShared(shared_one.hash), TurnEnded("done"), files=(shared_one,)
    )
    sealed = [
        Sealed(f"$s{next(bed.ids)}", ROOM, "megolm", f'{{"sender": "{who.id}"}}', 1.0)
        for who in (ANN, BEN)
    ]
    await bed.inbox.receive_all((), Position("console", "w", "s1", tuple(sealed)))
    await fill_in(bed, ANN, "MRK-choice")
    await fill_in(bed, BEN, "with Ann MRK-name \u00e9")
    await bed.installs.keep(INSTALL)
    ann, ben = [await bed.rooms.person("console", who) for who in (ANN, BEN)]
    return Scene(ann, ben, own, shared)


async def fill_in(bed: Bed, who: Speaker, choice: str) -> Incoming:
    """A form with that choice, which can be answered unseen."""
    id, form = f"form:{next(bed.ids)}", (("act", "start"), ("choice", choice))
    message = Incoming(
        id, Place("console", "w", ROOM), who, "look at this", 5.0, via="form", form=form,
        way_back=f"https://hooks.example/{who.id}/{id}",
    )  # fmt: skip
    await bed.inbox.receive_all((message,))
    return message


async def _question(bed: Bed, goal: Goal, asked: Content) -> None:
    answer = Content("answer MRK-answer", goal.owner)
    id = f"d{next(bed.ids)}"
    now = await bed.journal.goal(goal.id)
    if now.state == "waiting":
        await steer(bed, goal, "", ANN, "go on MRK-more")
    await bed.commit(goal, TurnStarted(), DecisionAsked(id, "question", asked.hash, "t"),
                     contents=(asked,))  # fmt: skip
    await bed.commit(goal, TurnEnded("done"))
    await bed.commit(goal, DecisionAnswered(id, goal.owner, answer.hash), contents=(answer,))


async def rows(bed: Bed) -> dict[str, list[Any]]:
    """Every row of every table."""

    def query(tx: Any) -> dict[str, list[Any]]:
        return {name: tx.all(_ALL[name]) for name in METADATA.tables}

    return await bed.ports.writer.do(query)  # type: ignore[attr-defined]


_ALL = {name: select(table) for name, table in METADATA.tables.items()}


async def held(bed: Bed, mark: str = "MRK") -> dict[str, list[Any]]:
    """Rows that hold the mark, by table."""
    found = {
        name: [row for row in all if mark in repr(row)] for name, all in (await rows(bed)).items()
    }
    return {name: some for name, some in found.items() if some}


async def forget(
    bed: Bed, person: str, *, steps: int | None = None, dry: bool = False
) -> Counter[str]:
    """What the sweep does, at most so many steps of it."""
    wanted = Wanted(person)
    counts: Counter[str] = Counter()
    trail: Trail = await bed.forgetting.trail(person)
    if not dry:
        for goal in trail.live:
            await bed.commit(goal, Cancelled(person))
    async for step in _steps(bed, trail, wanted, dry):
        if steps is not None and steps <= 0:
            return counts
        counts[step.kind] += step.count
        steps = None if steps is None else steps - 1
    return counts


async def _steps(bed: Bed, trail: Trail, wanted: Wanted, dry: bool) -> AsyncIterator[Step]:
    async for step in bed.forgetting.texts(trail, wanted, is_dry=dry):
        yield step
    async for step in bed.forgetting.name(trail, is_dry=dry):
        yield step


class ForgettingContract:
    """Subclasses give a fixture `bed` over a real store."""

    async def test_nothing_of_a_person_is_left_in_any_row(self, bed: Bed) -> None:
        at = await scene(bed)
        assert set(await held(bed)) >= {"content", "event", "wait", "person"}

        await forget(bed, at.ann)

        assert await held(bed) == {}

    async def test_what_others_said_and_what_they_own_stays(self, bed: Bed) -> None:
        at = await scene(bed)

        await forget(bed, at.ann)

        there = repr((await rows(bed))["content"])
        for text in ("count the boats", "a reply about boats", "seven boats", "quiet tool"):
            assert text in there
        assert f"{MARK} is right" in there
        people = await bed.rooms.people([at.ann, at.ben])
        assert (people[at.ben], people[at.ann].name) == (BEN, "")
        assert not (await bed.journal.goal(at.shared.id)).is_final

    async def test_files_and_sealed_messages_of_others_stay(self, bed: Bed) -> None:
        at = await scene(bed)
        before = await bed.attachments.named()

        await forget(bed, at.ann)

        names = [row[2] for row in (await rows(bed))["attachment"]]
        bodies = [row[5] for row in (await rows(bed))["sealed_event"]]
        assert len(before) == 3
        assert names == [f"for {MARK}.txt"]
        assert bodies == ['{"sender": "U-ben"}']
        assert await bed.attachments.named() == {content_hash("for Ann MRK-name.txt")}

    async def test_forms_and_ways_back_of_others_stay(self, bed: Bed) -> None:
        at = await scene(bed)

        counts = await forget(bed, at.ann)

        forms = [dict(row.message.form) for row in await bed.inbox.waiting() if row.message.form]
        ways = [row[1] for row in (await rows(bed))["way_back"]]
        assert counts["form"] == 2
        assert forms == [{"act": "start", "choice": f"with {MARK} \u00e9"}]
        assert ["/U-ben/" in url for url in ways] == [True]
        assert await bed.installs.installed("slack") == (replace(INSTALL, installed_by=MARK),)

    async def test_the_sums_stand_and_every_journal_replays(self, bed: Bed) -> None:
        at = await scene(bed)
        await bed.check()
        before = [await bed.records.spend(goal.id) for goal in (at.own, at.shared)]

        await forget(bed, at.ann)

        await bed.check()
        assert [await bed.records.spend(goal.id) for goal in (at.own, at.shared)] == before
        assert (await bed.journal.goal(at.own.id)).state == "cancelled"

    async def test_a_rehearsal_counts_and_takes_nothing(self, bed: Bed) -> None:
        at = await scene(bed)
        before = await rows(bed)

        counted = await forget(bed, at.ann, dry=True)

        assert await rows(bed) == before
        done = await forget(bed, at.ann)
        assert counted["text"] >= 12
        assert {kind: counted[kind] for kind in ("wait", "name")} == {
            kind: done[kind] for kind in ("wait", "name")
        }

    async def test_it_may_end_anywhere_and_begins_again(self, bed: Bed) -> None:
        at = await scene(bed)

        for steps in range(12):
            await forget(bed, at.ann, steps=steps)
        await forget(bed, at.ann)

        assert await held(bed) == {}
        assert set(await forget(bed, at.ann, dry=True)) == {"name"}

    async def test_who_is_to_be_forgotten_is_a_row_until_it_is_done(self, bed: Bed) -> None:
        at = await scene(bed)

        await bed.forgetting.want(Wanted(at.ann, True), 5.0)
        early = await bed.forgetting.wanted()
        await bed.time.pass_by(6)
        due = await bed.forgetting.wanted()
        await bed.forgetting.done(at.ann)

        assert (early, due) == ((), (Wanted(at.ann, True),))
        assert await bed.forgetting.wanted() == ()

    async def test_whoever_speaks_again_is_somebody_new(self, bed: Bed) -> None:
        at = await scene(bed)
        await forget(bed, at.ann)

        again = await bed.rooms.person("console", ANN)

        assert again != at.ann
        assert (await bed.forgetting.known("Ann MRK-name"))[0].id == again
        await forget(bed, again)

    async def test_mentions_elsewhere_may_stay(self, bed: Bed) -> None:
        at = await scene(bed)
        aside, _ = await begin(bed, BEN, "tell Ann MRK-name about boats")
        trail = await bed.forgetting.trail(at.ann)

        async for _ in bed.forgetting.texts(trail, Wanted(at.ann, keeps_mentions=True)):
            pass
        kept = await bed.journal.contents(aside.session, [aside.objective])
        await forget(bed, at.ann)
        gone = await bed.journal.contents(aside.session, [aside.objective])

        assert list(kept.values()) == ["tell Ann MRK-name about boats"]
        assert list(gone.values()) == [f"tell {MARK} about boats"]

    @settings(max_examples=8, deadline=None, suppress_health_check=SHARED)
    @given(choices=journal.MANY)
    async def test_any_life_replays_before_and_after(self, bed: Bed, choices: list[int]) -> None:
        goal, _ = await begin(bed, Speaker(f"U{next(bed.ids)}", "MRK-any"), "MRK-any life")
        for n, choice in enumerate(choices):
            now = await bed.journal.goal(goal.id)
            try:
                await bed.commit(goal, journal._event(now, choice, n))
            except (IllegalMove, Refused):
                continue
        await bed.check()

        await forget(bed, goal.owner)

        await bed.check()
        assert await bed.journal.contents(goal.session, [goal.objective]) == {}


class RetentionContract:
    """Subclasses give a fixture `bed` over a real store."""

    async def test_texts_go_when_their_goal_ended_long_ago(self, bed: Bed) -> None:
        old, _ = await begin(bed, BEN, "an old one")
        await bed.commit(old, Cancelled(old.owner))
        live, _ = await begin(bed, BEN, "a live one")
        await bed.time.pass_by(60 * DAY)
        late, _ = await begin(bed, BEN, "a late one")
        await bed.commit(late, Cancelled(late.owner))
        await bed.time.pass_by(31 * DAY)

        counts = await tidy(bed, Kept(90))

        assert counts["text"] == 3
        for goal, is_there in ((old, False), (live, True), (late, True)):
            assert bool(await bed.journal.contents(goal.session, [goal.objective])) is is_there
        await bed.check()

    async def test_a_room_may_keep_them_shorter_and_an_order_overrides_it(self, bed: Bed) -> None:
        goal, _ = await begin(bed, BEN, "an old one")
        await bed.commit(goal, Cancelled(goal.owner))
        await bed.time.pass_by(8 * DAY)

        by_default = await tidy(bed, Kept(90), dry=True)
        await set_room(bed, retention_days=7, workspace_days=3)
        by_room = await tidy(bed, Kept(90), dry=True)
        forced = await tidy(bed, Kept(9, is_forced=True), dry=True)
        folders = await bed.retention.workspaces((goal.session, "unknown"), Kept(30))

        assert [one["text"] for one in (by_default, by_room, forced)] == [0, 2, 0]
        with pytest.raises(BadInput, match="no room 'elsewhere'"):
            await tidy(bed, Kept(1, room="elsewhere"), dry=True)
        assert folders == (goal.session,)

    async def test_a_thread_that_goes_on_keeps_all_of_its_texts(self, bed: Bed) -> None:
        first, _ = await begin(bed, BEN, "the first")
        await bed.commit(first, Cancelled(first.owner))
        await bed.time.pass_by(100 * DAY)
        await bed.open(first.session, objective="the second")

        counts = await tidy(bed, Kept(90))

        assert bool(await bed.journal.contents(first.session, [first.objective]))
        assert await bed.retention.workspaces((first.session,), Kept(30)) == ()
        assert counts["text"] == 1

    async def test_what_led_to_no_goal_goes_by_its_age(self, bed: Bed) -> None:
        await say(bed, BEN, "just talk")
        await bed.time.pass_by(91 * DAY)
        await say(bed, BEN, "newer talk")

        counts = await tidy(bed, Kept(90))

        texts = [row.message.text for row in await bed.inbox.waiting()]
        assert (counts["text"], texts) == (1, ["", "newer talk"])

    async def test_what_went_and_is_said_anew_is_as_old_as_it_was_said_anew(self, bed: Bed) -> None:
        await say(bed, BEN, "just talk")
        await bed.time.pass_by(91 * DAY)
        await tidy(bed, Kept(90))

        await say(bed, BEN, "just talk")
        counts = await tidy(bed, Kept(90))

        assert counts["text"] == 0
        assert {row.message.text for row in await bed.inbox.waiting()} == {"just talk"}

    async def test_files_and_sealed_messages_go_with_what_is_as_old(self, bed: Bed) -> None:
        goal, thread = await begin(bed, BEN, "an old one")
        await say(bed, BEN, "look", thread, file="old.txt")
        one = Attachment("result.txt", "text/plain", 3, "e" * 64)
        await bed.commit(goal, TurnStarted(), FileShared(one.hash), files=(one,))
        old = Sealed("$old", ROOM, "megolm", "{}", await bed.time.now())
        await bed.inbox.receive_all((), Position("console", "w", "s1", (old,)))
        await bed.commit(goal, Cancelled(goal.owner))
        await bed.time.pass_by(91 * DAY)
        await say(bed, BEN, "look", file="new.txt")
        new = Sealed("$new", ROOM, "megolm", "{}", await bed.time.now())
        await bed.inbox.receive_all((), Position("console", "w", "s2", (new,)))

        counts = await tidy(bed, Kept(90))

        assert (counts["attached"], counts["sealed"]) == (2, 1)
        assert await bed.attachments.named() == {content_hash("new.txt")}
        assert await bed.positions.sealed("console", "w") == (new,)

    async def test_a_form_goes_with_what_is_as_old_and_a_way_back_when_it_lapses(
        self, bed: Bed
    ) -> None:
        old = await fill_in(bed, BEN, "the old one")
        await bed.installs.begin_state("begun and never ended", lasts_s=60)
        await bed.time.pass_by(91 * DAY)
        new = await fill_in(bed, BEN, "the new one")
        await bed.time.pass_by(29 * 60)
        await tidy(bed, Kept(90))
        early = [row[0] for row in (await rows(bed))["way_back"]]
        await bed.time.pass_by(2 * 60)

        await tidy(bed, Kept(90))

        forms = {row.message.id: row.message.form for row in await bed.inbox.waiting()}
        assert early == [new.id]
        assert forms == {old.id: (), new.id: new.form}
        left = await rows(bed)
        assert (left["way_back"], left["install_state"]) == ([], [])

    async def test_a_sweep_that_was_ended_is_begun_again(self, bed: Bed) -> None:
        for n in range(5):
            goal, _ = await begin(bed, BEN, f"goal {n}")
            await bed.commit(goal, Cancelled(goal.owner))
        await bed.time.pass_by(100 * DAY)

        async for _ in bed.retention.texts(Kept(90)):
            break
        rest = await tidy(bed, Kept(90))

        assert 0 < rest["text"] < 10
        assert await tidy(bed, Kept(90)) == {}


class RemovalContract:
    """Subclasses give a fixture `bed`, of any inbox."""

    async def test_a_message_that_is_taken_back_is_blank_and_its_removal_waits(
        self, bed: Bed
    ) -> None:
        message = await say(bed, BEN, "a slip")

        removed = Removed(message.id, message.place, BEN, 9.0)
        first, again = await bed.inbox.remove(removed), await bed.inbox.remove(removed)

        waiting = [row.message for row in await bed.inbox.waiting()]
        assert (first, again) == (True, False)
        assert [one.text for one in waiting] == ["", ""]
        assert waiting[1] == removed.as_message
        await bed.inbox.handled(removed.as_message.id)
        assert len(await bed.inbox.waiting()) == 1

    async def test_what_was_made_of_it_goes_as_well(self, bed: Bed) -> None:
        goal, thread = await begin(bed, BEN, "a slip of an objective")
        slip = await steer(bed, goal, thread, BEN, "a slip of a word")
        await bed.time.pass_by(1)
        await steer(bed, goal, thread, BEN, "a word that stays")

        place = Place("console", "w", ROOM)
        await bed.inbox.remove(Removed(thread, place, BEN, 9.0))
        await bed.inbox.remove(Removed(slip.id, slip.place, BEN, 9.0))

        lines = await bed.journal.history(goal.session)
        said = [line.entry.event.content for line in lines
                if isinstance(line.entry.event, MessageReceived)]  # fmt: skip
        texts = await bed.journal.contents(goal.session, [goal.objective, *said])
        assert list(texts.values()) == ["a word that stays"]
        await bed.check()

    async def test_one_that_never_came_is_no_removal(self, bed: Bed) -> None:
        assert not await bed.inbox.remove(Removed("unheard of", bed.place(), BEN, 9.0))
        assert await bed.inbox.waiting() == ()


async def tidy(bed: Bed, kept: Kept, *, dry: bool = False) -> Counter[str]:
    """All of a sweep."""
    counts: Counter[str] = Counter()
    async for step in bed.retention.texts(kept, is_dry=dry):
        counts[step.kind] += step.count
    return counts


async def set_room(bed: Bed, **values: int) -> None:
    """Settings of the room."""
    kept = json.dumps(
        {key: {"value": value, "by": "p", "at": 1.0} for key, value in values.items()}
    )
    room = METADATA.tables["room"]
    change = room.update().where(room.c.name == ROOM).values(settings=kept)
    await bed.ports.writer.do(lambda tx: tx.run(change))  # type: ignore[attr-defined]
