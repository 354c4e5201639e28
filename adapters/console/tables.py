"""Goals and journals as tables on a terminal. Pure: rows in, Rich out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from adapters.console.render import STYLES, TASK_STYLES, clean
from bot.ports.plain import TASK_GLYPHS

Row = Mapping[str, Any]


def goals(rows: Sequence[Row]) -> RenderableType:
    """A line a goal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column("Goal", no_wrap=True, style="bold cyan")
    table.add_column("State", no_wrap=True)
    table.add_column("Turns", justify="right", no_wrap=True)
    table.add_column("Cost", justify="right", no_wrap=True)
    table.add_column("Owner", no_wrap=True)
    table.add_column("Objective", overflow="ellipsis", no_wrap=True, ratio=1)
    for row in clean(list(rows)):
        state = Text(str(row["shown_state"]), style=STYLES.get(str(row["state"]), ""))
        objective = Text(" ".join(str(row["objective"]).split()))
        owner = Text(str(row["owner"]))
        table.add_row(str(row["goal"]), state, str(row["turns"]), cost(row), owner, objective)
    return table


def goal(row: Row) -> RenderableType:
    """All that is known of one goal."""
    row = clean(row)
    style = STYLES.get(str(row["state"]), "")
    head = Text.assemble(
        (str(row["goal"]), "bold cyan"),
        "  ",
        (str(row["shown_state"]), style),
        f"  {row['reason']}",
    )
    parts: list[RenderableType] = [head, Padding(Markdown(str(row["objective"])), (1, 0, 1, 2))]
    parts.append(_facts(row))
    for title, made in (
        ("Tasks", _tasks(row["tasks"])),
        ("Decisions", _decisions(row["decisions"])),
        ("Audits", _audits(row["audits"])),
        ("Spent", _spend(row["spend"])),
    ):
        if made is not None:
            parts += [Text(f"\n{title}", style="bold"), made]
    if row["reply"]:
        reply = Padding(Markdown(str(row["reply"]), hyperlinks=False), (0, 0, 0, 2))
        parts += [Text("\nReply", style="bold"), reply]
    return Group(*parts)


def trace(rows: Sequence[Row]) -> RenderableType:
    """The journal, an entry a line."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", style="dim", justify="right", no_wrap=True)
    table.add_column("Time", style="dim", no_wrap=True)
    table.add_column("Event", overflow="fold")
    table.add_column("Rule", no_wrap=True)
    for row in clean(list(rows)):
        event = Text.assemble((str(row["event"]), "bold"), f" {row['about']}")
        table.add_row(str(row["seq"]), str(row["at"])[11:19], event, _rule(row))
    return table


def cost(row: Row) -> str:
    """`$0.84`, with `≥` where a price is unknown and `~` where some of it is estimated."""
    sign = "≥" if row["cost_is_at_least"] else "~" if row["estimated_usd"] else ""
    return sign + dollars(row["cost_usd"])


def dollars(amount: float) -> str:
    """`$1,234.50`; what is less than a cent says so."""
    return "<$0.01" if 0 < amount < 0.01 else f"${amount:,.2f}"


def _rule(row: Row) -> Text:
    """The rule that fired, and where it brought the goal."""
    rule = Text(str(row["rule"]), style="cyan")
    if row["before"] != row["after"]:
        rule.append(f" → {row['after']}", style=STYLES.get(str(row["after"]), ""))
    return rule


def _facts(row: Row) -> RenderableType:
    budget = row["budget"]
    limits = [f"${budget['usd']:.2f}"] if budget["usd"] is not None else []
    limits += [f"{budget['tokens']:,} tokens"] if budget["tokens"] is not None else []
    limits += [f"{budget['hours']:g} h"] if budget["hours"] is not None else []
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("Owner", str(row["owner"])),
        ("Opened", _minute(row["opened_at"])),
        ("Closed", _minute(row["closed_at"])),
        ("Turns", f"{row['turns']} ({row['continuations']} of {row['allowance']} continuations)"),
        ("Cost", f"{cost(row)}, {row['tokens']:,} tokens, {row['calls']} calls"),
        ("Budget", ", ".join(limits)),
    ):
        if value:
            table.add_row(Text(name, style="dim"), Text(value))
    return Padding(table, (0, 0, 0, 2))


def _minute(at: object) -> str:
    """An ISO time of UTC as people read it; nothing for none."""
    return f"{str(at)[:16].replace('T', ' ')} UTC" if at else ""


def _tasks(rows: Sequence[Row]) -> RenderableType | None:
    lines = [
        Text.assemble(
            (f"  {TASK_GLYPHS[row['state']]} {row['title']}", TASK_STYLES.get(row["state"], "")),
            (f"  {row['evidence']}", "dim"),
        )
        for row in rows
    ]
    return Group(*lines) if lines else None


def _decisions(rows: Sequence[Row]) -> RenderableType | None:
    table = _grid()
    for row in rows:
        text = Text(str(row["about"]))
        table.add_row(f"  {row['number']}", row["kind"], row["state"], text, Text(row["answer"]))
    return table if rows else None


def _audits(rows: Sequence[Row]) -> RenderableType | None:
    table = _grid()
    for row in rows:
        said = row["verdict"] or f"failed: {row['failure']}"
        table.add_row(
            f"  turn {row['turn']}",
            said,
            row["rule"] if row["rule"] != said else "",
            Text(row["note"]),
        )
    return table if rows else None


def _spend(rows: Sequence[Row]) -> RenderableType | None:
    names = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output")
    table = _grid()
    table.add_row("  role", "calls", *(name.replace("_", " ") for name in names), "cost")
    for row in rows:
        tokens = (f"{row[name]:,}" for name in names)
        table.add_row(f"  {row['role']}", str(row["calls"]), *tokens, cost(row))
    return table if rows else None


def _grid() -> Table:
    return Table.grid(padding=(0, 2))
