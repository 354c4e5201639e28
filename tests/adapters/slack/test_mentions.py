"""How a text of Slack's is given on, and whom it is addressed to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.markup_in import read, users_in
from adapters.slack.mentions import addressed
from tests.adapters.slack.events import HEARER, US

NAMES = HEARER.names


def text_of(text: str) -> str:
    return addressed(text, NAMES).text


@pytest.mark.parametrize(
    ("typed", "given_on"),
    [
        (f"<@{US}> fix it", "@headway fix it"),
        (f"<@{US}>: fix it", "@headway fix it"),
        (f"  <@{US}|headway>, fix it", "@headway fix it"),
        (f"<@{US}>", "@headway"),
        (f"<@{US}>   ", "@headway"),
        (f"hey <@{US}> fix it", "@headway hey @headway fix it"),
        (f"fix it please <@{US}>", "@headway fix it please"),
        (f"<@{US}> ask <@U01ALICE>", "@headway ask <@T01TEST:U01ALICE|Alice>"),
        (f"<@{US}>\nfix it", "@headway fix it"),
        (f"<@{US}> !goal list", "@headway !goal list"),
    ],
)
def test_a_mention_of_the_bot_stands_in_front(typed: str, given_on: str) -> None:
    found = addressed(typed, NAMES)

    assert found.text == given_on
    assert not found.is_aside


@pytest.mark.parametrize("typed", ["!goal list", "// no", "!goal stop <@U0BOT>", "//<@U0BOT> no"])
def test_a_command_and_what_is_kept_out_stay_as_they_were_typed(typed: str) -> None:
    found = addressed(typed, NAMES)

    assert found.text == typed.replace("<@U0BOT>", "@headway")
    assert not found.is_aside


@pytest.mark.parametrize(
    "typed",
    ["<@U01ALICE> look", "see <@U99NEW>", "<!here> lunch", "<!channel>", "<!subteam^S01|@crew> hi"],
)
def test_what_calls_others_and_not_the_bot_is_aside(typed: str) -> None:
    assert addressed(typed, NAMES).is_aside


def test_what_calls_nobody_is_neither() -> None:
    found = addressed("just talk", NAMES)

    assert (found.text, found.is_aside) == ("just talk", False)


@pytest.mark.parametrize(
    ("typed", "given_on"),
    [
        ("<@U01ALICE>", "<@T01TEST:U01ALICE|Alice>"),
        ("<@U02BOB>", "<@T01TEST:U02BOB|Bob bc>"),
        ("<@U07FORGN>", "<@E09FAR:U07FORGN|Fay>"),
        ("<@U99NEW>", "<@T01TEST:U99NEW>"),
        ("<@U99NEW|nelly>", "<@T01TEST:U99NEW|nelly>"),
        ("<@W99NEW>", "<@T01TEST:W99NEW>"),
        ("<#C01GEN|general>", "#general"),
        ("<#C02RND>", "#random"),
        ("<#C02RND|>", "#random"),
        ("<#C99>", "#C99"),
        ("<!here>", "@here"),
        ("<!here|here>", "@here"),
        ("<!subteam^S01|@crew>", "group:S01"),
        ("<!date^1700000000^{date}|14 Nov>", "14 Nov"),
        ("<https://example.org>", "https://example.org"),
        ("<https://example.org|the docs>", "[the docs](https://example.org)"),
        ("<https://example.org/|example.org>", "example.org"),
        ("<http://a.b/(c)|d [e]>", "[d \\[e\\]](http://a.b/%28c%29)"),
        ("<https://example.org/?a=1&amp;b=2>", "https://example.org/?a=1&b=2"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("&amp;lt;", "&lt;"),
        ("`<@U01ALICE>` *bold* _it_", "`<@T01TEST:U01ALICE|Alice>` *bold* _it_"),
        ("```x = a &lt; b\n  y```", "```x = a < b\n  y```"),
        ("&lt;@U01ALICE&gt;", "<@U01ALICE>"),
        ("a <b", "a <b"),
        ("<>", "<>"),
    ],
)
def test_marks_of_slacks_become_markdown(typed: str, given_on: str) -> None:
    assert text_of(typed) == given_on


def test_a_mark_that_was_typed_is_no_mention() -> None:
    assert users_in("&lt;@U01ALICE&gt; <@U02BOB>") == ("U02BOB",)


@given(st.text(alphabet="<>@#!|^&;ampltgU0BOTS1 \n`", max_size=80))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_text(text: str) -> None:
    found = addressed(text, NAMES)

    assert isinstance(found.text, str)
    assert read(text, lambda user, label: user, lambda id: id).text is not None


@given(st.text(max_size=200).filter(lambda text: not set(text) & set("<>&")))
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    assert addressed(text, NAMES).text == text
