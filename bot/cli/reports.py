"""What the command line prints of goals, journals and audits: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from adapters.console import tables
from bot.chat.facts import Manner
from bot.chat.held import held_among
from bot.chat.projections import detail, goal_row, hashes_of, trace_rows
from bot.errors import BadInput
from bot.ports.records import GoalRow
from bot.ports.words import MARK
from bot.settings import Settings

if TYPE_CHECKING:
    from adapters.store.reading import Reading


async def goals(settings: Settings, *, as_json: bool) -> None:
    """Print every goal, newest first."""
    from bot.wiring import reading

    async with reading(settings) as store:
        rows = []
        found = await store.records.goals()
        held = await held_among(store.holds, [row.goal for row in found])
        for row in found:
            texts = await _texts(store, row.goal.session, (row.goal.objective,))
            objective, is_held = texts.get(row.goal.objective, ""), row.goal.id in held
            rows.append(goal_row(row, objective, Manner(zone=settings.tz), is_held=is_held))
    if as_json:
        _print_json(rows)
    elif rows:
        Console().print(tables.goals(rows))
    else:
        Console().print('No goals yet. Start one: headway chat "<objective>"')


async def show(settings: Settings, name: str, *, as_json: bool) -> None:
    """Print all that is known of one goal. Raises BadInput: there is none of that name."""
    from bot.wiring import reading

    async with reading(settings) as store:
        row = named(await store.records.goals(), name)
        told = await store.records.trace(row.goal.id)
        shown = detail(
            row,
            told,
            await store.records.spend(row.goal.id),
            await store.journal.tasks(row.goal.id),
            await _texts(store, row.goal.session, hashes_of(told)),
            Manner(zone=settings.tz),
        )
    if as_json:
        _print_json(shown)
    else:
        Console().print(tables.goal(shown))


async def trace(settings: Settings, name: str, *, as_json: bool) -> None:
    """Print a goal's journal. Raises BadInput: there is none of that name."""
    from bot.wiring import reading

    async with reading(settings) as store:
        row = named(await store.records.goals(), name)
        told = await store.records.trace(row.goal.id)
        contents = await _texts(store, row.goal.session, hashes_of(told))
    rows = trace_rows(told, contents)
    if as_json:
        _print_json(rows)
    else:
        Console().print(tables.trace(rows))


async def audit_cases(settings: Settings, folder: Path | None, *, as_json: bool) -> None:
    """Play the labelled audit cases of `folder`, or the built-in ones, and print the report."""
    from rich.progress import Progress

    from adapters.clock import WallClock
    from bot.agent.audit_cases import CASES_DIR, load_cases
    from bot.agent.audit_play import as_json as report_as_json
    from bot.agent.audit_play import play, table
    from bot.wiring.endpoint import build_model

    cases = load_cases(folder or CASES_DIR)
    model = build_model(settings, WallClock(settings.clock_rate))
    try:
        shown = Console(stderr=True)
        with Progress(console=shown, transient=True, disable=not shown.is_terminal) as progress:
            bar = progress.add_task("Auditing", total=len(cases))
            report = await play(
                model,
                cases,
                lambda done, _: progress.update(bar, completed=done),
                audit_model=settings.audit_model,
            )
    finally:
        await model.aclose()
    if as_json:
        _print_json(report_as_json(report))
    else:
        sys.stdout.write(table(report) + "\n")


async def _texts(store: "Reading", session: str, hashes: Sequence[str]) -> Mapping[str, str]:
    """The texts of those hashes; one that was erased says so."""
    found = await store.journal.contents(session, hashes)
    return {hash: found.get(hash, MARK) for hash in hashes}


def named(rows: Sequence[GoalRow], name: str) -> GoalRow:
    """The goal of that number or id. Raises BadInput: there is none."""
    wanted = name.upper().removeprefix("G")
    for row in rows:
        if str(row.goal.number) == wanted or row.goal.id == name:
            return row
    raise BadInput(f"There is no goal {name}. `headway goals` lists them.")


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")
