"""Commands that show nowhere: what they start has a thread of its own; what they ask is whispered."""

import contextlib
from typing import Any

import pytest

from bot.chat.checks import Checks
from bot.chat.pressed import about
from bot.chat.windows import PersonalWindows
from bot.errors import Refused, Wait
from bot.goals.events import TurnEnded, TurnStarted
from bot.goals.goal import State
from bot.ports.chat import Incoming
from tests.bot.chat.slack_net import ANN, BEN, EVE, SlackNet, channel
from tests.bot.chat.turns import began


@pytest.fixture
async def net(slack: SlackNet) -> SlackNet:
    await slack.allow(ANN)
    await slack.allow(BEN)
    return slack


async def test_a_command_starts_a_goal_in_a_thread_that_begins_with_a_message_of_ours(
    net: SlackNet,
) -> None:
    await net.command("/goal write a haiku about tides")

    [goal] = await net.goals()
    root = net.root()
    post = net.chat.posts[root]
    assert post.shape.body == "🎯 G1 for @Ann Lee: write a haiku about tides"
    assert (post.place, post.shape.origin, post.silent) == (channel(), "", True)
    assert (await net.allow_list.home(goal.session)) == channel(root)
    assert net.buttons(root) == ["edit", "undo"]


async def test_the_root_of_a_goal_that_has_ended_has_no_buttons(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    root = net.root()

    await net.press("cancel G1 yes", root)

    assert net.buttons(root) == []
    assert net.chat.posts[root].shape.body == "🎯 G1 for @Ann Lee: write a haiku about tides"


async def test_what_is_said_under_the_root_is_for_the_goal(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")

    await net.say("use the word moon", place=channel(net.root()))

    assert (await net.goals())[0].messages == 1


async def test_two_commands_start_two_goals_and_one_given_twice_starts_one(net: SlackNet) -> None:
    twice = Incoming(
        "command:1",
        channel(),
        ANN,
        "/goal write a sonnet",
        1.0,
        via="command",
        way_back="https://r",
    )

    await net.take(twice)
    await net.take(twice)
    await net.command("/goal write a haiku")

    assert len(await net.goals()) == 2
    homes = {(await net.allow_list.home(goal.session)).thread for goal in await net.goals()}
    assert len(homes) == 2


async def test_a_command_asks_in_a_thread_of_its_own(net: SlackNet) -> None:
    await net.command("/goal ask where is the build log?")

    assert net.said_at(channel()) == ["💬 @Ann Lee asks: where is the build log?"]
    [(asked, _)] = net.woken
    goal = await net.store.journal.goal(asked)
    assert goal.kind == "ask"
    assert (await net.allow_list.home(goal.session)) == channel(net.root())
    assert net.buttons(net.root()) == []


@pytest.mark.parametrize("text", ["list", "help", "help budget", "", "statsu", "fix it", "pause"])
async def test_what_only_looks_and_what_is_wrong_is_shown_to_the_asker_alone(
    net: SlackNet, text: str
) -> None:
    id = await net.command(f"/goal {text}".strip())

    [post] = net.chat.posts.values()
    assert post.only_for == ANN.id
    assert post.answers == id
    assert post.created_at > 0
    assert post.silent


async def test_what_changes_something_is_told_to_all(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    thread = channel(net.root())

    await net.say("pause", place=thread)
    await net.say("status", place=thread)

    assert net.said_at(thread)[-1] == "G1 is paused. `resume` goes on."
    assert len(net.whispered()) == 1


async def test_nothing_that_is_no_message_is_marked(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    await net.press("pause", net.root())

    await net.acks.settle()
    assert net.signs.under == {}

    said = await net.say("!goal write a sonnet about dunes")
    await net.acks.settle()

    assert net.signs.under == {said: ["👀"]}


async def test_a_greeting_and_an_empty_mention_get_one_line_that_only_the_asker_sees(
    net: SlackNet,
) -> None:
    await net.say("@headway hello")
    await net.say("@headway")
    await net.say("hello")

    first, second = net.whispered()
    assert first == second
    assert first.startswith("Hello. To start a goal: `/goal <objective>`")
    assert net.said_at(channel()) == []


async def test_a_stranger_is_told_once_and_nobody_else(net: SlackNet) -> None:
    await net.command("/goal write a haiku", EVE)
    await net.command("/goal list", EVE)

    assert net.whispered(EVE) == ["I take goals from people on my list.\n[Ask for access]"]
    assert len(net.chat.posts) == 1
    assert await net.goals() == []

    await net.press("/goal access", net.whisper(EVE), EVE)

    assert net.whispered(EVE)[-1] == "Asked. Whoever looks after this room decides."
    [card] = net.said_at(channel())
    assert "eve asks for access" in card


# The bot is not in the channel.


async def test_where_the_bot_may_not_enter_nothing_starts_and_the_asker_is_told_how(
    net: SlackNet,
) -> None:
    net.members.closed.add("C01GEN")

    id = await net.command("/goal write a haiku about tides")

    assert await net.goals() == []
    [told] = net.whispered()
    assert told.startswith(
        "I am not in this channel, so nothing was started. Say `/invite @headway`"
    )
    assert net.buttons(net.whisper()) == [f"again {id}"]
    assert net.chat.posts[net.whisper()].answers == id


async def test_try_again_starts_what_was_kept_once(net: SlackNet) -> None:
    net.members.closed.add("C01GEN")
    id = await net.command("/goal write a haiku about tides")
    whisper = net.whisper()
    await net.press(f"again {id}", whisper)
    assert await net.goals() == []
    net.members.closed.clear()

    # As after a restart: nothing of it is in memory.
    net.begin_anew()
    await net.press(f"again {id}", whisper)
    await net.press(f"again {id}", whisper)

    [goal] = await net.goals()
    assert await net.objective(goal) == "write a haiku about tides"
    assert net.whispered()[-1] == "G1 came of that already."
    assert (await net.allow_list.home(goal.session)) == channel(net.root())


async def test_nobody_tries_again_what_another_has_asked_for(net: SlackNet) -> None:
    net.members.closed.add("C01GEN")
    id = await net.command("/goal write a haiku about tides")
    net.members.closed.clear()

    await net.press(f"again {id}", net.whisper(), BEN)
    await net.press("again command:far", net.whisper(), BEN)

    assert await net.goals() == []
    assert all("no longer kept" in text for text in net.whispered(BEN))


async def test_a_form_is_kept_as_a_command_is(net: SlackNet) -> None:
    net.members.closed.add("C01GEN")
    id = await net.fill("start", "write a haiku about tides", budget="$5")
    net.members.closed.clear()

    await net.press(f"again {id}", net.whisper())

    [goal] = await net.goals()
    assert goal.budget.nano_usd == 5_000_000_000


@pytest.mark.parametrize("act", ["start", "aim"])
async def test_a_form_says_that_the_bot_is_not_there_before_it_is_taken(
    net: SlackNet, act: str
) -> None:
    message = await net.say("the tests fail")
    form = Incoming(
        "form:1", channel(), ANN, "make the tests pass", 1.0, message, via="form",
        form=(("act", act),),
    )  # fmt: skip
    checks = Checks(net.desk)
    net.members.closed.add("C01GEN")
    shut = await checks.wrong(await about(net.desk, form))
    net.members.closed.clear()

    assert [why.split(".")[0] for why in shut.values()] == ["I am not in that channel"]
    assert await checks.wrong(await about(net.desk, form)) == {}


async def test_who_may_start_nothing_makes_the_bot_enter_nowhere(net: SlackNet) -> None:
    net.members.closed.add("C01GEN")
    carla = EVE
    await net.allow(carla, "approver")

    await net.command("/goal write a haiku", carla)

    assert net.whispered(carla) == [
        "You may not start anything here. An admin can change that: `allow`."
    ]


# Several goals.


async def test_a_verb_that_fits_several_goals_offers_buttons(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    await net.command("/goal write a sonnet about dunes")

    await net.command("/goal pause")

    whisper = net.whisper()
    assert net.whispered()[-1].startswith("Which one? Say it with its number:")
    assert net.buttons(whisper) == ["pause G2", "pause G1"]

    await net.press("pause G1", whisper, place=channel())

    assert [goal.state for goal in await net.goals()] == [State.PAUSED, State.READY]


async def test_a_longer_command_offers_numbers(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    await net.command("/goal write a sonnet about dunes")

    await net.command("/goal edit write an ode")
    assert net.buttons(net.whisper()) == ["1", "2"]
    await net.press("2", net.whisper(), place=channel())

    first, second = await net.goals()
    assert await net.objective(first) == "write an ode"
    assert await net.objective(second) == "write a sonnet about dunes"


async def test_the_bare_command_shows_ones_goals(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")

    await net.command("/goal")

    assert "write a haiku about tides" in net.whispered()[-1]
    assert "For example:" in net.whispered()[-1]


# Taken back.


@pytest.mark.parametrize("by_message", [False, True])
async def test_undo_takes_a_start_back_with_all_that_was_posted(
    net: SlackNet, by_message: bool
) -> None:
    start = net.say if by_message else net.command
    await start("!goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())
    button = next(id for id in net.chat.posts if "undo" in net.buttons(id))

    await net.press("undo", button)

    [now] = await net.goals()
    assert (now.state, now.reason) == (State.CANCELLED, "undone")
    assert net.chat.posts == {}

    await net.press("undo", button, place=channel())

    assert net.whispered()[-1].startswith("That button is of a message that is gone")


async def test_undo_after_the_first_turn_is_too_late(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, *began(goal), TurnEnded("done"))

    await net.press("undo", net.root())

    assert net.whispered() == ["G1 has done a turn already: `cancel` ends it."]
    assert (await net.goals())[0].reason != "undone"


async def test_nobody_undoes_what_another_has_started(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")

    await net.press("undo", net.root(), BEN)

    assert net.whispered(BEN) == ["You may not do that to G1: it takes its owner or an admin."]
    assert (await net.goals())[0].state is State.READY


async def test_the_status_offers_undo_until_the_first_turn_has_ended(net: SlackNet) -> None:
    await net.say("@headway write a haiku about tides")
    [goal] = await net.goals()
    goal = await net.happens(goal, *began(goal))
    assert "undo" in net.buttons(net.post("status"))

    await net.happens(goal, TurnEnded("done"))

    assert "undo" not in net.buttons(net.post("status"))


# As it is typed.


async def test_the_command_is_shown_as_it_is_typed_there(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    await net.command("/goal fix it")
    await net.say("!goal fix it", place=channel(net.root()))

    in_channel, in_thread = net.whispered()
    assert "`/goal make the tests" in in_channel
    assert "`!goal make the tests" in in_thread


async def test_the_command_may_have_a_name_of_its_own(net: SlackNet) -> None:
    net.call_it("aim")

    await net.command("/aim write a haiku about tides")
    await net.say("!aim pause", place=channel(net.root()))
    await net.command("/aim")
    await net.command("/aim help")
    await net.command("/goal help list")

    assert (await net.goals())[0].state is State.PAUSED
    *_, overview, whole, one = net.whispered()
    assert "- `/aim write a haiku about tides into tides.txt`" in overview
    assert "What I take: behind **/aim** in the room, behind **!aim** in its threads" in whole
    assert "`list [mine|room]`" in one


async def test_windows_and_homes_show_the_command_by_its_name(net: SlackNet) -> None:
    net.call_it("aim")
    windows = PersonalWindows(net.desk, net.store.records)
    press = Incoming("button:1", channel(), ANN, "edit", 1.0, "C01GEN:1.000001", via="button")

    home = await windows.home("T01TEST", ANN)

    assert "`/aim <objective>`" in home.parts[-1].note
    with pytest.raises(Refused) as refused:
        await windows.window(press)
    assert "`/goal" not in str(refused.value)


async def test_an_answer_to_somebody_who_was_forgotten_is_said_to_nobody(net: SlackNet) -> None:
    session = (await net.store.rooms.begin(channel())).session
    await net.store.outbox.say(session, "reply:x", "a secret of hers", only_for="nobody")

    await net.delivery.drain()

    assert net.chat.posts == {}
    assert await net.store.outbox.claim("slack", limit=9) == ()


async def test_what_one_person_cannot_be_shown_is_no_incident(net: SlackNet) -> None:
    net.watch_operations()
    net.chat.will_raise = [Refused("The bot is not in the channel.", code="not_in_channel")]

    await net.command("/goal list")

    assert net.chat.posts == {}


# Killed between two lines, and two of everything.


class Dies(Exception):
    """The process ends here."""


@pytest.mark.parametrize("at", ["enter", "begin_new", "open", "sent"])
async def test_a_start_that_is_cut_off_is_made_once(
    net: SlackNet, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = {
        "enter": net.members, "begin_new": net.store.rooms, "open": net.store.journal,
        "sent": net.store.outbox,
    }[at]  # fmt: skip
    real: Any = getattr(of, at)

    async def dies(*args: Any, **more: Any) -> None:
        await real(*args, **more)
        raise Dies

    said = Incoming("command:1", channel(), ANN, "/goal write a sonnet", 1.0, via="command")
    with monkeypatch.context() as cut:
        cut.setattr(of, at, dies)
        await net.intake.receive(said)
        [row] = await net.store.inbox.waiting()
        with contextlib.suppress(Dies):
            await net.intake._handle(row.message)
            await net.delivery.drain()
    net.begin_anew()
    net.clock.move(120)
    await net.take(said)

    assert len(await net.goals()) == 1
    assert [text.partition("\n")[0] for text in net.said_at(channel())] == [
        "🎯 G1 for @Ann Lee: write a sonnet"
    ]
    assert await net.store.inbox.waiting() == ()


async def test_a_network_that_is_busy_as_the_bot_enters_is_waited_for(net: SlackNet) -> None:
    net.members.will_raise = [Wait("Slack limits us.", retry_after_s=0.01)]

    await net.command("/goal write a sonnet")

    assert len(await net.goals()) == 1


async def test_a_channel_that_takes_nobody_in_is_named_as_it_is(net: SlackNet) -> None:
    net.members.will_raise = [Refused("The channel is archived.", code="is_archived")]

    await net.command("/goal write a sonnet")

    assert await net.goals() == []
    assert net.whispered() == ["The channel is archived."]


async def test_what_fails_three_times_is_told_to_whoever_asked_alone(
    net: SlackNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*args: Any, **more: Any) -> None:
        raise Dies

    monkeypatch.setattr(net.store.journal, "open", breaks)

    id = await net.command("/goal write a sonnet")

    [told] = net.whispered()
    assert told.startswith("That could not be handled. Say it again.")
    assert net.chat.posts[net.whisper()].answers == id


async def test_every_command_is_answered_however_many_were_not_understood(net: SlackNet) -> None:
    for number in range(12):
        await net.command(f"/goal pause G{number + 50}")

    assert len(net.whispered()) == 12


async def test_who_presses_twenty_times_in_a_second_is_told_once_and_again_later(
    net: SlackNet,
) -> None:
    await net.command("/goal write a haiku about tides")
    await net.allow(EVE)
    for _ in range(20):
        await net.press("undo", net.root(), EVE)
    told = len(net.whispered(EVE))

    net.clock.move(3)
    await net.press("undo", net.root(), EVE)

    assert (told, len(net.whispered(EVE))) == (1, 2)


@pytest.mark.parametrize("word", ["owner", "forget", "Claim"])
async def test_a_lone_word_that_is_half_a_command_starts_no_goal(net: SlackNet, word: str) -> None:
    await net.command(f"/goal {word}")

    assert await net.goals() == []
    assert "needs more behind it" in net.whispered()[-1]


@pytest.mark.parametrize(
    "text", ["/goal @headway", "/goal /goal list", "/goal !goal @headway list"]
)
async def test_who_calls_twice_calls_once(net: SlackNet, text: str) -> None:
    await net.command(text)

    assert await net.goals() == []
    assert "No live goals here" in net.whispered()[-1] or "no live goals" in net.whispered()[-1]
