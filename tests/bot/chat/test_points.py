"""`rewind`, `fork` and `files`: what is answered, what follows, who may."""

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.parse import Command, Speech, parse
from bot.chat.point_words import read_copy, read_point
from bot.chat.texts import Texts
from bot.errors import StoreUnusable
from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.goals.hands import GateLine
from bot.ports.artifacts import Artifact
from bot.ports.chat import Speaker
from bot.ports.journal import Task, Unit, content_hash
from bot.ports.people import Entry, Subject
from tests.bot.chat.conftest import Bench
from tests.doubles.sandbox import MemorySandbox
from tests.doubles.snapshots import MemorySnapshots

BEN = Speaker("ben", "ben")


@pytest.fixture
def kept(bench: Bench) -> MemorySnapshots:
    """Snapshots, and a desk that has them."""
    snapshots = MemorySnapshots()
    object.__setattr__(bench.desk, "checkpoints", bench.store.checkpoints)
    object.__setattr__(bench.desk, "snapshots", snapshots)
    return snapshots


async def turn(bench: Bench, goal: Goal, kept: MemorySnapshots, text: str, **unit: Any) -> Goal:
    """A turn that leaves one file, and is stopped; the goal goes on."""
    sandbox = MemorySandbox()
    session = await sandbox.open("w", "workspace")
    await session.call("write", {"path": "drafts/a.txt", "content": text}, timeout_s=1)
    tree = await kept.take(session)
    journal = bench.store.journal
    await journal.commit(Unit(goal.id, (e.TurnStarted(),)))
    ended = e.TurnEnded("stopped", reply=content_hash(text))
    await journal.commit(Unit(goal.id, (ended,), tree=tree, **unit))
    return (await journal.commit(Unit(goal.id, (e.Resumed(goal.owner),)))).goal


async def begun(bench: Bench, kept: MemorySnapshots) -> tuple[str, Goal]:
    """A goal with two checkpoints."""
    thread, goal = await bench.start()
    await turn(bench, goal, kept, "one", tasks=(Task("Look", "open"),))
    goal = await turn(bench, goal, kept, "two")
    return thread, goal


