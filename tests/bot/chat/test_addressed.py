"""Who is addressed: asides, rooms of two, rooms without threads, threads in which a goal lives."""

import pytest

from bot.chat.parse import NAME
from bot.goals.events import TurnStarted
from bot.goals.goal import State
from bot.ports.chat import Incoming, Speaker
from tests.bot.chat.network import ANN, BEN, BOT, EVE, Net, room


@pytest.fixture
async def net(stored: Net) -> Net:
    await stored.allow(ANN, "admin")
    return stored


async def test_what_speaks_to_others_is_talk_even_in_a_goals_thread(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")

    await net.say("ben, what do you think?", place=room(thread), is_aside=True)
    await net.say("stop", place=room(thread), is_aside=True)
    aside = await net.say("!goal ask ben when he is back", is_aside=True)

    [goal] = await net.goals()
    assert (goal.messages, goal.state) == (0, State.READY)
    assert (await net.store.doors.heeded(aside)).state == "handled"
    assert await net.store.rooms.thread(room(aside)) is not None


async def test_an_answer_that_came_with_what_opens_a_goal_is_said_to_the_goal(net: Net) -> None:
    asks = Incoming("$asks", room(), ANN, "!goal write a haiku about tides", 1.0)
    more = Incoming("$more", room(), ANN, "use the word moon", 2.0, "$asks")
    aside = Incoming("$aside", room(), ANN, "and the sonnet?", 3.0, "$other")

    await net.take(asks, more, aside)

    [goal] = await net.goals()
    assert goal.messages == 1


async def test_in_a_thread_that_was_there_before_only_what_calls_the_bot_counts(net: Net) -> None:
    await net.allow(BEN)
    there = room("$theirs")
    await net.say("what do you make of it, ben?", place=there)
    await net.say("!goal write a haiku about tides", place=there)

    talk = await net.say("I would not know", BEN, place=there)
    [before] = await net.goals()
    await net.say(f"@{NAME} use the word moon", BEN, place=there)
    [steered] = await net.goals()
    await net.say("why", BEN, place=there, reply_to=talk)
    told = net.said("$theirs")[-1]
    await net.say("pause", BEN, place=there)

    assert (before.messages, steered.messages) == (0, 1)
    assert told.startswith("Others talk there, too, so I take what is said to me by name:")
    assert (await net.goals())[0].state is State.PAUSED


async def test_where_the_bot_has_only_answered_it_is_spoken_to_by_name_still(net: Net) -> None:
    there = room("$theirs")
    await net.say("!goal list", place=there)

    await net.say("thanks, and now to something else", place=there)

    assert net.woken == []


async def test_why_says_that_a_message_spoke_to_others(net: Net) -> None:
    id = await net.say("ben, look", is_aside=True)

    await net.say("why", reply_to=id)

    assert net.said()[-1] == ("It spoke to others and not to me. Begin with `@headway` or `!goal`.")


async def test_why_says_what_became_of_a_reaction(net: Net) -> None:
    reaction = await net.react("👍", "$far")

    await net.say("why", reply_to=f"reacted:{reaction}")

    assert net.said()[-1].startswith("Of reactions I take 🎯 under a message")


# Rooms of two.


@pytest.fixture
async def alone(net: Net) -> Net:
    net.members.direct.add("!room")
    return net


async def test_in_a_room_of_two_what_is_said_is_an_objective(alone: Net) -> None:
    id = await alone.say("write a haiku about tides")

    [goal] = await alone.goals()
    assert await alone.objective(goal) == "write a haiku about tides"
    assert (await alone.store.doors.home(goal.session)).thread == id


async def test_where_a_mention_asks_a_room_of_two_asks(alone: Net) -> None:
    await alone.say("room mention ask")
    await alone.say("where is the build log?")

    assert await alone.goals() == []
    [(asked, _)] = alone.woken
    assert (await alone.store.journal.goal(asked)).kind == "ask"


async def test_where_a_mention_is_always_needed_a_room_of_two_is_no_exception(alone: Net) -> None:
    await alone.say("room mention always")
    await alone.say("write a haiku about tides")

    assert await alone.goals() == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("hello", "Hello. To start a goal:"),
        ("help", "What I take,"),
        ("list", "No live goals here."),
        ("fix it", "Nobody could tell when `fix it` is done."),
        ("statsu", "`statsu` is no command. Did you mean `status`?"),
    ],
)
async def test_in_a_room_of_two_words_are_commands(alone: Net, said: str, told: str) -> None:
    await alone.say(said)

    assert await alone.goals() == []
    assert alone.said()[-1].startswith(told)


async def test_in_a_room_of_two_a_number_picks_and_slashes_keep_out(alone: Net) -> None:
    await alone.say("write a haiku about tides")
    await alone.say("write a sonnet about dunes")
    await alone.say("pause")

    await alone.say("// and that is not for you")
    await alone.say("2")

    assert {goal.number: goal.state for goal in await alone.goals()} == {
        1: State.PAUSED,
        2: State.READY,
    }


async def test_a_stranger_in_a_room_of_two_is_told_once_a_day(alone: Net) -> None:
    for text in ("write a haiku", "hello?", "anybody there?"):
        await alone.say(text, EVE)

    assert len(alone.said()) == 1


# Rooms without threads.


@pytest.fixture
async def flat(net: Net) -> Net:
    await net.say("!goal room threads off")
    return net


