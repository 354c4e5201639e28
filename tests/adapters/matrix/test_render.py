"""Shapes as the content of events, kept as golden files.

After a change that is meant: `WRITE_GOLDEN=1 pytest tests/adapters/matrix/test_render.py` writes them
again, and the difference is read before it is kept.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix import render
from adapters.matrix.render import Called, Content, Manner, Words
from bot.ports.chat import Button, Shape
from tests.adapters.matrix.page import Page

GOLDEN = Path(__file__).parent / "golden"
WORDS = Words(
    "The whole text is in `{name}`.",
    "Asked for here",
    "{name} cannot be sent here.",
    "React, or say the number or the words.",
    "Say the words; reactions do not count here.",
    "Your own words do as well.",
    "Answer in your own words.",
)
MANNER = Manner(WORDS, ("@headway:example.org", "headway", "Headway"))
ANN = Called("@ann:example.org", "Ann")
ROOM = "!PY8wOi"
DETAILS = Button("trace", "Details")

WORKING = Shape(
    "⏳", "Working", ("G12", "turn 7 of 20", "$0.84 of $2.00", "since 14:05"),
    body="Find out why the nightly build fails, and mend it.",
    now="Now: running `pytest`, 2 of 14 failing",
    tasks=(("Reproduce", "done"), ("Cause", "done"), ("Fix", "doing"), ("Docs", "open"), ("Ask", "dropped")),
    buttons=(Button("pause", "Pause"), Button("stop", "Stop"), DETAILS), state="working",
)  # fmt: skip
COMPLETE = Shape(
    "✅", "Complete", ("G12", "41 min", "9 turns", "$1.12"),
    body="The build **passes** again.\n\n- the lock file named `build 2.1`\n- it was withdrawn",
    notes=("Checked: pytest -q passed", "Files: report.md"),
    buttons=(Button("reopen", "Not done"), DETAILS), mentions=(ANN.id,), state="complete",
)  # fmt: skip
DECISION = Shape(
    "❓", "Decision 2", ("G12", "@ann"), body="Which branch should carry the fix?",
    options=("main", "release-2"), notes=("No answer by Tue 14:00 CET: the goal stays parked.",),
    buttons=(Button("", "In words"),), mentions=(ANN.id,), reactions=("1️⃣", "2️⃣"), state="deciding",
)  # fmt: skip
BLOCKED = Shape(
    "⛔", "Blocked", ("G12", "no access to staging (3 audits in a row)"),
    notes=("To go on: settle that, or say another way, then Resume.",),
    buttons=(Button("resume", "Resume"), Button("cancel", "Cancel"), DETAILS),
    mentions=(ANN.id,), state="blocked",
)  # fmt: skip
BUDGET = Shape(
    "💰", "Budget reached", ("G12", "$2.00 of $2.00"), body="Done: the cause. Left: the fix.",
    buttons=(Button("budget $4 and resume", "Add $2 and resume"), Button("budget", "Other amount")),
    mentions=(ANN.id,), state="over_budget",
)  # fmt: skip

CASES = {
    "status_working": lambda: render.quiet(WORKING, MANNER, ROOM),
    "status_edited": lambda: render.replacing(render.quiet(WORKING, MANNER, ROOM), "$status"),
    "complete": lambda: render.message(COMPLETE, MANNER, called=[ANN], room=ROOM),
    "complete_as_a_file": lambda: render.message(
        render.excerpt(COMPLETE, 3000, "result.md", WORDS), MANNER, called=[ANN], room=ROOM
    ),
    "blocked": lambda: render.message(BLOCKED, MANNER, called=[ANN], room=ROOM),
    "budget_reached": lambda: render.message(BUDGET, MANNER, called=[ANN], room=ROOM),
    "decision": lambda: render.in_thread(
        render.message(DECISION, MANNER, called=[ANN], room=ROOM), "$root", "$latest"
    ),
    "card_closed": lambda: render.replacing(
        render.quiet(
            replace(DECISION, options=(), notes=(), buttons=(), now="Answered: main."), MANNER
        ),
        "$card",
    ),
    "answer": lambda: render.message(
        Shape("", "", body="G12 works.\nG13 waits."), MANNER, is_silent=True
    ),
    "one_line": lambda: render.message(Shape("", "", body="Done."), MANNER, is_silent=True),
    "root_with_a_link_back": lambda: render.message(
        Shape("", "", body="Goal 13", origin="$origin"), MANNER, room=ROOM, is_silent=True
    ),
    "reaction": lambda: render.reaction("$card", "✅"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_message_has_its_kept_content(name: str) -> None:
    path = GOLDEN / f"{name}.json"
    made = json.dumps(CASES[name](), ensure_ascii=False, indent=1, sort_keys=True) + "\n"

    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(made)

    assert made == path.read_text()


def test_every_golden_file_is_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)


def test_whom_a_post_concerns_is_called_where_the_shape_names_them_or_at_the_end_of_the_head() -> (
    None
):
    named = render.message(DECISION, MANNER, called=[ANN])
    added = render.message(
        COMPLETE, MANNER, called=[ANN, replace(ANN, id="@ben:x", name="Ben <b>")]
    )

    assert named["body"].startswith("❓ Decision 2 · G12 · Ann\n")
    assert added["body"].startswith("✅ Complete · G12 · 41 min · 9 turns · $1.12 · Ann, Ben <b>\n")
    assert 'href="https://matrix.to/#/@ben:x">Ben &lt;b&gt;</a>' in added["formatted_body"]
    assert added["m.mentions"] == {"user_ids": ["@ann:example.org", "@ben:x"]}


def test_an_edit_calls_nobody_and_holds_no_relation_in_its_new_content() -> None:
    content = render.in_thread(render.marked(CASES["complete"](), "g1:settle"), "$root")

    edit = render.replacing(content, "$1")

    assert edit["m.mentions"] == {}
    assert edit["m.relates_to"] == {"rel_type": "m.replace", "event_id": "$1"}
    assert edit["dev.headway"]["key"] == "g1:settle"
    assert not {"m.relates_to", "dev.headway"} & edit["m.new_content"].keys()


def test_an_excerpt_closes_the_code_that_its_paragraph_began() -> None:
    short = render.excerpt(replace(COMPLETE, body="```\none\n\ntwo\n```"), 100, "result.md", WORDS)

    assert short.body.startswith("```\none\n```\n\nThe whole")


def test_a_shortened_shape_tells_how_many_tasks_it_left_out() -> None:
    tasks = tuple((f"task {n}", "open") for n in range(100))

    short = render.shortened(replace(WORKING, tasks=tasks, body="x" * 999), 100)

    assert len(short.body) == 100
    assert render.quiet(short, MANNER)["body"].count("☐") == 4
    assert "… +96" in render.quiet(short, MANNER)["body"]


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        ({"dev.headway": {"key": "k"}}, ("k", 0, 1)),
        ({"dev.headway": {"key": "k", "part": 1, "of": 3}}, ("k", 1, 3)),
        ({"dev.headway": {"key": 5}}, None),
        ({"dev.headway": {"key": "k", "part": "x"}}, None),
        ({"dev.headway": "k"}, None),
        ({}, None),
    ],
)
def test_what_we_sent_is_known_by_its_mark(
    content: Content, mark: tuple[str, int, int] | None
) -> None:
    assert render.mark_of(content) == mark


WRITTEN = st.text(max_size=60)
SHAPES = st.builds(
    Shape,
    WRITTEN, WRITTEN, st.lists(WRITTEN, max_size=3).map(tuple), body=WRITTEN, now=WRITTEN,
    tasks=st.lists(st.tuples(WRITTEN, st.sampled_from(["done", "doing", "odd"])), max_size=3).map(tuple),
    notes=st.lists(WRITTEN, max_size=2).map(tuple),
    buttons=st.lists(st.builds(Button, WRITTEN, WRITTEN), max_size=2).map(tuple),
    options=st.lists(WRITTEN, max_size=3).map(tuple), origin=WRITTEN,
)  # fmt: skip


@given(SHAPES, st.booleans())
def test_any_shape_is_content_that_can_be_sent(shape: Shape, in_place: bool) -> None:
    called = [Called("@a:b", "\ud800 <i>")]
    if in_place:
        content = render.replacing(render.quiet(shape, MANNER, ROOM), "$1")
    else:
        content = render.message(shape, MANNER, called=called, room=ROOM)

    json.dumps(content, ensure_ascii=False).encode()
    Page(content.get("formatted_body", ""))
    assert "m.mentions" in content
    assert render.size(content, sealed=True) > 0


def test_the_name_of_a_called_person_stands_on_one_line() -> None:
    called = [Called("@a:b", "ann\nChecked: all is well " + "n" * 300), Called("@b:b", " \n")]

    content = render.message(Shape("✅", "Complete", mentions=("p1", "p2")), MANNER, called=called)

    [line] = content["body"].splitlines()
    assert line.startswith("✅ Complete · ann Checked: all is well nn")
    assert line.endswith("…, @\u2060b:b")
    assert len(line) < 120


def test_a_sentence_that_calls_somebody_names_them_itself() -> None:
    shape = Shape("", "", body="@Ann: eve asks for access.", mentions=(ANN.id,))

    content = render.message(shape, MANNER, called=[ANN])

    assert content["body"] == "@Ann: eve asks for access."
    assert content["m.mentions"] == {"user_ids": [ANN.id]}
