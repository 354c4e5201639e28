"""What others wrote, on a terminal: harmless, in its own order, and whole."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, Group
from rich.text import Text

from adapters.console.parse import SaidLine, room
from adapters.console.render import MARKDOWN_MOST, clean, coded, lines, post, status
from adapters.console.view import View
from bot.ports.chat import Incoming, Shape, Speaker

REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
SEQUENCE = "\x1b]8;;http://evil\x1b\\link\x1b[2J\x9b31m"
TEXTS = st.text(alphabet=st.characters(codec=None), max_size=80)


def shown(what: object) -> str:
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(what)
    return out.getvalue()


@given(TEXTS, TEXTS, TEXTS)
def test_whatever_was_written_can_be_printed_and_moves_nothing(
    body: str, fact: str, option: str
) -> None:
    shape = clean(Shape("⏳", "Working", (fact,), body, now=body, options=(option,)))

    printed = shown(post(shape)) + shown(status(shape, 80)) + lines(shape)

    assert printed.encode()
    controls = {chr(code) for code in (*range(32), *range(127, 160))} - set("\n\t")
    assert not set(printed) & (controls | set(REORDERING))


def test_markup_of_the_screens_own_is_only_text() -> None:
    shape = clean(Shape("✅", "Complete", ("[red]G1[/red]",), "[link=http://evil]x[/link] [bold"))

    printed = shown(post(shape)) + shown(status(shape, 80))

    assert "[red]G1[/red]" in printed
    assert "[link=http://evil]x[/link] [bold" in printed


@pytest.mark.parametrize("body", ["<div>\nthe result\n</div>", "<!-- the result -->"])
def test_html_is_shown_as_it_is_written(body: str) -> None:
    printed = shown(post(Shape("✅", "Complete", body=body)))

    assert "the result" in printed


def test_a_very_long_text_is_not_laid_out() -> None:
    shape = Shape("", "", body="| a | b |\n|---|---|\n" + "| x | y |\n" * (MARKDOWN_MOST // 10))

    whole = post(shape)

    assert isinstance(whole, Group)
    assert whole.renderables == [Text(shape.body)]


def test_a_name_is_as_harmless_as_a_text() -> None:
    speaker = Speaker("ann", "ann\x1b[31m\u202e")
    said = SaidLine(Incoming("m1", room(), speaker, SEQUENCE, 5.0))

    seen = View().see(said)

    assert seen is not None
    assert isinstance(seen.line, SaidLine)
    assert seen.line.message.speaker.name == "ann\ufffd[31m\ufffd"


def test_a_closed_card_says_what_came_of_it() -> None:
    card = Shape("❓", "Decision 1", ("G2", "answered by ann"), "Delete them?", now="→ `no`")

    assert shown(post(card)).splitlines()[-1].strip() == "→ no"


def test_what_is_to_be_typed_looks_like_it_and_its_backticks_are_gone() -> None:
    shown = coded("Say `resume`, or `cancel`. A lone ` stays a word.")

    assert shown.plain == "Say resume, or cancel. A lone ` stays a word."
    assert [shown.plain[span.start : span.end] for span in shown.spans] == ["resume", "cancel"]
