"""The demo's script, played over HTTP with real files and a real shell."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.rehearsal import demo
from tests.adapters.rehearsal.agent import Agent
from tests.peers.messages_api import in_loop


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for path, text in demo.log_files().items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def _true_number(root: Path) -> int:
    ids = set[str]()
    for path in (root / "drafts").glob("auth-*.log"):
        for line in path.read_text("utf-8").splitlines():
            if "Failed password" in line:
                ids |= set(re.findall(r"id=\w+", line))
    return len(ids)


async def _play(root: Path, answer: str, *, later: bool = False) -> tuple[Agent, list[str]]:
    """The whole demo; the answer comes as the question's result, or as a message after the turn."""
    async with in_loop(demo.script) as api, api.client() as client:
        first = "Asked; the turn ends." if later else answer
        agent = Agent(client, root, demo.OBJECTIVE, lambda _: first)
        verdicts = []
        for _ in range(8):
            await agent.turn()
            verdict = (await agent.audit())["verdict"]
            verdicts.append(verdict)
            if verdict == "complete":
                break
            agent.hear(answer if verdict == "needs_person" else "(automatic) Please keep on.")
        return agent, verdicts


async def test_the_demo_finds_the_true_number_and_deletes_when_told_to(workspace: Path) -> None:
    true = _true_number(workspace)

    agent, verdicts = await _play(workspace, "The answer: delete it")

    assert verdicts == ["continue", "continue", "complete"]
    assert f"**{true}**" in agent.said
    assert f"True number: {true}" in (workspace / demo.REPORT).read_text("utf-8")
    assert not (workspace / "drafts/auth-3.log").exists()
    assert {"plan", "glob", "read", "grep", "bash", "write", "ask_person", "finish_note"} == set(
        agent.called
    )


async def test_the_demo_keeps_the_log_when_told_to(workspace: Path) -> None:
    agent, _ = await _play(workspace, "The answer: keep it")

    assert (workspace / "drafts/auth-3.log").exists()
    assert "was kept" in agent.said


@pytest.mark.parametrize("answer", ["delete it", "yes", "Go ahead", "ada answered: delete it"])
async def test_the_demo_waits_for_an_answer_that_comes_later(workspace: Path, answer: str) -> None:
    agent, verdicts = await _play(workspace, answer, later=True)

    assert verdicts == ["continue", "continue", "needs_person", "complete"]
    assert not (workspace / "drafts/auth-3.log").exists()
    assert agent.called.count("ask_person") == 1


async def test_the_numbers_follow_the_files(workspace: Path) -> None:
    path = workspace / "drafts/auth-2.log"
    more = "2026-11-03T03:00:00Z gate sshd: Failed password for eve from 192.0.2.1 port 1 id=z999\n"
    path.write_text(path.read_text("utf-8") + more, "utf-8")
    true = _true_number(workspace)

    agent, _ = await _play(workspace, "keep it")

    assert f"**{true}**" in agent.said


async def test_a_restarted_client_goes_on_at_the_same_step(workspace: Path) -> None:
    async with in_loop(demo.script) as api, api.client() as client:
        first = Agent(client, workspace, demo.OBJECTIVE)
        await first.turn()
        first.hear("(automatic) Please keep on.")
    async with in_loop(demo.script) as api, api.client() as client:
        second = Agent(client, workspace, demo.OBJECTIVE)
        second.messages = first.messages
        await second.turn()

    assert second.called == ["plan", "grep", "bash", "write", "plan"]


async def test_without_counts_the_demo_says_that_it_is_stuck(workspace: Path) -> None:
    class Broken(Agent):
        def _run(self, name: str, given: Any) -> str:
            return "no shell here" if name == "bash" else super()._run(name, given)

    async with in_loop(demo.script) as api, api.client() as client:
        agent = Broken(client, workspace, demo.OBJECTIVE)
        await agent.turn()
        agent.hear("(automatic) Please keep on.")
        await agent.turn()
        verdict = await agent.audit()

    assert verdict["verdict"] == "blocked"


def test_the_logs_disagree_and_the_noisy_one_adds_nothing() -> None:
    files = demo.log_files()
    counts = {path: text.count("Failed password") for path, text in files.items()}
    ids = {p: set(re.findall(r"Failed .* (id=\w+)", t)) for p, t in files.items()}

    assert len(set(counts.values())) == 3
    assert ids["drafts/auth-3.log"] <= ids["drafts/auth-1.log"] | ids["drafts/auth-2.log"]
    assert all(30 <= len(text.splitlines()) <= 50 for text in files.values())
