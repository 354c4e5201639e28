"""What buttons say goes out and comes back; what is none of ours is nobody's press."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slack_sdk.models.blocks.block_elements import ButtonElement

from adapters.slack.presses import (
    LABEL_MOST,
    UNREAD,
    VALUE_MOST,
    VERB_MOST,
    Press,
    button,
    cut,
    press_of,
    read_press,
    units,
    value_of,
)
from bot.errors import Refused
from bot.ports.chat import Place

THREAD = Place("slack", "T01TEST", "C01GEN", "C01GEN:1700000000.000100")
PLACES = st.sampled_from(
    [
        None,
        THREAD,
        Place("slack", "E01ORG", "D01X", ""),
        Place("slack", "T01TEST", "", ""),
        Place("slack", "T01TEST", "C01GEN", "new:command:17.5"),
    ]
)


@given(st.text(max_size=300), PLACES, st.sampled_from(["", "C01GEN:1700000001.000200"]))
def test_what_a_button_says_comes_back(verb: str, place: Place | None, of: str) -> None:
    press = Press(verb, place, of)

    assert press_of(value_of(press)) == press


@given(st.integers(1, 10_000))
def test_a_page_comes_back(page: int) -> None:
    assert press_of(value_of(Press("", page=page))) == Press("", page=page)


@given(st.text(max_size=1_100), st.text(max_size=300))
@example("\U0001f600" * 800, "x")
def test_a_button_is_within_every_limit_of_slack(verb: str, label: str) -> None:
    if len(verb) > VERB_MOST:
        with pytest.raises(Refused):
            button(Press(verb, THREAD), label, 3)
        return

    element = button(Press(verb, THREAD), label, 3, spoken=label)

    assert units(element["text"]["text"]) <= LABEL_MOST
    assert units(element["value"]) <= VALUE_MOST
    ButtonElement(**{k: v for k, v in element.items() if k != "type"}).to_dict()


@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("vwrtop"), inner),
        ).map(json.dumps),
    )
)
def test_anything_else_is_nobodys_press_or_one_of_a_sound_place(value: object) -> None:
    press = press_of(value)

    if press is not None:
        assert press.place is None or press.place.network == "slack"
        assert press_of(value_of(press)) == press


@pytest.mark.parametrize(
    "value",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"v":1}',
        '{"p":0}',
        '{"p":true}',
        '{"v":"pause","w":"general"}',
        '{"v":"pause","w":"T01","r":"general","t":""}',
        '{"v":"pause","w":"T01","r":"C01","t":"C02:17.1"}',
        '{"v":"pause","w":"T01","r":"","t":"C02:17.1"}',
        '{"v":"1","o":"x"}',
        "[" * 1_500,
        '{"v":"' + "x" * 3_000 + '"}',
    ],
)
def test_a_value_that_none_of_ours_could_be_says_nothing(value: str) -> None:
    assert press_of(value) is None
    assert read_press(value) == Press(UNREAD)


@given(st.text(), st.integers(1, 40))
def test_what_is_cut_is_never_longer_and_says_so(text: str, most: int) -> None:
    shown = cut(text, most)

    assert units(shown) <= most
    assert shown == text or shown.endswith("…")


def test_no_emoji_is_cut_in_two() -> None:
    assert cut("ab😀😀", 4) == "ab…"
