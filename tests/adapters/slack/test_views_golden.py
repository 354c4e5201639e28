"""Homes and windows as Slack's views, kept as golden files.

After a change that is meant: `WRITE_GOLDEN=1 pytest tests/adapters/slack/test_views_golden.py` writes them
again, and the difference is read before it is kept.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.views import complaints, failure, home_view, loading, modal
from bot.ports.chat import Button, Place, Shape
from bot.ports.windows import NEW, Home, Input, Item, Part, Window
from tests.adapters.slack.test_views import CARD, FORM, THREAD, WORDS
from tests.peers.slack_schemas import faults_of_call, faults_of_view

GOLDEN = Path(__file__).parent / "golden_views"
WORKING = Shape(
    "⏳", "Working", ("G12", "turn 7 of 20", "$0.84 of $2.00", "since 14:05"),
    body="Make the tests in billing/ pass", now="Now: Fix", notes=("2 of 4 tasks done",),
    buttons=(Button("pause G12", "Pause"), Button("stop G12", "Stop"), Button("trace G12", "Details")),
)  # fmt: skip
QUESTION = Shape(
    "❓", "Decision 2", ("G12",), body="The column `legacy_id` is in the way. Which way?",
    options=("Keep it", "Drop it"), notes=("No answer by Tue 14:00 CET: the goal stays parked.",),
    now="For: Make the tests pass",
    buttons=(Button("", "In words"), Button("trace G12", "Details")),
)  # fmt: skip
APPROVAL = Shape(
    "❓", "Decision 1", ("G13", "of ben"), body="```\nrm -r build\n```", options=("approve", "deny"), is_yes_or_no=True,
    buttons=(Button("trace G13", "Details"),),
)  # fmt: skip
TOP = Shape(
    "", "Headway", notes=("Spent today: $1.12", "$1.12 of ann's $10 for today"),
    buttons=(Button(NEW, "New goal"),),
)  # fmt: skip
HOME = Home(
    (
        Part("Waiting for you", "", (Item(THREAD, QUESTION, CARD), Item(THREAD, APPROVAL, CARD))),
        Part("My goals", "1 Working", (Item(THREAD, WORKING),)),
        Part("", note="1 more goal of yours lives in a room that you are not in."),
    ),
    TOP,
    2,
    3,
)
EMPTY = Home((Part("", note="No goals yet. Say `/goal <objective>` in a room."),), TOP)
DETAILS = Window(
    "Details of G12",
    sections=(
        Shape(
            "⏳", "Working", ("G12", "turn 7 of 20"), body="Make the tests pass", now="Now: Fix",
            tasks=(("Reproduce", "done"), ("Cause", "done"), ("Fix", "doing"), ("Docs", "open")),
        ),
        Shape("", "Decisions", body="- 1 · Which way? → Keep it, by ann"),
        Shape("", "Cost", body="- agent: $0.84 · 12 calls, 45k tokens\n- Together: $0.84 of $2.00"),
        Shape("", "Last 2 of 22 steps", body="```\n14:05 TurnStarted\n14:06 TurnEnded\n```",
              notes=("The whole journal: `headway trace G12` on the machine that runs it.",)),
    ),
    close="Close",
)  # fmt: skip
START = Window(
    "New goal",
    "start",
    Place("slack", "T01TEST", ""),
    inputs=(
        Input("room", "Where", "place", hint="The goal gets a thread there."),
        Input("words", "Objective", "words", hint="Say what should be true when it is done."),
        Input("budget", "Budget", most=40, hint="For example $5.", is_optional=True),
        Input("mention", "Mentions", "choice", "ask", options=(("goal", "Goal"), ("ask", "Ask"))),
    ),
    submit="Start",
    close="Not now",
)
CASES: dict[str, Callable[[], Any]] = {
    "home": lambda: home_view(HOME, "T01TEST", WORDS),
    "home_empty": lambda: home_view(EMPTY, "T01TEST", WORDS),
    "details": lambda: modal(DETAILS),
    "edit": lambda: modal(FORM),
    "new_goal": lambda: modal(START),
    "loading": lambda: loading(WORDS),
    "failure": lambda: failure("G1 has ended. `reopen <what is missing>` goes on from it.", WORDS),
    "complaints": lambda: complaints({"words": "Say what should be true."}, modal(FORM)),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_view_looks_as_it_is_kept(name: str) -> None:
    view, path = CASES[name](), GOLDEN / f"{name}.json"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(json.dumps(view, ensure_ascii=False, indent=1) + "\n")

    assert view == json.loads(path.read_text())
    if "home" in name:
        assert faults_of_call("views.publish", {"user_id": "U01", "view": view}) == []
    elif name != "complaints":
        assert faults_of_view(view) == []


def test_every_golden_view_is_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)
