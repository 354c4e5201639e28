"""The journeys' scripts, each played by a small agent."""

from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.adapters.rehearsal.agent import TOOLS, Agent
from tests.adapters.rehearsal.conversation import asking
from tests.peers.messages_api import in_loop
from tests.peers.scripts import by_objective

ENDINGS: list[tuple[str, list[str]]] = [
    ("complete_after 3", ["continue", "continue", "complete"]),
    ("complete_after 2 read drafts/x.txt", ["continue", "complete"]),
    ("blocked", ["blocked", "blocked", "blocked"]),
    ("stalls", ["continue", "continue", "continue"]),
    ("idles", ["continue", "continue", "continue"]),
    ("asks May I?", ["complete"]),
    ("asks_by_audit sign_off", ["needs_person", "complete"]),
    ("waits 5", ["continue", "complete"]),
    ("waits_by_audit 5", ["wait", "complete"]),
    ("spends 90000", ["continue", "continue", "continue"]),
    ("slow 0.05 2", ["continue", "complete"]),
    ("bench 2 drafts/x.txt", ["continue", "complete"]),
    ("echo", ["complete"]),
    ("writes 2", ["continue", "complete"]),
    ("appends 2 drafts/effects.log", ["continue", "complete"]),
    ("many 4", ["complete"]),
    ("thinks", ["complete"]),
    ("narrows", ["continue", "continue", "continue"]),
]


@pytest.mark.parametrize(("line", "expected"), ENDINGS, ids=[line for line, _ in ENDINGS])
async def test_a_script_leads_to_its_verdicts(
    tmp_path: Path, line: str, expected: list[str]
) -> None:
    (tmp_path / "drafts").mkdir()
    (tmp_path / "drafts/x.txt").write_text("x", "utf-8")
    verdicts = []

    async with in_loop(by_objective) as api, api.client() as client:
        agent = Agent(client, tmp_path, f"Do it.\n!script {line}")
        for _ in expected:
            await agent.turn()
            verdicts.append((await agent.audit())["verdict"])
            agent.hear("(automatic) Go on.")

    assert verdicts == expected


async def test_appended_lines_are_there_once_each(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()

    async with in_loop(by_objective) as api, api.client() as client:
        agent = Agent(client, tmp_path, "!script appends 2 drafts/effects.log")
        for _ in range(2):
            await agent.turn()
            agent.hear("(automatic) Go on.")

    assert (tmp_path / "drafts/effects.log").read_text("utf-8") == "line-1\nline-2\n"


async def test_spending_is_reported_and_counted(tmp_path: Path) -> None:
    async with in_loop(by_objective) as api, api.client() as client:
        await Agent(client, tmp_path, "!script spends 90000").turn()
        totals = await api.totals()

    assert totals["tokens"]["input"] == 180_000


@pytest.mark.parametrize(
    ("line", "stop_reason"),
    [
        ("refuses", "refusal"),
        ("overflows", "model_context_window_exceeded"),
        ("pauses", "pause_turn"),
        ("cut", "max_tokens"),
    ],
)
async def test_a_script_stops_for_its_reason(line: str, stop_reason: str) -> None:
    async with in_loop(by_objective) as api, api.client() as client:
        message = await client.messages.create(**asking(f"!script {line}", tools=TOOLS))

    assert message.stop_reason == stop_reason


async def test_a_compaction_ends_the_reply_and_the_next_one_goes_on() -> None:
    given: dict[str, Any] = {
        "betas": ["compact-2026-01-12"],
        "context_management": {"edits": [{"type": "compact_20260112"}]},
    }

    async with in_loop(by_objective) as api, api.client() as client:
        first = await client.beta.messages.create(**asking("!script compacts 1"), **given)
        messages: list[Any] = [
            {"role": "user", "content": "!script compacts 1"},
            {"role": "assistant", "content": [b.to_dict() for b in first.content]},
        ]
        second = await client.beta.messages.create(**asking(messages=messages), **given)

    assert (first.stop_reason, second.stop_reason) == ("compaction", "end_turn")


@pytest.mark.parametrize("kind", ["refusal", "unreadable", "silent", "529"])
async def test_an_audit_fails_in_the_way_that_is_asked_for(tmp_path: Path, kind: str) -> None:
    async with in_loop(by_objective) as api, api.client() as client:
        agent = Agent(client, tmp_path, f"!script audit_fails {kind}")
        await agent.turn()
        failed: Any
        try:
            failed = (await agent.audit()).get("verdict")
        except (anthropic.OverloadedError, IndexError, AttributeError) as error:
            failed = type(error).__name__

    expected = {"refusal": "IndexError", "unreadable": "perhaps", "silent": "AttributeError"}
    assert failed == expected.get(kind, "OverloadedError")
