"""Windows and homes as views: within every limit, whatever they hold; forms as messages."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.slack.presses import press_of, units
from adapters.slack.views import (
    BLOCK,
    Words,
    complaints,
    failure,
    form_of,
    home_view,
    is_form,
    loading,
    modal,
)
from bot.ports.chat import Button, Place, Shape, Speaker
from bot.ports.windows import TICKED, Home, Input, Item, Part, Window
from tests.peers.slack_schemas import faults_of_call, faults_of_view

ANN = Speaker("T01TEST:U01ALICE", "ann")
THREAD = Place("slack", "T01TEST", "C01GEN", "C01GEN:1700000000.000100")
CARD = "C01GEN:1700000001.000200"
WORDS = Words(
    "One moment…", "That did not work.", "Headway", "Close", "Later", "Earlier",
    "Page {page} of {pages}", "Thread",
)  # fmt: skip
FORM = Window(
    "Edit G12",
    "edit",
    THREAD,
    CARD,
    inputs=(Input("words", "Objective", "words", "Make the tests pass", 3_000, "Say `edit` too."),),
    fixed=(("goal", "G12"),),
    submit="Save",
    close="Not now",
)
NASTY = st.sampled_from(
    [
        "", " ", "\n", "a" * 75, "a" * 76, "a" * 3_000, "a" * 3_001, "<!channel> & <@U1|x>", "😀" * 1_600,
        "👩‍👩‍👧‍👦" * 400, "\u202eright to left\u202c שלום עולם", "\0\x07\ud800", "*_~`" * 900, "```\ncode\n" * 600,
        "| a | b |\n|--|--|\n| 1 | 2 |", "- x\n" * 200, "&<>" * 1_200, "[x](javascript:alert)", "# h\n> q",
    ]
)  # fmt: skip
TEXTS = NASTY | st.text(max_size=60)
VERBS = st.sampled_from(["pause G1", "", "new", "x" * 3_000])


def many(one: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """None of it, one, or two of it over and over again."""
    few = st.lists(one, max_size=2)
    return st.builds(lambda found, times: tuple(found) * times, few, st.integers(1, most // 2))


SHAPES = st.builds(
    Shape,
    glyph=st.sampled_from(["", "⏳"]),
    word=TEXTS,
    facts=st.lists(TEXTS, max_size=2).map(tuple),
    body=TEXTS,
    now=TEXTS,
    tasks=many(st.tuples(TEXTS, st.sampled_from(["done", "open", "odd"])), 30),
    notes=many(TEXTS, 14),
    buttons=many(st.builds(Button, VERBS, TEXTS), 30),
    options=many(TEXTS, 30),
)
INPUTS = st.lists(
    st.builds(
        Input,
        st.sampled_from(["words", "budget", "room", "goals"]),
        TEXTS,
        st.sampled_from(["words", "line", "choice", "place", "tick"]),
        TEXTS | st.just("C01GEN"),
        st.integers(1, 3_000),
        TEXTS,
        st.lists(st.tuples(st.uuids().map(str), TEXTS), min_size=1, max_size=3).map(tuple),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda one: one.name,
)
WINDOWS = st.builds(
    Window,
    TEXTS,
    st.just("edit"),
    st.just(THREAD),
    st.just(CARD),
    many(SHAPES, 8),
    INPUTS.map(tuple),
    st.just((("goal", "G1"),)),
    TEXTS,
    TEXTS,
)
ITEMS = st.builds(Item, st.just(THREAD), SHAPES, st.sampled_from(["", CARD]))
HOMES = st.builds(
    Home,
    many(st.builds(Part, TEXTS, TEXTS, many(ITEMS, 12), TEXTS), 4),
    SHAPES,
    st.integers(1, 3),
    st.integers(1, 3),
)
CAREFUL = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def values(view: Mapping[str, Any]) -> list[str]:
    """The values of all buttons."""
    found = []
    for block in view["blocks"]:
        found += [one["value"] for one in block.get("elements", []) if one["type"] == "button"]
        found += [block["accessory"]["value"]] if "accessory" in block else []
    return found


def filled(view: dict[str, Any], **inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The view as Slack gives it back with what stands in its inputs."""
    state = {f"{BLOCK}{name}": {"headway:value": value} for name, value in inputs.items()}
    return {**view, "id": "V01", "state": {"values": state}}


@CAREFUL
@given(WINDOWS)
def test_a_window_is_within_every_limit_whatever_it_holds(window: Window) -> None:
    view = modal(window)

    assert faults_of_call("views.open", {"trigger_id": "1.2", "view": view}) == []


@CAREFUL
@given(HOMES)
def test_a_home_is_within_every_limit_whatever_it_holds(home: Home) -> None:
    view = home_view(home, "T01TEST", WORDS)

    assert faults_of_call("views.publish", {"user_id": "U01", "view": view}) == []
    assert len(json.dumps(view)) <= 250_000
    assert all(press_of(value) is not None for value in values(view))


@CAREFUL
@given(TEXTS)
def test_what_stands_in_the_place_of_a_window_is_within_every_limit(text: str) -> None:
    assert faults_of_view(failure(text, WORDS)) == []
    assert faults_of_view(loading(WORDS)) == []


def test_a_form_that_was_filled_in_is_a_message_about_what_it_was_opened_for() -> None:
    text = {"type": "plain_text_input", "value": "Make *all* tests pass"}

    said = form_of(filled(modal(FORM), words=text), ANN, "T01TEST", 9.0)

    assert said is not None
    assert (said.id, said.via, said.act) == ("form:V01", "form", "edit")
    assert (said.place, said.reply_to, said.speaker) == (THREAD, CARD, ANN)
    assert said.text == "Make *all* tests pass"
    assert said.form == (("goal", "G12"), ("act", "edit"))


