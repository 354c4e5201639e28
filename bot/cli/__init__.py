"""
The command line: `headway`.

Rule 1: an error of ours is one sentence on standard error and an exit code, never a traceback.
Rule 2: whoever holds the state folder works; other commands speak to it, or only read.
"""

import asyncio
import contextlib
import gc
import io
import logging
import os
import resource
import secrets
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn

import typer

from adapters.telemetry.logs import configure, writes_json
from bot.cli import files, operate, people, purge, spend, status, upkeep
from bot.cli import init as init_command
from bot.cli.config import app as config_commands
from bot.cli.exits import KNOWN, know, wrap_streams
from bot.cli.matrix import app as matrix_commands
from bot.cli.secret import app as secret_commands
from bot.cli.slack import app as slack_commands
from bot.cli.wrapped import wrapped
from bot.errors import HeadwayError, Ours
from bot.settings import Settings, read_settings, traced
from bot.settings_sources import Leaf, Origin

log = logging.getLogger(__name__)

INTERRUPTED: Final = 130
GARBAGE_AT: Final = (60_000, 20, 100)
"""New objects before a look for garbage, and looks before one at all that is older: Python's 700, 10
and 10 cost a tenth of the start and of each turn."""
SWITCH_S: Final = 0.001
"""The store's writer lets go of the interpreter at each statement. Python's default lets a busy loop
keep it for 5 ms each time."""
EPILOG: Final = (
    "For example:\n\n"
    '[cyan]headway chat "write a haiku about tides into tides.txt"[/]\n\n'
    "[cyan]headway goals[/]    [cyan]headway show G1[/]    [cyan]headway trace G1 --json[/]\n\n"
    "[cyan]headway init[/]     begins    [cyan]headway demo[/]    shows it without a key\n\n"
    "An error ends in (ref 7F3K): the log has more of it under that word."
)

