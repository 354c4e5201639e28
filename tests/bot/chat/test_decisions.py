"""Cards of decisions on the console: what they show, what answers them, and what of it is told later."""

import json

import pytest

from bot.goals.events import (
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    Event,
    ObjectiveEdited,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import DecisionKind, Goal, State
from bot.goals.hands import Grant, Scope
from bot.ports.chat import Speaker
from bot.ports.journal import content_hash
from bot.ports.people import Entry, Role, Subject
from bot.tools.calls import call_hash, written
from tests.bot.chat.conftest import Bench
from tests.bot.chat.turns import began

BEN = Speaker("ben", "ben")
ARGS = {"command": "git push origin main"}
PREFIX = json.dumps(["git", "push"])
LONG = "echo " + "tide " * 500


async def call(
    bench: Bench, command: str = "git push origin main", *, grant: bool = True
) -> tuple[str, Goal]:
    """A goal of Ann's that asks whether it may run a command."""
    thread, goal = await bench.start()
    args = {"command": command}
    text = written("bash", args, "asks for git")
    asked = DecisionAsked(
        "d1", "approval", content_hash(text), "t1", call=call_hash("bash", args),
        grant=Grant("command", content_hash(PREFIX)) if grant else None,
    )  # fmt: skip
    goal = await bench.happens(goal, *began(goal), asked, contents=[text, PREFIX])
    await bench.deliver()
    return thread, goal


async def of_kind(bench: Bench, kind: DecisionKind, text: str) -> tuple[str, Goal]:
    thread, goal = await bench.start()
    asked = DecisionAsked("d1", kind, content_hash(text), "t1")
    goal = await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=[text])
    await bench.deliver()
    return thread, goal


async def approver(bench: Bench, who: Speaker = BEN, *roles: Role) -> None:
    for role in roles or ("approver",):
        subject = Subject("person", "console", who.id, name=who.name)
        await bench.allow_list.allow(Entry(subject, role))


async def answer_of(bench: Bench, goal: Goal) -> DecisionAnswered:
    lines = await bench.store.journal.history(goal.session)
    events = [line.entry.event for line in lines]
    [answer] = [event for event in events if isinstance(event, DecisionAnswered)]
    return answer


def card(bench: Bench, thread: str) -> str:
    return next(text for text in bench.answers(thread) if text.startswith("❓ Decision"))


async def test_a_card_shows_the_call_whole_and_what_its_answers_are(bench: Bench) -> None:
    thread, _ = await call(bench)

    shown = card(bench, thread)
    assert "Why: asks for git" in shown
    assert "```bash\ngit push origin main\n```" in shown
    assert "1. Approve once\n2. For this goal\n3. Always here\n4. Deny" in shown
    assert "“For this goal” and “Always here” allow commands that begin with `git push`." in shown
    assert "Answered by an approver or an admin." in shown
    assert "it counts as no" in shown


async def test_any_other_call_is_shown_as_readable_json(bench: Bench) -> None:
    thread, goal = await bench.start()
    text = written("git_push", {"branch": "headway/g1"}, "", "> It is mended.")
    asked = DecisionAsked("d1", "approval", content_hash(text), "t1", call="c0")
    await bench.happens(goal, *began(goal), asked, contents=[text])
    await bench.deliver()

    shown = card(bench, thread)
    assert "Tool: `git_push`" in shown
    assert '```json\n{\n  "branch": "headway/g1"\n}\n```' in shown
    assert "> It is mended." in shown
    assert "1. Approve once\n2. Deny" in shown


