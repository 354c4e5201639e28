"""The try-out's script, played over HTTP with real files and a real shell: any objective comes to an end."""

from pathlib import Path

import pytest

from adapters.rehearsal import tryout
from tests.adapters.rehearsal.agent import Agent
from tests.peers.messages_api import in_loop

LABEL = "[A goal, set by its owner. The objective:]\n"


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


async def _play(
    root: Path, objective: str, answer: str = "yes", at: int = 0
) -> tuple[Agent, list[str]]:
    """The whole of it; from turn `at` on a client that was killed goes on from its transcript."""
    verdicts: list[str] = []
    async with in_loop(tryout.script) as api, api.client() as client:
        agent = Agent(client, root, LABEL + objective, lambda _: "Asked; the turn ends.")
        while verdicts[-1:] != ["complete"] and len(verdicts) < 6:
            if at and len(verdicts) == at:
                again = Agent(client, root, LABEL + objective, lambda _: "Asked; the turn ends.")
                again.messages, again.called = agent.messages, agent.called
                agent = again
            await agent.turn()
            verdicts.append((await agent.audit())["verdict"])
            waits = verdicts[-1] == "needs_person"
            agent.hear(f"The answer: {answer}" if waits else "(automatic) Please keep on.")
    return agent, verdicts


async def test_a_haiku_is_written_into_the_file_that_is_named(tmp_path: Path) -> None:
    agent, verdicts = await _play(tmp_path, "write a haiku about tides into tides.txt")

    assert verdicts == ["continue", "complete"]
    assert (tmp_path / "tides.txt").read_text() == tryout.HAIKU
    assert "`tides.txt` is written and was looked at" in agent.said
    assert "cannot think" in agent.said


@pytest.mark.parametrize("objective", ["plan the garden", "put it into ../../etc/x.txt", "a\n\nb `c` $(d)"])  # fmt: skip
async def test_any_objective_ends_with_a_file_that_says_what_was_asked(
    tmp_path: Path, objective: str
) -> None:
    _, verdicts = await _play(tmp_path, objective)

    assert verdicts == ["continue", "complete"]
    [file] = files(tmp_path)
    assert file.parent == tmp_path
    assert objective in file.read_text()


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_it_asks_where_it_is_told_to_and_waits(tmp_path: Path, answer: str) -> None:
    agent, verdicts = await _play(tmp_path, "plan it and ask me before you end", answer)

    assert verdicts == ["continue", "needs_person", "complete"]
    assert agent.called.count("ask_person") == 1
    assert ("bash" in agent.called) == (answer == "yes")


async def test_a_client_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    agent, verdicts = await _play(tmp_path, "plan the garden", at=1)

    assert verdicts == ["continue", "complete"]
    assert agent.called == ["plan", "write", "bash", "plan"]


async def test_an_ordinary_question_is_told_what_this_is(tmp_path: Path) -> None:
    async with in_loop(tryout.script) as api, api.client() as client:
        agent = Agent(client, tmp_path, "[Message from the owner:]\nwhat is the time?")

        said = await agent.turn()

    assert "I have no answer of my own" in said
    assert agent.called == []