app = typer.Typer(
    name="headway",
    help="A long-running bot that works at goals, audits every turn, and survives being killed.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
evals = typer.Typer(no_args_is_help=True, help="Measure the models that are configured.")
app.add_typer(evals, name="evals")
app.add_typer(config_commands, name="config")
app.command(epilog=init_command.EPILOG)(init_command.init)

GoalName = Annotated[str, typer.Argument(metavar="GOAL", help="A goal's number, such as G1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@dataclass(frozen=True, slots=True)
class Given:
    """What was said before the command."""

    config: Path | None
    state_dir: Path | None

    def settings(self) -> Settings:
        """The settings, with flags before all else. Raises BadSettings."""
        settings = self.read()
        configure(settings.log_level, settings.log_format)
        # The log has only now what writes it.
        know(settings)
        return settings

    def read(self) -> Settings:
        """The settings, whose secrets are known from now on. Raises BadSettings."""
        settings = read_settings(self.config, **self._flags())
        know(settings)
        return settings

    def traced(self) -> tuple[Settings, dict[Leaf, Origin]]:
        """The settings, and where each value comes from. Raises BadSettings."""
        return traced(self.config, **self._flags())

    def _flags(self) -> dict[str, Any]:
        return {} if self.state_dir is None else {"state_dir": self.state_dir}


def tune() -> None:
    """Set the interpreter for a busy loop with a writer beside it."""
    gc.set_threshold(*GARBAGE_AT)
    sys.setswitchinterval(SWITCH_S)
    # A dump of this process's memory would hold every key that it knows.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> NoReturn:
    """Run the command line; the console script's entry."""
    tune()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    wrap_streams()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except HeadwayError as error:
        sys.exit(_told(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the edge of the process
        kind = type(error).__name__
        unknown = Ours(f"Headway met an error that it does not know ({kind}: {error}). Report it.")
        unknown.__cause__ = error
        sys.exit(_told(unknown))
    sys.exit(0)


def _version(on: bool) -> None:
    if on:
        try:
            number = version("headway")
        except PackageNotFoundError:
            number = "(not installed)"
        sys.stdout.write(f"headway {number}\n")
        raise typer.Exit


@app.callback()
def _before(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="A headway.toml to use in place of the found one."),
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option("--state-dir", help="The folder that holds everything.")
    ] = None,
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Show it."),
    ] = False,
) -> None:
    context.obj = Given(config, state_dir)


@app.command(
    epilog='[cyan]headway chat "write a haiku into tides.txt" --until-settled[/]\n\n'
    "[cyan]headway chat[/]    [cyan]echo '/goal list' | headway chat[/]"
)
def chat(
    context: typer.Context,
    objective: Annotated[
        str | None, typer.Argument(help="Start with this goal.", show_default=False)
    ] = None,
    until_settled: Annotated[
        bool,
        typer.Option(
            "--until-settled",
            help="End when the goals started here have: 0 complete, 2 nothing was started, "
            "3 blocked, 4 over budget, 5 cancelled, 6 waits for a person and there is no more input.",
        ),
    ] = False,
    speaker: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Speak as another person of the room. They are no admin and have to be let in "
            "(`headway allow add @NAME`): it shows what others may do. Whoever can open the state "
            "folder is its operator anyway.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="Give a file with the goal; more than one may be given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Talk to Headway in this terminal."""
    from bot.cli import talk

    settings = _given(context).settings()
    talking = talk.chat(
        settings,
        objective,
        until_settled=until_settled,
        speaker=speaker,
        files=tuple(file or ()),
    )
    raise typer.Exit(asyncio.run(talking))


@app.command()
def run(context: typer.Context) -> None:
    """Work at the goals until stopped, without a terminal."""
    from bot.chat.texts import Texts
    from bot.wiring import Around, run_until_stopped

    settings = _given(context).settings()

    def ready() -> None:
        if sys.stderr.isatty():
            told = Texts()("terminal.running", pid=os.getpid(), folder=settings.state_dir)
            sys.stderr.write(told + "\n")

    asyncio.run(run_until_stopped(settings, Around(redactor=KNOWN), on_ready=ready))


@app.command()
def goals(context: typer.Context, as_json: AsJson = False) -> None:
    """List the goals, newest first."""
    from bot.cli import reports

    asyncio.run(reports.goals(_given(context).settings(), as_json=as_json))


@app.command(epilog="[cyan]headway show G1[/]    [cyan]headway show G1 --json | jq .cost_usd[/]")
def show(context: typer.Context, goal: GoalName, as_json: AsJson = False) -> None:
    """Show all that is known of one goal."""
    from bot.cli import reports

    asyncio.run(reports.show(_given(context).settings(), goal, as_json=as_json))


@app.command(epilog="[cyan]headway trace G1[/]    [cyan]headway trace G1 --json[/]")
def trace(context: typer.Context, goal: GoalName, as_json: AsJson = False) -> None:
    """Print a goal's journal: what happened, by which rule, and what it cost."""
    from bot.cli import reports

    asyncio.run(reports.trace(_given(context).settings(), goal, as_json=as_json))


@app.command(epilog="[cyan]headway doctor[/]    [cyan]headway doctor sandbox[/]")
def doctor(
    context: typer.Context,
    part: Annotated[
        Literal["all", "sandbox"],
        typer.Argument(help="`sandbox`: only that, with each cause and its mend."),
    ] = "all",
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong, and say how to mend it."""
    from bot.doctor import checkup

    given = _given(context)
    with contextlib.suppress(HeadwayError):
        # Where they cannot be read, that is what it says.
        given.read()
    look = checkup.run if part == "all" else checkup.run_sandbox
    raise typer.Exit(look(given.config, state_dir=given.state_dir, as_json=as_json))


@app.command()
def demo(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Answer the question without asking.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the demo's folder.")] = False,
) -> None:
    """See a goal set, worked at, killed, restarted and completed; needs no key."""
    from bot.demo import run as run_demo

    raise typer.Exit(run_demo(_given(context).config, yes=yes, keep=keep))


@evals.command(
    "audit", epilog="[cyan]headway evals audit[/]    [cyan]headway evals audit --json[/]"
)
def evals_audit(
    context: typer.Context,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="A folder of cases in place of the built-in ones."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play the labelled audit cases against the configured model, and print how it did."""
    from bot.cli import reports

    asyncio.run(reports.audit_cases(_given(context).settings(), cases, as_json=as_json))


# Behind those above, so that help shows first what one begins with.
status.add_to(app)
people.add_to(app)
operate.add_to(app)
spend.add_to(app)
files.add_to(app)
upkeep.add_to(app)
purge.add_to(app)
app.add_typer(secret_commands, name="secret")
app.add_typer(matrix_commands, name="matrix")
app.add_typer(slack_commands, name="slack")


def _given(context: typer.Context) -> Given:
    given: Given = context.obj
    return given


def _told(error: HeadwayError) -> int:
    """Print an error as people read it; returns its exit code."""
    ref = "".join(secrets.choice("23456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(4))
    # What a defect came from belongs into the log; on a terminal it would be in the way.
    level = logging.ERROR if isinstance(error, Ours) and writes_json() else logging.INFO
    log.log(level, "%s (ref %s)", error, ref, exc_info=error, extra={"ref": ref})
    sys.stderr.write(wrapped(f"{error} (ref {ref})", sys.stderr) + "\n")
    return error.exit_code