@pytest.mark.parametrize(
    ("words", "accepted", "scope"),
    [
        ("approve", True, "once"),
        ("Approve 1.", True, "once"),
        ("approve once", True, "once"),
        ("approve for goal", True, "goal"),
        ("approve for goal 1", True, "goal"),
        ("approve always 1", True, "always"),
        ("1", True, "once"),
        ("2", True, "goal"),
        ("3", True, "always"),
        ("4", False, "once"),
        ("deny", False, "once"),
        ("no 1", False, "once"),
    ],
)
async def test_the_exact_words_and_numbers_of_a_call(
    bench: Bench, words: str, accepted: bool, scope: Scope
) -> None:
    thread, goal = await call(bench)

    await bench.say(words, thread)

    answer = await answer_of(bench, goal)
    assert (answer.accepted, answer.scope) == (accepted, scope)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("deny: that branch is not yours", "that branch is not yours"),
        ("deny 1: because it is frozen", "it is frozen"),
        ("Deny 1, because it is\nfrozen", "it is\nfrozen"),
        ("no because I say so", "I say so"),
    ],
)
async def test_a_no_brings_its_reason(bench: Bench, words: str, reason: str) -> None:
    thread, goal = await call(bench)

    await bench.say(words, thread)

    answer = await answer_of(bench, goal)
    texts = await bench.store.journal.contents(goal.session, [answer.answer])
    assert not answer.accepted
    assert texts[answer.answer] == reason
    assert f"→ Denied: {reason}" in card(bench, thread)


@pytest.mark.parametrize(
    "words",
    ["approve it", "approve 2", "sure", "approve always please", "yes, go on", "deny 2: no", "5"],
)
async def test_any_other_text_is_said_to_the_agent(bench: Bench, words: str) -> None:
    thread, goal = await call(bench)

    await bench.say(words, thread)

    now = await bench.goal(thread)
    assert now.state is State.DECIDING
    assert now.messages == goal.messages + 1


async def test_a_call_without_a_permission_to_give_is_approved_once_only(bench: Bench) -> None:
    thread, _ = await call(bench, grant=False)

    await bench.say("approve for goal", thread)

    assert "approved once and no further" in bench.last(thread)
    assert (await bench.goal(thread)).state is State.DECIDING
    assert "3." not in card(bench, thread)


@pytest.mark.parametrize(
    ("words", "came"),
    [
        ("approve", "→ Approved, this once."),
        (
            "approve for goal",
            "→ Approved, and for the rest of this goal: commands that begin with `git push`.",
        ),
        (
            "approve always",
            "→ Approved, and from now on in this room: commands that begin with `git push`.",
        ),
        ("deny", "→ Denied."),
    ],
)
async def test_the_card_says_who_answered_and_how_far_it_goes(
    bench: Bench, words: str, came: str
) -> None:
    thread, _ = await call(bench)

    await bench.say(words, thread)

    assert "answered by ann" in card(bench, thread)
    assert came in card(bench, thread)


async def test_only_an_admin_allows_something_for_the_room(bench: Bench) -> None:
    await approver(bench)
    thread, _ = await call(bench)

    await bench.say("approve always", thread, BEN)

    assert "it takes an admin" in bench.last(thread)
    assert (await bench.goal(thread)).state is State.DECIDING

    await bench.say("approve for goal", thread, BEN)

    assert (await bench.goal(thread)).grants == (Grant("command", content_hash(PREFIX)),)


async def test_a_long_call_takes_its_number_with_the_yes(bench: Bench) -> None:
    thread, _ = await call(bench, LONG)

    for words in ("approve", "1", "approve always"):
        await bench.say(words, thread)
        assert "say it with its number, `approve 1`" in bench.last(thread)
        assert (await bench.goal(thread)).state is State.DECIDING
    assert "Say `approve 1`" in card(bench, thread)

    await bench.say("approve 1", thread)

    assert (await bench.goal(thread)).state is State.WORKING


async def test_a_no_to_a_long_call_needs_none(bench: Bench) -> None:
    thread, goal = await call(bench, LONG)

    await bench.say("deny: too much", thread)

    assert not (await answer_of(bench, goal)).accepted


