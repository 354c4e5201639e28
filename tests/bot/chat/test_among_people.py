"""Rooms where people talk among themselves: what is for the bot there, and what it makes of names."""

import pytest

from tests.bot.chat.network import ANN, EVE, Net


@pytest.fixture
async def net(stored: Net) -> Net:
    await stored.allow(ANN, "admin")
    return stored


async def test_whom_an_admin_lets_in_by_a_bare_name_is_let_in(net: Net) -> None:
    await net.say("!goal allow @eve")

    await net.say("!goal write a haiku about tides", EVE)

    assert net.said()[0] == "@eve:example.org is user in all rooms now."
    assert len(await net.goals()) == 1


async def test_who_asks_for_access_calls_the_admins_by_their_names(net: Net) -> None:
    await net.say("!goal access", EVE)

    assert any(text.startswith("@ann:example.org: eve asks for access.") for text in net.said())
