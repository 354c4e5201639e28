"""Rooms that are lost: their goals rest with the reason; rooms that are replaced: they go on."""

from typing import Literal

import pytest

from bot.chat.operations import Operations
from bot.errors import Refused
from bot.goals.events import Audited, RoomWasLost, TurnEnded, TurnStarted
from bot.goals.goal import State
from bot.ports.chat import Place, RoomLost, RoomMoved, Speaker
from tests.bot.chat.network import ANN, BEN, BOT, Net, room
from tests.bot.chat.turns import began

OPERATIONS = Place("matrix", BOT, "!operations")


@pytest.fixture
async def net(stored: Net) -> Net:
    await stored.allow(ANN, "admin")
    stored.intake.operations = Operations(
        stored.store.incidents, stored.manner, OPERATIONS, stored.clock
    )
    stored.intake._rooms._operations = stored.intake.operations
    return stored


def lost(
    how: Literal["left", "kicked", "banned", "gone"] = "kicked",
    reason: str = "",
    who: Speaker = BEN,
) -> RoomLost:
    """Ben has sent the bot away."""
    return RoomLost("$lost", room(), who, how, 9.0, reason)


async def test_the_goals_of_a_lost_room_rest_and_the_room_hears_no_more(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    await net.say("!goal write a sonnet about dunes")
    elsewhere = await net.say("!goal mend the pier", place=room(name="!other"))
    posts = len(net.chat.posts)

    await net.take(lost(reason="too loud"))
    net.clock.move(60)
    await net.delivery.drain()

    assert [goal.state for goal in await net.goals()] == [
        State.PAUSED,
        State.PAUSED,
        State.READY,
    ]
    spoken = list(net.chat.posts.values())[posts:]
    assert {post.place for post in spoken} == {OPERATIONS, room(elsewhere, "!other")}
    assert {goal for goal, _ in net.woken} == {goal.id for goal in await net.goals()}
    assert net.said(thread) == []


async def test_the_operations_room_is_told_once(net: Net) -> None:
    await net.say("!goal write a haiku about tides")

    await net.take(lost(reason="too loud"))
    await net.take(RoomLost("$again", room(), BEN, "banned", 10.0))

    [told] = [post.shape.body for post in net.chat.posts.values() if post.place == OPERATIONS]
    assert "ben removed the bot from the room matrix:!room: too loud." in told
    assert "Its goals are paused: G1." in told


async def test_what_a_running_turn_still_says_there_is_no_incident_of_its_own(net: Net) -> None:
    net.delivery.operations = net.intake.operations
    thread = await net.say("!goal write a haiku about tides")
    await net.take(lost())
    session = await net.store.rooms.begin(room(thread))
    await net.store.outbox.say(session.session, "late", "It is done.")
    net.chat.will_raise = [Refused("The bot is not in the room.", code="forbidden")]

    await net.delivery.drain()

    told = [post.shape.body for post in net.chat.posts.values() if post.place == OPERATIONS]
    assert len(told) == 1


async def test_a_room_without_goals_is_lost_in_silence(net: Net) -> None:
    await net.take(lost())

    assert net.chat.posts == {}
    assert await net.store.inbox.waiting() == ()


@pytest.mark.parametrize(
    ("event", "now"),
    [
        (lost(), "The bot was removed from the room by ben. `resume` goes on."),
        (
            lost("banned", "too loud."),
            "The bot was banned from the room by ben: too loud. `resume` goes on.",
        ),
        (lost("left", who=Speaker(BOT, "headway")), "The bot left the room. `resume` goes on."),
        (lost("gone"), "The room is gone. `resume` goes on."),
    ],
)
async def test_back_in_the_room_status_says_why_it_rests_and_resume_goes_on(
    net: Net, event: RoomLost, now: str
) -> None:
    thread = await net.say("!goal write a haiku about tides")
    await net.take(event)

    await net.say("status", place=room(thread))
    told = net.said(thread)[-1].replace("  \n", "\n")
    await net.say("resume", place=room(thread))

    assert now in told
    assert (await net.goals())[0].state is State.READY


async def test_a_process_that_died_in_the_middle_does_the_rest_once(net: Net) -> None:
    await net.say("!goal write a haiku about tides")
    await net.say("!goal write a sonnet about dunes")
    first, _ = await net.goals()
    await net.intake.receive(lost())
    await net.intake._rooms._rest(first, RoomWasLost("kicked"), None)

    await net.intake.drain()
    await net.take(RoomLost("$again", room(), BEN, "kicked", 10.0))

    for goal in await net.goals():
        lines = await net.store.journal.history(goal.session)
        names = [type(line.entry.event).__name__ for line in lines]
        assert names == ["GoalOpened", "RoomWasLost"]


async def test_what_waits_for_a_person_keeps_its_own_reason(net: Net) -> None:
    await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    goal = await net.happens(goal, *began(goal), TurnEnded("failed", failed="refusal"))

    await net.take(lost())

    assert await net.goals() == [goal]


async def test_a_replaced_room_goes_on_in_the_new_one(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    await net.say("!goal room budget_usd 5")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())

    await net.take(RoomMoved("$moved", room(), BEN, "!new", 9.0))
    net.clock.move(60)
    await net.delivery.drain()

    said = net.said(name="!new")
    assert "The room is replaced by this one. Its goals and settings came along." in said
    assert "🎯 G1 goes on here: write a haiku about tides" in said
    home = await net.allow_list.home(goal.session)
    assert home.room == "!new"
    assert home.thread in net.chat.posts
    assert net.allow_list.settings(room(name="!new")).budget_usd == 5
    assert any("Working · G1" in text for text in net.said(home.thread, "!new"))

    await net.say("use the word moon", place=home)

    assert (await net.goals())[0].messages == 1
    assert thread != home.thread


async def test_the_result_that_the_old_room_refused_is_told_in_the_new_one(net: Net) -> None:
    await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    verdict = Audited(goal.revision, 1, goal.messages, "complete")
    net.chat.will_raise = [Refused("The room was replaced.", code="M_FORBIDDEN")]
    await net.happens(goal, *began(goal), TurnEnded("done"), verdict)

    await net.take(RoomMoved("$moved", room(), BEN, "!new", 9.0))
    await net.delivery.drain()

    [root] = net.said(name="!new")
    home = await net.allow_list.home(goal.session)
    [result] = net.said(home.thread, "!new")
    assert root == "🎯 G1 was asked for in the room before this one."
    assert result.startswith("✅ Complete · G1")


async def test_a_move_that_is_told_twice_changes_nothing_the_second_time(net: Net) -> None:
    await net.say("!goal write a haiku about tides")

    await net.take(RoomMoved("$moved", room(), BEN, "!new", 9.0))
    await net.take(RoomMoved("$again", room(), BEN, "!new", 9.0))

    said = net.said(name="!new")
    assert said.count("🎯 G1 goes on here: write a haiku about tides") == 1
