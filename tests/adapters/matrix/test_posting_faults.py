"""What is said through a proxy that limits, cuts and answers with pages: once each, in order."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.matrix.errors import LoggedOut
from bot.errors import OutcomeUnknown, Wait
from bot.ports.chat import Outgoing, Place
from tests.adapters.matrix.posting_bed import Poster, a_result, in_thread, poster
from tests.peers.matrix_faults import Cut, Fault, Limited, MatrixFaults, Page, Revoked, Slow, faults
from tests.peers.matrix_user import People
from tests.peers.synapse import Synapse

POSTS, THREADS = 8, 4


@pytest.fixture
def proxy(synapse: Synapse) -> Iterator[MatrixFaults]:
    with faults(synapse.url) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def bot(synapse: Synapse, proxy: MatrixFaults, tmp_path: Path) -> AsyncIterator[Poster]:
    async with poster(synapse, tmp_path / "nio") as there:
        there.client.homeserver = proxy.url
        yield there


@pytest.mark.parametrize("encrypted", [False, True], ids=["clear", "encrypted"])
@pytest.mark.parametrize(
    ("fault", "arrives"),
    [
        (Cut("after"), True),
        (Cut("middle"), True),
        (Page(502, passes=True), True),
        (Page(504, passes=True), True),
        (Page(200, passes=True), True),
        (Cut("before"), False),
        (Page(502), False),
        (Page(503), False),
    ],
    ids=str,
)
async def test_what_may_have_arrived_is_unknown_until_it_is_looked_up(
    bot: Poster, proxy: MatrixFaults, fault: Fault, arrives: bool, encrypted: bool
) -> None:
    place = await bot.room(encrypted=encrypted)
    # What is cut without an answer is asked again by the HTTP client itself.
    proxy.next_times("send", *[fault] * (2 if fault in (Cut("before"), Cut("after")) else 1))
    message = a_result(place, "g1:settle", "Done.")

    with pytest.raises(OutcomeUnknown):
        await bot.posting.send(message)
    found = await bot.posting.find(place, "g1:settle")
    remote = await bot.posting.send(message)

    assert found == (remote if arrives else None)
    assert len(bot.events(place.room)) == 1


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [(Limited(1800), 1.8), (Limited(header_s=3), 3.0), (Limited(), 5.0)],
    ids=["body", "header", "neither"],
)
async def test_a_limit_is_a_wait_as_long_as_the_server_says(
    bot: Poster, proxy: MatrixFaults, fault: Fault, wait_s: float
) -> None:
    place = await bot.room()
    proxy.next_times("send", fault)
    message = a_result(place, "g1:settle", "Done.")

    with pytest.raises(Wait) as first:
        await bot.posting.send(message)
    with pytest.raises(Wait) as second:
        await bot.posting.send(message)

    assert not isinstance(first.value, OutcomeUnknown)
    assert first.value.retry_after_s == wait_s
    assert second.value.retry_after_s == pytest.approx(wait_s, abs=0.5)
    assert len(proxy.of("send")) == 1


@pytest.mark.parametrize("skipped", [0, 1], ids=["claim", "give"])
@pytest.mark.parametrize(
    "fault", [Limited(100), Page(502), Page(200), Page(502, passes=True), Cut("middle")], ids=str
)
async def test_keys_that_were_not_taken_are_given_again_before_anything_is_said(
    bot: Poster, proxy: MatrixFaults, matrix_people: People, fault: Fault, skipped: int
) -> None:
    ann = await asyncio.to_thread(matrix_people.login, bot.synapse, bot.ann)
    room = await asyncio.to_thread(ann.create, encrypted=True, invite=[bot.account.user_id])
    await bot.join(room)
    place, message = Place("matrix", bot.account.user_id, room), "Done."
    proxy.next_times("keys", *[Slow(0.0)] * skipped, fault)

    with pytest.raises(Wait):
        await bot.posting.send(a_result(place, "g1:settle", message))
    said_before = bot.events(room)
    await _delivered(bot, a_result(place, "g1:settle", message))

    assert said_before == []
    assert bot.client.access_token == bot.account.token
    assert await asyncio.to_thread(ann.until_said, room, message)


async def test_without_a_session_it_waits_and_its_place_is_kept(
    bot: Poster, proxy: MatrixFaults
) -> None:
    place = await bot.room()
    proxy.next_times("send", Revoked())

    with pytest.raises(LoggedOut):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))

    assert bot.events(place.room) == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("encrypted", [False, True], ids=["clear", "encrypted"])
async def test_through_all_faults_each_post_is_there_once_and_in_the_order_of_its_thread(
    bot: Poster, proxy: MatrixFaults, matrix_people: People, encrypted: bool
) -> None:
    ann = await asyncio.to_thread(matrix_people.login, bot.synapse, bot.ann)
    room = await asyncio.to_thread(ann.create, encrypted=encrypted, invite=[bot.account.user_id])
    await bot.join(room)
    place = Place("matrix", bot.account.user_id, room)
    roots = [await asyncio.to_thread(ann.text, room, f"goal {n}") for n in range(THREADS)]
    all_faults = (
        Limited(100), Limited(header_s=1), Page(502), Page(504, passes=True), Cut("before"),
        Cut("after"), Cut("middle"),
    )  # fmt: skip
    proxy.lottery(seed=4, share=0.4, faults=all_faults)

    await asyncio.gather(*(_thread(bot, in_thread(place, root), root) for root in roots))

    proxy.calm()
    for root in roots:
        await asyncio.to_thread(ann.until_said, room, f"Post {POSTS - 1} of {root}.")
    said = ann.messages(room, bot.account.user_id)
    for root in roots:
        bodies = [seen.body.partition("\n")[2] for seen in said if seen.thread == root]
        assert bodies == [f"Post {n} of {root}." for n in range(POSTS)]
    assert len(said) == POSTS * THREADS
    assert all(seen.encrypted is encrypted for seen in said)
    assert proxy.faulted()


async def _thread(bot: Poster, place: Place, root: str) -> None:
    """Post after post, as Delivery does it for a thread."""
    for n in range(POSTS):
        await _delivered(bot, a_result(place, f"{root}:{n}", f"Post {n} of {root}."))


async def _delivered(bot: Poster, message: Outgoing) -> str:
    is_unknown = False
    while True:
        try:
            found = await bot.posting.find(message.place, message.key) if is_unknown else None
            return found or await bot.posting.send(message)
        except OutcomeUnknown:
            is_unknown = True
        except Wait as error:
            await asyncio.sleep(min(error.retry_after_s or 0.05, 1.5))
