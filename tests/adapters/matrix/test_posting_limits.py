"""Five goals at once on a homeserver that limits how much is sent."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from bot.errors import Wait
from bot.ports.chat import Outgoing, Place
from tests.adapters.matrix.posting_bed import Poster, a_result, a_status, in_thread, poster
from tests.peers.synapse import Synapse, private_synapse

FULL = os.environ.get("TEST_FULL") == "1"
GOALS = 5
POSTS_S = 60.0
RATE = 0.2 if FULL else 2.0
LAST_S = 60.0 + 20 / RATE


@pytest.fixture(scope="module")
def limited() -> Iterator[Synapse]:
    """A homeserver with a stock burst, and ten times the stock rate unless all is to be shown."""
    with private_synapse(
        "stock", {"rc_message": {"per_second": RATE, "burst_count": 10}}
    ) as server:
        yield server


@pytest_asyncio.fixture
async def bot(limited: Synapse, tmp_path: Path) -> AsyncIterator[Poster]:
    async with poster(limited, tmp_path / "nio") as there:
        limited.free_of_limits(there.ann.user_id)
        yield there


@dataclass
class Goal:
    """A goal as Delivery tells of it: posts, and a status of which only the newest is due."""

    bot: Poster
    place: Place
    name: str
    remote: str = ""
    waited_s: list[float] = field(default_factory=list)
    is_over: bool = False
    states: list[str] = field(default_factory=list)

    async def live(self) -> None:
        self.remote = await self._sent(a_status(self.place, f"{self.name}:status:1", "begins"))
        await asyncio.gather(self._tell(), self._work())

    async def _work(self) -> None:
        for state in ("Evaluating", "Working", "Evaluating", "Working"):
            self.states.append(state)
            await asyncio.sleep(0.5)
        await self._sent(a_result(self.place, f"{self.name}:settle", f"Result of {self.name}."))
        self.states.append("Complete")
        self.is_over = True

    async def _tell(self) -> None:
        told, count = "", 1
        while not self.is_over or told != self.states[-1]:
            if self.states and told != self.states[-1]:
                state, count = self.states[-1], count + 1
                key = f"{self.name}:status:{count}"
                status = a_status(self.place, key, "", edits=self.remote, word=state)
                try:
                    await self.bot.posting.send(status)
                    told = state
                except Wait as error:
                    # As the outbox does: a newer one is due at once, and takes this one's place.
                    until = time.monotonic() + (error.retry_after_s or 1.0)
                    while time.monotonic() < until and self.states[-1] == state:
                        await asyncio.sleep(0.05)
            else:
                await asyncio.sleep(0.05)

    async def _sent(self, message: Outgoing) -> str:
        began = time.monotonic()
        while True:
            try:
                remote = await self.bot.posting.send(message)
            except Wait as error:
                await asyncio.sleep(error.retry_after_s or 1.0)
            else:
                self.waited_s.append(time.monotonic() - began)
                return remote


@pytest.mark.full
@pytest.mark.timeout(300)
async def test_of_five_goals_at_once_every_post_comes_in_time_and_every_last_state(
    bot: Poster,
) -> None:
    place = await bot.room()
    roots = [bot.say(place.room, f"!goal {n}") for n in range(GOALS)]
    goals = [Goal(bot, in_thread(place, root), f"g{n}") for n, root in enumerate(roots)]
    acks = [asyncio.create_task(_ack(bot, place, root)) for root in roots for _ in range(2)]

    async with asyncio.timeout(LAST_S):
        await asyncio.gather(*(goal.live() for goal in goals))
    await asyncio.gather(*acks)

    contents = [event["content"] for event in bot.events(place.room)]
    last = {
        content["m.relates_to"]["event_id"]: content["m.new_content"]["body"]
        for content in contents
        if "m.new_content" in content
    }
    results = [content for content in contents if content.get("body", "").startswith("✅")]
    assert bot.posting.pace.is_limited
    assert max(waited for goal in goals for waited in goal.waited_s) < POSTS_S
    assert len(results) == GOALS
    assert all(last[goal.remote].startswith("⏳ Complete") for goal in goals)


async def _ack(bot: Poster, place: Place, root: str) -> None:
    """A sign that may be lost, as all of them."""
    with contextlib.suppress(Wait):
        await bot.posting.react(place, root, "👀")


async def test_a_limit_keeps_the_transaction_and_tells_how_long(bot: Poster) -> None:
    place = await bot.room()
    waits: list[float] = []

    for n in range(14):
        message = a_result(place, f"g{n}:settle", "Done.")
        while (wait_s := await _wait_of(bot, message)) is not None:
            waits.append(wait_s)
            await asyncio.sleep(wait_s)

    keys = [event["content"]["dev.headway"]["key"] for event in bot.events(place.room)]
    assert waits
    assert max(waits) <= 1 / RATE + 0.1
    assert keys == [f"g{n}:settle" for n in range(14)]


async def _wait_of(bot: Poster, message: Outgoing) -> float | None:
    """Send it; how long it has to wait where it has to."""
    try:
        await bot.posting.send(message)
    except Wait as error:
        return error.retry_after_s
    return None
