"""Rooms where people talk among themselves: what is for the bot there, and what it makes of names."""

import pytest

from bot.goals.events import Audited, DecisionAsked, TurnEnded
from bot.goals.goal import Goal, State
from bot.ports.chat import Incoming, Speaker
from bot.ports.journal import content_hash
from bot.ports.question import written
from tests.bot.chat.network import ANN, BEN, EVE, Net, room
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


def asks(net: Net) -> int:
    """How many ordinary turns were begun."""
    return len({goal for goal, _ in net.woken}) - 1


async def end_asks(net: Net) -> None:
    """The ordinary turns that run end."""
    for id in {goal for goal, _ in net.woken}:
        goal = await net.store.journal.goal(id)
        if goal.kind == "ask" and not goal.is_final:
            await net.happens(goal, *began(goal), TurnEnded("done"))


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


async def test_a_machine_that_answers_all_answers_makes_no_endless_turns(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    verdict = Audited(goal.revision, 1, goal.messages, "complete")
    await net.happens(goal, *began(goal), TurnEnded("done"), verdict)
    await net.allow(BEN)

    for number in range(40):
        await net.say(f"You said that for the {number}th time.", BEN, room(thread))
        await end_asks(net)

    assert asks(net) == 6
    assert [text for text in net.said(thread) if text.startswith("We go back and forth.")] != []
    assert len(net.said(thread)) < 12
    await net.say("@headway where is the log?", BEN, room(thread))
    await end_asks(net)
    net.clock.move(1_000)
    await net.say("and the other log?", BEN, room(thread))
    assert asks(net) == 8


async def test_who_has_said_a_lot_to_a_goal_that_asks_is_heard_and_may_answer_still(
    net: Net,
) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    text = written("Is that all?", ())
    asks = DecisionAsked("d", "sign_off", content_hash(text), "toolu_1")
    await net.happens(goal, *began(goal), asks, TurnEnded("done"), contents=[text])

    for number in range(40):
        await net.say(f"Mind verse {number}.", ANN, room(thread))
    heard = (await net.goals())[0]
    await net.say("yes", ANN, room(thread))

    assert (heard.state, heard.messages) == (State.DECIDING, goal.messages + 40)
    assert (await net.goals())[0].decision is None


async def test_what_was_said_over_hours_while_the_bot_was_away_is_all_taken(net: Net) -> None:
    net.members.direct.add("!room")
    said = [
        Incoming(f"$away{number}", room(), ANN, f"write haiku number {number}", 600.0 * number)
        for number in range(12)
    ]

    await net.take(*said)

    assert len(await net.goals()) == 12


async def test_in_a_room_of_two_a_machine_makes_no_endless_goals(net: Net) -> None:
    net.members.direct.add("!room")
    await net.allow(BEN)

    for number in range(40):
        await net.say(f"write haiku number {number}", BEN)

    assert len(await net.goals()) == 6
    assert len(net.said()) == 1


async def test_a_name_makes_no_link_and_no_code_in_what_we_say(net: Net) -> None:
    eve = Speaker(EVE.id, "ann. [Approve](https://example.org/login) `x`")

    await net.say("!goal access", eve)

    [card] = [text for text in net.said() if "asks for access" in text]
    assert "ann. [Approve] (https://example.org/login) 'x' asks for access." in card


async def test_a_number_that_is_said_much_later_or_to_others_picks_nothing(net: Net) -> None:
    for name in ("haiku", "sonnet"):
        await net.say(f"!goal write a {name}")
    await net.say("!goal stop")

    await net.say("2", is_aside=True)
    net.clock.move(301)
    await net.say("2")

    assert {goal.state for goal in await net.goals()} == {State.READY}


async def test_a_crowd_of_strangers_does_not_make_the_bot_flood_the_room(net: Net) -> None:
    for number in range(30):
        await net.say("!goal write a haiku", Speaker(f"@eve{number}:example.org", "eve"))
    in_flood = len(net.said())
    net.clock.move(61)
    await net.say("!goal write a haiku", Speaker("@eve29:example.org", "eve"))

    assert (in_flood, len(net.said())) == (10, 11)


async def test_on_matrix_commands_are_shown_as_they_are_typed_there(net: Net) -> None:
    await net.say("!goal write about the `/goal` of life")
    await net.say("@headway hello")
    await net.say("!goal help")
    await net.say("!goal access", EVE)
    await net.say("!goal write a haiku", EVE)

    said = "\n".join(net.said())
    assert "`!goal <objective>`" in said
    assert "`!goal allow @eve:example.org` lets them start goals" in said
    assert "/goal" not in said
    buttons = {one.verb for post in net.chat.posts.values() for one in post.shape.buttons}
    assert {"!goal access", "!goal allow @eve:example.org"} <= buttons
    assert await net.objective((await net.goals())[0]) == "write about the `/goal` of life"


async def test_cards_call_the_people_whom_they_ask(net: Net) -> None:
    net.delivery.concerned.admins = net.allow_list.admin_ids
    await net.allow(BEN)
    thread = await net.say("!goal write a haiku about tides")

    await net.say("owner @ben", place=room(thread))
    await net.say("!goal access", EVE)

    called = {
        post.key.partition(":")[0]: post.shape.mentions
        for post in net.chat.posts.values()
        if post.shape.mentions
    }
    assert called == {"offer": (BEN.id,), "access": (ANN.id,)}


async def test_a_bare_command_that_names_somebody_speaks_to_the_bot_all_the_same(net: Net) -> None:
    await net.allow(BEN)
    thread = await net.say("!goal write a haiku about tides")

    await net.say("owner @ben, what do you say?", place=room(thread), is_aside=True)
    talk = net.said(thread)
    await net.say("owner @ben:example.org", place=room(thread), is_aside=True)

    assert not any("offers you" in text for text in talk)
    assert any("ann offers you G1." in text for text in net.said(thread))
