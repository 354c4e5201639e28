"""Channels, threads and direct messages of Slack: who is addressed, what edits and signs do, floods."""

import pytest

from bot.goals.events import TurnStarted
from bot.goals.goal import State
from bot.ports.chat import Changed, Incoming, Reacted, Removed, Unreacted
from bot.ports.people import Subject
from tests.bot.chat.slack_net import ANN, BEN, EVE, SlackNet, channel

DIRECT = "D01ANN"


@pytest.fixture
async def net(slack: SlackNet) -> SlackNet:
    slack.members.direct.add(DIRECT)
    await slack.allow(ANN, "admin")
    return slack


def direct(thread: str = "") -> object:
    """Ann's conversation with the bot, or a thread in it."""
    return channel(thread, DIRECT)


# Channels.


async def test_a_mention_starts_a_goal_in_the_thread_under_it(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")

    [goal] = await net.goals()
    assert (await net.allow_list.home(goal.session)) == channel(said)
    assert net.said_at(channel()) == []


@pytest.mark.parametrize(
    ("text", "messages"),
    [("use the word moon", 1), ("// not for you", 0), ("!goal status", 0)],
)
async def test_in_a_goals_own_thread_words_are_for_it(
    net: SlackNet, text: str, messages: int
) -> None:
    said = await net.say("@headway write a haiku about tides")

    await net.say(text, place=channel(said))

    assert (await net.goals())[0].messages == messages


async def test_what_mentions_others_in_a_goals_thread_is_aside(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")

    await net.say("<@T01TEST:U02BEN|ben> what do you think?", place=channel(said), is_aside=True)

    assert (await net.goals())[0].messages == 0


async def test_why_as_the_first_reply_is_about_the_message_under_which_it_stands(
    net: SlackNet,
) -> None:
    said = await net.say("<@T01TEST:U02BEN|ben> write a haiku", is_aside=True)

    await net.say("@headway why", place=channel(said))

    assert net.whispered()[-1].startswith("It spoke to others and not to me.")


@pytest.mark.parametrize("word", ["stop", "pause", "PAUSE"])
async def test_lone_words_stop_it_even_where_others_talk(net: SlackNet, word: str) -> None:
    theirs = channel("C01GEN:1600000000.000001")
    await net.say("what do you make of it, ben?", place=theirs)
    await net.say("@headway write a haiku about tides", place=theirs)
    await net.say("I would not know", place=theirs)
    before = (await net.goals())[0]

    await net.say(word, place=theirs)

    assert before.messages == 0
    assert (await net.goals())[0].state is State.PAUSED


async def test_talk_in_a_channel_wakes_nothing(net: SlackNet) -> None:
    for text in ("hello", "thanks", "pause", "write a haiku", "/goal", "goal"):
        await net.say(text)

    assert await net.goals() == []
    assert net.said_at(channel()) == []


async def test_a_person_is_let_in_by_a_mention_or_a_button(net: SlackNet) -> None:
    await net.command("/goal allow <@T02ELSE:U03EVE|Eve Mar> approver here")

    assert await net.allow_list.roles(channel(), EVE) == {"approver"}
    assert net.said_at(channel()) == ["@Eve Mar is approver in this room now."]

    await net.command("/goal list", BEN)
    await net.press("/goal access", net.whisper(BEN), BEN)
    card = next(
        id for id in net.chat.posts if net.buttons(id)[:1] == ["/goal allow <@T01TEST:U02BEN>"]
    )
    await net.press("/goal allow <@T01TEST:U02BEN>", card)

    assert await net.allow_list.roles(channel(), BEN) == {"user"}


async def test_a_mere_name_lets_nobody_in(net: SlackNet) -> None:
    await net.command("/goal allow @ben")

    assert net.whispered() == [
        "@ben is only a name here. Pick the person from the list that Slack shows after `@`."
    ]


async def test_members_of_a_group_are_named_by_it(net: SlackNet) -> None:
    await net.command("/goal allow group:S1 approver")

    [entry] = [one for one in net.allow_list.register.entries if one.subject.kind == "group"]
    assert entry.subject.is_same(Subject("group", "slack", "S1"))


# Edits, removals, signs.


async def test_an_edit_of_the_objectives_message_counts_for_who_may_edit(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")

    await net.take(Changed(said, channel(), ANN, "@headway write a sonnet about tides", 9.0))

    assert await net.objective((await net.goals())[0]) == "write a sonnet about tides"
    assert "The objective of G1 is now:" in net.said_at(channel(said))[-1]


async def test_an_edit_by_who_may_not_is_shown_to_the_owner_before_all(net: SlackNet) -> None:
    await net.allow(BEN)
    said = await net.say("@headway write a haiku about tides", BEN)
    await net.say("owner me", place=channel(said))

    await net.take(Changed(said, channel(), BEN, "@headway write a sonnet", 9.0))

    assert await net.objective((await net.goals())[0]) == "write a haiku about tides"
    told = net.said_at(channel(said))[-1]
    assert "write a sonnet" in told
    assert net.whispered(BEN) == []


async def test_a_deleted_objective_pauses_its_goal(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")

    await net.take(Removed(said, channel(), ANN, 9.0))

    assert (await net.goals())[0].state is State.PAUSED
    assert "was deleted" in net.said_at(channel(said))[-1]


async def test_an_aim_makes_a_goal_and_taking_it_away_takes_it_back(net: SlackNet) -> None:
    said = await net.say("the tests in billing fail since monday", EVE)
    await net.take(Reacted("r1", channel(), ANN, "🎯", said, 9.0, "the tests in billing fail"))
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())

    await net.take(Unreacted(channel(), ANN, "🎯", said, 10.0))

    assert (await net.goals())[0].reason == "undone"
    assert net.chat.posts == {}


async def test_an_aim_after_an_undo_makes_another_goal(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")
    await net.happens((await net.goals())[0], TurnStarted())
    await net.press("undo", net.post("status"))

    await net.take(Reacted("r1", channel(), ANN, "🎯", said, 9.0, "write a haiku about tides"))

    assert [goal.state for goal in await net.goals()] == [State.CANCELLED, State.READY]


# Direct messages.


async def test_each_direct_message_is_an_objective_of_its_own(net: SlackNet) -> None:
    one = await net.say("write a haiku about tides", place=channel(name=DIRECT))
    two = await net.say("write a sonnet about dunes", place=channel(name=DIRECT))

    homes = [(await net.allow_list.home(goal.session)) for goal in await net.goals()]
    assert homes == [direct(one), direct(two)]


async def test_in_private_a_message_is_answered_under_it(net: SlackNet) -> None:
    said = await net.say("help", place=channel(name=DIRECT))

    [post] = net.chat.posts.values()
    assert post.place == direct(said)


async def test_what_is_said_under_an_answer_in_private_is_said_as_if_beside_it(
    net: SlackNet,
) -> None:
    said = await net.say("hello", place=channel(name=DIRECT))

    await net.say("write a haiku about tides", place=channel(said, DIRECT))

    [goal] = await net.goals()
    assert goal.kind == "goal"
    assert (await net.allow_list.home(goal.session)) == direct(said)


async def test_a_talk_in_private_goes_on_as_one(net: SlackNet) -> None:
    said = await net.say("ask where is the build log?", place=channel(name=DIRECT))
    [(asked, _)] = net.woken
    await net.happens(await net.store.journal.goal(asked), TurnStarted())

    await net.say("status", place=channel(said, DIRECT))
    await net.say("and the one before?", place=channel(said, DIRECT))

    assert await net.goals() == []


async def test_a_command_in_private_starts_a_goal_in_a_thread(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides", place=channel(name=DIRECT))

    [goal] = await net.goals()
    assert (await net.allow_list.home(goal.session)) == direct(net.root())


async def test_a_code_is_claimed_in_private_alone(net: SlackNet) -> None:
    await net.say("claim 7F3K-Q2WZ-M9HD", EVE, channel(name=DIRECT))
    await net.command("/goal claim 7F3K-Q2WZ-M9HD", EVE)

    in_private, in_public = net.chat.posts.values()
    assert "There is no code to claim with" in in_private.shape.body
    assert "Codes are taken in a direct message only" in in_public.shape.body
    assert in_public.only_for == EVE.id


# Floods.


async def test_two_thousand_messages_are_handled_and_answered_with_patience(net: SlackNet) -> None:
    await net.allow(BEN)
    said = await net.say("@headway write a haiku about tides")
    flood = [
        Incoming(
            f"C01GEN:1800000001.{n:06}",
            channel(said) if n % 4 == 0 else channel(),
            (ANN, BEN, EVE)[n % 3],
            ("use the word moon", "@headway hello", "!goal fix it", "lunch?")[n % 4],
            float(n) / 100,
        )
        for n in range(2_000)
    ]

    for at in range(0, 2_000, 200):
        await net.take(*flood[at : at + 200], *flood[at : at + 20])

    [goal] = await net.goals()
    assert await net.store.inbox.waiting() == ()
    assert goal.messages > 300
    assert len(net.whispered()) == 5
    assert len(net.whispered(BEN)) == 5
    assert len(net.whispered(EVE)) == 1


async def test_a_storm_of_signs_and_edits_changes_what_it_must_once(net: SlackNet) -> None:
    said = await net.say("@headway write a haiku about tides")
    target = await net.say("the tests in billing fail", EVE)

    await net.take(
        *(
            Reacted(f"r{n}", channel(), ANN, "🎯", target, float(n), "the tests fail")
            for n in range(200)
        ),
        *(
            Changed(said, channel(), ANN, f"@headway write {n % 3 + 1} haikus", 300.0 + n)
            for n in range(50)
        ),
    )

    first, second = await net.goals()
    assert (first.revision, second.number) == (51, 2)
    assert await net.store.inbox.waiting() == ()


async def test_why_says_that_a_press_was_taken(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    await net.press("pause", net.root(), place=channel())

    await net.command("/goal why")

    assert net.whispered() == ["It was taken."]
