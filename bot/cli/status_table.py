"""The operator's one look as a table on a terminal. Pure: what was told in, Rich out."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from rich import box
from rich.table import Table
from rich.text import Text

GIB: Final = 1024**3


def table(told: Mapping[str, Any]) -> Table:
    """The look as a table: a line a subject, what is wrong in red."""
    shown = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("Headway", _process(told))
    for reason in [*told.get("live", ()), *told.get("ready", ())]:
        shown.add_row("", Text(reason, style="red"))
    shown.add_row("Goals", _counts(told.get("goals", {})) or "none yet")
    if told.get("parked"):
        shown.add_row("Parked for", _counts(told["parked"]))
    for name, box_name in (("To be sent", "outbox"), ("To be handled", "inbox")):
        shown.add_row(name, _waiting(told.get(box_name, {})))
    for one in told.get("connectors", ()):
        shown.add_row(f"Network {one['network']}", _connector(one))
    for one in told.get("endpoints", ()):
        shown.add_row("Model", _endpoint(one))
    if told.get("endpoints_in_trouble") and not told.get("endpoints"):
        shown.add_row("Model", Text(_counts(told["endpoints_in_trouble"]), style="red"))
    if "tools" in told:
        shown.add_row("Tools", _tools(str(told["tools"])))
    shown.add_row("Holds", _alarming(told.get("holds", {})))
    shown.add_row("Incidents", _alarming(told.get("incidents", {})))
    spent = told.get("spent", {"usd": 0.0, "tokens": 0})
    shown.add_row("Spent today", f"${spent['usd']:.2f}, {spent['tokens']:,} tokens")
    if "disk" in told:
        disk = told["disk"]
        shown.add_row("Disk", f"{disk['free'] / GIB:.1f} of {disk['size'] / GIB:.1f} GiB free")
    return shown


def _process(told: Mapping[str, Any]) -> Text:
    stage = str(told["stage"])
    if stage == "stopped":
        return Text("stopped", style="red")
    style = "green" if told["status"] == "ok" else "red"
    since = datetime.fromisoformat(str(told["started_at"])).timestamp()
    turns, calls = told["running_turns"], told.get("calls_in_flight", 0)
    return Text.assemble(
        (stage, style),
        f" {told['version']}, pid {told['pid']}, for {_span(time.time() - since)}; ",
        f"{_many(turns, 'turn')} running, {_many(calls, 'call')} in flight",
    )


def _tools(name: str) -> Text:
    """Where tools run; in red where nothing confines them, and where they are off."""
    if name == "off":
        return Text("off: `headway doctor sandbox` says why", style="red")
    return Text(name, style="" if name.islower() else "red")


def _connector(one: Mapping[str, Any]) -> Text:
    if not one["up"]:
        return Text(f"cannot be heard: {one['trouble']}".removesuffix(": "), style="red")
    if one["last_heard"] is None:
        return Text("up, nothing heard yet")
    heard = datetime.fromisoformat(one["last_heard"]).timestamp()
    return Text(f"up, heard {_span(time.time() - heard)} ago")


def _endpoint(one: Mapping[str, Any]) -> Text:
    calls = f"{_many(one['in_flight'], 'call')}, {one['waiting']} waiting"
    if one["open"]:
        return Text(f"{one['endpoint']} takes calls: {calls}")
    closed = f"{one['endpoint']} closed for {_span(one['closed_s'])} ({one['trouble']}): {calls}"
    return Text(closed, style="red")


def _waiting(one: Mapping[str, Any]) -> str:
    if not one.get("rows"):
        return "nothing"
    return f"{_counts(one['rows'])}, the oldest for {_span(one['oldest_age_s'] or 0.0)}"


def _alarming(counts: Mapping[str, int]) -> Text:
    return Text(_counts(counts), style="yellow") if counts else Text("none")


def _counts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _span(seconds: float) -> str:
    for least, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * least:
            return f"{seconds / least:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
