"""Every verb, typed at the console."""

import pytest

from bot.chat.texts import Texts
from bot.chat.verbs import VERBS, example, help_line, served
from bot.goals.events import (
    DecisionAsked,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import State
from bot.goals.instructions import StopTurn
from bot.goals.money import NANO
from bot.ports.journal import Task, content_hash
from tests.bot.chat.conftest import Bench
from tests.bot.chat.turns import began, complete, over_budget


async def test_an_objective_opens_a_goal_in_a_thread_of_its_own(bench: Bench) -> None:
    _thread, goal = await bench.start("write a haiku about tides")

    assert goal.state is State.READY
    assert goal.number == 1
    assert bench.woken[0][0] == goal.id
    texts = await bench.store.journal.contents(goal.session, [goal.objective])
    assert texts[goal.objective] == "write a haiku about tides"


async def test_the_status_message_comes_when_a_goal_takes_longer_than_a_moment(
    bench: Bench,
) -> None:
    thread, _goal = await bench.start()
    before = bench.answers(thread)

    bench.clock.move(6)
    await bench.deliver()

    assert before == []
    assert bench.last(thread).startswith("⏳ Queued · G1 · turn 1 of 20 · $0.00 of $2.00 · since")


async def test_pause_and_resume_in_the_thread(bench: Bench) -> None:
    thread, _goal = await bench.start()

    await bench.say("pause", thread)
    paused = await bench.goal(thread)
    await bench.say("Resume", thread)

    assert paused.state is State.PAUSED
    assert (await bench.goal(thread)).state is State.READY
    assert bench.answers(thread)[-2:] == ["G1 is paused. `resume` goes on.", "G1 goes on."]


async def test_stop_tells_the_worker_to_stop_the_turn(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())

    await bench.say("stop", thread)

    assert (await bench.goal(thread)).state is State.PAUSED
    assert any(isinstance(one, StopTurn) for one in bench.woken[-1][1])


async def test_pausing_twice_says_so(bench: Bench) -> None:
    thread, _ = await bench.start()
    await bench.say("pause", thread)

    await bench.say("pause", thread)

    assert bench.last(thread) == "G1 is paused already. `resume` goes on."


async def test_cancel_asks_once(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("cancel", thread)
    asked = await bench.goal(thread)
    question = bench.last(thread)
    await bench.say("cancel", thread)

    assert asked.state is State.READY
    assert "Say `cancel` again within a minute" in question
    assert (await bench.goal(thread)).state is State.CANCELLED


async def test_a_second_cancel_after_a_minute_asks_again(bench: Bench) -> None:
    thread, _ = await bench.start()
    await bench.say("cancel", thread)
    bench.clock.move(61)

    await bench.say("cancel", thread)

    assert (await bench.goal(thread)).state is State.READY


async def test_cancel_yes_asks_nothing(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("/goal cancel G1 yes")

    assert (await bench.goal(thread)).state is State.CANCELLED
    assert bench.last() == "G1 is cancelled."


async def test_edit_changes_the_objective_and_shows_both(bench: Bench) -> None:
    thread, goal = await bench.start("write a haiku")

    await bench.say("edit write a sonnet", thread)

    edited = await bench.goal(thread)
    assert edited.revision == goal.revision + 1
    assert bench.last(thread) == (
        "The objective of G1 is now:\n> write a sonnet\n\nIt was:\n> write a haiku"
    )


async def test_budget_is_shown_set_and_added_to(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("budget", thread)
    shown = bench.last(thread)
    await bench.say("budget 5 USD", thread)
    await bench.say("budget +2", thread)
    await bench.say("budget 500k tokens", thread)

    goal = await bench.goal(thread)
    assert shown == "G1: $0.00 spent. Limits: $2.00, 2M tokens, 4 h of work."
    assert goal.budget.nano_usd == 7 * NANO
    assert goal.budget.tokens == 500_000


@pytest.mark.parametrize(
    ("amount", "mend"),
    [
        ("-5 USD", "cannot be negative"),
        ("$-5", "cannot be negative"),
        ("100 tokens", "at least 20,000 tokens"),
        ("0", "at least $0.01"),
        ("9999999 USD", "Give a smaller one"),
        ("5 apples", "no amount"),
    ],
)
async def test_a_budget_that_cannot_be_is_refused_with_the_mend(
    bench: Bench, amount: str, mend: str
) -> None:
    thread, goal = await bench.start()

    await bench.say(f"budget {amount}", thread)

    assert mend in bench.last(thread)
    assert (await bench.goal(thread)).budget == goal.budget


async def test_reopen_makes_a_new_goal_with_the_rest_of_the_budget(bench: Bench) -> None:
    thread, goal = await bench.start("write a haiku")
    await complete(bench, goal)

    await bench.say("reopen the title is missing", thread)

    again = await bench.goal(thread)
    texts = await bench.store.journal.contents(again.session, [again.objective])
    assert again.number == 2
    assert again.session == goal.session
    assert texts[again.objective].startswith("write a haiku\n")
    assert texts[again.objective].endswith("the title is missing")
    assert bench.last(thread) == "G2 goes on where G1 ended."


async def test_reopening_a_live_goal_is_refused(bench: Bench) -> None:
    _thread, _ = await bench.start()

    await bench.say("/goal reopen G1 the title")

    assert bench.last() == "G1 has not ended: say what is missing in its thread."


async def test_a_final_goal_refuses_commands_and_offers_reopen(bench: Bench) -> None:
    thread, goal = await bench.start()
    await complete(bench, goal)

    await bench.say("pause", thread)

    assert bench.last(thread).startswith("G1 has ended and does not change any more. `reopen")


async def test_a_message_to_a_final_goal_is_an_ordinary_turn(bench: Bench) -> None:
    thread, goal = await bench.start()
    await complete(bench, goal)

    await bench.say("which metre is it?", thread)

    ask = await bench.store.journal.goal(bench.woken[-1][0])
    assert ask.kind == "ask"
    assert ask.session == goal.session


async def test_ask_in_the_room_opens_an_ordinary_turn_in_its_own_thread(bench: Bench) -> None:
    await bench.say("/goal ask what is a tide?")

    ask = await bench.store.journal.goal(bench.woken[-1][0])
    assert ask.kind == "ask"
    assert ask.number == 0


async def test_words_in_the_thread_are_steering(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())

    await bench.say("use the word moon", thread)

    assert (await bench.goal(thread)).messages == 1
    assert await bench.store.inbox.waiting() == ()


async def test_words_behind_two_slashes_are_for_nobody(bench: Bench) -> None:
    thread, _ = await bench.start()

    await bench.say("// lunch?", thread)

    assert (await bench.goal(thread)).messages == 0


async def test_status_shows_state_tasks_and_what_it_waits_for(bench: Bench) -> None:
    _thread, goal = await bench.start()
    tasks = (Task("Reproduce", "done", "log"), Task("Fix", "doing"), Task("Docs", "open"))
    await bench.happens(goal, TurnStarted(), tasks=tasks)

    await bench.say("/goal status")

    text = bench.last()
    assert text.startswith("⏳ Working · G1 · turn 1 of 20 · $0.00 of $2.00")
    assert "Now: Fix\n☑ Reproduce  ▸ Fix  ☐ Docs" in text


async def test_tasks_show_their_evidence(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.say("tasks", thread)
    empty = bench.last(thread)
    await bench.happens(goal, TurnStarted(), tasks=(Task("Fix", "done", "2 passed"),))

    await bench.say("tasks", thread)

    assert empty == "G1 has no list of tasks."
    assert bench.last(thread) == "☑ Fix — 2 passed"


async def test_trace_shows_the_journal(bench: Bench) -> None:
    thread, goal = await bench.start()
    await bench.happens(goal, TurnStarted())

    await bench.say("trace", thread)

    assert "TurnStarted" in bench.last(thread)
    assert "(turn_started)" in bench.last(thread)


async def test_list_shows_live_goals_and_room_shows_all(bench: Bench) -> None:
    _, first = await bench.start("write a haiku")
    await complete(bench, first)
    await bench.start("write a sonnet")

    await bench.say("/goal list")
    live = bench.last()
    await bench.say("/goal list room")

    assert "G2" in live
    assert "G1" not in live
    assert "**G1** Complete" in bench.last()


async def test_without_a_goal_a_command_says_how_to_name_one(bench: Bench) -> None:
    await bench.say("/goal pause")

    assert bench.last().startswith("You have no live goal in this room.")


async def test_an_unknown_number_is_said_to_be_unknown(bench: Bench) -> None:
    await bench.say("/goal pause G7")

    assert bench.last() == "There is no G7 in this room. `/goal list` shows the goals here."


async def test_with_two_live_goals_a_numbered_list_is_offered_and_a_number_picks(
    bench: Bench,
) -> None:
    first, _ = await bench.start("write a haiku")
    await bench.start("write a sonnet")

    await bench.say("/goal pause")
    offered = bench.last()
    await bench.say("2")

    assert "1. `pause G2` — write a sonnet" in offered
    assert "2. `pause G1` — write a haiku" in offered
    assert (await bench.goal(first)).state is State.PAUSED


async def test_a_subcommand_counts_only_in_its_own_syntax(bench: Bench) -> None:
    _thread, goal = await bench.start("pause the pipeline when it fails")

    texts = await bench.store.journal.contents(goal.session, [goal.objective])
    assert texts[goal.objective] == "pause the pipeline when it fails"


async def test_quotes_make_an_objective_of_anything(bench: Bench) -> None:
    _thread, goal = await bench.start('"edit the README"')

    texts = await bench.store.journal.contents(goal.session, [goal.objective])
    assert texts[goal.objective] == "edit the README"


@pytest.mark.parametrize("verb", [v.name for v in VERBS.values() if not v.is_served])
async def test_a_verb_of_a_later_version_says_so(bench: Bench, verb: str) -> None:
    _thread, _ = await bench.start()

    await bench.say(f"/goal {verb}")

    assert bench.last() == "Not in this version."


async def test_help_shows_every_served_verb_and_no_other(bench: Bench) -> None:
    await bench.say("/goal help")

    shown = bench.last()
    texts = Texts()
    for verb in served():
        assert f"`{verb.syntax}` {help_line(verb, texts)}" in shown
    for verb in VERBS.values():
        assert verb.is_served or f"- `{verb.name}" not in shown


@pytest.mark.parametrize("verb", [v.name for v in served() if v.name])
async def test_help_of_a_verb_shows_an_example_that_is_in_its_syntax(
    bench: Bench, verb: str
) -> None:
    from bot.chat.parse import Command, parse

    await bench.say(f"/goal help {verb}")

    shown = example(VERBS[verb], Texts())
    said = parse(f"/goal {shown}", Texts(), in_thread=False)
    assert f"`{shown}`" in bench.last()
    assert isinstance(said, Command)
    assert said.verb.name == verb


async def test_a_greeting_gets_one_helpful_line_and_no_goal(bench: Bench) -> None:
    await bench.say("hello")

    assert bench.last().startswith("Hello. To start a goal: `/goal <objective>`")
    assert await bench.store.rooms.goals() == ()


async def test_other_talk_in_the_room_wakes_nothing(bench: Bench) -> None:
    await bench.say("the tide is high today")

    assert bench.answers() == []
    assert await bench.store.inbox.waiting() == ()


async def test_a_stranger_is_told_once_a_day_and_starts_nothing(bench: Bench) -> None:
    from bot.ports.chat import Speaker

    eve = Speaker("eve", "eve")

    await bench.say("/goal give me the keys", speaker=eve)
    await bench.say("/goal give me the keys!", speaker=eve)

    assert bench.answers() == ["I take goals from people on my list.\n[Ask for access]"]
    assert await bench.store.rooms.goals() == ()


async def test_a_question_is_answered_by_the_number_of_an_option(bench: Bench) -> None:
    thread, goal = await bench.start()
    text = "Which colour?\n\n1. red\n2. blue"
    asked = DecisionAsked("d1", "question", content_hash(text), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=[text])
    await bench.deliver()
    card = bench.last(thread)

    await bench.say("2", thread)

    answered = await bench.goal(thread)
    assert card.startswith("❓ Decision 1 · G1 · @ann\nWhich colour?\n1. red\n2. blue\n")
    assert "the goal stays parked." in card
    assert answered.state is State.READY
    assert answered.opening == "answer"
    card = bench.last(thread)
    assert card == "❓ Decision 1 · G1 · answered by ann\nWhich colour?\n→ blue"


async def test_a_question_is_answered_in_words(bench: Bench) -> None:
    thread, goal = await bench.start()
    asked = DecisionAsked("d1", "question", content_hash("Which?"), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["Which?"])

    await bench.say("green, if there is any", thread)

    assert (await bench.goal(thread)).opening == "answer"


async def test_an_approval_takes_its_exact_word_and_nothing_else(bench: Bench) -> None:
    thread, goal = await bench.start()
    asked = DecisionAsked("d1", "approval", content_hash("rm -rf /tmp/x"), "t1")
    await bench.happens(goal, TurnStarted(), asked, contents=["rm -rf /tmp/x"])
    await bench.deliver()

    await bench.say("yes, but only the logs", thread)
    after_words = await bench.goal(thread)
    await bench.say("approve 1", thread)

    assert after_words.state is State.DECIDING
    assert after_words.messages == 1
    assert (await bench.goal(thread)).state is State.WORKING


async def test_stop_wins_over_an_option_of_that_name(bench: Bench) -> None:
    thread, goal = await bench.start()
    text = "What now?\n\n1. stop\n2. go"
    asked = DecisionAsked("d1", "question", content_hash(text), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=[text])

    await bench.say("stop", thread)

    assert (await bench.goal(thread)).state is State.PAUSED


async def test_an_answer_while_paused_is_stored_and_counts_at_resume(bench: Bench) -> None:
    thread, goal = await bench.start()
    text = "Which colour?\n\n1. red\n2. blue"
    asked = DecisionAsked("d1", "question", content_hash(text), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=[text])
    await bench.say("pause", thread)

    await bench.say("1", thread)
    stored = await bench.goal(thread)
    await bench.say("resume", thread)

    assert stored.state is State.PAUSED
    assert (await bench.goal(thread)).opening == "answer"


async def test_a_raise_and_resume_is_one_command(bench: Bench) -> None:
    thread, goal = await bench.start()
    await over_budget(bench, goal, 1_000, 2 * NANO)
    await bench.deliver()
    card = bench.answers(thread)[0]

    await bench.say("budget +2 and resume", thread)

    assert "[Add $2 and resume]" in card
    assert (await bench.goal(thread)).state is State.READY
    assert bench.last(thread) == "G1 has $4.00, 2M tokens, 4 h of work now and goes on."


async def test_a_raise_of_one_limit_names_the_other_that_is_used_up(bench: Bench) -> None:
    thread, goal = await bench.start()
    await over_budget(bench, goal, 2_400_000, 4_800_000_000)

    await bench.say("resume", thread)
    refused = bench.last(thread)
    await bench.say("budget +9 and resume", thread)
    raised = await bench.goal(thread)
    told = bench.last(thread)
    await bench.say("budget +1M tokens and resume", thread)

    assert "$4.80 of $2.00, 2.4M of 2M tokens" in refused
    assert "`budget +4 and resume`" in refused
    assert raised.state is State.OVER_BUDGET
    assert raised.budget.nano_usd == 11 * NANO
    assert "2.4M of 2M tokens. Raise that too: `budget +1M tokens and resume`." in told
    assert (await bench.goal(thread)).state is State.READY


async def test_the_bare_name_shows_my_goals_and_three_examples(bench: Bench) -> None:
    await bench.start("write a haiku")

    await bench.say("/goal")

    assert "**G1** Queued" in bench.last()
    assert bench.last().count("- `/goal ") == 3
