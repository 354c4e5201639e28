"""What the demo tells of a journal, and when it counts a goal as reached."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from adapters.rehearsal.demo import log_files
from bot.demo.ending import Ending, true_number
from bot.demo.story import SHOWN_CHARS, Story, Told
from bot.goals.events import (
    Audited,
    CallSettled,
    CallStarted,
    Event,
    GoalOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.machine import Entry, decide, entry, open_goal
from bot.goals.money import Budget, Usage

BUDGET = Budget(nano_usd=10**10, tokens=10**7, active_s=3600.0)
OPENED = GoalOpened("g1", "s1", 1, "ann", "objective", BUDGET)
REPLY = json.dumps(
    [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls\n  -l"}},
    ]
)
TEXTS = {"reply": REPLY, "note": "Not counted yet."}
FIRST_TURN: tuple[Event, ...] = (
    TurnStarted(),
    CallStarted("c1", "agent", "m", tokens=900, nano_usd=9, revision=1),
    CallSettled("c1", Usage(input=10, output=5), 3, content="reply", stop_reason="tool_use"),
    ToolStarted("t1", "bash", "workspace"),
    ToolEnded("t1", "ok", "result", touched=True),
    CallStarted("c2", "agent", "m", tokens=700, nano_usd=7, revision=1),
)


def journal(*events: Event) -> tuple[Goal, tuple[Entry, ...]]:
    moved = open_goal(OPENED)
    entries = [entry(None, OPENED, moved)]
    goal = moved.goal
    for event in events:
        moved = decide(goal, event)
        entries.append(entry(goal, event, moved))
        goal = moved.goal
    return goal, tuple(entries)


def told(story: Story, entries: Iterable[Entry]) -> list[Told]:
    return [line for each in entries if (line := story.take(each, TEXTS)) is not None]


def test_a_turn_and_its_tools_are_told_with_what_they_were_given() -> None:
    _, entries = journal(*FIRST_TURN)

    lines = told(Story(), entries)

    assert lines == [Told("turn", "turn 1"), Told("tool", "bash", "ls -l")]


def test_it_knows_when_the_model_is_answering_and_how_far_the_turn_is() -> None:
    _, entries = journal(*FIRST_TURN)
    story = Story()

    told(story, entries)

    assert story.is_asking
    assert (story.turn, story.steps, story.tools) == (1, 2, 1)


def test_a_reply_that_was_lost_is_told_with_what_is_charged_for_it() -> None:
    _, entries = journal(*FIRST_TURN, TurnResumed())
    story = Story()

    lines = told(story, entries)

    assert lines[-1] == Told("lost", "700 tokens", "the most that it can have cost")
    assert not story.is_asking
    assert story.estimated == 700


def test_a_verdict_is_told_with_its_note() -> None:
    ending = (
        CallSettled("c2", Usage(output=1), 1, content="reply", stop_reason="end_turn"),
        TurnEnded("done", reply="reply"),
        Audited(1, 1, 0, "continue", note="note"),
    )
    _, entries = journal(*FIRST_TURN, *ending)
    story = Story()

    lines = told(story, entries)

    assert lines[-1] == Told("audit", "continue", "Not counted yet.")
    assert dict(story.audits) == {"continue": 1}


def test_a_call_with_effects_that_began_twice_is_counted() -> None:
    _, entries = journal(*FIRST_TURN[:4], ToolStarted("t1", "bash", "workspace"))
    story = Story()

    told(story, entries)

    assert story.repeated == 1


def test_a_long_command_is_cut() -> None:
    _, entries = journal(*FIRST_TURN)
    long = json.dumps([{"type": "tool_use", "id": "t1", "input": {"command": "x" * 500}}])
    story = Story()

    lines = [line for each in entries if (line := story.take(each, {"reply": long}))]

    assert len(lines[-1].text) == SHOWN_CHARS
    assert lines[-1].text.endswith("…")


@pytest.mark.parametrize("text", ["", "no JSON", "{}", "[1, null]", '[{"type": "tool_use"}]'])
def test_a_reply_that_cannot_be_read_is_passed_over(text: str) -> None:
    _, entries = journal(*FIRST_TURN)
    story = Story()

    lines = [line for each in entries if (line := story.take(each, {"reply": text}))]

    assert lines[-1] == Told("tool", "bash", "")


def test_the_true_number_counts_each_event_once() -> None:
    number = true_number(log_files())

    assert number == 21


@pytest.mark.parametrize(
    ("report", "is_reached"),
    [
        ("True number: 21", True),
        ("The number is **21**.", True),
        ("121 of 210", False),
        ("", False),
    ],
)
def test_a_goal_is_reached_when_its_report_names_the_number(report: str, is_reached: bool) -> None:
    goal, entries = journal(
        *FIRST_TURN,
        CallSettled("c2", Usage(output=1), 1, content="reply", stop_reason="end_turn"),
        TurnEnded("done", reply="reply"),
        Audited(1, 1, 0, "complete"),
    )

    ending = Ending(goal, entries, Story(), report, "artifacts/report.md", 21, 1, True)

    assert ending.is_reached is is_reached
    assert ending.replays


def test_a_goal_that_is_not_complete_is_not_reached() -> None:
    goal, entries = journal(*FIRST_TURN)

    ending = Ending(goal, entries, Story(), "21", "artifacts/report.md", 21, 0, True)

    assert not ending.is_reached
    assert "working, not complete" in ending.why_not()


def test_a_journal_that_does_not_fold_to_the_goal_is_said() -> None:
    goal, entries = journal(*FIRST_TURN)

    ending = Ending(replace(goal, turn=9), entries, Story(), "21", "r.md", 21, 0, True)

    assert "does NOT fold" in dict(ending.rows())["the journal"]
