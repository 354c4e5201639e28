"""What holding the agent's hands costs: the policy, a yes, the way out, the background, a check."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientSession

from adapters.sandbox.bubblewrap import Bubblewrap
from bot.goals.events import DecisionAnswered, DecisionAsked, ToolStarted
from bot.ports.records import Trace
from bot.ports.sandbox import Line, Session
from bot.tools import bash, read
from bot.tools.policy.verdict import Allowed, Law, weigh
from bot.tools.tool import Tool
from tests.adapters.gateway.world import PLACE, Hosts, gateway, goal, hosts, reach
from tests.bench.figures import Figure
from tests.bench.hands_asked import asked

NAME = "hands"
LINE: Final = "cd src && grep -rn 'def main' . | head -20; git log --oneline -5 && wc -l *.py"
"""A command line as agents write them: six simple commands, all of which read only."""
RULES: Final = (("git", "push"), ("rm", "-rf"), ("curl",), ("npm", "publish"))
LARGE: Final = 64 * 1024 * 1024


def figures(full: bool) -> Iterator[Figure]:
    """All of them; `full` takes more samples."""
    times = 5 if full else 1
    yield from _policy(2_000 * times)
    yield from _answers(asked(20 * times))
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_measured(Path(folder), times))


def _policy(count: int) -> Iterator[Figure]:
    cases: list[tuple[str, Law, Tool, dict[str, Any]]] = [
        ("a file tool", Law("workspace", "ask"), read.TOOL, {"path": "a.txt"}),
        ("a line of six commands, no rules", Law("workspace", "ask"), bash.TOOL, {"command": LINE}),
        ("the same, four rules", Law("workspace", "ask", RULES), bash.TOOL, {"command": LINE}),
        ("the same, read_only", Law("read_only", "ask", RULES), bash.TOOL, {"command": LINE}),
    ]
    for name, law, tool, args in cases:
        began = time.perf_counter()
        for _ in range(count):
            verdict = weigh(law, lambda kind, what: "", tool, args)
        taken = 1e6 * (time.perf_counter() - began) / count
        assert isinstance(verdict, Allowed), verdict
        yield Figure(f"policy: {name}", taken, "us")


def _answers(trace: Trace) -> Iterator[Figure]:
    """Of each call that took a yes: from the answer, and from the question, as the journal has them."""
    started: list[float] = []
    answered = 0.0
    shown: list[float] = []
    asked_at = 0.0
    for line in trace.lines:
        event = line.entry.event
        match event:
            case DecisionAsked():
                asked_at = event.at
            case DecisionAnswered():
                answered = event.at
                shown.append(event.at - asked_at)
            case ToolStarted(name="bash"):
                started.append(event.at - answered)
            case _:
                pass
    yield Figure("approval: answer to the call's start, p50", 1_000 * _middle(started), "ms")
    yield Figure("approval: answer to the call's start, p99", 1_000 * _late(started), "ms")
    yield Figure(
        "approval: question to answer, by a person who waits for it", 1_000 * _middle(shown), "ms"
    )


async def _measured(folder: Path, times: int) -> list[Figure]:
    workspaces = folder / "workspaces"
    workspaces.mkdir()
    async with hosts(folder) as made, gateway(folder, made) as opened:
        line = await opened.open(goal(), PLACE, reach("plain.example"))
        sandbox = Bubblewrap(workspaces)
        plain = await sandbox.open("plain", "workspace")
        lined = await sandbox.open("lined", "workspace", line)
        try:
            return [
                *await _lines(plain, lined, 50 * times),
                *await _proxied(lined, line, made, times),
                await _background(plain, 30 * times),
                await _checked(sandbox, plain, 20 * times),
            ]
        finally:
            await plain.close()
            await lined.close()


async def _lines(plain: Session, lined: Session, count: int) -> list[Figure]:
    without = await _median_ms(lambda: _run(plain, "true"), count)
    with_line = await _median_ms(lambda: _run(lined, "true"), count)
    peer = "the same without a line"
    return [Figure("line: bash call, median", with_line, "ms", peer, without, with_line / without)]


async def _proxied(lined: Session, line: Line, made: Hosts, times: int) -> list[Figure]:
    """A small request many times, and a large answer, through the proxy and past it."""
    direct = f"http://127.0.0.1:{made.plain}"
    async with ClientSession() as client:

        async def straight(path: str) -> None:
            async with client.get(f"{direct}{path}", headers={"Connection": "close"}) as answer:
                await answer.read()

        small = await _median_ms(lambda: straight("/"), 100 * times)
        large = await _median_ms(lambda: straight(f"/large?size={LARGE}"), 5 * times)
    through = await _median_ms(lambda: _through(line, "/"), 100 * times)
    heavy = await _median_ms(lambda: _through(line, f"/large?size={LARGE}"), 5 * times)
    url = f"http://plain.example/large?size={LARGE}"
    inside = await _median_ms(lambda: _run(lined, f"curl -sS -o /dev/null '{url}'"), 5 * times)
    megabytes = LARGE / 1e6
    peer = "past the proxy"
    return [
        Figure("proxy: request and answer, median", through, "ms", peer, small, through / small),
        Figure("proxy: 64 MiB", 1_000 * megabytes / heavy, "MB/s", peer, 1_000 * megabytes / large, large / heavy),
        Figure("proxy: 64 MiB, curl in the sandbox", 1_000 * megabytes / inside, "MB/s", peer, 1_000 * megabytes / large, large / inside),
    ]  # fmt: skip


async def _through(line: Line, path: str) -> None:
    reader, writer = await asyncio.open_unix_connection(line.socket)
    request = f"GET http://plain.example{path} HTTP/1.1\r\nHost: plain.example\r\nConnection: close\r\n\r\n"
    writer.write(request.encode())
    while await reader.read(1 << 20):
        pass
    writer.close()


async def _background(session: Session, count: int) -> Figure:
    async def once() -> None:
        outcome = await session.call("bash", {"command": "true", "background": True}, timeout_s=10)
        assert outcome.ok, outcome.text
        await asyncio.sleep(0.05)

    return Figure(
        "background: start of a command, median", await _median_ms(once, count) - 50, "ms"
    )


async def _checked(sandbox: Bubblewrap, plain: Session, count: int) -> Figure:
    """As a goal's gates are run: a session of their own, and a shell of its own for each."""

    async def once() -> None:
        session = await sandbox.open("plain", "workspace")
        outcome = await session.call("bash", {"command": "true", "fresh": True}, timeout_s=10)
        assert outcome.ok, outcome.text
        await session.close()

    gate = await _median_ms(once, count)
    call = await _median_ms(lambda: _run(plain, "true"), count)
    return Figure(
        "gate: a check that does nothing, median", gate, "ms", "a bash call", call, gate / call
    )


async def _run(session: Session, command: str) -> None:
    outcome = await session.call("bash", {"command": command}, timeout_s=60)
    assert outcome.ok, outcome.text


async def _median_ms(once: Callable[[], Awaitable[None]], count: int) -> float:
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        await once()
        taken.append(1_000 * (time.perf_counter() - began))
    return statistics.median(taken)


def _middle(values: list[float]) -> float:
    return statistics.median(values)


def _late(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]
