"""What a restore found, as lines that people read before they release it. Pure."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import Final

from bot.chat.amounts import count, usd
from bot.chat.texts import Texts
from bot.chat.times import moment
from bot.ports.plain import unmarked
from bot.ports.restored import InFlight, RestoreReport

LINES_MOST: Final = 20
"""Of one kind; what is left is counted."""


def lines(report: RestoreReport, now: float, zone: tzinfo, texts: Texts) -> tuple[str, ...]:
    """The report, a sentence or two a line. `now` is in seconds since 1970."""
    return tuple(_lines(report, now, zone, texts))


def _lines(report: RestoreReport, now: float, zone: tzinfo, texts: Texts) -> Iterator[str]:
    at, made_at = (moment(each, now, zone, texts) for each in (report.at, report.made_at))
    yield texts("restore.head", at=at, made_at=made_at, made_by=report.made_by)
    if report.goals:
        goals = texts("list_of").join(f"{number} {state}" for state, number in report.goals.items())
        yield texts("restore.goals", goals=goals.replace("_", " "))
    else:
        yield texts("restore.no_goals")
    yield from _first((_in_flight(one, texts) for one in report.in_flight), texts)
    yield from _first(_decisions(report, now, zone, texts), texts)
    yield from _first(_waits(report, now, zone, texts), texts)
    queued = [due.goal for due in report.waits if due.name == "slot"]
    if queued:
        shown, more = _goals(queued[:LINES_MOST], texts), len(queued) - LINES_MOST
        if more > 0:
            shown = texts("restore.queued.more", goals=shown, count=more)
        yield texts("restore.queued", goals=shown)
    if report.to_look_up:
        yield texts("restore.look_up", count=report.to_look_up)
    if report.may_have_posted:
        yield texts("restore.posted", goals=_goals(report.may_have_posted, texts))
    if report.unhandled:
        yield texts("restore.unhandled", count=report.unhandled)
    if report.missed:
        yield texts("restore.missed", count=report.missed)
    if report.sealed:
        yield texts("restore.sealed", count=report.sealed)
    if report.installs:
        names = texts("list_of").join(map(unmarked, report.installs))
        yield texts("restore.installs", names=names)


def _goals(numbers: Iterable[int], texts: Texts) -> str:
    return texts("list_of").join(texts("goal", number=number) for number in numbers)


def _first(lines: Iterable[str], texts: Texts) -> Iterator[str]:
    """The first of the lines, and how many more there are."""
    every = list(lines)
    yield from every[:LINES_MOST]
    if len(every) > LINES_MOST:
        yield texts("restore.more", count=len(every) - LINES_MOST)


def _decisions(report: RestoreReport, now: float, zone: tzinfo, texts: Texts) -> Iterator[str]:
    for due in report.decisions:
        is_over = due.at <= report.made_at
        when = moment(due.at if is_over else due.at + now - report.made_at, now, zone, texts)
        key = "restore.decision_over" if is_over else "restore.decision"
        yield texts(key, goal=due.goal, name=due.name.replace("_", " "), at=when)


def _waits(report: RestoreReport, now: float, zone: tzinfo, texts: Texts) -> Iterator[str]:
    for due in report.waits:
        if due.name != "slot":
            key = "restore.wait_over" if due.at <= now else "restore.wait"
            yield texts(key, goal=due.goal, name=due.name, at=moment(due.at, now, zone, texts))


def _in_flight(one: InFlight, texts: Texts) -> str:
    if one.is_tool:
        return texts("restore.tool", goal=one.goal, name=one.name)
    price = (
        texts("restore.no_price")
        if one.nano_usd is None
        else texts("restore.dollars", usd=usd(one.nano_usd))
    )
    return texts("restore.call", goal=one.goal, name=one.name, tokens=count(one.tokens), usd=price)
