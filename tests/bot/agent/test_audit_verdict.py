"""A verdict comes out of one whole call with valid fields, and of nothing else."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from bot.agent.audit_verdict import (
    AskedPerson,
    AskedWait,
    NoVerdict,
    Verdict,
    verdict_from,
)
from tests.doubles.model import calls, reply, says

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["verdict", "note", "wait", "kind", "ref"]), inner)
    ),
    max_leaves=8,
)
FINE = {"verdict": "continue", "note": "Go on."}


def judged(**fields: Any) -> Verdict | NoVerdict:
    """What an answer of these fields is read as."""
    return verdict_from(calls("verdict", {**FINE, **fields}))


def test_a_whole_call_is_a_verdict() -> None:
    assert judged(evidence=" the file ") == Verdict("continue", "Go on.", "the file")


def test_words_beside_the_call_do_not_matter() -> None:
    text = {"type": "text", "text": "I think it is complete."}
    use = {"type": "tool_use", "id": "t", "name": "verdict", "input": FINE}

    assert verdict_from(reply(text, use)) == Verdict("continue", "Go on.")


def test_an_endpoint_that_ends_a_forced_call_with_end_turn_is_understood() -> None:
    assert verdict_from(calls("verdict", FINE, stop_reason="end_turn")) == Verdict(
        "continue", "Go on."
    )


@pytest.mark.parametrize(
    "answer",
    [
        says("verdict: complete"),
        says('{"verdict": "complete", "note": "done"}'),
        reply(),
        calls("verdict", FINE, stop_reason="max_tokens"),
        calls("verdict", FINE, stop_reason="pause_turn"),
        calls("other", FINE),
        reply(*(calls("verdict", FINE).content * 2)),
        calls("verdict", []),  # type: ignore[arg-type]
    ],
    ids=["prose", "json", "nothing", "cut", "paused", "other tool", "two calls", "no object"],
)
def test_anything_else_is_unreadable(answer: Any) -> None:
    found = verdict_from(answer)

    assert isinstance(found, NoVerdict)
    assert found.failure == "unreadable"


def test_a_refusal_is_a_refusal_whatever_it_says() -> None:
    assert verdict_from(calls("verdict", FINE, stop_reason="refusal")) == NoVerdict("refusal")


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "done"},
        {"verdict": None},
        {"verdict": ["complete"]},
        {"note": ""},
        {"note": 3},
        {"evidence": ["a"]},
        {"verdict": "wait"},
        {"verdict": "wait", "wait": {"kind": "ci", "ref": "x"}},
        {"verdict": "wait", "wait": {"kind": "probe", "ref": 1}},
        {"verdict": "needs_person"},
        {"verdict": "needs_person", "person": {"kind": "approval", "text": "x"}},
        {"verdict": "needs_person", "person": {"kind": "question", "text": " "}},
        {"verdict": "needs_person", "person": {"kind": "question"}},
    ],
)
def test_an_invalid_field_is_unreadable(fields: dict[str, Any]) -> None:
    assert isinstance(judged(**fields), NoVerdict)


def test_what_belongs_to_another_verdict_is_not_looked_at() -> None:
    assert judged(wait="nonsense", person=7) == Verdict("continue", "Go on.")


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        ("2027-01-15T08:00:00+00:00", 1_800_000_000.0),
        (" 2027-01-15T09:00:00+01:00 ", 1_800_000_000.0),
        ("2027-01-15T08:00:00Z", 1_800_000_000.0),
        ("2027-01-15T08:00:00", None),
        ("tomorrow", None),
        (1_800_000_000, None),
        (None, None),
    ],
)
def test_only_a_time_with_its_zone_is_a_time(until: Any, expected: float | None) -> None:
    wait = {"kind": "time", "ref": "the office opens", "until": until}

    found = judged(verdict="wait", wait=wait)

    assert isinstance(found, Verdict)
    assert found.wait == AskedWait("time", "the office opens", expected)


def test_a_person_is_asked_by_kind_and_text() -> None:
    found = judged(verdict="needs_person", person={"kind": "sign_off", "text": "Publish it?"})

    assert isinstance(found, Verdict)
    assert found.person == AskedPerson("sign_off", "Publish it?")


def test_a_note_is_cut_to_twenty_words_and_one_line() -> None:
    found = judged(note="a word\n" * 40)

    assert isinstance(found, Verdict)
    assert found.note == " ".join(["a word"] * 10)


@given(JSON)
def test_no_input_whatever_raises(given: Any) -> None:
    assert isinstance(verdict_from(calls("verdict", given)), Verdict | NoVerdict)
