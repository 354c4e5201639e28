"""
Forgetting, in the process that owns the state folder, and for commands where nobody does.

Rule: a purge goes on by itself once it is begun, whether or not whoever asked for it still looks; one
of a person goes on after a restart as well.
"""

import asyncio
import contextlib
import logging
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from adapters.console.blanking import ConsoleTraces
from adapters.console.room import room_path
from adapters.sandbox.removing import WorkspaceFolders
from adapters.snapshots.folder import SnapshotFolder
from adapters.store.open import SQLITE, Store, file_of
from bot.errors import BadInput, HeadwayError, Ours
from bot.goals.instructions import Instruction
from bot.ports.forgetting import Known, Step, Trail, Wanted
from bot.settings import Settings
from bot.wiring.holding import own_store
from bot.wiring.names import names_of
from bot.wiring.sandbox import Built
from bot.wiring.snapshots import KeptFolders, SnapshotTraces, open_snapshots, scrubbing
from scheduler.alarms import Alarms
from scheduler.control import Request
from scheduler.forgetting import SWEEP_S, TIDY_FIRST_S, TIDY_S, Forgetter, Parts

log = logging.getLogger(__name__)

COPIES: Final = "*.before-*"
"""What upgrades and restores kept beside what they replaced."""


class Copies:
    """Former states of the database and of the workspaces, kept beside them. Port Traces."""

    def __init__(self, settings: Settings) -> None:
        url = settings.database_url
        self._folders = {settings.state_dir, settings.workspaces_dir.parent}
        if url.startswith(SQLITE):
            self._folders.add(file_of(url, settings.state_dir).parent)

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        """All of them: nobody can tell what of a person is in which."""
        found = sorted({path for folder in self._folders for path in folder.glob(COPIES)})
        if not is_dry:
            for path in found:
                await asyncio.to_thread(_remove, path)
        return [Step("copy", len(found))] if found else []


@dataclass
class _Purge:
    """One that was asked for, as far as it has come."""

    counts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False
    error: str = ""
    exit_code: int = 0

    def note(self, step: Step) -> None:
        self.counts[step.kind] += step.count

    def as_json(self) -> dict[str, Any]:
        return {
            "counts": dict(+self.counts),
            "is_over": self.is_over,
            "failure": self.error,
            "exit_code": self.exit_code,
        }


