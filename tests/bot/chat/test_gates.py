"""The verb `gate`, at the console and among people; what is shown of checks."""

import asyncio
from typing import Any

import pytest

from bot.chat.gate_words import GateWords, read_gate
from bot.goals.events import Audited, GatesRan, TurnEnded
from bot.ports.chat import Speaker
from bot.ports.journal import content_hash
from tests.bot.chat.conftest import Bench
from tests.bot.chat.turns import began


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", GateWords()),
        ("list", GateWords()),
        ("add pytest -q", GateWords("pytest -q")),
        ("Add `pytest -q`", GateWords("pytest -q")),
        ("remove 2", GateWords(remove=2)),
        ("REMOVE #2", GateWords(remove=2)),
        ("the deployment on tests", None),
        ("remove everything", None),
        ("add", None),
    ],
)
def test_a_gate_counts_only_in_its_own_syntax(text: str, words: GateWords | None) -> None:
    assert read_gate(text) == words


async def test_a_check_is_set_shown_and_taken_back(bench: Bench) -> None:
    thread, _ = await bench.start("Mend it.\ncheck: ruff check")

    await bench.say("gate add pytest -q", thread)
    await bench.say("gate", thread)
    shown = bench.last(thread)
    await bench.say("gate remove 1", thread)

    assert bench.answers(thread)[0] == "Check 1 is set: G1 is complete only when it passes."
    assert shown.splitlines() == [
        "G1 is complete only when these pass:",
        "1. `pytest -q`",
        "- `ruff check` (in the objective)",
    ]
    assert bench.last(thread) == "Check 1 of G1 is gone."
    assert (await bench.goal(thread)).gates == ()


async def test_a_number_is_given_once(bench: Bench) -> None:
    thread, _ = await bench.start()
    for text in ("gate add one", "gate remove 1", "gate add two"):
        await bench.say(text, thread)

    assert [gate.number for gate in (await bench.goal(thread)).gates] == [2]


async def test_two_who_set_a_check_at_the_same_moment_both_have_theirs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, _ = await bench.start()
    kind: Any = type(bench.store.journal)
    commit = kind.commit

    async def slow(self: Any, unit: Any) -> Any:
        await asyncio.sleep(0.02)
        return await commit(self, unit)

    monkeypatch.setattr(kind, "commit", slow)
    for words, where in (("/goal gate G1 add one", ""), ("gate add two", thread)):
        await bench.console.say(Speaker("ann", "ann"), words, where)
    await bench.deliver()

    assert len((await bench.goal(thread)).gates) == 2


async def test_what_does_not_fit_is_told_with_the_mend(bench: Bench) -> None:
    thread, _ = await bench.start("Mend it.")
    await bench.say("gate add true", thread)

    await bench.say("gate add true", thread)
    twice = bench.last(thread)
    await bench.say("gate remove 7", thread)
    none = bench.last(thread)

    assert twice == "That check is set already. `gate list` shows them."
    assert none.startswith("G1 has no check 7 that was set by hand.")


async def test_an_objective_that_begins_with_the_word_is_an_objective(bench: Bench) -> None:
    _, goal = await bench.start("gate the release on green tests")

    texts = await bench.store.journal.contents(goal.session, [goal.objective])
    assert texts[goal.objective] == "gate the release on green tests"


async def test_checks_of_an_objective_that_would_be_left_out_are_refused(bench: Bench) -> None:
    many = "\n".join(f"check: test {n}" for n in range(11))

    await bench.say(f"/goal Mend it.\n{many}")
    told = bench.last()
    await bench.say(f"/goal Mend it.\ncheck: {'x' * 1_001}")
    long = bench.last()
    thread, _ = await bench.start("Mend it.\ncheck: one")
    await bench.say(f"edit Mend it.\n{many}", thread)

    assert told.startswith("An objective has at most 10 check lines.")
    assert long.startswith("A check has at most 1000 characters.")
    assert bench.last(thread) == told
    goal = await bench.goal(thread)
    assert (goal.number, goal.revision) == (1, 1)


async def test_the_status_names_what_fails_and_the_result_what_passed(bench: Bench) -> None:
    thread, goal = await bench.start("Mend it.\ncheck: ruff check")
    await bench.say("gate add pytest -q", thread)
    failing = (content_hash("pytest -q"),)
    await bench.happens(goal, *began(goal), TurnEnded("done"), GatesRan(failing, ()))
    await bench.say("status", thread)
    status = bench.last(thread)

    verdict = Audited(1, 1, 0, "complete")
    await bench.happens(goal, GatesRan((), ()), verdict)
    await bench.deliver()

    assert "Failing: `pytest -q`" in status
    assert "Checked: `pytest -q`, `ruff check` passed" in bench.last(thread)
