"""The labelled cases: enough of them, of every kind, in several languages, and well formed."""

from collections import Counter
from pathlib import Path

import pytest

from bot.agent.audit_cases import load_cases
from bot.agent.audit_verdict import AskedWait, is_known
from bot.errors import BadInput

KINDS = {
    "complete_with_evidence", "complete_without_evidence", "narrowed_objective", "summary_instead",
    "really_blocked", "solvable", "waiting", "needs_person", "sign_off", "nothing_to_verify",
    "failing_gate", "injected", "apology", "plan_for_later", "impossible", "contradicts_gates",
    "partial_list", "wrong_language", "very_long", "open_tasks",
}  # fmt: skip

WHOLE = """
[[case]]
id = "a"
kind = "k"
language = "en"
objective = "o"
reply = "r"
expect = ["continue"]
"""


def test_there_are_at_least_sixty_cases_of_every_kind_in_several_languages() -> None:
    cases = load_cases()

    kinds = Counter(case.kind for case in cases)
    languages = Counter(case.language for case in cases)
    assert len(cases) >= 60
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 2
    assert len(languages) >= 8
    assert languages["en"] <= len(cases) * 0.6


def test_every_verdict_is_expected_by_several_cases() -> None:
    expected = Counter(verdict for case in load_cases() for verdict in case.expect)

    assert set(expected) == {"continue", "complete", "blocked", "wait", "needs_person"}
    assert min(expected.values()) >= 5


def test_a_case_that_expects_a_wait_says_what_may_be_waited_for() -> None:
    for case in load_cases():
        if "wait" in case.expect:
            known = {(wait.kind, wait.ref) for wait in case.seen.waits}
            by_time = AskedWait("time", "", case.seen.now + 60)
            assert known or is_known(by_time, known, case.seen.now)


def test_some_texts_are_longer_than_the_auditor_is_shown() -> None:
    cases = load_cases()

    assert any(len(case.seen.reply) > 6_000 for case in cases)
    assert any(len(case.seen.objective) > 4_000 and case.seen.criteria for case in cases)


def test_a_case_that_a_failing_gate_rules_out_never_expects_complete() -> None:
    for case in load_cases():
        if not all(gate.passes for gate in case.seen.gates):
            assert "complete" not in case.expect


@pytest.mark.parametrize(
    "text",
    [
        "[[case]]\nid = 'a'",
        "no toml at all",
        WHOLE.replace("continue", "perhaps"),
        WHOLE.replace('["continue"]', "[]"),
        WHOLE + "colour = 'red'",
        WHOLE + WHOLE,
        WHOLE + "waits = [{kind = 'ci', ref = 'x'}]",
        "other = 1",
        "",
    ],
)
def test_a_case_that_is_not_whole_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.toml").write_text(text)

    with pytest.raises(BadInput):
        load_cases(tmp_path)


def test_a_folder_without_cases_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no audit cases"):
        load_cases(tmp_path)
