"""How people and settings are written and read."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.parse import room
from bot.chat.facts import Manner
from bot.chat.hold_words import read_hold
from bot.chat.parse import Command, parse
from bot.chat.people_words import EntryWords, read_entry, read_subject, shown, subject_word
from bot.chat.replies import buttons_of
from bot.chat.room_words import key_named, read_setting, read_value, value_text
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import Place
from bot.ports.people import Subject
from bot.ports.room_settings import (
    DEFAULTS,
    KEYS,
    KINDS,
    Kept,
    RoomSettings,
    read_kept,
    resolved,
    write_kept,
)

TEXTS = Texts()
SLACK = Place("slack", "T1", "general")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(KEYS), inner),
    max_leaves=9,
)


@pytest.mark.parametrize(
    ("word", "subject"),
    [
        ("@ben", Subject("person", "console", "ben")),
        ("@ben:example.org", Subject("person", "matrix", "@ben:example.org")),
        ("<@U012AB>", Subject("person", "slack", "U012AB")),
        ("<@U012AB|ben>", Subject("person", "slack", "U012AB", name="ben")),
        ("<@T1:U012AB|Ben Lee>", Subject("person", "slack", "T1:U012AB", name="Ben Lee")),
        ("<@T1:U012AB|B\u202eneb>", Subject("person", "slack", "T1:U012AB", name="B�neb")),
        ("<@T1:U1|<b>>", None),
        ("room:ops", Subject("room", "console", "ops")),
        ("server:example.org", Subject("server", "matrix", "example.org")),
        ("group:S1", Subject("group", "slack", "S1")),
        ("ben", None),
        ("@", None),
        ("@a@b", None),
        ("@日本", Subject("person", "console", "日本")),
        ("@be\u200bn", None),
        ("@\u202eneb", None),
        ("@\x1b[31mben", None),
        ("room:", None),
        ("", None),
    ],
)
def test_a_word_names_somebody_or_nobody(word: str, subject: Subject | None) -> None:
    assert read_subject(word, room()) == subject


@pytest.mark.parametrize(
    ("word", "id"),
    [
        ("@ben", "@ben:example.org:8448"),
        ("@ben:other.org", "@ben:other.org"),
        ("@all", "all"),
    ],
)
def test_on_matrix_a_bare_name_is_of_the_bots_own_server(word: str, id: str) -> None:
    place = Place("matrix", "@headway:example.org:8448", "!room")

    assert read_subject(word, place) == Subject("person", "matrix", id)


@pytest.mark.parametrize(
    ("word", "subject"),
    [
        ("<@U1>", Subject("person", "slack", "T1:U1")),
        ("<@E9:U1>", Subject("person", "slack", "E9:U1")),
        ("@U1", Subject("person", "slack", "T1:U1")),
        ("@T2:W1", Subject("person", "slack", "T2:W1")),
        ("@ben", Subject("person", "slack", "ben")),
    ],
)
def test_in_slack_somebody_is_known_by_team_and_user(word: str, subject: Subject) -> None:
    assert read_subject(word, SLACK) == subject


def test_an_entry_of_slack_takes_a_mention_and_no_mere_name() -> None:
    words = read_entry("<@T1:U1|Ben Lee> approver here", SLACK, TEXTS)

    assert words == EntryWords(
        Subject("person", "slack", "T1:U1", name="Ben Lee"), "approver", is_here=True
    )
    assert shown(words.subject) == "@Ben Lee"
    with pytest.raises(BadInput, match="is only a name here"):
        read_entry("@ben approver", SLACK, TEXTS)


def test_a_hold_and_a_bill_take_a_mention_with_a_name_of_two_words() -> None:
    held = read_hold("<@T1:U1|Ben Lee>: look first", SLACK)
    said = parse("/goal spend person <@T1:U1|Ben Lee>", TEXTS, in_thread=False)

    assert held is not None
    assert held.person == Subject("person", "slack", "T1:U1", name="Ben Lee")
    assert held.why == "look first"
    assert isinstance(said, Command)
    assert said.text == "person Ben Lee"


@pytest.mark.parametrize("word", ["@ben", "@b:example.org", "<@U1>", "server:x.org", "group:S1"])
def test_whoever_is_named_can_be_named_so_again(word: str) -> None:
    subject = read_subject(word, SLACK if word.startswith("<") else room())
    assert subject is not None

    place = Place(subject.network, "", "")
    assert read_subject(subject_word(subject), place) == subject
    assert "<" not in shown(subject)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@ben", EntryWords(Subject("person", "console", "ben"))),
        ("add @ben Approver", EntryWords(Subject("person", "console", "ben"), "approver")),
        ("@ben here admin", EntryWords(Subject("person", "console", "ben"), "admin", True)),
        ("REMOVE @ben", EntryWords(Subject("person", "console", "ben"), removes=True)),
        ("", None),
        ("remove", None),
        ("users to log in", None),
        ("@ben to deploy when it is green", None),
    ],
)
def test_an_entry_is_read_or_is_an_objective(text: str, words: EntryWords | None) -> None:
    assert read_entry(text, room(), TEXTS) == words


@pytest.mark.parametrize("name", ["@all", "@Everyone", "add @here admin"])
def test_everybody_is_not_a_person_to_let_in(name: str) -> None:
    with pytest.raises(BadInput, match="`room:NAME`"):
        read_entry(name, room(), TEXTS)

    assert read_entry("remove @all", room(), TEXTS) is not None


@given(st.text())
def test_any_text_is_an_entry_an_objective_or_bad_input(text: str) -> None:
    for read in (lambda: read_entry(text, room(), TEXTS), lambda: read_setting(text, TEXTS)):
        with contextlib.suppress(BadInput):
            read()


EXAMPLES: dict[str, str] = {
    "goals": "off", "mention": "ask", "model": "claude-opus-5", "audit_model": "claude-haiku-5",
    "budget_usd": "2.5", "cap_usd": "20", "cap_live_goals": "5", "zone": "Europe/Berlin",
    "self_approve": "on", "four_eyes": "on", "retention_days": "30", "workspace_days": "0",
    "threads": "off", "reactions": "on", "acks": "off", "profile": "networked", "approvals": "deny",
    "unattended": "park", "plan_first": "on", "hosts": "pypi,api.example.org",
    "server_tools": "off",
}  # fmt: skip


def test_every_key_has_a_kind_a_help_and_an_example() -> None:
    assert set(KEYS) == set(KINDS) == set(EXAMPLES)
    assert all(TEXTS.has(f"room.{key}") for key in KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_a_value_that_was_set_is_shown_as_it_was_typed_and_comes_back(key: str) -> None:
    value = read_value(key, EXAMPLES[key], TEXTS)

    kept = read_kept(write_kept("{}", key, Kept(value, "p1", 5.0)))

    assert type(value) is KINDS[key]
    assert value_text(value, TEXTS) == EXAMPLES[key]
    assert kept == {key: Kept(value, "p1", 5.0)}
    assert getattr(resolved(kept), key) == value
    assert read_setting(f"{key.upper()} {EXAMPLES[key]}", TEXTS) == (key, value)
    assert read_setting(f"{key} default", TEXTS) == (key, None)


@given(JSON)
def test_settings_that_somebody_else_wrote_harm_nothing(found: Any) -> None:
    text = json.dumps(found)

    kept = read_kept(text)
    again = write_kept(text, "goals", Kept(False, "p", 1.0))

    assert isinstance(resolved(kept), RoomSettings)
    assert read_kept(again)["goals"] == Kept(False, "p", 1.0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"goals": {"value": 3, "by": "p", "at": 1}}'])
def test_settings_that_cannot_be_read_are_as_if_not_set(text: str) -> None:
    assert resolved(read_kept(text)) == DEFAULTS


def test_what_a_newer_headway_wrote_stays() -> None:
    newer = '{"planets": {"value": 9, "by": "p", "at": 1.0}}'

    kept = write_kept(write_kept(newer, "goals", Kept(False, "p", 1.0)), "goals", None)

    assert json.loads(kept) == json.loads(newer)


def test_the_nearest_level_wins() -> None:
    here = {"mention": Kept("always", "p", 1.0)}
    above = {"mention": Kept("ask", "p", 1.0), "goals": Kept(False, "p", 1.0)}

    settings = resolved(here, above, defaults=RoomSettings(budget_usd=3.0))

    assert (settings.mention, settings.goals, settings.budget_usd) == ("always", False, 3.0)


def test_an_alias_means_its_key() -> None:
    assert key_named("budget") == "budget_usd"
    assert key_named("nonsense") is None


def test_buttons_say_what_they_are_about() -> None:
    manner = Manner()

    [allow] = buttons_of("access:@eve", manner)

    assert (allow.verb, allow.label) == ("/goal allow @eve", "Allow")
    assert [one.verb for one in buttons_of("lost:G1", manner)] == [
        "/goal owner G1 me", "/goal cancel G1", "/goal pause G1",
    ]  # fmt: skip
    assert buttons_of("", manner) == ()
    assert buttons_of("unknown:thing", manner) == ()


def test_a_large_sum_is_said_in_full() -> None:
    assert value_text(1_000_000.0, TEXTS) == "1000000"


@pytest.mark.parametrize("text", ["http://a.example", "*.com", "a_b/c", "127.1", ",", "pypi,a..b"])
def test_hosts_that_are_none_are_said_with_what_would_fit(text: str) -> None:
    with pytest.raises(BadInput, match="bundles are pypi, npm, debian"):
        read_value("hosts", text, TEXTS)


def test_hosts_are_kept_in_one_form() -> None:
    assert read_value("hosts", "PyPI,API.Example.org.,pypi", TEXTS) == "pypi,api.example.org"
