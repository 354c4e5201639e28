"""The control endpoints, and the server in a process of its own."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest

from adapters.rehearsal.loading import ScriptInvalid, load
from adapters.rehearsal.script import linear, say, verdict
from tests.adapters.rehearsal.conversation import FORCED, GLOB, VERDICT, all_of, asking
from tests.peers.messages_api import ROOT, in_loop, in_process, started


async def test_totals_are_kept_by_conversation_user_and_role() -> None:
    script = linear([say("Done.")], [verdict("complete", "It is.")])
    audited: dict[str, Any] = {"tools": [VERDICT], "tool_choice": FORCED}

    async with in_loop(script) as api, api.client() as client:
        for goal in ("one", "two"):
            about = asking(f"goal {goal}", metadata={"user_id": goal})
            await client.messages.create(**about)
            await client.messages.create(**about, **audited)
        totals = await api.totals()
        one = await api.totals(user="one")
        found = await api.totals(contains="goal two")

    assert totals["calls"] == totals["served"] == totals["delivered"] == 4
    assert totals["roles"]["audit"]["calls"] == 2
    assert set(totals["users"]) == {"one", "two"}
    assert len(totals["conversations"]) == 2
    assert one["tokens"]["output"] + found["tokens"]["output"] == totals["tokens"]["output"]


async def test_a_conversation_keeps_its_name_as_it_grows() -> None:
    messages = [
        {"role": "user", "content": "goal one"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And now?"},
    ]

    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        await client.messages.create(**asking("goal one"))
        await client.messages.create(**asking(messages=messages))
        totals = await api.totals()

    assert len(totals["conversations"]) == 1


async def test_a_reset_forgets_calls_and_faults_and_keeps_keys() -> None:
    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        await client.messages.create(**asking())
        await api.fault({"status": 529}, count=None)
        await api.reset()
        await client.messages.create(**asking())
        calls = await api.calls()

    assert [made["status"] for made in calls] == [200]


async def test_a_queued_fault_is_used_up() -> None:
    async with in_loop(linear([say("Done.")])) as api, api.client() as client:
        await api.fault({"status": 429, "retry_after": 1}, count=2)
        for _ in range(2):
            with pytest.raises(anthropic.RateLimitError):
                await client.messages.create(**asking())
        message = await client.messages.create(**asking())

    assert message.stop_reason == "end_turn"


async def test_the_pace_can_be_changed_while_it_serves() -> None:
    async with in_loop(linear([say("word " * 100)])) as api, api.client() as client:
        await api.pace(deltas=7)
        events = await all_of(await client.messages.create(**asking(stream=True)))

    assert sum(1 for event in events if event.type == "content_block_delta") == 7


async def test_without_control_there_is_no_control() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "adapters.rehearsal", "--until-eof"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    port = json.loads(await process.stdout.readline())["port"]

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /control/calls HTTP/1.0\r\n\r\n")
    head = await reader.readline()
    writer.close()
    await writer.wait_closed()
    process.stdin.close()

    assert b"404" in head
    assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_a_server_in_its_own_process_plays_by_objective() -> None:
    async with in_process() as api, api.client() as client:
        about = asking("Do it.\n!script complete_after 3", tools=[GLOB])
        message = await client.messages.create(**about)
        calls = await api.calls()

    assert message.stop_reason == "tool_use"
    assert calls[0]["role"] == "agent"


def test_a_server_is_started_and_asked_without_a_loop() -> None:
    with started() as api:
        api.fault({"status": 529}, count=1)
        api.reset()
        totals = api.totals()

    assert totals["calls"] == 0


def test_an_unknown_script_is_said_so_with_exit_code_2() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "adapters.rehearsal", "--script", "no.such:script"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert ended.returncode == 2
    assert "name one as module:function" in ended.stderr


async def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(
        """
        [[rule]]
        role = "audit"
        reply = { tool = "verdict", input = { verdict = "complete", note = "Done." } }
        [[rule]]
        last_tool = "glob"
        last_result = "a\\\\.txt"
        reply = { text = "There it is." }
        [[rule]]
        contains = "overload"
        fault = { status = 529 }
        [[rule]]
        assistant_messages = 0
        reply = { text = "Looking.", tool = "glob", input = { pattern = "*" } }
        """,
        "utf-8",
    )

    async with in_loop(load(str(path))) as api, api.client() as client:
        first = await client.messages.create(**asking(tools=[GLOB]))
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": "a.txt"}
            for b in first.content
            if b.type == "tool_use"
        ]
        messages = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": [b.to_dict() for b in first.content]},
            {"role": "user", "content": results},
        ]
        second = await client.messages.create(**asking(messages=messages, tools=[GLOB]))
        audit = await client.messages.create(**asking(tools=[VERDICT], tool_choice=FORCED))
        with pytest.raises(anthropic.OverloadedError):
            await client.messages.create(**asking("overload"))

    assert first.stop_reason == "tool_use"
    assert second.content[0].text == "There it is."
    assert audit.content[0].input == {"verdict": "complete", "note": "Done."}


@pytest.mark.parametrize("text", ["", "[[rule]]\nturn = 1\nreply = {}", "nothing"])
def test_a_script_file_that_cannot_be_used_is_said_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text, "utf-8")

    with pytest.raises(ScriptInvalid):
        load(str(path))
