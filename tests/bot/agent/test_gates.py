"""A goal's checks, run in a sandbox in memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from bot.agent.audit_request import Gate
from bot.agent.gates import Ground, SandboxGates
from bot.goals.goal import Goal
from bot.goals.hands import GateLine
from bot.ports.journal import Journal, content_hash
from bot.ports.sandbox import Outcome
from tests.doubles.sandbox import MemorySandbox


class Texts:
    """The journal's contents, and nothing else of it."""

    def __init__(self, *texts: str) -> None:
        self.texts = {content_hash(text): text for text in texts}

    async def contents(self, session: str, hashes: Any) -> Mapping[str, str]:
        return {hash: self.texts[hash] for hash in hashes if hash in self.texts}


OBJECTIVE = "Mend it.\ncheck: true\ncheck: lint --all"
GOAL = Goal(
    "g1", "s1", 1, "ann", content_hash(OBJECTIVE),
    gates=(GateLine(2, content_hash("exit 3"), "ann"),),
)  # fmt: skip


def gates(sandbox: MemorySandbox | None, ground: Ground | None = None) -> SandboxGates:
    async def where(goal: Goal) -> Ground:
        return ground or Ground()

    return SandboxGates(cast(Journal, Texts(OBJECTIVE, "exit 3", "true")), sandbox, where)


async def test_checks_of_people_come_before_those_of_the_objective_each_once() -> None:
    lint = Outcome(False, "2 found", exit_code=4)

    found = await gates(MemorySandbox(answers={"lint --all": lint})).run(GOAL)

    assert found == (Gate("exit 3", 3, ""), Gate("true", 0, ""), Gate("lint --all", 4, "2 found"))


async def test_a_check_whose_text_was_erased_has_failed() -> None:
    lost = replace(GOAL, gates=(GateLine(3, content_hash("erased"), "ann"), *GOAL.gates))

    found = await gates(MemorySandbox()).run(lost)

    assert [(gate.name, gate.exit_code) for gate in found[:2]] == [("check 3", None), ("exit 3", 3)]
    assert "was erased" in found[0].output


@pytest.mark.parametrize("is_there", [True, False])
async def test_nobody_knows_the_checks_of_an_objective_that_was_erased(is_there: bool) -> None:
    lost = replace(GOAL, objective=content_hash("erased"), gates=())

    (found,) = await gates(MemorySandbox() if is_there else None).run(lost)

    assert not found.passes


async def test_a_program_that_is_not_there_could_not_run() -> None:
    found = await gates(MemorySandbox()).run(GOAL)

    assert [gate.exit_code for gate in found] == [3, 0, None]
    assert "lint: command not found" in found[2].output


async def test_what_takes_too_long_has_failed_but_ran() -> None:
    late = Outcome(False, "[ended after 300 s]", timed_out=True)

    found = await gates(MemorySandbox(answers={"lint --all": late})).run(GOAL)

    assert (found[2].exit_code, found[2].passes) == (124, False)


async def test_without_a_sandbox_every_check_has_failed_and_says_why() -> None:
    none = await gates(None).run(GOAL)
    broken = await gates(MemorySandbox(broken="It does not start.")).run(GOAL)

    assert [gate.exit_code for gate in (*none, *broken)] == [None] * 6
    assert broken[0].output == "It does not start."


async def test_they_run_fresh_in_their_folder_and_with_the_access_of_the_goal() -> None:
    sandbox = MemorySandbox()

    await gates(sandbox, Ground("read_only", folder="checkouts/app")).run(GOAL)

    [session] = sandbox.sessions
    assert session.is_closed
    tool, args = session.calls[0]
    assert (tool, args["fresh"]) == ("bash", True)
    assert args["command"].startswith("cd -- checkouts/app ||")
    assert args["command"].endswith("\nexit 3")


async def test_a_goal_without_checks_opens_no_sandbox() -> None:
    sandbox = MemorySandbox()

    found = await gates(sandbox).run(replace(GOAL, objective=content_hash("true"), gates=()))

    assert found == ()
    assert sandbox.sessions == []
