"""What comes from inside is the word of a stranger."""

import asyncio
import sys
import time

import psutil
import pytest

from adapters.sandbox.channel import Channel, Gone
from bot.errors import NoSandbox

READY = """
import json, os, time
def send(body):
    os.write(1, len(body).to_bytes(4, "big") + body)
send(json.dumps({"id": 0}).encode())
def await_call():
    while True:
        size = int.from_bytes(os.read(0, 4), "big")
        if size:
            return json.loads(os.read(0, size))
"""


async def start(program: str) -> Channel:
    command = [sys.executable, "-I", "-S", "-c", READY + program]
    return await Channel.start(command, heartbeat_s=5.0)


@pytest.mark.parametrize(
    "answer",
    [
        'os.write(1, b"\\xff\\xff\\xff\\xff")',
        'send(b"no json")',
        'send(b"[1]")',
        'send(b"[" * 100_000)',
        'send(b"\\xff\\xfe")',
        "raise SystemExit",
    ],
)
async def test_nonsense_ends_the_process(answer: str) -> None:
    channel = await start(
        f"await_call()\n{answer}\ntime.sleep(60)" if "Exit" not in answer else answer
    )
    process = psutil.Process(channel.pid)

    with pytest.raises(Gone):
        await channel.call(1, {"tool": "read"}, 10)
    await channel.end()

    assert not channel.is_alive
    assert not process.is_running()


async def test_an_answer_to_another_call_is_passed_over() -> None:
    channel = await start(
        "await_call(); send(b'{\"id\": 7}'); send(b'{\"id\": 1}'); time.sleep(60)"
    )

    answer = await channel.call(1, {"tool": "read"}, 10)
    await channel.end()

    assert answer == {"id": 1}


async def test_an_answer_in_pieces_is_put_together() -> None:
    pieces = "await_call()\nfor b in b'\\0\\0\\0\\x08{\"id\":1}': os.write(1, bytes([b])); time.sleep(.001)\n"
    channel = await start(pieces + "time.sleep(60)")

    answer = await channel.call(1, {"tool": "read"}, 10)
    await channel.end()

    assert answer == {"id": 1}


async def test_a_server_that_hangs_is_ended_when_the_time_is_over() -> None:
    channel = await start(
        "await_call()\nimport sys; sys.stdin = None\nos.close(0)\nos.read(os.pipe()[0], 1)"
    )
    process = psutil.Process(channel.pid)

    with pytest.raises(TimeoutError):
        await channel.call(1, {"tool": "read"}, 0.2)

    assert not process.is_running()


async def test_a_cancelled_call_whose_server_hangs_ends_it_too() -> None:
    channel = await start("await_call()\ntime.sleep(60)")
    process = psutil.Process(channel.pid)
    call = asyncio.create_task(channel.call(1, {"tool": "read"}, 60))
    await asyncio.sleep(0.1)
    started = time.monotonic()

    call.cancel()
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert not process.is_running()
    assert time.monotonic() - started < 10


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    # Servers of other tests are children, too.
    others = set(psutil.Process().children())
    starting = asyncio.create_task(Channel.start(command, heartbeat_s=5.0))
    await asyncio.sleep(0.1)
    family = set(psutil.Process().children()) - others

    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert not any(process.is_running() for process in family)


async def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(NoSandbox, match="No such file"):
        await Channel.start(["/nowhere/bwrap"], heartbeat_s=5.0)


async def test_a_cancellation_that_comes_with_the_first_answer_is_not_swallowed() -> None:
    class Racing(Channel):
        def _answered(self, body: bytes) -> None:
            super()._answered(body)
            opening.cancel()

    command = [sys.executable, "-I", "-S", "-c", READY + "await_call()"]
    opening = asyncio.create_task(Racing.start(command, heartbeat_s=5.0))

    with pytest.raises(asyncio.CancelledError):
        await opening
