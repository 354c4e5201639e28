"""What a restore found, as people read it."""

from datetime import UTC

from bot.chat.restored import lines
from bot.chat.texts import Texts
from bot.ports.restored import Due, InFlight, RestoreReport

HOUR = 3600.0
MADE, NOW = 1_000_000.0, 1_000_000.0 + 10 * HOUR


def _lines(**found: object) -> list[str]:
    report = RestoreReport(NOW - 60, MADE, "0.9.0", **found)  # type: ignore[arg-type]
    return list(lines(report, NOW, UTC, Texts()))


def test_an_empty_state_has_two_lines() -> None:
    head, goals = _lines()

    assert head == (
        "Restored Mon 23:45 UTC from a backup of Mon 13:46 UTC (made by Headway 0.9.0). What was "
        "said, done, posted and forgotten since the backup is not known here."
    )
    assert goals == "Goals: none."


def test_goals_are_counted_by_state() -> None:
    assert _lines(goals={"over_budget": 1, "ready": 2})[1] == "Goals: 1 over budget, 2 ready."


def test_a_call_in_flight_says_what_it_is_charged_at_most() -> None:
    _, _, known, unknown, tool = _lines(
        in_flight=(
            InFlight(3, "agent", 12_000, 40_000_000),
            InFlight(4, "audit", 900, None),
            InFlight(5, "bash", is_tool=True),
        )
    )

    assert "G3" in known
    assert "12k tokens, $0.04 at most" in known
    assert "900 tokens, at a price that is not known" in unknown
    assert tool == "G5: bash was running. What became of it is unknown: the agent is told to look."


def test_the_clock_of_a_decision_stood_since_the_backup() -> None:
    _, _, open_, over = _lines(
        decisions=(Due(3, "question 1", MADE + HOUR), Due(4, "sign_off 2", MADE - HOUR))
    )

    assert "G3: question 1 is open" in open_
    assert "until Tue 00:46 UTC if released now" in open_
    assert "G4: sign off 2 is open; its time passed" in over
    assert "so it expires" in over


def test_a_wait_whose_time_has_passed_goes_on() -> None:
    _, _, over, still = _lines(
        waits=(Due(3, "time", MADE + HOUR), Due(4, "probe", NOW + HOUR)),
    )

    assert "G3" in over
    assert "so it goes on" in over
    assert still == "G4: waits (probe) until Tue 00:46 UTC."


def test_a_goal_in_the_queue_has_no_time() -> None:
    *_, queued = _lines(waits=(Due(5, "slot", NOW + 10 * 365 * 24 * HOUR),))

    assert queued == "In the queue: G5. Each starts when a live goal ends."


def test_a_long_report_counts_what_it_does_not_list() -> None:
    waits = tuple(Due(number, "time", NOW + 60) for number in range(100, 150))
    queue = tuple(Due(number, "slot", NOW + 60) for number in range(200, 400))

    *_, last, more, queued = _lines(waits=(*waits, *queue))

    assert last.startswith("G119: waits (time) until ")
    assert more == "… and 30 more."
    assert queued.startswith("In the queue: G200, G201, ")
    assert queued.endswith("G219, … (180 more). Each starts when a live goal ends.")


def test_what_is_counted_is_told_only_where_there_is_any() -> None:
    installs = ("Acme (T01)", "[Other](https://evil.example) (T02)")
    told = _lines(to_look_up=2, may_have_posted=(3, 4), unhandled=5, missed=6, sealed=7,
                  installs=installs)  # fmt: skip

    assert len(told) == 8
    assert "not known to be sent: 2" in told[2]
    assert "G3, G4" in told[3]
    assert "not handled: 5" in told[4]
    assert "Occurrences whose time has passed: 6" in told[5]
    assert "Sealed secrets: 7" in told[6]
    assert told[7].startswith(
        "Installed in: Acme (T01), [Other] (https://evil.example) (T02). The "
    )
