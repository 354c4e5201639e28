"""Rooms where people talk among themselves: what is for the bot there, and what it makes of names."""

import pytest

from bot.goals.events import DecisionAsked, TurnEnded
from bot.goals.goal import Goal, State
from bot.ports.journal import content_hash
from bot.ports.question import written
from tests.bot.chat.network import ANN, EVE, Net
from tests.bot.chat.turns import began


@pytest.fixture
async def net(stored: Net) -> Net:
    await stored.allow(ANN, "admin")
    return stored


async def asked(net: Net, goal: Goal, *options: str) -> Goal:
    """The goal waits for a person, with its card shown."""
    text = written("Which one?", options)
    asks = DecisionAsked("d", "question", content_hash(text), "toolu_1")
    return await net.happens(goal, *began(goal), asks, TurnEnded("done"), contents=[text])


async def test_whom_an_admin_lets_in_by_a_bare_name_is_let_in(net: Net) -> None:
    await net.say("!goal allow @eve")

    await net.say("!goal write a haiku about tides", EVE)

    assert net.said()[0] == "@eve:example.org is user in all rooms now."
    assert len(await net.goals()) == 1


async def test_who_asks_for_access_calls_the_admins_by_their_names(net: Net) -> None:
    await net.say("!goal access", EVE)

    assert any(text.startswith("@ann:example.org: eve asks for access.") for text in net.said())


async def test_a_reply_to_the_card_of_a_goal_in_the_room_itself_answers_it(net: Net) -> None:
    await net.say("!goal room threads off")
    await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    await asked(net, goal, "haiku", "sonnet")

    await net.say("sonnet")
    talk = (await net.goals())[0].state
    await net.say("sonnet", reply_to=net.post("decision"))

    assert talk is State.DECIDING
    assert (await net.goals())[0].decision is None
    assert net.chat.posts[net.post("card")].shape.now == "→ sonnet"


@pytest.mark.parametrize("text", ["hello", "thanks!", "good morning"])
async def test_what_people_wish_each_other_in_a_room_is_not_answered(net: Net, text: str) -> None:
    greeting = await net.say(text)
    await net.say(text, EVE)
    said = net.said()
    await net.say("why", reply_to=greeting)
    why = net.said()[-1]
    await net.say(f"@headway {text}")

    assert said == []
    assert why.startswith("It was said in the room and not to me.")
    assert net.said()[-1].startswith("Hello. To start a goal:")