def test_a_new_goal_is_said_in_the_room_that_was_chosen() -> None:
    nowhere = Place("slack", "T01TEST", "")
    room = Input("room", "Where", "place")
    view = modal(Window("New goal", "start", nowhere, inputs=(room,), submit="Start"))
    chosen = {"type": "conversations_select", "selected_conversation": "C02OPS"}

    said = form_of(filled(view, room=chosen), ANN, "T01TEST", 9.0)
    none = form_of(filled(view, room={"type": "conversations_select"}), ANN, "T01TEST", 9.0)

    assert said is not None
    assert said.place == Place("slack", "T01TEST", "C02OPS")
    assert "room" not in dict(said.form)
    assert none is not None
    assert none.place.room == ""


def test_what_is_carried_along_cannot_be_overwritten_by_an_input() -> None:
    text = {"type": "plain_text_input", "value": "G99"}

    said = form_of(filled(modal(FORM), goal=text, act=text), ANN, "T01TEST", 9.0)

    assert said is not None
    assert dict(said.form) == {"goal": "G12", "act": "edit"}


@pytest.mark.parametrize(
    "change",
    [
        {"callback_id": "headway:read"},
        {"callback_id": "other"},
        {"private_metadata": ""},
        {"private_metadata": "{}"},
        {"private_metadata": "[" * 3_000},
        {"private_metadata": '{"a":"drop","w":"T01TEST","r":"C01GEN","t":"","o":"","f":[]}'},
        {"private_metadata": '{"a":"edit","w":"T09THEM","r":"C01GEN","t":"","o":"","f":[]}'},
        {"private_metadata": '{"a":"edit","w":"T01TEST","r":"general","t":"","o":"","f":[]}'},
        {"private_metadata": '{"a":"edit","w":"T01TEST","r":"C01GEN","t":"","o":"","f":[1]}'},
        {"private_metadata": '{"a":["edit"],"w":"T01TEST","r":"C01GEN","t":"","o":"","f":[]}'},
        {"id": 5},
    ],
)
def test_what_is_no_form_of_ours_is_nobodys_message(change: dict[str, Any]) -> None:
    view = filled(modal(FORM))

    assert form_of({**view, **change}, ANN, "T01TEST", 9.0) is None


@pytest.mark.parametrize("values", [None, [], {"x": 1}, {f"{BLOCK}words": {"headway:value": 3}}])
def test_inputs_of_any_kind_are_read(values: Any) -> None:
    view = {**filled(modal(FORM)), "state": {"values": values}}

    said = form_of(view, ANN, "T01TEST", 9.0)

    assert said is not None
    assert said.text == ""


def test_what_is_wrong_stands_under_its_input() -> None:
    view = modal(FORM)

    answer = complaints({"words": "Say `budget 5`.", "budget": "Too much."}, view)

    assert answer == {
        "response_action": "errors",
        "errors": {f"{BLOCK}words": "Say “budget 5”. Too much."},
    }
    assert is_form(view)


def test_a_text_that_would_be_cut_is_not_put_into_an_input() -> None:
    long = Input("words", "Objective", "words", "😀" * 1_501, 3_000)

    view = modal(Window("Edit", "edit", THREAD, inputs=(long,), submit="Save"))

    assert units(long.value) == 3_002
    assert "initial_value" not in view["blocks"][-1]["element"]


def test_nobody_is_called_by_what_a_home_shows() -> None:
    shape = Shape("⏳", "<!channel>", ("<@U1>",), body="<!here> & <#C1|x>", notes=("<!everyone>",))

    view = home_view(Home((Part("x", "", (Item(THREAD, shape),)),), shape), "T01TEST", WORDS)

    shown = json.dumps(view)
    assert "<!" not in shown
    assert "<@" not in shown
    assert "<#C1|" not in shown


def test_what_is_cut_in_a_home_cannot_be_approved_there() -> None:
    def labels(body: str) -> list[str]:
        shape = Shape("❓", "Decision 1", body=body, options=("approve", "deny"))
        view = home_view(
            Home((Part("x", "", (Item(THREAD, shape, CARD),)),), Shape("", "")), "T01", WORDS
        )
        acts = [block for block in view["blocks"] if block["type"] == "actions"]
        return [each["text"]["text"] for block in acts for each in block["elements"]]

    assert labels("rm -r build") == ["approve", "deny"]
    assert labels("# rm\n\nbuild\n\n" * 40) == []


@pytest.mark.parametrize("is_ticked", [True, False])
def test_a_box_is_ticked_or_not(is_ticked: bool) -> None:
    value = TICKED if is_ticked else ""
    box = Input(
        "plan_first", "Plan first", "tick", value, options=(("", "It looks"),), is_optional=True
    )
    view = modal(
        Window(
            "New goal", "start", Place("slack", "T01TEST", "C01GEN"), inputs=(box,), submit="Start"
        )
    )
    [block] = [one for one in view["blocks"] if one["type"] == "input"]
    element = block["element"]
    chosen = {"type": "checkboxes", "selected_options": element["options"] if is_ticked else []}

    said = form_of(
        filled(view, plan_first=chosen), ANN, Place("slack", "T01TEST", "C01GEN").workspace, 1.0
    )

    assert faults_of_view(view) == []
    assert ("initial_options" in element) is is_ticked
    assert said is not None
    assert dict(said.form)["plan_first"] == value
