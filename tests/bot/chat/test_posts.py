"""The shapes of what is posted, kept as golden files: the same on every network.

After a change that is meant: `WRITE_GOLDEN=1 pytest tests/bot/chat/test_posts.py` writes them
again, and the difference is read before it is kept.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.chat.caps import reached_shape
from bot.chat.cards import Allowed, Closed
from bot.chat.facts import Facts, Manner
from bot.chat.posts import reason, shape
from bot.chat.texts import Texts
from bot.goals.goal import Decision, DecisionKind, Goal, HeldKind, State, Wait
from bot.goals.hands import Grant, Scope
from bot.goals.money import NANO, Budget, Ledger, Usage
from bot.ports.chat import Attachment, Place
from bot.ports.holds import Hold
from bot.ports.journal import Task
from bot.ports.mail import Due
from bot.ports.plain import plain
from bot.ports.spending import Share
from bot.tools.calls import written

GOLDEN = Path(__file__).parent / "golden"
PLACE = Place("console", "", "console", "t1")
MANNER = Manner(Texts(), ZoneInfo("Europe/Berlin"))
AT = 1_795_266_300.0
"""Sat 21 Nov 2026, 14:05 in Berlin."""

GOAL = Goal(
    id="g12",
    session="s1",
    number=12,
    owner="p1",
    objective="objective",
    state=State.WORKING,
    turn=7,
    continuations=6,
    opened_at=AT,
    ledger=Ledger(usage=Usage(input=80_000), nano_usd=84 * NANO // 100, calls=9),
)
PUSHES = Grant("command", "pushes")
TASKS = (
    Task("Reproduce", "done", "log"),
    Task("Cause", "done", "line 7"),
    Task("Fix", "doing"),
    Task("Docs", "open"),
)
TEXTS = {
    "objective": "Find out why the nightly build fails, and mend it.",
    "reply": "The build passes again: the lock file named a version that was withdrawn.",
    "note": "pytest -q passed",
    "headline": "Mended: the nightly build is green.",
    "question": "Which branch should carry the fix?\n\n1. main\n2. release-2",
    "call": "rm -r /srv/cache",
    "push": written("bash", {"command": "git push origin main"}, "asks for git"),
    "pushes": '["git", "push"]',
    "plan": "The job moves, and the old runner stays for a week.\n\n1. Copy the job\n2. Switch it",
    "review": "Mends two().\n\n```diff\n-    return 3\n+    return 2\n```",
    "sign_off": "Is the tone of the letter right?",
    "no_thanks": "not before Monday",
    "no_access": "no access to staging",
    "wrap_up": "Done: the cause is found. Left: the fix and the docs.",
    "blue": "main",
    "waits": "The pipeline runs for an hour.",
}


def a_post(
    kind: str,
    goal: Goal,
    reason: str = "",
    content: str = "",
    tasks: bool = False,
    held: Hold | None = None,
    shares: tuple[Share, ...] = (),
    files: tuple[Attachment, ...] = (),
    allowed: tuple[Allowed, ...] = (),
) -> str:
    due = Due(f"g12:{kind}", kind, goal.id, goal.session, PLACE, reason, content)
    card = Closed(asking("question", "question").decision, "p2") if kind == "card" else None  # type: ignore[arg-type]
    names = {"p1": "ann", "p2": "ben"}
    facts = Facts(goal, TEXTS, TASKS if tasks else (), names, AT + 2460, closed=card, held=held)
    return plain(shape(due, replace(facts, shares=shares, files=files, allowed=allowed), MANNER))


def a_card(
    kind: DecisionKind,
    text: str,
    *,
    how: str = "answered",
    answer: str = "",
    is_accepted: bool = False,
    scope: Scope = "once",
    edits: bool = False,
) -> str:
    """A card of a decision that ben has answered."""
    decision = asking(kind, text, grant=PUSHES).decision
    assert decision is not None
    closed = Closed(decision, "p2", answer, AT, is_accepted, scope, edits)
    due = Due("g12:card:2", "card", GOAL.id, GOAL.session, PLACE, how, answer)
    facts = Facts(GOAL, TEXTS, (), {"p1": "ann", "p2": "ben"}, AT + 2460, closed=closed)
    return plain(shape(due, facts, MANNER))


def a_cap(cap: str, limit: int, in_tokens: bool = False) -> str:
    said = {"cap": cap, "person": "p1", "limit": limit, "in_tokens": in_tokens, "until": AT + 35700}
    due = Due("cap:r1", "cap", "", "s0", PLACE, json.dumps(said), "")
    return plain(reached_shape(due, {"p1": "ann"}, AT, MANNER))


def waiting_for(kind: HeldKind, ref: str, turn: int, until: float) -> Goal:
    wait = Wait("w", kind, ref, until)
    ledger = GOAL.ledger if turn else Ledger()
    return replace(GOAL, state=State.WAITING, wait=wait, turn=turn, ledger=ledger)


def asking(
    kind: DecisionKind, text: str, state: State = State.DECIDING, grant: Grant | None = None
) -> Goal:
    decision = Decision("d2", 2, kind, text, AT + 3 * 86400 - 300, grant=grant)
    return replace(GOAL, state=state, decision=decision, decisions=2)


DONE = replace(GOAL, turn=9, closed_at=AT + 2460, state=State.COMPLETE, note="note")
DEAR = replace(DONE, ledger=replace(DONE.ledger, nano_usd=112 * NANO // 100))
BLOCKED = replace(GOAL, state=State.BLOCKED)
OVER = replace(GOAL, state=State.OVER_BUDGET, ledger=replace(GOAL.ledger, nano_usd=2 * NANO))
UNPRICED = replace(GOAL, ledger=replace(GOAL.ledger, has_unknown_price=True))
WAITING = replace(GOAL, state=State.WAITING, wait=Wait("w", "time", "", AT + 7200, "waits"))

REPORT = Attachment("report.md", "text/markdown", 12_345, "0" * 64)
CHART = Attachment("chart.png", "image/png", 1_234_567, "1" * 64)
HELD = Hold("all", "p1", AT, "the key is being changed", "ann")

CASES = {
    "status_on_hold": lambda: a_post("status", GOAL, tasks=True, held=HELD),
    "status_working": lambda: a_post("status", GOAL, tasks=True),
    "status_evaluating": lambda: a_post("status", replace(GOAL, state=State.AUDITING)),
    "status_waiting": lambda: a_post("status", WAITING),
    "status_queued": lambda: a_post("status", waiting_for("slot", "person:3", 0, AT + 1e8)),
    "status_capped": lambda: a_post(
        "status", waiting_for("cap", f"person:{10 * NANO}", 7, AT + 35_800)
    ),
    "status_near_its_limits": lambda: a_post(
        "status",
        replace(GOAL, ledger=replace(GOAL.ledger, nano_usd=2 * NANO * 85 // 100)),
        shares=(Share("person", 82 * NANO // 10, 10 * NANO), Share("all", NANO, 50 * NANO)),
    ),
    "cap_of_a_person": lambda: a_cap("person", 10 * NANO),
    "cap_of_a_room": lambda: a_cap("room", NANO // 20),
    "cap_of_all_in_tokens": lambda: a_cap("all", 50_000_000, in_tokens=True),
    "status_paused": lambda: a_post("status", replace(GOAL, state=State.PAUSED, by="p2")),
    "status_owner_lost": lambda: a_post(
        "status", replace(GOAL, state=State.PAUSED, by="", reason="owner_lost:removed")
    ),
    "status_deciding": lambda: a_post("status", asking("question", "question")),
    "status_unknown_price": lambda: a_post("status", UNPRICED),
    "status_complete": lambda: a_post("status", DONE, tasks=True),
    "complete": lambda: a_post("complete", DEAR, "complete", "reply"),
    "complete_with_a_note": lambda: a_post(
        "complete", replace(DEAR, finish_note="headline"), "complete", "reply"
    ),
    "complete_with_files": lambda: a_post(
        "complete", DEAR, "complete", "reply", files=(REPORT, CHART, REPORT)
    ),
    "file": lambda: a_post("file", GOAL, files=(CHART,)),
    "file_with_a_caption": lambda: a_post("file", GOAL, "", "headline", files=(REPORT,)),
    "blocked": lambda: a_post("blocked", BLOCKED, "audits", "no_access"),
    "blocked_stall": lambda: a_post("blocked", BLOCKED, "stall:same_reply"),
    "budget_reached": lambda: a_post("over_budget", OVER, "wrap_up_ended", "wrap_up"),
    "budget_reached_without_wrap_up": lambda: a_post("over_budget", OVER, "wrap_up_died", "", True),
    "decision_question": lambda: a_post(
        "decision", asking("question", "question"), "agent_asks", "question"
    ),
    "decision_approval": lambda: a_post(
        "decision", asking("approval", "call"), "approval_asked", "call"
    ),
    "decision_approval_further": lambda: a_post(
        "decision", asking("approval", "push", grant=PUSHES), "approval_asked", "push"
    ),
    "decision_plan": lambda: a_post("decision", asking("plan", "plan"), "agent_asks", "plan"),
    "decision_sign_off": lambda: a_post(
        "decision", asking("sign_off", "sign_off"), "sign_off", "sign_off"
    ),
    "decision_review": lambda: a_post(
        "decision", asking("review", "review"), "agent_asks", "review"
    ),
    "decision_reminder": lambda: a_post(
        "reminder", asking("question", "question"), "question", "question"
    ),
    "card_approved_once": lambda: a_card("approval", "push", is_accepted=True),
    "card_approved_for_the_goal": lambda: a_card(
        "approval", "push", is_accepted=True, scope="goal"
    ),
    "card_approved_for_the_room": lambda: a_card(
        "approval", "push", is_accepted=True, scope="always"
    ),
    "card_denied": lambda: a_card("approval", "push", answer="no_thanks"),
    "card_approval_expired": lambda: a_card("approval", "push", how="expired"),
    "card_plan_approved": lambda: a_card("plan", "plan", is_accepted=True),
    "card_plan_changed": lambda: a_card("plan", "plan", answer="no_thanks", edits=True),
    "card_plan_rejected": lambda: a_card("plan", "plan"),
    "card_review_applied": lambda: a_card("review", "review", is_accepted=True),
    "status_planning": lambda: a_post("status", replace(GOAL, planning=True)),
    "status_allowed": lambda: a_post(
        "status",
        replace(GOAL, plan="plan", grants=(PUSHES,)),
        tasks=True,
        allowed=(Allowed("p1", "goal"), Allowed("p2", "always", PUSHES)),
    ),
    "blocked_plan_rejected": lambda: a_post("blocked", BLOCKED, "plan_rejected"),
    "card_answered": lambda: a_post("card", GOAL, "answered", "blue"),
    "card_expired": lambda: a_post("card", GOAL, "expired"),
    "card_withdrawn": lambda: a_post("card", GOAL, "withdrawn"),
    "answer": lambda: a_post("answer", replace(GOAL, kind="ask", number=0), "done", "reply"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_message_has_its_kept_shape(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    made = CASES[name]() + "\n"

    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(made)

    assert made == path.read_text()


def test_every_golden_file_is_a_case() -> None:
    # A home is no post; `test_home` has it.
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*CASES, "home"}


@pytest.mark.parametrize(
    "code",
    [
        "audits",
        "continuations",
        "stall:same_reply",
        "stall:no_tool",
        *(
            f"failed:{kind}"
            for kind in (
                "overload", "rate_limit", "timeout", "network", "invalid_request", "refusal",
                "auth", "billing", "permission", "not_found",
            )
        ),
        *(f"audit:{kind}" for kind in ("timeout", "network", "overload", "rate_limit", "refusal",
                                       "unreadable", "auth", "billing", "permission", "not_found")),
        "gate:lint",
        "no_answer",
        "plan_rejected",
    ],
)  # fmt: skip
def test_every_reason_has_a_sentence_of_its_own_and_a_mend(code: str) -> None:
    what, mend = reason(code, Facts(GOAL, TEXTS, (), {"p1": "ann"}), MANNER)
    other, _ = reason("nobody_knows", Facts(GOAL), MANNER)

    assert what != other
    assert "_" not in what
    assert "To go on:" in mend


def test_a_reason_without_a_sentence_is_told_as_it_is() -> None:
    what, mend = reason("moon:too_full", Facts(GOAL), MANNER)

    assert what == "too full"
    assert mend


def test_the_button_of_a_reached_budget_raises_the_limit_that_was_reached() -> None:
    budget = Budget(nano_usd=2 * NANO, tokens=100_000, active_s=None)
    by_tokens = replace(
        GOAL,
        state=State.OVER_BUDGET,
        budget=budget,
        ledger=Ledger(usage=Usage(input=99_000), nano_usd=NANO // 10),
    )

    text = a_post("over_budget", by_tokens, "wrap_up_ended", "wrap_up")

    assert "99k of 100k tokens" in text
    assert "[Add 500k tokens and resume]" in text
