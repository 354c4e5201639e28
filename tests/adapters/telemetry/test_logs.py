"""Log lines: what they say, that each is one line, and what is kept out of them."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telemetry.logs import LogHandler, configure, redact_with, writes_json
from bot.ports.at_work import AT_WORK, AtWork

Record = logging.LogRecord


def record(message: str, *args: object, name: str = "bot.chat", **more: Any) -> Record:
    made = logging.LogRecord(name, logging.ERROR, __file__, 1, message, args, None)
    vars(made).update(more)
    return made


def lines(*records: Record, is_json: bool = True, **more: Any) -> list[str]:
    stream = io.StringIO()
    handler = LogHandler(stream)
    handler.is_json = is_json
    vars(handler).update(more)
    for one in records:
        handler.handle(one)
    return stream.getvalue().splitlines()


@pytest.fixture
def failure() -> Iterator[Record]:
    try:
        raise ValueError("first\nsecond")
    except ValueError as error:
        yield record("It broke", exc_info=(type(error), error, error.__traceback__))


def test_a_line_has_time_in_utc_level_logger_message_and_process() -> None:
    made = record("Goal %s waits", "G3")
    made.created = 1_796_076_790.5

    [line] = lines(made)

    told = json.loads(line)
    assert told["time"] == "2026-11-30T22:13:10.500Z"
    assert (told["level"], told["logger"], told["message"]) == (
        "error",
        "bot.chat",
        "Goal G3 waits",
    )
    assert isinstance(told["pid"], int)
    assert told.keys() == {"time", "level", "logger", "message", "pid"}


def test_what_a_goals_task_logs_names_the_goal_and_the_turn() -> None:
    def work() -> list[str]:
        AT_WORK.set(AtWork("abc", 12, 7))
        return [*lines(record("x")), *lines(record("x"), is_json=False)]

    as_json, as_text = copy_context().run(work)

    told = json.loads(as_json)
    assert (told["goal"], told["goal_id"], told["turn"]) == ("G12", "abc", 7)
    assert as_text.endswith("bot.chat: x [G12 turn 7]")


def test_the_ref_that_a_person_was_told_is_a_field() -> None:
    [line] = lines(record("It broke (ref 7F3K)", ref="7F3K"))

    assert json.loads(line)["ref"] == "7F3K"


def test_a_traceback_is_one_field_of_one_line(failure: Record) -> None:
    [line] = lines(failure)

    told = json.loads(line)
    assert told["exception"].startswith("Traceback (most recent call last):\n")
    assert told["exception"].endswith("ValueError: first\nsecond")


def test_a_terminal_gets_the_traceback_as_it_is(failure: Record) -> None:
    first, *rest = lines(failure, is_json=False)

    assert first.endswith("ERROR bot.chat: It broke")
    assert rest[0] == "Traceback (most recent call last):"


@given(st.text(), st.text(), st.text(min_size=1))
def test_any_text_makes_one_line_of_json(message: str, ref: str, argument: str) -> None:
    stream = io.StringIO()
    handler = LogHandler(stream)
    handler.is_json = True

    handler.handle(record("%s: %s", message, argument, ref=ref))

    [line] = stream.getvalue().splitlines()
    told = json.loads(line)
    assert (told["message"], told["ref"]) == (f"{message}: {argument}", ref)


def test_a_message_that_does_not_fit_its_arguments_is_written_all_the_same() -> None:
    [line] = lines(record("%d of %s", "three"))

    assert json.loads(line)["message"] == "%d of %s ('three',)"


@pytest.mark.parametrize("is_json", [True, False])
def test_everything_goes_through_the_redactor_before_it_is_written(
    is_json: bool, failure: Record
) -> None:
    def redact(text: str) -> str:
        return text.replace("sec\nret", "***").replace("second", "***")

    told = "\n".join(lines(record("a sec\nret"), failure, is_json=is_json, redact=redact))

    assert "second" not in told
    assert "a ***" in told
    assert "ValueError: first" in told


def test_a_library_is_heard_only_when_it_warns() -> None:
    quiet, loud = record("GET /", name="httpx"), record("broken", name="httpx")
    quiet.levelno = logging.INFO

    [line] = lines(quiet, loud)

    assert json.loads(line)["message"] == "broken"


@contextmanager
def bare() -> Iterator[logging.Logger]:
    """The root without the handlers of the test run, which come after every fixture."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        yield root
    finally:
        root.handlers[:], root.level = handlers, level


def test_the_log_is_set_up_once_and_can_be_set_up_anew() -> None:
    with bare() as root:
        configure("warning", "json")
        redact_with(lambda text: text.replace("secret", "***"))
        configure("info", "text")
        [handler], level, is_json = root.handlers, root.level, writes_json()

    assert isinstance(handler, LogHandler)
    assert (level, is_json) == (logging.INFO, False)
    assert handler.redact("a secret") == "a ***"


def test_where_a_program_reads_it_is_json_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())

    with bare():
        configure("warning", "auto")
        is_json = writes_json()

    assert is_json


def test_a_process_with_handlers_of_its_own_keeps_them() -> None:
    own = logging.NullHandler()

    with bare() as root:
        root.addHandler(own)
        configure("debug", "json")
        handlers = root.handlers[:]

    assert handlers == [own]
