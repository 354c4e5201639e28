"""Presses and forms: they do what words do, about the message under which they stand."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.goals.events import (
    Audited,
    DecisionAsked,
    DecisionExpired,
    ObjectiveEdited,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import DecisionKind, Goal, State
from bot.ports.chat import Incoming, Place, RoomLost
from bot.ports.journal import Content, Unit, content_hash
from bot.ports.mail import Posted
from bot.ports.question import written
from tests.bot.chat.slack_net import ANN, BEN, EVE, TEAM, SlackNet, channel
from tests.bot.chat.turns import began


@pytest.fixture
async def net(slack: SlackNet) -> SlackNet:
    await slack.allow(ANN)
    await slack.allow(BEN, "approver")
    await slack.allow(BEN)
    return slack


async def asked(net: SlackNet, kind: DecisionKind, *options: str) -> Goal:
    """A goal that waits for a person, with its card shown."""
    await net.command("/goal write a haiku about tides")
    return await again(net, kind, *options, id="d")


async def again(net: SlackNet, kind: DecisionKind, *options: str, id: str) -> Goal:
    """The newest goal asks."""
    goal = (await net.goals())[-1]
    text = written("Which one?", options) if options else "May I?"
    ends = () if kind == "approval" else (TurnEnded("done"),)
    return await net.happens(
        goal, *began(goal), DecisionAsked(id, kind, content_hash(text), "toolu_1"), *ends,
        contents=[text],
    )  # fmt: skip


async def complete(net: SlackNet, goal: Goal, reply: str = "It is written.") -> Goal:
    """One turn, audited as complete."""
    return await net.happens(
        goal,
        *began(goal),
        TurnEnded("done", content_hash(reply)),
        Audited(goal.revision, goal.turn + 1, goal.messages, "complete"),
        contents=[reply],
    )


# Goals.


async def test_a_press_acts_on_the_goal_of_its_message(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())

    await net.press("pause", net.post("status"), BEN)

    assert (await net.goals())[0].state is State.PAUSED
    thread = await net.allow_list.home(goal.session)
    assert net.said_at(thread)[-1] == "G1 is paused. `resume` goes on."


async def test_a_press_acts_on_its_own_goal_where_another_lives_in_the_thread_by_now(
    net: SlackNet,
) -> None:
    await net.command("/goal write a haiku about tides")
    [first] = await net.goals()
    await complete(net, first)
    old = net.headed("Complete")
    thread = await net.allow_list.home(first.session)
    await net.say("!goal write a sonnet about dunes", place=thread)

    await net.press("pause", old)
    await net.fill("reopen", "it has no moon in it", old, place=thread)

    assert net.whispered()[0].startswith("G1 has ended and does not change any more.")
    assert [goal.state for goal in await net.goals()] == [State.COMPLETE, State.READY]
    assert net.whispered()[-1].startswith("This thread has a live goal, G2.")


async def test_a_press_waits_until_the_message_under_which_it_stands_is_noted(
    net: SlackNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())
    status, posted, noted_at = net.post("status"), net.desk.rooms.posted, net.clock.now() + 3

    async def late(place: Place, remote: str) -> Posted | None:
        return await posted(place, remote) if net.clock.now() >= noted_at else None

    monkeypatch.setattr(net.desk.rooms, "posted", late)
    await net.press("pause", status, BEN)

    assert (await net.goals())[0].state is State.PAUSED
    assert net.whispered(BEN) == []


async def test_a_press_under_a_message_that_nobody_knows_is_told_of_after_a_while(
    net: SlackNet,
) -> None:
    began = net.clock.now()
    await net.press("yes", "C01GEN:1700000000.999999", place=channel())

    assert "gone" in net.whispered()[-1]
    assert net.clock.now() - began >= 5


async def test_a_press_in_a_home_acts_in_the_goals_thread(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()

    await net.press("stop", place=await net.allow_list.home(goal.session))

    assert (await net.goals())[0].state is State.PAUSED


async def test_where_a_mention_is_always_needed_a_press_is_one(net: SlackNet) -> None:
    await net.allow(ANN, "admin")
    await net.command("/goal room mention always")
    await net.say("talk", place=channel("C01GEN:1.0"))
    await net.say("@headway write a haiku about tides", place=channel("C01GEN:1.0"))
    await net.happens((await net.goals())[0], TurnStarted())

    await net.press("pause", net.post("status"))

    assert (await net.goals())[0].state is State.PAUSED


async def test_who_may_not_press_is_told_and_only_they(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())
    posts = len(net.chat.posts)

    await net.press("cancel", net.post("status"), BEN)

    assert net.whispered(BEN) == ["You may not do that to G1: it takes its owner or an admin."]
    assert len(net.chat.posts) == posts + 1


async def test_a_stranger_who_presses_is_told_once_and_changes_nothing(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")

    for verb in ("pause", "undo", "trace", "1", "", "nonsense"):
        await net.press(verb, net.root(), EVE)
    await net.fill("edit", "mine", net.root(), EVE)

    assert len(net.whispered(EVE)) == 1
    assert (await net.goals())[0].state is State.READY


@pytest.mark.parametrize("verb", ["pause", "1", "approve", "budget +2 and resume", "undo", "", "x"])
async def test_a_press_under_a_message_that_is_gone_is_a_clear_sentence(
    net: SlackNet, verb: str
) -> None:
    await net.press(verb, "C01GEN:1.000001", place=channel())

    assert net.whispered() == [
        net.manner.texts("said.press_gone"),
    ]
    assert await net.store.inbox.waiting() == ()


async def test_what_says_itself_what_it_is_about_needs_no_message(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")

    await net.press("pause G1", "C01GEN:1.000001", place=channel())

    assert (await net.goals())[0].state is State.PAUSED


async def test_a_press_on_a_goal_that_ended_is_a_clear_sentence(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())
    status = net.post("status")
    await net.command("/goal cancel G1 yes")

    await net.press("pause", status)

    [told] = net.whispered()
    assert told.startswith("G1 ")


async def test_cancel_asks_and_its_button_means_it(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await net.happens(goal, TurnStarted())

    await net.press("cancel", net.post("status"))
    assert net.buttons(net.whisper()) == ["cancel G1 yes"]
    await net.press("cancel G1 yes", net.whisper())

    assert (await net.goals())[0].state is State.CANCELLED


async def test_an_offer_is_accepted_by_whom_it_is_for_and_nobody_else(net: SlackNet) -> None:
    await net.allow(EVE)
    await net.command("/goal write a haiku about tides")
    await net.say(f"owner <@{BEN.id}|ben>", place=channel(net.root()))
    card = next(id for id in net.chat.posts if "accept" in net.buttons(id))

    await net.press("accept", card, EVE)
    await net.press("accept", card, BEN)

    assert net.whispered(EVE) == ["G1 is not offered to you. Its owner can: `owner @name`."]
    assert (await net.goals())[0].owner == await net.store.rooms.person("slack", BEN)


# Cards.


@pytest.mark.parametrize(("press", "came"), [("2", "→ neap"), ("spring", "→ spring")])
async def test_a_press_under_a_card_answers_it(net: SlackNet, press: str, came: str) -> None:
    await asked(net, "question", "spring", "neap")

    await net.press(press, net.post("decision"))

    assert net.chat.posts[net.post("card")].shape.now == came
    assert (await net.goals())[0].state is State.READY


@pytest.mark.parametrize(("press", "came"), [("1", "→ Approved, this once."), ("2", "→ Denied.")])
async def test_an_approval_is_given_or_denied_by_its_buttons(
    net: SlackNet, press: str, came: str
) -> None:
    await asked(net, "approval")

    await net.press(press, net.post("decision"), BEN)

    assert net.chat.posts[net.post("card")].shape.now == came


@pytest.mark.parametrize(("press", "came"), [("1", "→ 2"), ("2", "→ 3"), ("3", "→ 1")])
async def test_the_number_of_a_button_is_its_place_and_no_options_words(
    net: SlackNet, press: str, came: str
) -> None:
    await asked(net, "question", "2", "3", "1")

    await net.press(press, net.post("decision"))

    assert net.chat.posts[net.post("card")].shape.now == came


async def test_a_command_that_names_its_goal_is_one_under_a_card_too(net: SlackNet) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")

    await net.press("pause G1", card)
    await net.press("stop", card)

    assert (await net.goals())[0].state is State.PAUSED
    assert net.whispered() == ["Too late: that decision is no longer open."]


async def test_who_may_not_approve_may_not_press_it(net: SlackNet) -> None:
    await asked(net, "approval")

    await net.press("1", net.post("decision"), ANN)

    assert (await net.goals())[0].state is State.DECIDING
    assert net.whispered() == ["You may not approve calls of G1: it takes an approver or an admin."]


async def test_of_two_who_decide_at_once_one_counts_and_the_other_is_told_by_whom(
    net: SlackNet,
) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")
    place = net.chat.posts[card].place
    first = Incoming("button:1", place, BEN, "1", 1.0, card, via="button")
    second = Incoming("button:2", place, ANN, "2", 1.0, card, via="button")

    await net.take(first, second)

    assert net.chat.posts[net.post("card")].shape.now == "→ spring"
    assert net.whispered() == ["Too late: @ben answered decision 1 of G1 before you: spring"]


async def test_who_presses_twice_is_told_nothing(net: SlackNet) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")

    await net.press("2", card)
    await net.press("2", card)
    assert net.whispered() == []
    await net.press("1", card)

    assert net.whispered() == ["Too late: @Ann Lee answered decision 1 of G1 before you: neap"]


async def test_a_press_under_an_old_card_answers_no_other_one(net: SlackNet) -> None:
    await asked(net, "question", "spring", "neap")
    old = net.post("decision")
    await net.press("1", old, BEN)
    await again(net, "question", "full", "new", id="d2")

    await net.press("2", old)
    await net.fill("answer", "half", old, place=net.chat.posts[old].place)

    goal = (await net.goals())[0]
    assert goal.state is State.DECIDING
    assert len(net.whispered()) == 2
    assert all(text.startswith("Too late: @ben answered decision 1") for text in net.whispered())


async def test_a_decision_that_expired_is_too_late(net: SlackNet) -> None:
    goal = await asked(net, "question", "spring", "neap")
    card = net.post("decision")
    await net.happens(goal, DecisionExpired("d"))

    await net.press("1", card)

    assert net.whispered() == ["Too late: that decision is no longer open."]


async def test_an_answer_is_given_in_words(net: SlackNet) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")

    await net.fill(
        "answer", "the one after new moon", card, place=net.chat.posts[card].place, goal="G1",
        decision="1",
    )  # fmt: skip

    assert net.chat.posts[net.post("card")].shape.now == "→ the one after new moon"


@pytest.mark.parametrize("words", ["sure, go on", "approve"])
async def test_what_is_filled_in_is_never_a_yes_to_a_call(net: SlackNet, words: str) -> None:
    await asked(net, "approval")
    card = net.post("decision")

    await net.fill("answer", words, card, BEN, net.chat.posts[card].place)

    assert (await net.goals())[0].state is State.WORKING
    assert net.chat.posts[net.post("card")].shape.now == f"→ Denied: {words}"


async def test_an_answer_while_it_rests_is_kept_and_told_of(net: SlackNet) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")
    await net.press("pause", card, place=net.chat.posts[card].place)
    await net.press("pause", net.post("status"))

    await net.press("1", card, BEN)
    await net.press("2", card)

    assert net.whispered()[-1].startswith("Too late: @ben answered decision 1 of G1 before you")


# Forms.


async def test_a_form_starts_a_goal_with_a_budget_of_its_own(net: SlackNet) -> None:
    await net.fill("start", "  status of the tides, as a haiku ", budget="$3.50")

    [goal] = await net.goals()
    assert await net.objective(goal) == "status of the tides, as a haiku"
    assert goal.budget.nano_usd == 3_500_000_000
    assert net.said_at(channel()) == [
        "🎯 G1 for @Ann Lee: status of the tides, as a haiku\n[Edit] [Undo]"
    ]


@pytest.mark.parametrize(
    ("words", "budget", "told"),
    [
        ("write a haiku", "lots", "That is no amount."),
        ("write a haiku", "-3", "A budget cannot be negative."),
        ("write a haiku", "0", "A budget is at least $0.01."),
        ("write a haiku", "99999999999999", "That is more than a budget can be."),
        ("fix it", "", "Nobody could tell when `fix it` is done."),
        ("", "", "An objective needs words."),
        ("a\0b", "", "The message holds a NUL character"),
        ("x" * 70_000, "", "That is "),
    ],
)
async def test_a_start_that_cannot_be_is_answered_to_whoever_asked(
    net: SlackNet, words: str, budget: str, told: str
) -> None:
    await net.fill("start", words, budget=budget)

    assert await net.goals() == []
    [text] = net.whispered()
    assert text.startswith(told)


async def test_a_message_is_made_a_goal_in_other_words_under_it(net: SlackNet) -> None:
    message = await net.say("the tests in billing fail since monday", EVE)

    await net.fill("aim", "make the tests in billing/ pass", message, budget="500k tokens")

    [goal] = await net.goals()
    assert await net.objective(goal) == "make the tests in billing/ pass"
    assert (goal.budget.tokens, goal.owner) == (500_000, await net.store.rooms.person("slack", ANN))
    assert (await net.allow_list.home(goal.session)) == channel(message)


async def test_a_long_message_is_made_a_goal_whole(net: SlackNet) -> None:
    message = await net.say("the tests fail. " * 300, EVE)

    await net.fill("aim", "", message)

    [goal] = await net.goals()
    assert await net.objective(goal) == ("the tests fail. " * 300).strip()


async def test_a_message_that_has_its_goal_is_not_given_another(net: SlackNet) -> None:
    message = await net.say("@headway write a haiku about tides")

    await net.fill("aim", "write a sonnet", message)

    assert len(await net.goals()) == 1
    assert net.whispered() == ["That message has its goal already: G1."]


async def test_a_message_in_the_thread_of_a_goal_gets_a_thread_of_its_own(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    thread = channel(net.root())
    message = await net.say("and one about dunes", place=thread)

    await net.fill("aim", "write a haiku about dunes", message, place=thread)

    second = (await net.goals())[1]
    assert net.chat.posts[net.root()].shape.origin == message
    assert (await net.allow_list.home(second.session)) == channel(net.root())


async def test_an_answer_of_the_bots_is_made_a_goal(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await complete(net, goal, "The pier needs new planks.")
    result = net.headed("Complete")

    await net.fill("aim", "", result, place=net.chat.posts[result].place)

    assert await net.objective((await net.goals())[1]) == "The pier needs new planks."


async def test_an_objective_is_edited_by_a_form(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    root = net.root()
    thread = channel(root)

    await net.fill("edit", "pause for thought", root, place=thread, goal="G1")
    await net.fill("edit", "mine now", root, BEN, thread, goal="G1")

    assert await net.objective((await net.goals())[0]) == "pause for thought"
    assert net.whispered(BEN) == ["You may not do that to G1: it takes its owner or an admin."]
    assert net.said_at(thread)[-1].startswith("The objective of G1 is now:")


async def test_the_root_tells_the_objective_as_it_is_now(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    root = net.root()
    thread = channel(root)

    await net.fill("edit", "write a sonnet about dunes", root, place=thread, goal="G1")
    await net.say("edit write an ode about dunes", place=thread)

    shape = net.chat.posts[root].shape
    assert shape.body == "🎯 G1 for @Ann Lee: write an ode about dunes"
    assert [button.verb for button in shape.buttons] == ["edit", "undo"]
    assert net.chat.posts[root].silent
    assert len(net.said_at(channel())) == 1

    await net.press("pause", root)

    assert (await net.goals())[0].state is State.PAUSED


async def test_the_root_of_a_second_goal_links_back_after_an_edit(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    asked_in = await net.say("!goal write a sonnet", place=channel(net.root()))
    second = net.root()

    await net.say("edit write two sonnets", place=channel(second))

    shape = net.chat.posts[second].shape
    assert (shape.body, shape.origin) == ("🎯 G2 for @Ann Lee: write two sonnets", asked_in)


async def test_a_root_whose_goal_was_taken_back_is_not_edited(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    root = net.root()
    [goal] = await net.goals()
    new = Content("write an ode")

    edited = Unit(goal.id, (ObjectiveEdited(goal.owner, new.hash),), (new,))
    await net.store.journal.commit(edited)
    await net.press("undo", root)

    assert net.chat.posts == {}


async def test_a_budget_is_set_by_a_form_and_what_rests_goes_on(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    thread = channel(net.root())
    await net.fill("budget", "", net.root(), place=thread, budget="5 USD")
    assert net.said_at(thread)[-1].startswith("G1 has $5.00")
    await net.say("pause", place=thread)

    await net.fill("budget", "", net.root(), place=thread, budget="+2")
    await net.fill("budget", "", net.root(), place=thread, budget="")

    [goal] = await net.goals()
    assert (goal.state, goal.budget.nano_usd) == (State.READY, 7_000_000_000)
    assert net.whispered()[-1].startswith("That is no amount.")


async def test_a_goal_that_was_taken_for_done_goes_on(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    [goal] = await net.goals()
    await complete(net, goal)
    result = net.headed("Complete")

    await net.fill("reopen", "the moon is missing", result, place=net.chat.posts[result].place)

    second = (await net.goals())[1]
    assert (await net.objective(second)).endswith("the moon is missing")
    assert second.session == goal.session


@pytest.mark.parametrize(
    ("act", "words"), [("edit", "write an ode"), ("budget", ""), ("answer", "spring")]
)
async def test_a_form_that_is_submitted_after_its_goal_ended_gets_its_sentence(
    net: SlackNet, act: str, words: str
) -> None:
    await asked(net, "question", "spring", "neap")
    card = net.post("decision")
    await net.command("/goal cancel G1 yes")

    await net.fill(act, words, card, place=net.chat.posts[card].place, budget="5")

    [told] = net.whispered()
    assert told.startswith(("G1 was cancelled", "Too late:"))


@pytest.mark.parametrize("act", ["edit", "budget", "answer", "reopen", "plan", ""])
async def test_a_form_about_nothing_that_is_there_gets_its_sentence(
    net: SlackNet, act: str
) -> None:
    await net.fill(act, "words", "C01GEN:1.000001", goal="G99", budget="5", decision="7")

    [told] = net.whispered()
    assert told.startswith("What that form was about is gone, so nothing was done.")


async def test_a_room_is_set_by_a_form(net: SlackNet) -> None:
    await net.fill("room", budget_usd="5")
    await net.allow(ANN, "admin")
    await net.fill("room", budget_usd="5")

    assert net.whispered() == ["You may not change the room's settings: it takes an admin."]
    assert net.said_at(channel()) == ["This room's `budget_usd` is 5 now, set by Ann Lee."]


# Workspaces.


async def test_an_app_that_is_removed_lets_all_goals_of_the_workspace_rest_once(
    net: SlackNet,
) -> None:
    net.watch_operations()
    await net.command("/goal write a haiku about tides")
    await net.command("/goal write a sonnet", place=channel(name="C02DEV"))
    threads = [await net.allow_list.home(goal.session) for goal in await net.goals()]
    gone = RoomLost("gone1", net.workspace(), ANN, "uninstalled", 9.0)

    await net.take(gone)
    await net.take(gone, RoomLost("gone2", net.workspace(), ANN, "uninstalled", 9.0))

    assert {goal.state for goal in await net.goals()} == {State.PAUSED}
    told = net.said_at(channel(name="C09OPS"))
    assert len(told) == 1
    assert (
        "the app was removed from the workspace slack:T01TEST. Its goals are paused: G1, G2."
        in (told[0])
    )

    await net.say("status", place=threads[0])
    await net.say("resume", place=threads[0])

    assert "The bot was removed from the workspace. `resume` goes on." in (
        net.whispered()[-1].replace("  \n", "\n")
    )
    assert [goal.state for goal in await net.goals()] == [State.READY, State.PAUSED]
    assert await net.store.inbox.waiting() == ()
    assert ("room", f"slack:{TEAM}") not in net.intake.operations.open  # type: ignore[union-attr]


# Storms.


async def test_a_storm_of_presses_is_answered_once_and_loses_nothing(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    card = net.post("status") if len(net.chat.posts) > 1 else net.root()
    place = net.chat.posts[card].place

    await net.take(
        *(
            Incoming(f"button:{n}", place, BEN, "cancel", 1.0, card, via="button")
            for n in range(300)
        )
    )

    assert await net.store.inbox.waiting() == ()
    assert len(net.whispered(BEN)) == 1


VERBS = st.one_of(
    st.sampled_from(
        ["pause", "resume", "undo", "1", "2", "again x", "accept", "/goal", "/goal cancel G1", "new",
         "aim\nx", "edit", "budget", "cancel yes", "", "//", "trace", "\0", "@headway", "reopen y"]
    ),
    st.text(max_size=12),
)  # fmt: skip
ACTS = st.sampled_from(["start", "aim", "edit", "budget", "answer", "reopen", "room", "x"])


@given(
    done=st.lists(
        st.tuples(
            st.booleans(), VERBS, ACTS, st.integers(0, 3), st.sampled_from([ANN, BEN, EVE]),
            st.dictionaries(
                st.sampled_from(["goal", "decision", "budget", "zone"]), st.text(max_size=6),
                max_size=2,
            ),
        ),
        max_size=8,
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_whatever_is_pressed_or_filled_in_is_handled_and_nothing_fails(
    done: list[tuple[bool, str, str, int, object, dict[str, str]]],
) -> None:
    async def act() -> None:
        net = SlackNet()
        await net.allow(ANN, "admin")
        await net.allow(BEN, "approver")
        await asked(net, "question", "spring", "neap")
        there = [net.root(), net.post("decision"), "C01GEN:1.000001", ""]
        for is_press, words, form, under, who, fields in done:
            of = there[under]
            place = net.chat.posts[of].place if of in net.chat.posts else channel()
            if is_press:
                await net.press(words, of, who, place)  # type: ignore[arg-type]
            else:
                await net.fill(form, words, of, who, place, **fields)  # type: ignore[arg-type]
        assert await net.store.inbox.waiting() == ()
        assert {one.state for one in net.store.inbox.all()} <= {"handled"}

    asyncio.run(act())


async def test_a_word_that_comes_after_the_answer_asks_nothing_new_of_an_ended_goal(
    net: SlackNet,
) -> None:
    goal = await asked(net, "question", "spring", "neap")
    await net.press("1", net.headed("Decision 1"), BEN)
    await complete(net, (await net.goals())[-1])
    thread, goals = (await net.allow_list.home(goal.session)), len(net.woken)

    await net.say("neap", place=thread)
    await net.say("1", BEN, place=thread)

    assert net.whispered() == ["Too late: @ben answered decision 1 of G1 before you: spring"]
    assert net.whispered(BEN) == []
    assert len(net.woken) == goals


async def test_the_same_word_much_later_is_a_question_like_any_other(net: SlackNet) -> None:
    goal = await asked(net, "question", "spring", "neap")
    await net.press("1", net.headed("Decision 1"), BEN)
    await complete(net, (await net.goals())[-1])
    net.clock.move(90)
    asks = len(net.woken)

    await net.say("neap", place=await net.allow_list.home(goal.session))

    assert len(net.woken) == asks + 1


@pytest.mark.parametrize("act", ["start", "edit"])
async def test_what_no_text_holds_is_in_no_form_either(net: SlackNet, act: str) -> None:
    await net.command("/goal write a haiku about tides")

    await net.fill(act, "make\0tea", net.root(), place=net.chat.posts[net.root()].place)

    assert len(await net.goals()) == 1
    assert (await net.goals())[0].revision == 1
    assert "NUL" in net.whispered()[-1]


@pytest.mark.parametrize("said", ["ok", "Yes please.", "👍", "not yet"])
async def test_a_yes_that_is_none_is_told_which_word_is(net: SlackNet, said: str) -> None:
    await asked(net, "sign_off")
    thread = net.chat.posts[net.post("decision")].place

    await net.say(said, place=thread)

    goal = (await net.goals())[0]
    assert goal.decision is not None
    assert not goal.decision.answered
    assert goal.messages == 1
    assert net.said_at(thread)[-1] == "That takes its exact word: `accept 1` or `reject 1`."


async def test_who_has_left_the_room_acts_in_it_no_more(net: SlackNet) -> None:
    await net.command("/goal write a haiku about tides")
    net.members.outside.add((ANN.id, "C01GEN"))

    await net.press("stop", net.root())

    assert (await net.goals())[0].state is State.READY
    assert len(net.whispered()) == 1


async def test_an_options_number_is_no_choice_from_an_older_list(net: SlackNet) -> None:
    thread = channel("C01GEN:1700000000.000900")
    for what in ("tides", "dunes"):
        await net.command(f"/goal write a haiku about {what}")
    await net.say("!goal pause", place=thread)
    await net.say("!goal write a haiku about rain", place=thread)
    goal = next(one for one in await net.goals() if one.number == 3)
    text = written("Which one?", ("spring", "neap"))
    await net.happens(
        goal, *began(goal), DecisionAsked("d", "question", content_hash(text), "toolu_1"),
        TurnEnded("done"), contents=[text],
    )  # fmt: skip

    await net.press("1", net.post("decision"))

    states = {one.number: one.state for one in await net.goals()}
    assert State.PAUSED not in states.values()
    assert states[3] is not State.DECIDING