class PurgeDesk:
    """Answers requests about purges; what was asked for is looked at until it is over."""

    def __init__(
        self, forgetter: Forgetter, known: Callable[[str], Awaitable[Sequence[Known]]]
    ) -> None:
        self._forgetter, self._known = forgetter, known
        self._purges: dict[int, _Purge] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer to a request about a purge; None for any other.

        Raises:
            BadInput: nobody, or more than one, goes by that name.
        """
        match request:
            case {"do": "purge", "person": str(name)}:
                person = await self._one(name)
                wanted = Wanted(person.id, bool(request.get("keeps_mentions")))
                return self._begin(self._person(wanted, bool(request.get("is_dry"))), person)
            case {"do": "purge", "days": int(days) | float(days)}:
                room, is_dry = str(request.get("room", "")), bool(request.get("is_dry"))
                return self._begin(self._older(days, room, is_dry))
            case {"do": "purging", "id": int(id)} if id in self._purges:
                return self._purges[id].as_json()
        return None

    async def close(self) -> None:
        """Wait until what was begun is over."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Callable[[_Purge], Any], person: Known | None = None) -> dict[str, Any]:
        id, purge = len(self._purges) + 1, _Purge()
        self._purges[id] = purge
        task = asyncio.create_task(self._run(work, purge), name=f"purge {id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        name = f"{person.network}:{person.name or person.external}" if person else ""
        return {"id": id, "person": name}

    async def _run(self, work: Callable[[_Purge], Any], purge: _Purge) -> None:
        try:
            purge.counts = Counter(await work(purge))
        except HeadwayError as error:
            purge.error, purge.exit_code = str(error), error.exit_code
        except Exception as error:
            log.exception("A purge failed.")
            purge.exit_code = Ours.exit_code
            purge.error = f"The purge failed ({type(error).__name__}). Look at the log."
        finally:
            purge.is_over = True

    def _person(self, wanted: Wanted, is_dry: bool) -> Callable[[_Purge], Any]:
        if is_dry:
            return lambda purge: self._forgetter.preview(wanted)
        return lambda purge: self._forgetter.forget(wanted, purge.note)

    def _older(self, days: float, room: str, is_dry: bool) -> Callable[[_Purge], Any]:
        return lambda purge: self._forgetter.take_older(days, room, purge.note, is_dry=is_dry)

    async def _one(self, name: str) -> Known:
        # Ids may have colons of their own: slack:T01:U01, matrix:@ann:example.org.
        network, _, rest = name.partition(":")
        in_network = [one for one in await self._known(rest) if one.network == network]
        found = in_network or await self._known(name)
        if not found:
            raise BadInput(
                f"There is nobody called {name!r} whom Headway has ever heard. Check the spelling."
            )
        if len(found) > 1:
            listed = ", ".join(f"{one.network}:{one.external}" for one in found)
            raise BadInput(f"More than one person is called {name!r}. Say which: {listed}.")
        return found[0]


def forgetter_of(
    settings: Settings,
    store: Store,
    snapshots: SnapshotFolder,
    sandbox: Built | None = None,
    **further: Any,
) -> Forgetter:
    """Forgets in this state folder; `further` are parts of a process at work."""
    resting = {} if sandbox is None else {"end_resting": sandbox.end}
    workspaces = WorkspaceFolders(settings.workspaces_dir, **resting)
    console = ConsoleTraces(room_path(settings.state_dir), names_of(settings).console)
    parts = Parts(
        journal=store.journal,
        forgetting=store.forgetting,
        retention=store.retention,
        scrub=scrubbing(snapshots, store.checkpoints, store.scrub),
        workspaces=KeptFolders(workspaces, snapshots, store.checkpoints),
        traces=(
            console,
            workspaces,
            SnapshotTraces(snapshots, store.checkpoints),
            Copies(settings),
        ),
        **further,
    )
    return Forgetter(
        parts,
        texts_days=settings.keep_texts_days,
        workspaces_days=settings.keep_workspaces_days,
    )


def keep_forgetting(
    alarms: Alarms,
    settings: Settings,
    store: Store,
    wake: Callable[[str, Sequence[Instruction]], None],
    texts: Callable[[], None],
    people: Callable[[], Awaitable[object]],
    sandbox: Built | None,
    snapshots: SnapshotFolder,
) -> PurgeDesk:
    """Forget what is due, for as long as the alarms ring; returns the desk for commands.

    `texts` and `people` read anew what they keep in memory.
    """

    async def forget_cached() -> None:
        texts()
        await people()

    forgetter = forgetter_of(
        settings, store, snapshots, sandbox, wake=wake, forget_cached=forget_cached
    )
    alarms.add("forget", forgetter.sweep, SWEEP_S)
    alarms.add("tidy", forgetter.tidy, TIDY_S / settings.clock_rate)
    alarms.at("tidy", TIDY_FIRST_S / settings.clock_rate)
    return PurgeDesk(forgetter, store.forgetting.known)


@asynccontextmanager
async def own_purge_desk(settings: Settings) -> AsyncIterator[PurgeDesk]:
    """The desk of a state folder that nobody else owns, for the life of the context.

    Raises:
        AlreadyOwned: somebody does: ask them.
        StoreBusy, StoreUnusable.
    """
    async with own_store(settings) as store:
        desk = PurgeDesk(
            forgetter_of(settings, store, open_snapshots(settings)), store.forgetting.known
        )
        try:
            yield desk
        finally:
            await desk.close()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
