"""
The command line: `headway`.

Rule 1: an error of ours is one sentence on standard error and an exit code, never a traceback.
Rule 2: whoever holds the state folder works; other commands speak to it, or only read.
"""

import asyncio
import getpass
import io
import json
import logging
import secrets
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, Protocol, TypeVar

import typer
from rich.console import Console

from bot.errors import BadInput, HeadwayError, Ours
from bot.settings import Settings, read_settings

if TYPE_CHECKING:
    from bot.wiring import Running

log = logging.getLogger(__name__)
T = TypeVar("T")

INTERRUPTED: Final = 130
EPILOG: Final = (
    "For example:\n\n"
    '[cyan]headway chat "write a haiku about tides into tides.txt"[/]\n\n'
    "[cyan]headway goals[/]    [cyan]headway show G1[/]    [cyan]headway trace G1 --json[/]\n\n"
    "[cyan]headway demo[/]     shows it without a key"
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

GoalName = Annotated[str, typer.Argument(metavar="GOAL", help="A goal's number, such as G1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@dataclass(frozen=True, slots=True)
class Given:
    """What was said before the command."""

    config: Path | None
    state_dir: Path | None

    def settings(self) -> Settings:
        """The settings, with flags before all else. Raises BadSettings."""
        flags: dict[str, Any] = {} if self.state_dir is None else {"state_dir": self.state_dir}
        return read_settings(self.config, **flags)


def main() -> NoReturn:
    """Run the command line; the console script's entry."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except HeadwayError as error:
        sys.exit(_told(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        log.debug("Unexpected", exc_info=error)
        kind = type(error).__name__
        unknown = Ours(f"Headway met an error that it does not know ({kind}: {error}). Report it.")
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


@app.command(epilog="[cyan]headway chat[/]    [cyan]echo '/goal list' | headway chat[/]")
def chat(
    context: typer.Context,
    objective: Annotated[
        str | None, typer.Argument(help="Start with this goal.", show_default=False)
    ] = None,
    until_settled: Annotated[
        bool,
        typer.Option(
            "--until-settled",
            help="End when the goals started here have: 0 complete, 3 blocked, 4 over budget, "
            "5 cancelled, 6 waits for a person and there is no more input.",
        ),
    ] = False,
) -> None:
    """Talk to Headway in this terminal."""
    raise typer.Exit(_wait(_chat(_given(context).settings(), objective, until_settled)))


@app.command()
def run(context: typer.Context) -> None:
    """Work at the goals until stopped, without a terminal."""
    _wait(_run(_given(context).settings()))


@app.command()
def goals(context: typer.Context, as_json: AsJson = False) -> None:
    """List the goals, newest first."""
    _wait(_goals(_given(context).settings(), as_json))


@app.command(epilog="[cyan]headway show G1[/]    [cyan]headway show G1 --json | jq .cost_usd[/]")
def show(context: typer.Context, goal: GoalName, as_json: AsJson = False) -> None:
    """Show all that is known of one goal."""
    _wait(_show(_given(context).settings(), goal, as_json))


@app.command(epilog="[cyan]headway trace G1[/]    [cyan]headway trace G1 --json[/]")
def trace(context: typer.Context, goal: GoalName, as_json: AsJson = False) -> None:
    """Print a goal's journal: what happened, by which rule, and what it cost."""
    _wait(_trace(_given(context).settings(), goal, as_json))


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Look for what is wrong, and say how to mend it."""
    from bot.doctor.checkup import run as run_checkup

    raise typer.Exit(run_checkup(_given(context).config, as_json=as_json))


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
    _wait(_evals_audit(_given(context).settings(), cases, as_json))


async def _chat(settings: Settings, objective: str | None, until_settled: bool) -> int:
    from bot.wiring import running
    from scheduler.control import ask_owner

    _check_objective(objective)
    if await ask_owner(settings.state_dir, {"do": "ping"}) is not None:
        return await _converse(settings, _Far(settings.state_dir), objective, until_settled)
    async with running(settings) as bot:
        talk = asyncio.create_task(_converse(settings, _Near(bot), objective, until_settled))
        broken = asyncio.create_task(bot.until_broken())
        await asyncio.wait((talk, broken), return_when=asyncio.FIRST_COMPLETED)
        if talk.done():
            broken.cancel()
            return await talk
        talk.cancel()
        await asyncio.gather(talk, return_exceptions=True)
        await broken
        return Ours.exit_code


class _Room(Protocol):
    """Where a message is written down."""

    goodbye: str
    """Key of what is said at the end."""

    async def say(self, text: str, thread: str) -> str:
        """Write it down; returns its id."""

    async def settle(self) -> None:
        """Return once what was said is handled and answered."""


class _Near:
    """The room of the Headway in this process."""

    goodbye = "terminal.left"

    def __init__(self, bot: "Running") -> None:
        self._bot = bot
        self._person = system_user()

    async def say(self, text: str, thread: str) -> str:
        return await self._bot.console.say(self._person, text, thread)

    async def settle(self) -> None:
        await self._bot.settle()


class _Far:
    """The room of a Headway that runs in another process."""

    goodbye = "terminal.detached"

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    async def say(self, text: str, thread: str) -> str:
        answer = await self._ask({"do": "say", "text": text, "thread": thread})
        return str(answer["id"])

    async def settle(self) -> None:
        await self._ask({"do": "settle"})

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        from scheduler.control import ask_owner

        answer = await ask_owner(self._state_dir, request)
        if answer is None:
            raise HeadwayError(
                "The Headway that held this state folder has ended. Run `headway chat` again."
            )
        return answer


async def _converse(
    settings: Settings, there: _Room, objective: str | None, until_settled: bool
) -> int:
    from adapters.console.pipes import converse
    from adapters.console.room import RoomFile, room_path
    from adapters.console.seat import Seat
    from bot.chat.parse import COMMAND, opens_thread
    from bot.chat.texts import Texts

    texts = Texts()
    file = RoomFile(room_path(settings.state_dir))
    seat = Seat(file, there.say, lambda text: opens_thread(text, texts), texts)
    seat.catch_up()
    if objective is not None:
        await seat.typed(f"/{COMMAND} {objective}")
    if sys.stdin.isatty() and sys.stdout.isatty() and not until_settled:
        from adapters.console.terminal import Terminal
        from bot.chat.verbs import served

        terminal = Terminal(seat, [verb.name for verb in served() if verb.name])
        return await terminal.run(there.settle, texts(there.goodbye))
    code = await converse(
        seat, sys.stdin.buffer, sys.stdout, until_settled=until_settled, settle=there.settle
    )
    waiting = seat.waiting_for_person()
    if until_settled and waiting is not None:
        sys.stderr.write(texts("terminal.needs_you", goal=waiting.name) + "\n")
    return code


async def _evals_audit(settings: Settings, folder: Path | None, as_json: bool) -> None:
    from rich.progress import Progress

    from adapters.clock import WallClock
    from bot.agent.audit_cases import CASES_DIR, load_cases
    from bot.agent.audit_play import as_json as report_as_json
    from bot.agent.audit_play import play, table
    from bot.wiring.endpoint import build_model

    cases = load_cases(folder or CASES_DIR)
    model = build_model(settings, WallClock(settings.clock_rate))
    try:
        with Progress(console=Console(stderr=True), transient=True) as progress:
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


async def _run(settings: Settings) -> None:
    from bot.wiring import run_until_stopped

    await run_until_stopped(settings)


async def _goals(settings: Settings, as_json: bool) -> None:
    from adapters.console import tables
    from bot.chat.facts import Manner
    from bot.chat.projections import goal_row
    from bot.wiring import reading

    async with reading(settings) as store:
        rows = []
        for row in await store.records.goals():
            texts = await store.journal.contents(row.goal.session, (row.goal.objective,))
            rows.append(goal_row(row, texts.get(row.goal.objective, ""), Manner()))
    if as_json:
        _print_json(rows)
    elif rows:
        Console().print(tables.goals(rows))
    else:
        Console().print('No goals yet. Start one: headway chat "<objective>"')


async def _show(settings: Settings, name: str, as_json: bool) -> None:
    from adapters.console import tables
    from bot.chat.facts import Manner
    from bot.chat.projections import detail, hashes_of
    from bot.wiring import reading

    async with reading(settings) as store:
        row = _named(await store.records.goals(), name)
        told = await store.records.trace(row.goal.id)
        shown = detail(
            row,
            told,
            await store.records.spend(row.goal.id),
            await store.journal.tasks(row.goal.id),
            await store.journal.contents(row.goal.session, hashes_of(told)),
            Manner(),
        )
    if as_json:
        _print_json(shown)
    else:
        Console().print(tables.goal(shown))


async def _trace(settings: Settings, name: str, as_json: bool) -> None:
    from adapters.console import tables
    from bot.chat.projections import hashes_of, trace_rows
    from bot.wiring import reading

    async with reading(settings) as store:
        row = _named(await store.records.goals(), name)
        told = await store.records.trace(row.goal.id)
        contents = await store.journal.contents(row.goal.session, hashes_of(told))
    rows = trace_rows(told, contents)
    if as_json:
        _print_json(rows)
    else:
        Console().print(tables.trace(rows))


def system_user() -> Any:
    """The console's person: the system's user."""
    from bot.ports.chat import Speaker

    name = getpass.getuser()
    return Speaker(name, name)


def _named(rows: Any, name: str) -> Any:
    wanted = name.upper().removeprefix("G")
    for row in rows:
        if str(row.goal.number) == wanted or row.goal.id == name:
            return row
    raise BadInput(f"There is no goal {name}. `headway goals` lists them.")


def _check_objective(objective: str | None) -> None:
    """Refuse an objective that cannot be taken, before anything is started for it."""
    from bot.chat.parse import COMMAND, parse
    from bot.chat.texts import Texts

    if objective is None:
        return
    texts = Texts()
    if not objective.strip():
        raise BadInput(texts("bad.empty"))
    parse(f"/{COMMAND} {objective}", texts, in_thread=False)


def _wait(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def _given(context: typer.Context) -> Given:
    given = context.obj
    return given if isinstance(given, Given) else Given(None, None)


def _told(error: HeadwayError) -> int:
    """Print an error as people read it; returns its exit code."""
    ref = "".join(secrets.choice("23456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(4))
    log.info("%s (ref %s)", error, ref, exc_info=error)
    sys.stderr.write(f"{error} (ref {ref})\n")
    return error.exit_code


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")
