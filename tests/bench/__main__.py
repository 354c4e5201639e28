"""Runs measurements: python -m tests.bench [name] [--json] [--full].

Every module bench_*.py beside this one offers `NAME` and `figures(full)`. A measurement that fails
is said on standard error and makes the exit code 1; the others still run.
"""

import argparse
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.figures import Figure


@dataclass(frozen=True, slots=True)
class Bench:
    """A measurement by name; `figures` takes whether it is to run in full."""

    name: str
    figures: Callable[[bool], Iterator[Figure]]


def main(arguments: list[str]) -> int:
    """Run the named measurement, or all, and return the exit code: 0, 1 failed, 2 unknown name."""
    options = _parse(arguments)
    benches, broken = _discover(Path(__file__).parent)
    chosen = [bench for bench in benches if options.name in (None, bench.name)]
    unloaded = [line for name, line in broken.items() if options.name in (None, name)]
    if options.name is not None and not chosen and not unloaded:
        names = ", ".join(bench.name for bench in benches) or "none yet"
        print(
            f"There is no measurement named {options.name!r}. There are: {names}.", file=sys.stderr
        )
        return 2

    failures = [*unloaded]
    for bench in chosen:
        reason = _run(bench, options.full, options.json)
        if reason is not None:
            failures.append(f"{bench.name} failed: {reason}")
    for line in failures:
        print(line, file=sys.stderr)
    return 1 if failures else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="deploy/bench", description="Measure, beside the peers.")
    parser.add_argument("name", nargs="?", help="one measurement; without it, all of them")
    parser.add_argument("--json", action="store_true", help="one JSON object a line and figure")
    parser.add_argument(
        "--full",
        action="store_true",
        default=os.environ.get("TEST_FULL") == "1",
        help="the largest sizes too, which take minutes",
    )
    return parser.parse_args(arguments)


def _discover(folder: Path) -> tuple[list[Bench], dict[str, str]]:
    """Return the measurements in `folder` by name, and for each that cannot load a line that says so."""
    benches, broken = [], {}
    for found in pkgutil.iter_modules([str(folder)]):
        if not found.name.startswith("bench_"):
            continue
        try:
            module = import_module(f"tests.bench.{found.name}")
            benches.append(Bench(module.NAME, module.figures))
        except Exception as error:  # noqa: BLE001 - one that cannot load must not stop the others
            short = found.name.removeprefix("bench_")
            broken[short] = f"{short} cannot load: {_describe(error)}"
    return sorted(benches, key=lambda bench: bench.name), broken


def _run(bench: Bench, full: bool, as_json: bool) -> str | None:
    """Measure and print; return why it failed, or None."""
    console = Console(stderr=True)
    figures: list[Figure] = []
    reason = None
    try:
        with console.status(f"{bench.name}: measuring") as status:
            if not console.is_terminal:
                console.print(f"{bench.name}: measuring", markup=False)
            for figure in bench.figures(full):
                figures.append(figure)
                status.update(f"{bench.name}: {len(figures)} figures, last {figure.name}")
                if as_json:
                    print(json.dumps(figure.as_line(), ensure_ascii=False), flush=True)
    except Exception as error:  # noqa: BLE001 - a failed measurement must not stop the others
        reason = _describe(error)
    if figures and not as_json:
        _print_table(bench.name, full, figures)
    return reason


def _print_table(name: str, full: bool, figures: list[Figure]) -> None:
    table = Table(title=f"deploy/bench {name}{' --full' if full else ''}", title_justify="left")
    for heading in ("figure", "value", "unit", "peer", "its value", "ratio"):
        numeric = heading in ("value", "its value", "ratio")
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for figure in figures:
        peer_value, ratio = _shorten(figure.peer_value), _shorten(figure.ratio)
        table.add_row(
            figure.name, _shorten(figure.value), figure.unit, figure.peer or "", peer_value, ratio
        )
    console = Console()
    console.width = console.width if console.is_terminal else 120
    console.print(table)


def _shorten(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
