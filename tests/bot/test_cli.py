"""The command line: its answers, its errors, its exit codes."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from tests.peers.messages_api import BY_OBJECTIVE, BlockingMessagesApi, started


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started(BY_OBJECTIVE) as server:
        yield server


class Shell:
    """`headway` typed in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, typed: bytes = b"") -> tuple[int, str, str]:
        """Run it; returns exit code, standard output, standard error."""
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["headway", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
        with pytest.raises(SystemExit) as end:
            main()
        told = self._capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err


@pytest.fixture
def headway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    monkeypatch.setenv("HEADWAY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


@pytest.fixture
def with_model(headway: Shell, monkeypatch: pytest.MonkeyPatch, api: BlockingMessagesApi) -> Shell:
    monkeypatch.setenv("HEADWAY_BASE_URL", api.url)
    monkeypatch.setenv("HEADWAY_API_KEY", api.key)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return headway


def is_a_sentence(text: str) -> bool:
    """One line that ends in its reference, and no traceback."""
    line = text.strip()
    return "\n" not in line and "Traceback" not in line and "(ref " in line[-11:]


def test_help_shows_examples(headway: Shell) -> None:
    code, out, _ = headway("--help")

    assert code == 0
    assert 'headway chat "write a haiku about tides into tides.txt"' in out


def test_the_version_is_printed(headway: Shell) -> None:
    code, out, _ = headway("--version")

    assert code == 0
    assert out.startswith("headway ")


@pytest.mark.parametrize(
    ("arguments", "code", "mend"),
    [
        (("chat", ""), 2, "An objective needs words"),
        (("chat", "x" * 100 * 1024), 2, "Put it in a file"),
        (("chat", "caf\udce9"), 2, "Send it as UTF-8"),
        (("chat", "a\0b"), 2, "NUL"),
        (("chat", "budget -5"), 2, "cannot be negative"),
        (("goals",), 74, "makes it"),
        (("chat", "write a haiku"), 78, "ANTHROPIC_API_KEY"),
        (("--config", "nowhere.toml", "goals"), 78, "Check the path"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_with_its_exit_code(
    headway: Shell, arguments: tuple[str, ...], code: int, mend: str
) -> None:
    got, out, err = headway(*arguments)

    assert got == code
    assert mend in err
    assert is_a_sentence(err)
    assert out == ""


def test_a_misspelt_variable_is_named_with_the_nearest(
    headway: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_MODLE", "x")

    code, _, err = headway("goals")

    assert code == 78
    assert "Did you mean HEADWAY_MODEL?" in err


def test_an_unknown_command_is_said_to_be_unknown(headway: Shell) -> None:
    code, _, err = headway("nonsense")

    assert code == 2
    assert "No such command" in err


@pytest.mark.process
def test_a_goal_from_message_to_result_and_what_the_journal_knows(with_model: Shell) -> None:
    objective = "write a haiku\n!script complete_after 2"

    code, out, err = with_model("chat", "--until-settled", objective)

    assert (code, err) == (0, "")
    assert "✅ Complete · G1" in out
    check_goals(with_model)
    check_trace(with_model)


def check_goals(headway: Shell) -> None:
    _, listed, _ = headway("goals", "--json")
    _, shown, _ = headway("show", "g1", "--json")
    _, table, _ = headway("goals")
    (row,) = json.loads(listed)
    detail: dict[str, Any] = json.loads(shown)

    assert row["goal"] == "G1"
    assert row["state"] == "complete"
    assert row["turns"] == 2
    assert detail["tokens"] == row["tokens"] > 0
    assert [audit["verdict"] for audit in detail["audits"]] == ["continue", "complete"]
    assert sum(bill["calls"] for bill in detail["spend"]) == detail["calls"]
    assert "Complete" in table


def check_trace(headway: Shell) -> None:
    _, traced, _ = headway("trace", "G1", "--json")
    code, table, _ = headway("trace", "G1")
    entries = json.loads(traced)

    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["event"] == "GoalOpened"
    assert entries[0]["texts"]["objective"].startswith("write a haiku")
    assert entries[-1]["after"] == "complete"
    assert code == 0
    assert "TurnStarted" in table


@pytest.mark.process
def test_each_ending_has_its_exit_code(with_model: Shell) -> None:
    blocked, out, _ = with_model("chat", "--until-settled", "x\n!script refuses")
    asks, _, err = with_model("chat", "--until-settled", "y\n!script asks red or green")

    assert blocked == 3
    assert "⛔ Blocked · G1 · the model declined to do this" in out
    assert asks == 6
    assert err == "G2 waits for a person, and there is no more input.\n"


@pytest.mark.process
def test_a_decision_is_answered_through_a_pipe(with_model: Shell) -> None:
    with_model("chat", "--until-settled", "pick\n!script asks red or green")

    code, out, _ = with_model("chat", typed=b"/enter G1\n1\n")

    assert code == 0
    assert "In the thread of G1." in out
    assert "answered by" in out


@pytest.mark.process
def test_an_unknown_goal_is_said_to_be_unknown(with_model: Shell) -> None:
    with_model("chat", typed=b"hello\n")

    code, _, err = with_model("show", "G7")

    assert code == 2
    assert err.startswith("There is no goal G7. `headway goals` lists them.")
