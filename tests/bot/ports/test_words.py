"""What tells a person's traces from others'."""

import base64
import json
import re
import time

from hypothesis import given
from hypothesis import strategies as st

from bot.ports.words import MARK, Words, telling

MARKS = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"),
    min_size=12,
    max_size=40,
).filter(lambda text: len(text.strip()) >= 12)


def test_a_name_counts_as_a_whole_word_in_its_own_letters() -> None:
    words = Words(("Will", "u-will"))

    assert words.without("Will will, Willow; u-will.") == f"{MARK} will, Willow; {MARK}."
    assert not words.names_in("I will, said Willow")


def test_a_short_name_counts_nowhere() -> None:
    assert not Words(("al",)).names_in("al said so")


def test_what_they_said_counts_by_the_line_and_by_words_that_nobody_else_used() -> None:
    theirs = ["please look at ticket-4711x\nand be quick about it", "documentation"]

    told = telling(theirs, ["the other-4711y and documentation"])

    assert "please look at ticket-4711x" in told
    assert "ticket-4711x" in told
    assert "and" not in told
    assert Words(said=told).quotes_in("it is in ticket-4711x.")
    assert not Words(said=told).quotes_in("be quick")


def test_what_others_said_as_well_tells_nothing() -> None:
    others = ["ticket-4711x is mine\nas was said before"]

    assert telling(["ticket-4711x!\nas was said before"], others) == ("ticket-4711x!",)


@given(mark=MARKS, before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_every_form_of_a_text_is_found_in_bytes(mark: str, before: bytes, after: bytes) -> None:
    words = Words(said=(mark,))

    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        raw = mark.encode(encoding)
        assert words.are_in_bytes(before + raw + after)
        assert words.are_in_bytes(base64.b64encode(before + raw + after))
        assert words.are_in_bytes(base64.urlsafe_b64encode(before + raw + after))


@given(mark=MARKS)
def test_what_was_taken_out_is_not_found(mark: str) -> None:
    words = Words(said=(mark,))

    assert not words.are_in(words.without(f"a {mark} b"))


@given(mark=MARKS)
def test_among_very_many_a_text_is_still_found(mark: str) -> None:
    words = Words(said=(mark, *(f"another line number {n}" for n in range(600))))
    has_word = any(len(word) >= 3 for word in re.findall(r"\w+", mark))

    assert words.quotes_in(f"so: {mark} it is") is has_word
    assert not has_word or words.are_in_bytes(base64.encodebytes(f"so: {mark} it is".encode()))
    assert words.quotes_in(json.dumps(f"so:\n{mark}")) is has_word
    assert not words.quotes_in("nothing of that")


def test_very_many_are_looked_for_in_a_long_text_at_once() -> None:
    words = Words(said=tuple(f"the line with number {n} in it" for n in range(20_000)))
    text = "words of a long line with a number in it, which says something else. " * 2_000

    began = time.perf_counter()
    for _ in range(20):
        assert not words.quotes_in(text)

    assert time.perf_counter() - began < 5


def test_base64_in_lines_is_read_across_them() -> None:
    words = Words(said=("a-mark-that-is-long-enough-to-cross-lines",))
    body = base64.encodebytes(b"x" * 41 + words.said[0].encode() + b"y" * 90)

    assert words.are_in_bytes(b"coded:\n" + body)
