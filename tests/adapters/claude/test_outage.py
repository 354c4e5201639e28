"""Trouble that lasts: overload, a revoked key, a model that is gone. Half an hour in seconds."""

import asyncio
import random
from pathlib import Path

import pytest

from adapters.claude.endpoint_state import EndpointState, Trouble
from adapters.rehearsal.script import Answer, Fault, Memory, Request, say
from adapters.rehearsal.server import Options
from bot.errors import BadSettings, ModelRefusesUs
from tests.adapters.claude.clocks import FastClock
from tests.adapters.claude.serving import MODEL, asked, claude, served
from tests.peers.messages_api import KEY, in_loop


async def test_half_an_hour_of_overload_then_a_revoked_and_replaced_key_lose_nobody(
    tmp_path: Path,
) -> None:
    clock = FastClock(900.0)
    begin = clock.now()
    file = tmp_path / "key"
    file.write_text(KEY)
    overloaded = True
    told: list[Trouble] = []
    ended: list[Trouble] = []

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return Fault(status=529) if overloaded else say("Done.")

    async with (
        in_loop(script) as api,
        claude(
            api,
            clock=clock,
            key=file.read_text,
            chance=random.Random(3),
            on_trouble=told.append,
            on_recovery=ended.append,
        ) as model,
    ):
        calls = [asyncio.create_task(model.call(asked(f"Goal {n}."))) for n in range(200)]
        while clock.now() < begin + 1800:
            await clock.sleep(30)
        during = await api.totals()
        await api.keys(revoke=(KEY,), accept=("another",))
        overloaded = False
        while clock.now() < begin + 2700:
            await clock.sleep(30)
        waiting = sum(not call.done() for call in calls)
        file.write_text("another")
        replies = await asyncio.wait_for(asyncio.gather(*calls), 20)
        after = await api.totals()

    assert len(replies) == 200
    assert during["calls"] <= 130
    assert waiting == 200
    assert after["calls"] - during["calls"] <= 220
    assert [trouble.kind for trouble in told] == ["overload", "auth"]
    assert [trouble.is_operators for trouble in told] == [False, True]
    assert len(ended) == 1


async def test_a_key_that_is_missing_or_unreadable_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "key"

    def key() -> str:
        if not file.exists():
            raise BadSettings("The key file cannot be read. Put it back.")
        return file.read_text()

    async with served(lambda *_: say("Done."), key=key) as (_, model):
        with pytest.raises(ModelRefusesUs) as caught:
            await model.check()
        call = asyncio.create_task(model.call(asked()))
        await asyncio.sleep(0.05)
        file.write_text("")
        await asyncio.sleep(0.5)
        is_waiting = not call.done()
        file.write_text(KEY)
        model.limiter.probe_now()
        reply = await asyncio.wait_for(call, 10)

    assert caught.value.kind == "auth"
    assert "Put it back" in str(caught.value)
    assert is_waiting
    assert reply.stop_reason == "end_turn"


async def test_a_model_that_is_not_found_holds_up_that_model_alone() -> None:
    options = Options(keys=(KEY,), models=(MODEL,))
    told: list[Trouble] = []

    async with (
        in_loop(lambda *_: say("Done."), options=options) as api,
        claude(api, on_trouble=told.append) as model,
    ):
        lost = asyncio.create_task(model.call(asked(model="claude-misspelt")))
        async with asyncio.timeout(10):
            while not told:
                await asyncio.sleep(0.01)
        found = await model.call(asked())
        is_waiting = not lost.done()
        lost.cancel()

    assert found.stop_reason == "end_turn"
    assert is_waiting
    assert [(trouble.kind, trouble.endpoint) for trouble in told] == [
        ("not_found", "anthropic claude-misspelt")
    ]


async def test_a_model_that_is_not_found_gives_way_to_its_fall_back() -> None:
    options = Options(keys=(KEY,), models=(MODEL,))

    async with (
        in_loop(lambda *_: say("Done."), options=options) as api,
        claude(api, endpoint_fallback_models=("claude-gone", MODEL)) as model,
    ):
        replies = [await model.call(asked(model="claude-misspelt")) for _ in range(3)]
        calls = await api.calls()

    assert [reply.model for reply in replies] == [MODEL] * 3
    assert len(calls) <= 5


async def test_a_long_overload_of_one_model_gives_way_to_its_fall_back() -> None:
    clock = FastClock(400.0)

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return Fault(status=529) if request["model"] == MODEL else say("Done.")

    async with (
        in_loop(script) as api,
        claude(api, clock=clock, endpoint_fallback_models=("claude-sonnet-5",)) as model,
    ):
        begin = clock.now()
        first = await model.call(asked())
        lasted = clock.now() - begin
        second = await model.call(asked())

    assert first.model == second.model == "claude-sonnet-5"
    assert lasted >= 120


async def test_a_restart_within_an_outage_does_not_stampede() -> None:
    kept: list[EndpointState] = []
    clock = FastClock(400.0)
    overloaded = True

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return Fault(status=529) if overloaded else say("Done.")

    async with in_loop(script) as api:
        async with claude(api, clock=clock, on_state=kept.append) as model:
            call = asyncio.create_task(model.call(asked()))
            await clock.sleep(100)
            call.cancel()
        before = len(await api.calls())

        async with claude(api, clock=clock, state=kept[-1]) as model:
            calls = [asyncio.create_task(model.call(asked())) for _ in range(150)]
            await clock.sleep(60)
            during = len(await api.calls()) - before
            overloaded = False
            await asyncio.wait_for(asyncio.gather(*calls), 10)

    assert kept[-1].is_closed
    assert during <= 8