async def test_without_threads_the_goal_lives_in_the_main_timeline(flat: Net) -> None:
    await flat.say("!goal write a haiku about tides")
    [goal] = await flat.goals()
    await flat.happens(goal, TurnStarted())

    assert (await flat.store.doors.home(goal.session)) == room()
    assert flat.said()[-1].startswith("⏳ Working · G1")


async def test_without_threads_what_is_for_the_bot_is_said_to_the_goal(flat: Net) -> None:
    await flat.say("!goal write a haiku about tides")

    await flat.say("the tide was high today")
    talk = (await flat.goals())[0].messages
    await flat.say(f"@{NAME} use the word moon")
    steered = (await flat.goals())[0].messages
    await flat.say("pause")

    assert (talk, steered) == (0, 1)
    assert (await flat.goals())[0].state is State.PAUSED


async def test_without_threads_a_second_goal_is_refused_with_the_way_out(flat: Net) -> None:
    await flat.say("!goal write a haiku about tides")
    await flat.say("!goal write a sonnet about dunes")
    told = flat.said()[-1]

    await flat.say("!goal cancel G1 yes")
    await flat.say("!goal write a sonnet about dunes")

    assert told.startswith("This room has one goal at a time, and G1 is live.")
    assert [goal.number for goal in await flat.goals()] == [1, 2]


async def test_a_goal_in_the_main_timeline_is_still_heard_when_threads_come_back(flat: Net) -> None:
    await flat.say("!goal write a haiku about tides")
    await flat.say("!goal room threads on")

    await flat.say(f"@{NAME} use the word moon")
    other = await flat.say("!goal write a sonnet about dunes")

    first, second = await flat.goals()
    assert first.messages == 1
    assert (await flat.store.doors.home(second.session)).thread == other


# A second goal in a thread.


async def test_a_second_goal_of_a_thread_begins_one_of_its_own_that_links_back(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")

    asked = await net.say("!goal write a sonnet about dunes", place=room(thread))

    root, post = [(id, post) for id, post in net.chat.posts.items() if post.shape.origin][-1]
    assert post.shape.body == "🎯 G2 for @ann: write a sonnet about dunes"
    assert (post.shape.origin, post.place, post.silent) == (asked, room(), True)
    second = (await net.goals())[1]
    assert (await net.store.doors.home(second.session)).thread == root

    await net.say("use the word camel", place=room(root))

    assert [goal.messages for goal in await net.goals()] == [0, 1]


async def test_an_aim_in_the_thread_of_a_goal_begins_a_thread_and_takes_it_back(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    aim = await net.react("🎯", "$far", text="write a sonnet", place=room(thread))
    assert [post.shape.origin for post in net.chat.posts.values() if post.shape.origin] == ["$far"]

    await net.remove(aim)

    assert [post.shape.origin for post in net.chat.posts.values() if post.shape.origin] == []
    assert [goal.state for goal in await net.goals()] == [State.READY, State.CANCELLED]


async def test_where_a_goal_has_ended_the_next_one_goes_on_in_its_thread(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    await net.say("cancel yes", place=room(thread))

    await net.say("!goal write a sonnet about dunes", place=room(thread))

    first, second = await net.goals()
    assert first.session == second.session


# How loud.


async def test_answers_call_nobody_and_what_needs_people_does(net: Net) -> None:
    thread = await net.say("!goal write a haiku about tides")
    await net.say("status", place=room(thread))
    await net.say("pause", place=room(thread))
    await net.say("hello", EVE)
    await net.say(f"@{NAME} hello", EVE)
    await net.say("!goal access", EVE)

    loud = {post.shape.body for post in net.chat.posts.values() if not post.silent}
    assert len(loud) == 2
    assert any("asks for access" in text for text in loud)
    assert any(text.startswith("I take goals from people on my list.") for text in loud)


# Two bots.


async def test_two_bots_that_take_each_others_words_end_by_themselves() -> None:
    here, there = Net(), Net()
    one, two = Speaker("@one:example.org", "one"), Speaker("@two:example.org", "two")
    for net, other in ((here, two), (there, one)):
        net.members.direct.add("!room")
        await net.allow(other, "approver")
    heard = {here: 0, there: 0}

    async def carry(of: Net, speaker: Speaker, to: Net) -> int:
        posts = list(of.chat.posts.values())[heard[of] :]
        heard[of] += len(posts)
        for post in posts:
            id = f"{speaker.id}{post.key}"
            said = Incoming(id, room(), speaker, post.shape.body, to.clock.now())
            await to.take(said)
        return len(posts)

    await here.say("hello", two)
    for _ in range(40):
        if not await carry(here, one, there) + await carry(there, two, here):
            break
    else:
        pytest.fail("They talk and talk.")

    assert len(here.chat.posts) + len(there.chat.posts) <= 12
    assert await here.goals() + await there.goals() == []


async def test_who_is_not_understood_is_told_five_times_and_again_after_a_rest(net: Net) -> None:
    for _ in range(9):
        await net.say("!goal fix it")
    told = net.said()
    net.clock.move(61)
    await net.say("!goal fix it")

    assert (len(told), len(net.said())) == (5, 6)
    assert ["For a minute I answer what I can do" in one for one in told] == [False] * 4 + [True]
    assert "For a minute" not in net.said()[-1]


@pytest.mark.parametrize("speaker", [ANN, BEN, EVE])
async def test_the_bots_own_words_are_never_taken(net: Net, speaker: Speaker) -> None:
    await net.allow(Speaker(BOT, "headway"), "admin")

    await net.say("!goal write a haiku about tides", Speaker(BOT, speaker.name))

    assert await net.goals() == []
