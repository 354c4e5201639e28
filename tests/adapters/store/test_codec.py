"""Whatever the core holds comes back as it was."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.store import codec
from bot.goals.events import EVENTS, Event
from bot.goals.goal import Goal
from bot.goals.limits import LIMITS, Limits

# Any character at all, the ones that databases refuse more often than not.
TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("\x00\x10\ud800\udfff0d8\\")), max_size=12
)
st.register_type_strategy(str, TEXT)
st.register_type_strategy(float, st.floats(allow_nan=False))
GOALS = st.from_type(Goal)
CHANGES = st.fixed_dictionaries(
    {},
    optional={name: st.from_type(hint) for name, hint in get_type_hints(Goal).items()},
)


@given(TEXT)
def test_any_text_comes_back_and_is_fit_for_a_database(text: str) -> None:
    escaped = codec.escape(text)

    escaped.encode()
    assert "\0" not in escaped
    assert codec.unescape(escaped) == text


@given(TEXT, TEXT)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (codec.escape(one) == codec.escape(other)) == (one == other)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_kind_of_event_comes_back(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(st.from_type(kind))

    text = codec.dump_event(event)

    text.encode()
    codec.forget()
    assert codec.load_event(codec.kind_of(event), text) == event


@settings(max_examples=60, deadline=None)
@given(GOALS)
def test_a_goal_comes_back(goal: Goal) -> None:
    text = codec.dump_goal(goal)

    codec.forget()
    assert codec.load_goal(text) == goal


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_changes_come_back_with_their_types(changes: dict[str, Any]) -> None:
    text = codec.dump_changes(changes)
    codec.forget()
    back = codec.load_changes(text)

    assert back == changes
    assert {name: type(value) for name, value in back.items()} == {
        name: type(value) for name, value in changes.items()
    }


def test_changes_know_every_field_of_a_goal() -> None:
    assert {field.name for field in fields(Goal)} == set(get_type_hints(Goal))


def test_the_hash_of_the_limits_tells_them_apart() -> None:
    assert codec.limits_hash(LIMITS) == codec.limits_hash(Limits())
    assert codec.limits_hash(LIMITS) != codec.limits_hash(Limits(quiet_s=4.0))
