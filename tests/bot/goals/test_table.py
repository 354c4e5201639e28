"""The table, cell by cell, as the design has it; written out here and not read off the code."""

from collections.abc import Callable
from typing import Final, get_args

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    BOOKINGS,
    EVENTS,
    WORKERS,
    AuditFailed,
    BudgetSet,
    CallLost,
    CallReleased,
    Cancelled,
    Compacted,
    DecisionAsked,
    DecisionExpired,
    DecisionReminded,
    Event,
    FileShared,
    GatesRan,
    GatesSet,
    GoalOpened,
    HoldEnded,
    NoteLeft,
    ObjectiveEdited,
    OwnerChanged,
    OwnerLost,
    Paused,
    ProfileSet,
    Resumed,
    ReviewSettled,
    RoomWasLost,
    Stopped,
    TasksPlanned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    Undone,
    WaitAsked,
    WaitChecked,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import State
from bot.goals.hands import GateLine
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.machine import TABLE, step
from bot.goals.money import Budget
from tests.bot.goals import lives
from tests.bot.goals.lives import START, Life, a_message, a_wait, an_answer

COLUMNS: Final[dict[str, Callable[[], Life]]] = {
    "ready": lives.in_ready,
    "working": lives.in_working,
    "restoring": lives.in_restoring,
    "auditing": lives.in_auditing,
    "waiting": lives.in_waiting,
    "capped": lives.in_capped,
    "capped audit": lives.in_capped_audit,
    "queued": lives.in_queued,
    "deciding": lives.in_deciding,
    "approval": lives.in_approval,
    "plan": lives.in_planned,
    "paused": lives.in_paused,
    "paused, waits": lives.in_paused_waiting,
    "paused, capped": lives.in_paused_capped,
    "paused, asks": lives.in_paused_deciding,
    "blocked": lives.in_blocked,
    "over budget": lives.in_over_budget,
    "complete": lives.in_complete,
    "cancelled": lives.in_cancelled,
}

ROWS: Final[dict[str, Callable[[Life], Event]]] = {
    "opened": lambda life: GoalOpened("g2", "s", 2, "ann", "o", DEFAULT_BUDGET),
    "turn starts": lambda life: TurnStarted(),
    "turn resumes": lambda life: TurnResumed(),
    "agent calls": lambda life: life.call_event("c"),
    "auditor calls": lambda life: life.call_event("c", role="audit"),
    "cap reached": lambda life: lives.a_cap(),
    "call settles": lambda life: lives.settled("c"),
    "call released": lambda life: CallReleased("c"),
    "call lost": lambda life: CallLost("c"),
    "tool starts": lambda life: ToolStarted("t", "bash", "workspace"),
    "tool ends": lambda life: ToolEnded("t", "ok", "h"),
    "asks to wait": lambda life: WaitAsked(a_wait("w2")),
    "asks person": lambda life: DecisionAsked("d2", "question", "another", "t"),
    "asks approval": lambda life: DecisionAsked("d2", "approval", "another", "t"),
    "plans": lambda life: TasksPlanned("h", 2, 1, 1),
    "notes": lambda life: NoteLeft("h"),
    "shares": lambda life: FileShared("f", "h"),
    "compacts": lambda life: Compacted("h", 3),
    "message": lambda life: a_message(),
    "turn ends": lambda life: TurnEnded("done", "r"),
    "gates ran": lambda life: GatesRan((), ()),
    "audited": lambda life: life.verdict_event("continue"),
    "audit fails": lambda life: AuditFailed(1, life.goal.turn, 0, "timeout"),
    "wait fires": lambda life: WaitFired(_wait(life), "probe"),
    "wait checked": lambda life: WaitChecked(_wait(life), START + 60),
    "answer": lambda life: an_answer(),
    "expiry": lambda life: DecisionExpired("d"),
    "reminder": lambda life: DecisionReminded("d"),
    "pause": lambda life: Paused("ann"),
    "stop": lambda life: Stopped("ann"),
    "resume": lambda life: Resumed("ann"),
    "cancel": lambda life: Cancelled("ann"),
    "undone": lambda life: Undone("ann"),
    "edit": lambda life: ObjectiveEdited("ann", "o2"),
    "budget": lambda life: BudgetSet("ann", life.goal.budget),
    "new owner": lambda life: OwnerChanged("ben", "ben"),
    "owner lost": lambda life: OwnerLost("removed"),
    "room lost": lambda life: RoomWasLost("kicked", "ben"),
    "hold ends": lambda life: HoldEnded(60.0),
    "profile": lambda life: ProfileSet("ann", "read_only"),
    "gates": lambda life: GatesSet("ann", (GateLine(1, "h", "ann"),)),
    "rewind": lambda life: life.back_event(),
    "restored": lambda life: WorkspaceRestored("tree"),
    "review done": lambda life: ReviewSettled("d", "h"),
}

