"""Shapes as messages of Slack, kept as golden files.

After a change that is meant: `WRITE_GOLDEN=1 pytest tests/adapters/slack/test_render.py` writes them
again, and the difference is read before it is kept.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack import render
from adapters.slack.blocks import ALL_MOST, Dialect
from adapters.slack.presses import press_of
from adapters.slack.render import Message, Words
from bot.ports.chat import Button, Shape
from tests.adapters.slack.shapes import (
    APPROVAL,
    BLOCKED,
    BUDGET,
    COMPLETE,
    DECISION,
    LONG,
    RICH,
    WORKING,
)
from tests.peers.slack_schemas import faults_of_call

GOLDEN = Path(__file__).parent / "golden"
WORDS = Words("The whole text is in `{name}`.", "Asked for here", "{name} cannot be sent here.")
CLOSED = replace(DECISION, options=(), notes=(), buttons=(), now="Answered: main.", mentions=())

CASES = {
    "status_working": lambda: render.message(WORKING, WORDS, is_status=True),
    "status_working_without_plan": lambda: render.message(
        WORKING, WORDS, is_status=True, dialect=Dialect.RICH
    ),
    "complete": lambda: render.message(COMPLETE, WORDS, called=["U01ANN"]),
    "complete_with_all_of_markdown": lambda: render.message(RICH, WORDS, called=["U01ANN"]),
    "complete_in_sections": lambda: render.message(RICH, WORDS, dialect=Dialect.PLAIN),
    "complete_as_a_file": lambda: render.message(
        render.excerpt(LONG, 2500, "result.md", WORDS), WORDS, called=["U01ANN"]
    ),
    "blocked": lambda: render.message(BLOCKED, WORDS, called=["U01ANN"]),
    "budget_reached": lambda: render.message(BUDGET, WORDS, called=["U01ANN"]),
    "decision": lambda: render.message(DECISION, WORDS, called=["U01ANN"]),
    "decision_with_long_options": lambda: render.message(
        replace(DECISION, options=("the `main` branch, as it was", "a branch " + "of our own " * 9)),
        WORDS,
    ),
    "approval": lambda: render.message(APPROVAL, WORDS, called=["U01ANN"]),
    "card_closed": lambda: render.message(CLOSED, WORDS),
    "answer": lambda: render.message(Shape("", "", body="G12 works.\nG13 waits."), WORDS),
    "one_line": lambda: render.message(Shape("", "", body="Done."), WORDS),
    "root_with_a_link_back": lambda: render.message(
        Shape("", "", body="🎯 G12 for @ann: mend the build", origin="C1:1.1"), WORDS,
        origin="https://test.slack.com/archives/C1/p11",
    ),
}  # fmt: skip


def faults(made: Message, method: str = "chat.update") -> list[str]:
    call = {"channel": "C01GEN", "ts": "1.1", "text": made.text, "blocks": list(made.blocks)}
    return faults_of_call(method, call)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_shape_has_its_kept_message(name: str) -> None:
    path = GOLDEN / f"{name}.json"
    message = CASES[name]()
    kept = {"text": message.text, "blocks": message.blocks}
    made = json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n"

    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(made)

    assert made == path.read_text()
    assert faults(message) == []


def test_every_golden_file_is_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)


@pytest.mark.parametrize("shape", [WORKING, BLOCKED, BUDGET, DECISION, APPROVAL, COMPLETE])
def test_the_text_alone_says_all_that_a_person_needs_to_act(shape: Shape) -> None:
    text = render.message(shape, WORDS).text

    told = [shape.word, *shape.facts, *shape.options, *(one.label for one in shape.buttons)]
    assert all(part in text for part in told), text
    assert "**" not in text


def test_whom_a_post_concerns_is_called_where_the_shape_names_them_or_at_the_end_of_the_head() -> (
    None
):
    named = render.message(DECISION, WORDS, called=["U01ANN"]).blocks[0]
    added = render.message(BLOCKED, WORDS, called=["U01ANN", "U02BEN"]).blocks[0]

    assert named["text"]["text"] == "*❓ Decision 2* · G12 · <@U01ANN>"
    assert added["text"]["text"].endswith(" · <@U01ANN>, <@U02BEN>")


def test_every_button_says_its_verb_and_is_read_aloud_with_its_goal() -> None:
    acts = render.message(WORKING, WORDS, is_status=True).blocks[-1]["elements"]

    presses = [press_of(one["value"]) for one in acts]
    assert [press.verb for press in presses if press] == ["pause", "stop", "trace"]
    assert acts[0]["accessibility_label"] == "Pause: Working G12"
    assert len({one["action_id"] for one in acts}) == len(acts)


def test_a_choice_that_a_button_cannot_hold_stands_whole_in_the_message() -> None:
    option = "the branch " + "with a very long name " * 8

    made = render.message(replace(DECISION, options=(option, "no")), WORDS)

    acts = made.blocks[-1]["elements"]
    assert len(acts[0]["text"]["text"]) <= 75
    assert option.strip() in json.dumps(made.blocks[:-1])
    assert [one["value"] for one in acts] == ['{"v":"1"}', '{"v":"2"}', '{"v":""}']


def test_an_approval_shows_which_button_runs_it() -> None:
    acts = render.message(APPROVAL, WORDS).blocks[-1]["elements"]

    assert [one["style"] for one in acts] == ["primary", "danger"]


def test_an_excerpt_closes_the_code_that_its_paragraph_began() -> None:
    short = render.excerpt(replace(COMPLETE, body="```\none\n\ntwo\n```"), 100, "result.md", WORDS)

    assert short.body.startswith("```\none\n```\n\nThe whole")


def test_a_cut_of_a_text_that_ends_in_code_closes_it() -> None:
    short = render.shortened(replace(WORKING, body="Look:\n```\n" + "x\n" * 500 + "```"), 150)

    assert short.body.count("```") == 2


WORDS_OF = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("<>&*_~`|@:!\n👩‍👧")),
    max_size=120,
)
LONG_OF = st.one_of(
    WORDS_OF,
    st.builds(lambda text, n: text * n, WORDS_OF, st.integers(1, 120)),
    st.sampled_from(["x" * n for n in (2_999, 3_000, 3_001, 12_000, 40_001)]),
)
SHAPES = st.builds(
    Shape,
    glyph=st.sampled_from(["", "⏳"]),
    word=WORDS_OF,
    facts=st.lists(LONG_OF, max_size=5).map(tuple),
    body=LONG_OF,
    now=LONG_OF,
    tasks=st.lists(
        st.tuples(LONG_OF, st.sampled_from(["done", "doing", "open", "dropped", "odd"])),
        max_size=60,
    ).map(tuple),
    notes=st.lists(LONG_OF, max_size=14).map(tuple),
    buttons=st.lists(st.builds(Button, LONG_OF, LONG_OF), max_size=30).map(tuple),
    options=st.lists(LONG_OF, max_size=30).map(tuple),
    goal=st.just("g12"),
    state=st.sampled_from(["", "working", "complete", "deciding"]),
)


@settings(max_examples=30, deadline=None)
@given(SHAPES, st.sampled_from(list(Dialect)), st.booleans())
def test_any_shape_is_a_message_that_slack_takes(
    shape: Shape, dialect: Dialect, is_status: bool
) -> None:
    made = render.message(shape, WORDS, is_status=is_status, called=["U1"], dialect=dialect)
    short = [
        render.message(one, WORDS, is_status=is_status, called=["U1"], dialect=dialect)
        for one in (
            render.shortened(shape, render.BRIEF[-1]),
            render.excerpt(shape, render.EXCERPTS[-1], "result.md", WORDS),
        )
    ]

    assert any(one.fits for one in short)
    for message in (made, *short):
        assert 0 < len(message.text) <= render.TEXT_MOST
        if message.fits:
            assert faults(message) == []
            assert _all_text(message.blocks) <= 13_200


def _all_text(part: Any) -> int:
    if isinstance(part, list | tuple):
        return sum(_all_text(one) for one in part)
    if isinstance(part, dict):
        return sum(_all_text(one) for one in part.values())
    return len(part) if isinstance(part, str) else 0


def test_limits_count_after_escaping() -> None:
    made = render.message(replace(COMPLETE, body="# x\n\n" + "<" * (ALL_MOST // 3)), WORDS)

    assert not made.fits
