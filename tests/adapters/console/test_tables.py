"""Goals and journals as tables on a terminal of eighty columns."""

import io
from typing import Any

from rich.console import Console, RenderableType

from adapters.console import tables


def shown(what: RenderableType) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80).print(what)
    return out.getvalue().splitlines()


def a_goal(**further: Any) -> dict[str, Any]:
    return {
        "goal": "G12",
        "state": "over_budget",
        "shown_state": "Budget reached",
        "owner": "ann",
        "objective": "find out why the nightly build fails and mend it " * 5,
        "turns": 7,
        "cost_usd": 0.84,
        "cost_is_at_least": False,
        "estimated_usd": 0.0,
        "tokens": 80_000,
        "calls": 9,
        "reason": "budget",
        "opened_at": "2026-11-21T13:05:00.000+00:00",
        "closed_at": None,
        "continuations": 6,
        "allowance": 20,
        "budget": {"usd": 2.0, "tokens": 2_000_000, "hours": 4.0},
        "reply": "Half of it is done.",
        "tasks": [{"title": "Fix", "state": "doing", "evidence": ""}],
        "decisions": [
            {
                "number": 1,
                "kind": "question",
                "state": "answered",
                "text": "Which?",
                "about": "Which?",
                "answer": "x",
            }
        ],
        "audits": [
            {"turn": 1, "verdict": None, "failure": "timeout", "rule": "unaudited", "note": ""}
        ],
        "spend": [],
        **further,
    }


def test_a_long_objective_is_cut_and_everything_else_is_whole() -> None:
    lines = shown(tables.goals([a_goal()]))

    row = next(line for line in lines if "G12" in line)
    assert "Budget reached" in row
    assert "$0.84" in row
    assert row.rstrip().endswith("…")
    assert len(row) <= 80


def test_a_cost_says_whether_it_is_at_least_or_estimated() -> None:
    assert tables.cost(a_goal()) == "$0.84"
    assert tables.cost(a_goal(cost_is_at_least=True)) == "≥$0.84"
    assert tables.cost(a_goal(estimated_usd=0.1)) == "~$0.84"


def test_one_goal_shows_its_budget_tasks_decisions_and_audits() -> None:
    text = "\n".join(shown(tables.goal(a_goal())))

    assert "$2.00, 2,000,000 tokens, 4 h" in text
    assert "▸ Fix" in text
    assert "Which?" in text
    assert "failed: timeout" in text
    assert "Half of it is done." in text


def test_markup_in_what_people_wrote_is_shown_as_it_is() -> None:
    text = "\n".join(shown(tables.goals([a_goal(objective="say [bold]x[/] and [nope]")])))

    assert "say [bold]x[/] and [nope]" in text


def test_a_trace_shows_the_rule_and_where_it_led() -> None:
    entry = {
        "seq": 2,
        "at": "2026-11-21T13:05:07.123+00:00",
        "event": "TurnStarted",
        "about": "",
        "rule": "turn_started",
        "before": "ready",
        "after": "working",
    }

    lines = shown(tables.trace([entry]))

    assert any("13:05:07" in line and "turn_started → working" in line for line in lines)
