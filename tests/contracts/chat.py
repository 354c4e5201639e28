"""
What every chat network does, real or not.

A subclass gives the fixtures `chat` (a fresh network), `place` (a thread on it), `elsewhere` (a
place of another network) and `say` (a person says a text there; returns the message's id).
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bot.errors import HeadwayError
from bot.ports.chat import Arrival, Chat, Outgoing, Place, Shape
from bot.ports.positions import Position


def a_post(place: Place, key: str, body: str, **further: str) -> Outgoing:
    return Outgoing(key, place, Shape("✅", "Complete", ("G1",), body=body), **further)  # type: ignore[arg-type]


class ChatContract:
    """Tests of the port."""

    async def test_a_message_that_was_sent_is_found_by_its_key(
        self, chat: Chat, place: Place
    ) -> None:
        remote = await chat.send(a_post(place, "g1:settle", "Done."))

        assert remote
        assert await chat.find(place, "g1:settle") == remote

    async def test_a_message_that_was_never_sent_is_not_found(
        self, chat: Chat, place: Place
    ) -> None:
        await chat.send(a_post(place, "g1:settle", "Done."))

        assert await chat.find(place, "g1:blocked:3") is None

    async def test_two_messages_have_two_ids(self, chat: Chat, place: Place) -> None:
        first = await chat.send(a_post(place, "g1:decision:1", "Red?"))
        second = await chat.send(a_post(place, "g1:decision:2", "Blue?"))

        assert first != second

    async def test_an_edit_keeps_the_id_of_what_it_replaces(self, chat: Chat, place: Place) -> None:
        remote = await chat.send(a_post(place, "g1:status:1", "Working"))

        edited = await chat.send(a_post(place, "g1:status:7", "Waiting", edits=remote))

        assert edited == remote

    async def test_a_place_of_another_network_is_refused(
        self, chat: Chat, elsewhere: Place
    ) -> None:
        with pytest.raises(HeadwayError):
            await chat.send(a_post(elsewhere, "g1:settle", "Done."))

    async def test_what_is_said_is_given_on_once_in_order(
        self, chat: Chat, place: Place, say: Callable[[Place, str], Awaitable[str]]
    ) -> None:
        heard: list[Arrival] = []
        got_both = asyncio.Event()

        async def receive(*arrivals: Arrival, upto: Position | None = None) -> None:
            [message] = arrivals
            heard.append(message)
            if len(heard) == 2:
                got_both.set()

        listening = asyncio.create_task(chat.listen(receive))
        await say(place, "first")
        await say(place, "second")
        await asyncio.wait_for(got_both.wait(), 5)
        listening.cancel()

        assert [getattr(message, "text", None) for message in heard] == ["first", "second"]
        assert all(message.place == place for message in heard)