async def test_a_call_whose_text_is_gone_can_only_be_denied(bench: Bench) -> None:
    thread, goal = await bench.start()
    asked = DecisionAsked("d1", "approval", content_hash("never kept"), "t1", call="c0")
    await bench.happens(goal, *began(goal), asked)
    await bench.deliver()

    shown = card(bench, thread)
    assert "no longer kept" in shown
    assert "1. Deny" in shown

    await bench.say("approve", thread)
    assert (await bench.goal(thread)).state is State.DECIDING
    await bench.say("deny", thread)
    assert not (await answer_of(bench, goal)).accepted


async def test_the_second_of_two_is_told_who_was_first(bench: Bench) -> None:
    await approver(bench)
    thread, _ = await call(bench)

    await bench.say("approve for goal", thread)
    await bench.say("deny 1", thread, BEN)

    assert "answered decision 1 of G1 before you: approve for goal" in bench.last(thread)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (
            DecisionExpired("d1"),
            "Too late: nobody answered decision 1 of G1 in time, so it counted as no.",
        ),
        (ObjectiveEdited("ann", content_hash("another")), "Decision 1 of G1 was withdrawn"),
    ],
)
@pytest.mark.parametrize(
    "words", ["approve", "approve 1", "deny 1: it is full", "approve always 1"]
)
async def test_a_word_for_a_card_that_nobody_answered_in_time_is_told_and_not_said_to_the_agent(
    bench: Bench, ends: Event, said: str, words: str
) -> None:
    thread, goal = await call(bench)
    goal = await bench.happens(goal, ends, contents=["another"])

    await bench.say(words, thread)

    assert bench.last(thread).startswith(said)
    assert (await bench.goal(thread)).messages == goal.messages


@pytest.mark.parametrize("words", ["approve", "approve always 1", "deny: it is full"])
async def test_a_word_that_is_said_after_its_time_answers_nothing_though_no_timer_has_run_yet(
    bench: Bench, words: str
) -> None:
    thread, goal = await call(bench)
    assert goal.decision is not None
    bench.clock.move(goal.decision.expires_at - bench.clock.now() + 1)

    await bench.say(words, thread)

    assert await bench.goal(thread) == goal
    assert bench.last(thread).startswith("Too late")


async def test_the_clock_of_a_card_stands_while_the_goal_rests(bench: Bench) -> None:
    thread, goal = await call(bench)
    await bench.say("pause", thread)
    assert goal.decision is not None
    bench.clock.move(goal.decision.expires_at - bench.clock.now() + 1)

    await bench.say("approve", thread)

    assert (await answer_of(bench, goal)).accepted


async def test_a_word_with_the_number_of_a_closed_card_answers_no_other_one(bench: Bench) -> None:
    await approver(bench)
    thread, goal = await call(bench)
    await bench.say("deny", thread)
    asked = DecisionAsked("d2", "question", content_hash("Which port?"), "t2")
    goal = await bench.goal(thread)
    resumed = (TurnResumed(), asked, TurnEnded("done"))
    goal = await bench.happens(goal, *resumed, contents=["Which port?"])
    bench.clock.move(3600)

    await bench.say("approve 1", thread, BEN)

    assert "answered decision 1 of G1 before you: deny" in bench.last(thread)
    now = await bench.goal(thread)
    assert now.decision is not None
    assert (now.decision.number, now.decision.answered) == (2, False)


async def test_the_word_of_a_card_that_was_withdrawn_long_ago_is_said_to_an_agent_at_work(
    bench: Bench,
) -> None:
    thread, goal = await call(bench)
    goal = await bench.happens(
        goal, ObjectiveEdited("ann", content_hash("another")), TurnStarted(), contents=["another"]
    )
    bench.clock.move(3600)

    await bench.say("approve", thread)

    assert (await bench.goal(thread)).messages == goal.messages + 1


PLAN = "I move it in two steps.\n\n1. Copy the job\n2. Switch the runner"


