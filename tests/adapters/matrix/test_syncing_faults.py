"""What the loop does when the homeserver, the way to it or the store fails, or the process ends."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import nio
import pytest

from bot.errors import StoreBusy, StoreUnusable
from tests.adapters.matrix.listening_bed import Ledger, PlainSession, ear, person
from tests.peers.matrix_faults import (
    Cut,
    Fault,
    Limited,
    MatrixFaults,
    Page,
    Revoked,
    Slow,
    Stale,
    faults,
)
from tests.peers.synapse import Synapse


@pytest.fixture
def proxy(synapse: Synapse) -> Iterator[MatrixFaults]:
    with faults(synapse.url) as proxy:
        yield proxy


@pytest.mark.parametrize("fault", [Page(502), Page(200), Cut(), Cut("middle"), Revoked()])
async def test_a_homeserver_that_only_fails_is_asked_a_handful_of_times(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path, fault: Fault
) -> None:
    bot = synapse.register("bot")
    proxy.next_times("sync", *[fault] * 500)
    async with ear(synapse, bot, tmp_path / "store", Ledger(), url=proxy.url) as hears:
        await asyncio.sleep(3.0)

        assert not hears.heard
        assert hears.troubles

    # Two askers, the loop and who looks for open invitations; a lost connection is tried twice.
    assert 2 <= len(proxy.of("sync")) <= 16


async def test_a_rate_limit_is_waited_out(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    async with ear(synapse, bot, tmp_path / "store", ledger, url=proxy.url) as hears:
        await hears.settled()
        proxy.next_times("sync", Limited(retry_after_ms=1_500))
        began = time.monotonic()
        await hears.until(lambda: hears.troubles)
        await hears.settled(1)

    assert 1.4 < time.monotonic() - began < 4.0


async def test_an_answer_that_takes_too_long_is_cut_and_asked_for_again(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(
        synapse, bot, tmp_path / "store", ledger, url=proxy.url, invited=[ann.id], late_s=0.5
    ) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        proxy.next_times("sync", Slow(30.0))
        ann.say(room, "hello")
        await hears.until(lambda: ledger.texts, timeout_s=8.0)

    assert ledger.texts == ["hello"]


async def test_a_stale_answer_is_not_taken_and_said(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(
        synapse, bot, tmp_path / "store", ledger, url=proxy.url, invited=[ann.id]
    ) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        proxy.lottery(1, 0.7, [Stale()])
        words: list[str] = []
        while not hears.troubles and len(words) < 200:
            words.append(f"word {len(words)}")
            ann.say(room, words[-1])
            await asyncio.sleep(0.1)
        proxy.calm()
        await hears.until(lambda: len(ledger.texts) == len(words))

    assert ledger.texts == words
    assert "repeats an old answer" in hears.troubles[0]


async def test_a_first_answer_without_our_rooms_is_asked_for_again(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    folder = tmp_path / "store"
    async with ear(synapse, bot, folder, ledger, url=proxy.url, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        await hears.settled()
    proxy.next_times("sync", Stale(), Stale())

    async with ear(synapse, bot, folder, ledger, url=proxy.url) as hears:
        await hears.until(lambda: hears.heard)

        assert room in hears.client.rooms


async def test_an_ended_session_is_renewed_and_nothing_is_lost(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)

    def renewed(client: nio.AsyncClient) -> None:
        client.access_token = synapse.login(bot, bot.device_id).token

    def session(client: nio.AsyncClient) -> PlainSession:
        return PlainSession(client, renewed=renewed)

    async with ear(
        synapse, bot, tmp_path / "store", ledger, url=proxy.url, invited=[ann.id], session=session
    ) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.say(room, "before")
        proxy.revoke(bot.token)
        ann.say(room, "after")
        await hears.until(lambda: "after" in ledger.texts)

    assert ledger.texts == ["before", "after"]


async def test_what_cannot_be_stored_is_given_again_and_nothing_more_is_asked_for(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(
        synapse, bot, tmp_path / "store", ledger, url=proxy.url, invited=[ann.id]
    ) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        await hears.settled()
        ledger.will_raise = [
            StoreBusy("The database is locked.", retry_after_s=0.3),
            StoreUnusable("The disk is full."),
        ]
        ann.say(room, "first")
        await hears.until(lambda: not ledger.will_raise)
        asked = len(proxy.of("sync"))
        ann.say(room, "second")
        await asyncio.sleep(0.7)

        assert not ledger.texts
        assert len(proxy.of("sync")) == asked
        await hears.until(lambda: "second" in ledger.texts)

    assert ledger.texts == ["first", "second"]
    assert len(ledger.given) == 2


async def test_through_all_faults_nothing_is_lost_nothing_doubled_and_the_order_kept(
    synapse: Synapse, proxy: MatrixFaults, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    rooms = [ann.create(bot.user_id) for _ in range(3)]
    folder, words = tmp_path / "store", [f"word {number}" for number in range(240)]
    every: list[Fault] = [
        Limited(200), Page(502), Page(503, passes=True), Cut(), Cut("after"), Cut("middle"),
        Slow(0.3), Stale(),
    ]  # fmt: skip
    async with ear(synapse, bot, folder, ledger, url=proxy.url, invited=[ann.id]) as hears:
        await hears.until(lambda: set(rooms) <= set(hears.client.rooms))
        proxy.lottery(7, 0.15, every)
        for number, word in enumerate(words[:80]):
            ann.say(rooms[number % 3], word)
            await asyncio.sleep(0.01)
    for number, word in enumerate(words[80:]):
        ann.say(rooms[(80 + number) % 3], word)

    async with ear(synapse, bot, folder, ledger, url=proxy.url) as hears:
        await hears.until(lambda: len(ledger.texts) == len(words), timeout_s=60.0)
        proxy.calm()
        await hears.settled()

    assert sorted(ledger.texts) == sorted(words)
    for room in rooms:
        said = [one.text for one in ledger.said.values() if one.place.room == room]  # type: ignore[union-attr]
        assert said == [word for word in words if word in said]
    assert len(proxy.faulted()) >= 3


@pytest.mark.parametrize("is_stored", [False, True])
async def test_wherever_the_process_ends_everything_comes_once_and_in_order(
    synapse: Synapse, tmp_path: Path, is_stored: bool
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room, folder = ann.create(bot.user_id), tmp_path / "store"
    async with ear(synapse, bot, folder, ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        await hears.settled()
    words = [f"word {number}" for number in range(250)]
    for word in words:
        ann.say(room, word)
    ledger.calls, ledger.dies_stored = 0, is_stored
    ends = 0

    for last in range(6):
        ledger.calls, ledger.dies_after = 0, last
        async with ear(synapse, bot, folder, ledger) as hears:
            done, _ = await asyncio.wait({hears.task}, timeout=3.0)
            ends += len(done)
    ledger.dies_after = None
    async with ear(synapse, bot, folder, ledger) as hears:
        await hears.settled()

    assert ends >= 3
    assert ledger.texts == words
