"""`headway demo` from its first line to its last: what it runs on, the play, what it comes to."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from adapters.console.parse import room
from adapters.console.room import RoomFile, room_path
from adapters.rehearsal.demo import OBJECTIVE, log_files
from bot.demo.answer import Left, Person
from bot.demo.ending import Ending, report_of, true_number
from bot.demo.journal import begun, reading
from bot.demo.play import Play
from bot.demo.screen import Screen
from bot.demo.stage import Stage
from bot.errors import HeadwayError, NoSandbox
from bot.ports.sandbox import Sandbox
from bot.settings import Settings, read_settings
from bot.wiring import build_sandbox
from bot.wiring.endpoint import price_table
from bot.wiring.program import program

THREAD: Final = "demo"
WRITE_S: Final = 20.0
BY_PERSON: Final = 130


def run(config: Path | None = None, *, yes: bool = False, keep: bool = False) -> int:
    """Show a goal from message to result; returns the exit code.

    `config` is the person's settings file, for a key and a model; `yes` answers the decision
    without asking; `keep` leaves the folder.
    """
    screen = Screen()
    stage: Stage | None = None
    try:
        with _ended_by_signals():
            stage = Stage(read_settings(config))
            return asyncio.run(_shown(stage, screen, yes=yes, keep=keep))
    except (KeyboardInterrupt, Left):
        screen.still()
        if stage is not None:
            _end_at_once(stage, keep=keep)
        screen.say("\n[bold]Ended by you[/], and every process of the demo with it.")
        return BY_PERSON
    except HeadwayError as error:
        screen.still()
        screen.failed(str(error))
        return error.exit_code
    finally:
        screen.still()
        if stage is not None:
            stage.close(keep=keep)


async def _shown(stage: Stage, screen: Screen, *, yes: bool, keep: bool) -> int:
    screen.doing("Setting the stage")
    settings = await asyncio.to_thread(stage.prepare)
    screen.opening(_about(stage, settings, keep=keep))
    screen.doing("Trying the sandbox")
    sandbox = await _tried(settings)
    session = await begun(settings, room(THREAD))
    await _seed(sandbox, session)
    screen.doing("Starting Headway")
    pid = await asyncio.to_thread(stage.start_bot)
    file = RoomFile(room_path(settings.state_dir))
    by_itself = yes or not (sys.stdin.isatty() and sys.stdout.isatty())
    person = Person(file, THREAD, by_itself=by_itself)
    person.say(f"/goal {OBJECTIVE}")
    screen.said(person.name, f"/goal {OBJECTIVE}")
    screen.waiting("Working")
    async with reading(settings, session) as journal:
        play = Play(stage, screen, journal, file, person, THREAD, pid)
        await play.run()
        goal, entries = await journal.whole()
    screen.doing("Ending Headway")
    await asyncio.to_thread(stage.end)
    screen.still()
    path, report = await report_of(sandbox, session, confined=settings.sandbox != "none")
    truth = true_number(log_files())
    ending = Ending(goal, entries, play.story, report, path, truth, play.kills, stage.is_rehearsed)
    return _closed(screen, ending, settings.state_dir / "workspaces" / session, stage, keep=keep)


def _about(stage: Stage, settings: Settings, *, keep: bool) -> list[str]:
    """What the demo runs on, what it costs, where it lies."""
    if stage.is_rehearsed:
        model = (
            f"The model is rehearsed: a written script, served over HTTP at {stage.address}. "
            "No key is used, nothing leaves this machine, nothing is charged. All else is real: "
            "the tools, the sandbox, the audits, the journal, the crash."
        )
    else:
        model = (
            f"A key is set, so this runs on {settings.model}, audited by {settings.audit_model}, "
            f"at {settings.base_url or settings.provider}. {_most(settings)}"
        )
    lines = [model]
    if settings.sandbox == "none":
        lines.append("There is no sandbox, by your choice: its commands have all your rights.")
    fate = "kept" if keep else "removed at the end; --keep keeps it"
    return [*lines, f"Everything lies in {stage.folder} ({fate}). Ctrl-C ends it all."]


def _most(settings: Settings) -> str:
    """What the demo may cost at most."""
    table = price_table(settings)
    tokens = f"{settings.budget_tokens:,} tokens"
    for name in (settings.model, settings.audit_model):
        if table.price(name) is None:
            return f"It may take {tokens} at most; what {name} costs is not known here."
    return f"It may cost ${settings.budget_usd:.2f} and take {tokens} at most."


async def _tried(settings: Settings) -> Sandbox:
    """The sandbox, proven to work.

    Raises:
        NoSandbox: it does not, and the mend.
    """
    sandbox = build_sandbox(settings)
    try:
        await sandbox.check()
    except NoSandbox as error:
        raise NoSandbox(
            f"{error} If you choose to do without, the demo's commands then run with all your "
            f"rights: `HEADWAY_SANDBOX=none {program()} demo`."
        ) from error
    return sandbox


async def _seed(sandbox: Sandbox, session: str) -> None:
    """Put the three logs into the workspace."""
    hands = await sandbox.open(session, "workspace")
    try:
        for path, content in log_files().items():
            given = {"path": path, "content": content}
            written = await hands.call("write", given, timeout_s=WRITE_S)
            if not written.ok:
                raise HeadwayError(f"{path} cannot be written: {written.text}")
    finally:
        await hands.close()


def _closed(screen: Screen, ending: Ending, workspace: Path, stage: Stage, *, keep: bool) -> int:
    """Show the report, the sums and what to try next; returns the exit code."""
    if ending.path:
        screen.text(str(workspace / ending.path), ending.report)
    screen.table("What it comes to", ending.rows())
    if not ending.is_reached:
        screen.failed(ending.why_not())
        return 1
    screen.commands("Try next", _next(stage, keep=keep))
    return 0


def _next(stage: Stage, *, keep: bool) -> list[tuple[str, str]]:
    headway = program()
    look = (f"{headway} demo --keep", "again, and its folder stays: look at what is in it")
    if keep:
        look = (
            f"{headway} --config {stage.config} trace G1",
            "what the journal knows of this goal",
        )
    return [
        look,
        (f"{headway} doctor", "is everything ready for goals of your own?"),
        (f"{headway} init", "a model for them, with a key or rehearsed; then `chat` sets one"),
    ]


def _end_at_once(stage: Stage, *, keep: bool) -> None:
    """Without the grace of a shutdown, which nothing here needs, and whole despite a second Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stage.close(keep=keep, at_once=True)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the demo as Ctrl-C does, so that nothing is left behind."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    names = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(name, interrupt) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)
