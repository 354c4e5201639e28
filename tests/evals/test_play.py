"""The cases played over HTTP against auditors that are known: what the report says of them."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.rehearsal.script import Answer, Fault, Memory, Request, refusal, say, verdict
from bot.agent.audit_cases import Case, load_cases
from bot.agent.audit_play import Report, as_json, play, table
from bot.agent.audit_request import Seen, told
from bot.errors import BadRequest, ModelBusy
from bot.ports.model import ModelRequest
from tests.adapters.claude.serving import MODEL, served
from tests.doubles.model import ScriptedModel, calls

CASES = load_cases()
BY_TEXT = {told(case.seen): case for case in CASES}
Judge = Callable[[Case], Answer]


def judged_by(judge: Judge) -> Callable[[Request, int, Memory], Answer]:
    """A script that finds the case which a request shows, and lets `judge` answer."""

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return judge(BY_TEXT[request["messages"][0]["content"][0]["text"]])

    return script


def rightly(case: Case) -> Answer:
    """What the label says."""
    more: dict[str, Any] = {"evidence": "the label"}
    if case.expect[0] == "wait":
        known = [{"kind": wait.kind, "ref": wait.ref} for wait in case.seen.waits]
        later = datetime.fromtimestamp(case.seen.now + 600, UTC).isoformat()
        more["wait"] = [*known, {"kind": "time", "ref": "", "until": later}][0]
    if case.expect[0] == "needs_person":
        more["person"] = {"kind": case.person or "question", "text": "What now?"}
    return verdict(case.expect[0], "As labelled.", **more)


async def played(judge: Judge, cases: tuple[Case, ...] = CASES) -> Report:
    """The report on that auditor."""
    async with served(judged_by(judge)) as (_, model):
        return await play(model, cases, lambda done, of: None, audit_model=MODEL)


async def test_a_perfect_auditor_makes_no_error() -> None:
    report = await played(rightly)

    assert report.accuracy == 1.0
    assert report.total.serious == report.total.premature == report.total.needless == 0
    assert report.failures == ()
    assert report.usage.output > 0
    assert report.nano_usd


async def test_an_auditor_that_always_says_complete_errs_seriously_on_all_that_is_unfinished() -> (
    None
):
    report = await played(lambda case: verdict("complete", "Done.", evidence="none"))

    finished = sum("complete" in case.expect for case in CASES)
    assert report.total.right == finished
    assert report.total.premature == report.total.serious == len(CASES) - finished
    assert report.total.needless == 0
    assert report.by(lambda case: case.kind)["injected"].premature >= 10


async def test_an_auditor_that_always_continues_is_needless_and_holds_on_to_what_is_finished() -> (
    None
):
    report = await played(lambda case: verdict("continue", "Go on.", evidence="none"))

    right = sum("continue" in case.expect for case in CASES)
    assert report.total.right == right
    assert report.total.needless == len(CASES) - right
    assert report.total.premature == 0
    assert report.total.serious == sum(case.is_finished for case in CASES)


async def test_refusals_and_prose_are_no_verdicts_and_not_right() -> None:
    turns = itertools.cycle([refusal(), say("I think it is complete.")])

    report = await played(lambda case: next(turns), CASES[:6])

    assert sorted({one.said for one in report.failures}) == ["refusal", "unreadable"]
    assert (report.total.right, report.total.serious, len(report.failures)) == (0, 0, 6)


async def test_an_endpoint_that_takes_none_of_our_requests_ends_it() -> None:
    with pytest.raises(BadRequest):
        await played(lambda case: Fault(status=400), CASES[:3])


def case(expect: str, **more: Any) -> Case:
    """A small case."""
    seen = Seen("Do it.", "Done.", 1_800_000_000.0)
    return Case("c", "k", "en", seen, (expect,), **more)  # type: ignore[arg-type]


async def report_of(one: Case, **fields: Any) -> Report:
    """How that verdict does on that case."""
    answer = {"verdict": "continue", "note": "So it is.", "evidence": "", **fields}
    model = ScriptedModel([calls("verdict", answer)])
    return await play(model, [one], lambda done, of: None, audit_model="double")


async def test_a_wait_that_the_records_do_not_hold_counts_as_continue() -> None:
    wait = {"kind": "probe", "ref": "anything"}

    report = await report_of(case("wait"), verdict="wait", wait=wait)

    assert report.played[0].said == "continue"
    assert report.total.needless == 1


async def test_asking_a_question_is_wrong_where_a_sign_off_is_missing() -> None:
    person = {"kind": "question", "text": "And now?"}

    report = await report_of(
        case("needs_person", person="sign_off"), verdict="needs_person", person=person
    )

    assert report.total.right == 0


async def test_an_error_in_a_border_case_is_never_serious() -> None:
    report = await report_of(case("continue", is_border=True), verdict="complete")

    assert (report.total.premature, report.total.serious) == (1, 0)


async def test_a_model_that_is_busy_gives_no_verdict() -> None:
    model = ScriptedModel([ModelBusy("busy", kind="overload")])

    report = await play(model, [case("continue")], lambda done, of: None, audit_model="double")

    assert [one.said for one in report.failures] == ["overload"]


async def test_a_model_that_refuses_a_request_gives_no_verdict() -> None:
    model = ScriptedModel([BadRequest("no", kind="refusal")])

    report = await play(model, [case("continue")], lambda done, of: None, audit_model="double")

    assert [one.said for one in report.failures] == ["refusal"]


async def test_progress_is_told_from_nothing_to_all() -> None:
    told_of: list[tuple[int, int]] = []
    model = ScriptedModel(
        lambda request: calls("verdict", {"verdict": "continue", "note": "x", "evidence": ""})
    )

    await play(model, CASES[:3], lambda done, of: told_of.append((done, of)), audit_model="double")

    assert told_of == [(0, 3), (1, 3), (2, 3), (3, 3)]


async def test_an_unknown_price_is_shown_as_unknown() -> None:
    def answer(request: ModelRequest) -> Any:
        return calls("verdict", {"verdict": "continue", "note": "x", "evidence": ""})

    report = await play(
        ScriptedModel(answer, price=None), CASES[:2], lambda done, of: None, audit_model="double"
    )

    assert report.nano_usd is None
    assert "price unknown" in table(report)


async def test_the_report_is_a_table_and_the_same_as_json() -> None:
    report = await played(lambda case: verdict("complete", "Done.", evidence="none"))

    text, values = table(report), as_json(report)

    assert f"right {report.total.right} ({report.accuracy:.1%})" in text
    assert "injected " in text
    assert "claims-without-any-work: expected continue, said complete (serious). Done." in text
    assert values["total"]["premature"] == report.total.premature
    assert set(values["by_kind"]) == {case.kind for case in CASES}
    assert set(values["by_language"]) == {case.language for case in CASES}
    assert len(values["errors"]) == len(CASES) - report.total.right


def test_an_empty_report_has_no_accuracy() -> None:
    assert Report("m", ()).accuracy == 0.0
