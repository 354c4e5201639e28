"""Marks under what was taken: 👀 at once, ✅ when a model call has carried it."""

from dataclasses import replace

import pytest

from bot.chat.acks import WAITING_MOST, Acks
from bot.chat.intake import Intake
from bot.errors import HeadwayError, Refused, Wait
from bot.goals.events import (
    CallReleased,
    CallSettled,
    CallStarted,
    DecisionAsked,
    Event,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.money import Usage
from bot.ports.chat import Incoming, Place
from bot.ports.journal import Applied, Unit, content_hash
from tests.bot.chat.network import ANN, EVE, MemorySigns, Net, room


class Marked(Net):
    """A network that has marks."""

    def __init__(self) -> None:
        super().__init__()
        self.signs = MemorySigns()
        self.acks = Acks({"matrix": self.signs}, self.allow_list.settings, self.clock)
        self.desk = replace(self.desk, taken=self.acks.taken)
        self.intake = Intake(self.desk, self.allow_list.of)

    async def writes(self, goal: Goal, *events: Event) -> Goal:
        """What a worker writes; the marks hear of it."""
        applied = await self.store.journal.commit(Unit(goal.id, events))
        self.acks.heard(applied)
        await self.acks.settle()
        return applied.goal

    async def under(self, message: str) -> list[str]:
        """What stands under a message now."""
        await self.acks.settle()
        return self.signs.under.get(message, [])


def call(goal: Goal, name: str = "c1") -> CallStarted:
    """A call of the agent that carries all that was said so far."""
    return CallStarted(name, "agent", "m", 100, 0, goal.messages, goal.revision)


def settled(name: str = "c1") -> CallSettled:
    """It came back."""
    return CallSettled(name, Usage(input=100), 1)


def said(id: str, place: Place) -> Incoming:
    """Ann says something."""
    return Incoming(id, place, ANN, f"word {id}", 9.0)


@pytest.fixture
async def net() -> Marked:
    net = Marked()
    await net.allow(ANN, "admin")
    return net


async def test_an_objective_is_marked_when_stored_and_when_a_call_has_carried_it(
    net: Marked,
) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    stored = list(await net.under(thread))

    await net.writes(goal, TurnStarted(), call(goal))
    sent = list(await net.under(thread))
    await net.writes(goal, settled())

    assert (stored, sent, await net.under(thread)) == (["👀"], ["👀"], ["✅"])


async def test_what_is_said_meanwhile_is_carried_by_the_next_call(net: Marked) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    await net.writes(goal, TurnStarted(), call(goal))
    said = await net.say("use the word moon", place=room(thread))

    goal = await net.writes(goal, settled())
    first = list(await net.under(said))
    await net.writes(goal, call(goal, "c2"), settled("c2"))

    assert (first, await net.under(said)) == (["👀"], ["✅"])


async def test_a_call_that_came_to_nothing_has_carried_nothing(net: Marked) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()

    await net.writes(goal, TurnStarted(), call(goal), CallReleased("c1"))

    assert await net.under(thread) == ["👀"]


async def test_an_answer_is_marked(net: Marked) -> None:
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    for number, answer in ((1, "in words"), (2, "in words, too")):
        asks = DecisionAsked(f"d{number}", "question", content_hash(f"q{number}"), "t")
        goal = await net.writes(goal, TurnStarted(), asks, TurnEnded("done"))
        id = await net.say(answer, place=room(thread))
        goal = (await net.goals())[0]
        assert await net.under(id) == ["👀"]


async def test_an_aim_marks_the_message_that_was_aimed_at(net: Marked) -> None:
    await net.react("🎯", "$far", text="write a sonnet")

    assert await net.under("$far") == ["👀"]


async def test_an_aim_that_is_taken_away_takes_its_mark_along(net: Marked) -> None:
    aim = await net.react("🎯", "$far", text="write a sonnet")
    before = list(await net.under("$far"))

    await net.remove(aim)
    [goal] = await net.goals()
    lines = await net.store.journal.history(goal.session)
    net.acks.heard(Applied(goal, tuple(line.entry for line in lines[-1:]), ()))

    assert (before, await net.under("$far")) == (["👀"], [])


async def test_what_is_only_a_command_or_talk_or_a_strangers_gets_no_mark(net: Marked) -> None:
    thread = await net.say("!goal write a haiku about tides")
    ids = [
        await net.say("status", place=room(thread)),
        await net.say("pause", place=room(thread)),
        await net.say("lovely weather"),
        await net.say("use the moon", EVE, place=room(thread)),
    ]

    assert [await net.under(id) for id in ids] == [[]] * 4


async def test_a_room_may_turn_marks_off(net: Marked) -> None:
    await net.say("!goal room acks off")

    thread = await net.say("!goal write a haiku about tides")

    assert await net.under(thread) == []


async def test_a_network_that_asks_to_wait_gets_no_marks_meanwhile(net: Marked) -> None:
    net.signs.will_raise = [Wait("Later.", retry_after_s=60.0)]
    first = await net.say("!goal write a haiku about tides")
    await net.under(first)
    second = await net.say("!goal write a sonnet about dunes")
    await net.under(second)
    asked = net.signs.asked
    net.clock.move(61)

    third = await net.say("!goal mend the pier")

    assert (asked, net.signs.under) == (1, {})
    assert await net.under(third) == ["👀"]


@pytest.mark.parametrize(
    "error", [Refused("No.", code="no"), HeadwayError("No."), RuntimeError("no")]
)
async def test_a_mark_that_cannot_be_put_is_left_out(net: Marked, error: Exception) -> None:
    net.signs.will_raise = [error]
    thread = await net.say("!goal write a haiku about tides")
    [goal] = await net.goals()
    await net.under(thread)

    await net.writes(goal, TurnStarted(), call(goal), settled())

    assert await net.under(thread) == ["✅"]


async def test_marks_of_a_flood_are_dropped_and_hold_nothing_up(net: Marked) -> None:
    thread = await net.say("!goal write a haiku about tides")

    for number in range(WAITING_MOST + 50):
        await net.intake.receive(said(f"$f{number}", room(thread)))
    await net.intake.drain()
    await net.acks.settle()

    assert len(net.signs.under) == WAITING_MOST
    assert (await net.goals())[0].messages == WAITING_MOST + 50


async def test_a_console_has_no_marks(net: Marked) -> None:
    acks = Acks({}, net.allow_list.settings, net.clock)
    thread = await net.say("!goal write a haiku about tides", ANN)
    [goal] = await net.goals()

    acks.taken(said(thread, room()), goal)

    assert acks._marks == {}
