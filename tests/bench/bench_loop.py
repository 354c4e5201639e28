"""The loop: what a goal's turn costs beside its model, alone, in a crowd, and after SIGKILL."""

from collections.abc import Iterator

from bot.cli import tune
from tests.bench import loop_cpu, loop_engines, loop_kill, loop_many, loop_start
from tests.bench.figures import Figure

NAME = "loop"


def figures(full: bool) -> Iterator[Figure]:
    """All of them; `full` takes 1,000 goals where there are 200 otherwise."""
    # As the command line sets it.
    tune()
    yield from loop_start.figures(full)
    yield from loop_kill.figures(full)
    yield from loop_cpu.figures(full)
    yield from loop_many.figures(full)
    yield from loop_engines.figures(full)