EXPECTED: Final = """
              | ready     | working   | restoring | auditing  | waiting   | capped    | capped audit | queued    | deciding       | approval       | plan           | paused          | paused, waits   | paused, capped  | paused, asks    | blocked   | over budget  | complete  | cancelled
opened        | .         | .         | .         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
turn starts   | working   | .         | .         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
turn resumes  | .         | =         | =         | =         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
agent calls   | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
auditor calls | .         | .         | .         | =         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
cap reached   | .         | waiting   | waiting   | waiting   | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
call settles  | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | =         | =
call released | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | =         | =
call lost     | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | =         | =
tool starts   | .         | =         | =         | .         | .         | .         | .            | .         | =              | =              | =              | .               | .               | .               | .               | .         | .            | .         | .
tool ends     | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | =         | =
asks to wait  | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
asks person   | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
asks approval | .         | deciding  | deciding  | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
plans         | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
notes         | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
shares        | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
compacts      | .         | =         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
message       | =         | =         | =         | ready     | ready     | =         | =            | =         | =              | =              | ready          | !ordinary       | !ordinary       | !ordinary       | !ordinary       | ready     | !over_budget | !ordinary | !ordinary
turn ends     | =         | auditing  | auditing  | .         | .         | .         | .            | .         | .              | .              | .              | =               | =               | =               | =               | =         | =            | =         | =
gates ran     | .         | .         | .         | =         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
audited       | .         | .         | .         | ready     | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
audit fails   | .         | .         | .         | ready     | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
wait fires    | .         | .         | .         | .         | ready     | working   | auditing     | ready     | .              | .              | .              | .               | =               | =               | .               | .         | .            | .         | .
wait checked  | .         | .         | .         | .         | =         | =         | =            | =         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
answer        | !too_late | !too_late | !too_late | !too_late | !too_late | !too_late | !too_late    | !too_late | ready          | working        | ready          | !too_late       | !too_late       | !too_late       | =               | !too_late | !too_late    | !too_late | !too_late
expiry        | .         | .         | .         | .         | .         | .         | .            | .         | blocked        | working        | blocked        | .               | .               | .               | .               | .         | .            | .         | .
reminder      | .         | .         | .         | .         | .         | .         | .            | .         | =              | =              | =              | .               | .               | .               | .               | .         | .            | .         | .
pause         | paused    | paused    | paused    | paused    | paused    | paused    | paused       | paused    | paused         | paused         | paused         | !already_paused | !already_paused | !already_paused | !already_paused | !stays    | !stays       | !final    | !final
stop          | paused    | paused    | paused    | paused    | paused    | paused    | paused       | paused    | paused         | paused         | paused         | =               | =               | =               | =               | !stays    | !stays       | !final    | !final
resume        | =         | =         | =         | =         | ready     | !cap      | !cap         | !slot     | !open_decision | !open_decision | !open_decision | ready           | waiting         | waiting         | deciding        | ready     | ready        | !final    | !final
cancel        | cancelled | cancelled | cancelled | cancelled | cancelled | cancelled | cancelled    | cancelled | cancelled      | cancelled      | cancelled      | cancelled       | cancelled       | cancelled       | cancelled       | cancelled | cancelled    | !final    | !final
undone        | cancelled | cancelled | !begun    | !begun    | !begun    | cancelled | !begun       | cancelled | !begun         | cancelled      | !begun         | cancelled       | !begun          | cancelled       | !begun          | !begun    | !begun       | !final    | !final
edit          | =         | =         | =         | ready     | ready     | =         | =            | =         | ready          | ready          | ready          | =               | =               | =               | =               | ready     | =            | !final    | !final
budget        | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | !final    | !final
new owner     | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | !final    | !final
owner lost    | paused    | paused    | paused    | paused    | paused    | paused    | paused       | paused    | paused         | paused         | paused         | .               | .               | .               | .               | .         | .            | .         | .
room lost     | paused    | paused    | paused    | paused    | paused    | paused    | paused       | paused    | paused         | paused         | paused         | =               | =               | =               | =               | .         | .            | .         | .
hold ends     | .         | .         | .         | .         | .         | .         | .            | .         | =              | =              | =              | .               | .               | .               | .               | .         | .            | .         | .
profile       | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | !final    | !final
gates         | =         | =         | =         | =         | =         | =         | =            | =         | =              | =              | =              | =               | =               | =               | =               | =         | =            | !final    | !final
rewind        | paused    | paused    | paused    | paused    | paused    | paused    | paused       | !slot     | paused         | paused         | paused         | =               | =               | =               | =               | paused    | =            | !final    | !final
restored      | .         | .         | =         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
review done   | .         | .         | .         | .         | .         | .         | .            | .         | .              | .              | .              | .               | .               | .               | .               | .         | .            | .         | .
"""
"""`=` stays, `.` is no move for a worker or timer, `!code` is refused to a person with that code."""


