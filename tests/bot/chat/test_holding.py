"""`hold` and `release` as an admin says them, and what everybody is told meanwhile."""

import pytest

from bot.chat.hold_words import HoldWords, read_hold
from bot.chat.parse import Command, parse
from bot.chat.texts import Texts
from bot.goals.events import TurnStarted
from bot.ports.chat import Place, Speaker
from bot.ports.holds import ALL
from tests.bot.chat.conftest import Bench

HERE = Place("console", "", "console")
BEN = Speaker("ben", "ben")


async def test_everything_is_held_and_released_by_an_admin(bench: Bench) -> None:
    await bench.start()

    await bench.say("/goal hold all: the key is being changed")
    [hold] = await bench.store.holds.standing()
    told = bench.last()
    claimed = await bench.store.leases.claim("w", limit=5)
    await bench.say("/goal release all")

    assert (hold.scope, hold.by_name, hold.why) == (ALL, "ann", "the key is being changed")
    assert "On hold: everything" in told
    assert "`/goal release all`" in told
    assert claimed == ()
    assert await bench.store.holds.standing() == ()
    assert bench.last() == "▶ Released: everything. It goes on where it was."
    assert bench.recalled == 2


async def test_a_room_is_held_where_it_is_said(bench: Bench) -> None:
    await bench.say("/goal hold")
    [hold] = await bench.store.holds.standing()
    told = bench.last()
    await bench.say("/goal hold")

    assert hold.scope == await bench.store.holds.room_at(HERE)
    assert "On hold: this room." in told
    assert bench.last().startswith("On hold already, by ann since ")


async def test_a_person_is_held_by_name(bench: Bench) -> None:
    await bench.say("hello", speaker=BEN)

    await bench.say("/goal hold @ben: on holiday")
    [hold] = await bench.store.holds.standing()
    await bench.say("/goal hold @zoe")
    unknown = bench.last()
    await bench.say("/goal release all")
    other = bench.last()

    assert hold.name.endswith(":ben")
    assert unknown == "I know nobody called @zoe. Write it as the network does."
    assert other == "Not on hold: everything. Still on hold: what ben owns."


async def test_who_is_no_admin_may_not_hold(bench: Bench) -> None:
    await bench.say("/goal allow @ben")

    await bench.say("/goal hold all", speaker=BEN)

    assert bench.last() == "Only an admin holds and releases."
    assert await bench.store.holds.standing() == ()


async def test_the_status_message_says_so_and_goes_back(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.clock.sleep(10)
    await bench.happens(goal, TurnStarted())
    await bench.deliver()

    await bench.say("/goal hold all: the disk")
    held = bench.answers(thread)[0]
    await bench.clock.sleep(5)
    await bench.say("/goal release all")
    released = bench.answers(thread)[0]

    assert held.startswith("✋ On hold · G1 · by ann since ")
    assert "Before: Working. Why: the disk." in held
    assert released.startswith("⏳ Working · G1")
    assert len(bench.answers(thread)) == 1


async def test_what_is_said_meanwhile_is_kept_and_says_so(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())
    await bench.say("/goal hold all")

    await bench.say("in German, please", thread)
    steered = bench.last(thread)
    other = await bench.say("/goal count the sheep")
    started = bench.last()
    await bench.say("status", thread)
    status = bench.last(thread)
    await bench.say("/goal list")
    listed = bench.last()
    await bench.say("pause", thread)
    paused = bench.last(thread)

    kept = "it is kept, and goes on after the release."
    assert steered.startswith("✋ On hold by ann since ")
    assert kept in steered
    assert kept in started
    assert status.startswith("✋ On hold · G1 · by ann since ")
    assert listed.count("On hold") == 2
    assert paused == "G1 is paused. `resume` goes on."
    assert (await bench.goal(thread)).messages == 1
    assert (await bench.goal(other)).objective


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", HoldWords()),
        ("room", HoldWords()),
        (": a reason", HoldWords(why="a reason")),
        ("all", HoldWords(is_all=True)),
        ("all: why  not", HoldWords(is_all=True, why="why not")),
        ("ALL because of this", HoldWords(is_all=True, why="of this")),
        ("all flights to Oslo", None),
        ("on a second", None),
        ("the door", None),
        ("@ben accountable", None),
        ("room:ops", None),
    ],
)
def test_only_its_own_syntax_is_a_hold(text: str, words: HoldWords | None) -> None:
    assert read_hold(text, HERE) == words


def test_an_objective_that_begins_with_hold_is_an_objective() -> None:
    said = parse("/goal hold all flights to Oslo", Texts(), in_thread=False)

    assert isinstance(said, Command)
    assert said.verb.name == ""