async def test_a_plan_is_shown_whole_and_approved_by_its_word(bench: Bench) -> None:
    thread, _ = await of_kind(bench, "plan", PLAN)

    shown = card(bench, thread)
    assert shown.startswith("❓ Decision 1 · G1 · plan · @ann\nI move it in two steps.")
    assert "- Switch the runner\n1. Approve\n2. Reject" in shown
    assert "anything else says what to change" in shown

    await bench.say("approve", thread)

    goal = await bench.goal(thread)
    assert goal.plan == content_hash(PLAN)
    assert "→ Approved." in card(bench, thread)
    await bench.say("status", thread)
    assert "Plan, approved by ann:\nI move it in two steps." in bench.last(thread)


async def test_words_to_a_plan_withdraw_it_and_reach_the_agent(bench: Bench) -> None:
    thread, before = await of_kind(bench, "plan", PLAN)

    await bench.say("leave the old runner as it is", thread)

    goal = await bench.goal(thread)
    assert (goal.state, goal.plan, goal.messages) == (State.READY, "", before.messages + 1)
    assert "withdrawn" in card(bench, thread)


async def test_a_first_plan_that_is_rejected_blocks_with_what_to_do(bench: Bench) -> None:
    thread = await bench.say("/goal plan move the nightly build to the new runner")
    goal = await bench.goal(thread)
    asked = DecisionAsked("d1", "plan", content_hash(PLAN), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=[PLAN])

    await bench.say("reject", thread)

    goal = await bench.goal(thread)
    assert (goal.state, goal.planning) == (State.BLOCKED, True)
    assert "the plan was rejected" in bench.answers(thread)[-1]
    assert "say here what the plan should be instead" in bench.answers(thread)[-1]


async def test_the_verb_begins_a_goal_that_plans_first(bench: Bench) -> None:
    thread = await bench.say("/goal plan move the nightly build to the new runner")

    goal = await bench.goal(thread)
    objective = await bench.store.journal.contents(goal.session, [goal.objective])
    assert goal.planning
    assert objective[goal.objective] == "move the nightly build to the new runner"
    await bench.happens(goal, TurnStarted())
    await bench.say("status", thread)
    assert "Now: making a plan" in bench.last(thread)


async def test_a_room_may_have_every_goal_plan_first(bench: Bench) -> None:
    await bench.say("/goal room plan_first on")

    _, goal = await bench.start()

    assert goal.planning


@pytest.mark.parametrize("words", ["plan", "plan it", "plan fix it"])
async def test_a_plan_needs_something_to_plan(bench: Bench, words: str) -> None:
    await bench.say(f"/goal {words}")

    assert await bench.store.rooms.goals() == ()


async def test_in_a_goals_thread_the_word_is_for_its_agent(bench: Bench) -> None:
    thread, goal = await bench.start()

    await bench.say("plan for the worst", thread)

    assert (await bench.goal(thread)).messages == goal.messages + 1


@pytest.mark.parametrize(
    ("kind", "words", "accepted", "came"),
    [
        ("sign_off", "accept 1", True, "→ accept"),
        ("sign_off", "reject", False, "→ reject"),
        ("review", "apply", True, "→ Applied."),
        ("review", "discard 1", False, "→ Discarded."),
    ],
)
async def test_the_other_kinds_have_words_of_their_own(
    bench: Bench, kind: DecisionKind, words: str, accepted: bool, came: str
) -> None:
    thread, goal = await of_kind(bench, kind, "```diff\n-1\n+2\n```")

    await bench.say(words, thread)

    assert (await answer_of(bench, goal)).accepted is accepted
    assert came in card(bench, thread)


async def test_what_was_allowed_is_told_with_who_allowed_it(bench: Bench) -> None:
    thread, _ = await call(bench)
    await bench.say("approve for goal", thread)

    await bench.say("status", thread)

    assert "Allowed by ann: commands that begin with `git push`" in bench.last(thread)
    await bench.say("trace", thread)
    assert "DecisionAnswered yes goal" in bench.last(thread)