async def test_without_a_number_the_checkpoints_are_listed_newest_first(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, _ = await begun(bench, kept)

    await bench.say("rewind", thread)

    shown = bench.last(thread)
    assert shown.index("**2** · turn 2") < shown.index("**1** · turn 1")
    assert "`rewind 2` goes back" in shown


async def test_a_goal_without_checkpoints_says_so(bench: Bench, kept: MemorySnapshots) -> None:
    thread, _ = await bench.start()

    for words in ("rewind", "rewind 1", "fork 1"):
        await bench.say(words, thread)

        assert "no checkpoint yet" in bench.last(thread)


async def test_a_rewind_says_where_it_is_and_what_stays_done(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await begun(bench, kept)
    pushed = e.ToolStarted("t", "git_push", "external", allowed="once:d1")
    await bench.store.journal.commit(
        Unit(goal.id, (e.TurnStarted(), pushed, e.FileShared("f" * 64)))
    )

    await bench.say("rewind 1", thread)

    shown, now = bench.last(thread), await bench.goal(thread)
    assert "back at checkpoint 1 (turn 1" in shown
    assert "`git_push`" in shown
    assert "1 file that was given" in shown
    assert "1 call that was approved" in shown
    assert "`rewind 2` takes this back" in shown
    assert (now.state, now.reason) == (State.PAUSED, "rewound")
    assert await bench.store.journal.tasks(goal.id) == (Task("Look", "open"),)
    assert any(type(one).__name__ == "StopTurn" for _, asked in bench.woken for one in asked)


async def test_a_rewind_is_taken_back_by_the_last_point_that_has_its_files(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await begun(bench, kept)
    journal = bench.store.journal
    await journal.commit(Unit(goal.id, (e.TurnStarted(),)))
    ended = e.TurnEnded("stopped", reply=content_hash("x"))
    await journal.commit(Unit(goal.id, (ended,), tree=""))
    await journal.commit(Unit(goal.id, (e.Resumed(goal.owner),)))

    await bench.say("rewind 1", thread)

    shown = bench.last(thread)
    assert "`rewind 2` takes this back" in shown
    assert "What was done after 2 has no files kept" in shown


async def test_a_rewind_that_cannot_be_taken_back_says_so(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await bench.start()
    await turn(bench, goal, kept, "one")
    journal = bench.store.journal
    await journal.commit(Unit(goal.id, (e.TurnStarted(),)))
    ended = e.TurnEnded("stopped", reply=content_hash("x"))
    await journal.commit(Unit(goal.id, (ended,), tree=""))

    await bench.say("rewind 1", thread)

    assert "This cannot be taken back" in bench.last(thread)


async def test_a_rewind_lists_what_was_said_since_the_last_of_it(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, _ = await begun(bench, kept)
    for n in range(1, 8):
        await bench.say(f"mind the budget {n}", thread)

    await bench.say("rewind 1", thread)

    shown = bench.last(thread)
    assert "- and 2 earlier messages" in shown
    assert [f"> mind the budget {n}" in shown for n in range(1, 8)] == [False] * 2 + [True] * 5


async def test_a_repository_that_the_room_has_not_is_refused_in_a_copy_and_in_an_edit(
    bench: Bench, kept: MemorySnapshots
) -> None:
    object.__setattr__(bench.desk, "repositories", bench.store.repositories)
    thread, goal = await begun(bench, kept)

    for words in ("fork 1 Do it.\nrepo: nowhere", "edit Do it.\nrepo: nowhere"):
        await bench.say(words, thread)

        assert "nowhere" in bench.last(thread)
    assert [one.id for one in await bench.store.rooms.goals()] == [goal.id]
    assert (await bench.goal(thread)).objective == goal.objective


async def test_where_the_files_are_gone_nothing_changes(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await begun(bench, kept)
    kept.trees.clear()

    for words in ("rewind 1", "fork 1"):
        await bench.say(words, thread)

        assert "not kept any more" in bench.last(thread)
    assert await bench.goal(thread) == goal


async def test_where_what_was_kept_cannot_be_read_nothing_changes_and_it_is_said_so(
    bench: Bench, kept: MemorySnapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, goal = await begun(bench, kept)

    async def unreadable(tree: str) -> tuple[Any, ...]:
        raise StoreUnusable(f"{tree} is cut off.")

    monkeypatch.setattr(kept, "entries", unreadable)
    for words in ("rewind 1", "fork 1"):
        await bench.say(words, thread)

        assert "checkpoint 1 cannot be read, so G1 stays as it is" in bench.last(thread)
    await bench.say("files", thread)

    assert bench.last(thread).startswith("G1 has no files yet") or "Files of G1" in bench.last(
        thread
    )
    assert await bench.goal(thread) == goal


async def test_a_number_that_there_is_not_is_told_which_there_are(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await begun(bench, kept)

    await bench.say("rewind 9", thread)

    assert "no checkpoint 9: they go from 1 to 2" in bench.last(thread)
    assert await bench.goal(thread) == goal


async def test_only_the_owner_and_admins_put_a_goal_back_and_who_may_start_copies_it(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await begun(bench, kept)
    bench.store.people.rows.entries.append(Entry(Subject("person", "console", "ben"), "user"))
    bench.allow_list.take(
        replace(bench.allow_list.register, entries=tuple(bench.store.people.rows.entries))
    )

    await bench.say("rewind 1", thread, BEN)
    refused = bench.last(thread)
    await bench.say("fork 1", thread, BEN)

    assert await bench.goal(thread) == goal
    assert "back at checkpoint" not in refused
    assert "goes on from checkpoint 1" in bench.last(thread)


@pytest.mark.parametrize("words", ["fork 1", "fork 1 do it another way"])
async def test_a_copy_of_before_a_plan_was_approved_plans_first_too(
    bench: Bench, kept: MemorySnapshots, words: str
) -> None:
    thread = await bench.say("/goal plan move the job")
    await turn(bench, await bench.goal(thread), kept, "looked")

    await bench.say(words, thread)

    copy = max(await bench.store.rooms.goals(), key=lambda one: one.number)
    assert copy.forks
    assert copy.planning


async def test_a_copy_has_the_rest_of_the_budget_the_checks_and_nothing_that_was_allowed(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await bench.start()
    check = await bench.say("gate add pytest -q", thread)
    assert check
    await turn(bench, goal, kept, "one")
    await bench.store.journal.commit(Unit(goal.id, (e.ProfileSet(goal.owner, "full"),)))

    await bench.say("fork 1", thread)

    goals = await bench.store.rooms.goals()
    copy = max(goals, key=lambda one: one.number)
    was = await bench.store.journal.goal(goal.id)
    assert copy.forks == goal.id
    assert copy.session != goal.session
    assert copy.restore == (await bench.store.checkpoints.of_goal(goal.id))[0].tree
    assert copy.budget.nano_usd == (was.budget.nano_usd or 0) - was.ledger.nano_usd
    assert (copy.profile, copy.grants) == ("", ())
    assert [type(one) for one in copy.gates] == [GateLine]
    texts = await bench.store.journal.contents(
        copy.session, [copy.objective, copy.gates[0].command]
    )
    assert sorted(texts.values()) == ["pytest -q", "write a haiku about tides"]


async def test_a_copy_of_a_goal_that_only_looks_looks_only(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await bench.start()
    await turn(bench, goal, kept, "one")
    await bench.store.journal.commit(Unit(goal.id, (e.ProfileSet(goal.owner, "read_only"),)))

    await bench.say("fork 1", thread)

    copy = max(await bench.store.rooms.goals(), key=lambda one: one.number)
    assert (copy.forks, copy.profile) == (goal.id, "read_only")


async def test_a_copy_may_have_an_objective_of_its_own(bench: Bench, kept: MemorySnapshots) -> None:
    thread, _ = await begun(bench, kept)

    await bench.say("fork 2 write a sonnet about tides", thread)

    copy = max(await bench.store.rooms.goals(), key=lambda one: one.number)
    texts = await bench.store.journal.contents(copy.session, [copy.objective])
    assert list(texts.values()) == ["write a sonnet about tides"]


async def test_files_tells_what_was_made_and_what_lies_there(
    bench: Bench, kept: MemorySnapshots
) -> None:
    thread, goal = await bench.start()
    made = Artifact("artifacts/re`port.md", "a" * 64, 12_000, "text/markdown", "made")
    await turn(bench, goal, kept, "one", artifacts=(made,))

    await bench.say("files", thread)

    shown = bench.last(thread)
    assert "`artifacts/re'port.md` · 12 KB · made in turn 1" in shown
    assert "`drafts/` · 1 file · 3 bytes" in shown


async def test_a_goal_without_files_says_so(bench: Bench, kept: MemorySnapshots) -> None:
    thread, _ = await bench.start()

    await bench.say("files", thread)

    assert bench.last(thread) == "G1 has no files yet."


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [("rewind", "rewind", ""), ("rewind 3", "rewind", "3"), ("rewind G12 #3", "rewind", "#3"),
     ("fork 3", "fork", "3"), ("fork 3 do it\nagain", "fork", "3 do it\nagain"), ("fork", "fork", ""),
     ("files", "files", ""), ("files G2", "files", "")],
)  # fmt: skip
def test_a_point_is_named_by_its_number(text: str, verb: str, rest: str) -> None:
    said = parse(f"/goal {text}", Texts(), in_thread=False)

    assert isinstance(said, Command)
    assert (said.verb.name, said.text) == (verb, rest)


@pytest.mark.parametrize("text", ["rewind the tape", "fork the repository", "files of the boat"])
def test_what_fits_no_syntax_is_said_to_the_goal(text: str) -> None:
    assert isinstance(parse(text, Texts(), in_thread=True), Speech)


def test_words_of_points_are_read_whole() -> None:
    assert (read_point(""), read_point("#12"), read_point("x"), read_point("1 2")) == (
        0,
        12,
        None,
        None,
    )
    assert read_copy("3  write\nit ") == (3, "write\nit")
    assert read_copy("write it") is None