def _wait(life: Life) -> str:
    return life.goal.wait.id if life.goal.wait else "w"


def _cells() -> list[tuple[str, str, str]]:
    head, *rows = [line.split("|") for line in EXPECTED.strip("\n").splitlines()]
    columns = [name.strip() for name in head[1:]]
    return [
        (row[0].strip(), column, cell.strip())
        for row in rows
        for column, cell in zip(columns, row[1:], strict=True)
    ]


@pytest.mark.parametrize(("row", "column", "cell"), _cells())
def test_every_cell_is_as_designed(row: str, column: str, cell: str) -> None:
    life = COLUMNS[column]()
    before = life.goal
    event = ROWS[row](life)

    if cell == ".":
        with pytest.raises(IllegalMove):
            step(before, event)
    elif cell.startswith("!"):
        with pytest.raises(Refused) as refused:
            step(before, event)
        assert refused.value.code == cell[1:]
    else:
        after, _ = step(before, event)
        assert after.state == (before.state if cell == "=" else State(cell))
        assert after.seq == before.seq + 1


def test_the_written_table_has_every_state_and_every_event() -> None:
    rows = {type(make(lives.in_working())) for make in ROWS.values()}

    assert {life().goal.state for life in COLUMNS.values()} == set(State)
    assert rows == set(EVENTS)
    assert len(_cells()) == len(ROWS) * len(COLUMNS)


def test_the_table_is_total_and_its_events_are_the_union() -> None:
    assert set(get_args(Event)) == set(EVENTS)
    assert set(TABLE) == set(State)
    assert all(set(cells) == set(EVENTS) for cells in TABLE.values())


def test_bookings_and_workers_events_do_not_overlap() -> None:
    assert not set(BOOKINGS) & set(WORKERS)
    assert set(BOOKINGS) | set(WORKERS) <= set(EVENTS)


def test_an_illegal_move_says_where_the_goal_is_and_what_to_do() -> None:
    life = lives.in_complete()

    with pytest.raises(IllegalMove, match=r"complete at entry \d+ .* TurnStarted\. Load it again"):
        life.take(TurnStarted())


def test_resuming_over_budget_is_refused_until_money_is_there() -> None:
    life = lives.in_over_budget()

    life.take(BudgetSet("ann", Budget(None, life.goal.ledger.tokens, None)))
    with pytest.raises(Refused) as refused:
        life.take(Resumed("ann"))

    assert refused.value.code == "no_money"
