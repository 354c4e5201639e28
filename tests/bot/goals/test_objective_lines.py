"""What an objective says in lines of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.goals.objective_lines import CHECK_CHARS, checks_in, command_of, repository_in


@pytest.mark.parametrize(
    "line",
    [
        "check: pytest -q",
        "CHECK : pytest -q",
        "  - check: pytest -q",
        "* Check: `pytest -q`",
        "3. check: pytest -q",
        "- [ ] check: pytest -q  ",
        "check:\tpytest -q\r",
    ],
)
def test_a_check_is_a_line_in_any_case_and_as_an_item_of_a_list(line: str) -> None:
    assert checks_in(f"Mend the parser.\n{line}\nThanks") == ("pytest -q",)


@pytest.mark.parametrize(
    "text", ["please check: it works", "check:", "check:   \nls", "recheck: ls", "- checks: ls", ""]
)
def test_a_word_in_a_sentence_is_no_check(text: str) -> None:
    assert checks_in(text) == ()


def test_checks_count_once_and_ten_at_most() -> None:
    lines = [f"check: test {n}" for n in range(14)]

    assert checks_in("\n".join([lines[0], *lines])) == tuple(f"test {n}" for n in range(10))
    assert checks_in(f"check: {'x' * (CHECK_CHARS + 1)}") == ()


def test_only_backticks_around_the_whole_are_taken_off() -> None:
    assert command_of("`ls -l`") == "ls -l"
    assert command_of("`a` && `b`") == "`a` && `b`"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mend it.\nrepo: app", "app"),
        ("- Repository: `my.app-2`\nrepo: other", "my.app-2"),
        ("repo: two words", ""),
        ("repo: ../up", ""),
        ("repo: -x", ""),
        ("the repo: app is broken", ""),
    ],
)
def test_a_repository_is_a_line_that_holds_its_name_alone(text: str, name: str) -> None:
    assert repository_in(text) == name


@given(st.text())
def test_any_text_has_its_lines(text: str) -> None:
    assert all(command.strip() for command in checks_in(text))
    repository_in(text)
