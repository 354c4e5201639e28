"""Sentences of commands fit the terminal that they are shown on, and stay a line elsewhere."""

import io

import pytest

from bot.cli.wrapped import wrapped

SENTENCE = "There is no person 'nobody' that Headway has ever heard from. Check its spelling."


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_on_a_narrow_terminal_is_broken_between_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    shown = wrapped(f"short\n  {SENTENCE}", Terminal())

    first, *rest = shown.split("\n")
    assert first == "short"
    assert all(line.startswith("  ") and len(line) <= 40 for line in rest)
    assert " ".join(" ".join(rest).split()) == SENTENCE


def test_a_path_longer_than_the_terminal_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    shown = wrapped("It is in /a/very-long/folder/of-somebody now.", Terminal())

    assert "/a/very-long/folder/of-somebody" in shown.split("\n")


def test_a_line_in_a_pipe_stays_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    shown = wrapped(SENTENCE, io.StringIO())

    assert shown == SENTENCE
