"""
Points at which a drill kills the process, and what passes them.

A point is what is about to happen or has just happened, and which time this is. A commit has four:
before its unit is handed over, inside the transaction, when COMMIT has returned and its caller has
not been told, and when it has. A recording run writes every point that it passes; a drill kills
itself with SIGKILL at one of them.

Left out is what depends on timing alone: status edits, renewals, polls that find nothing.
"""

import asyncio
import inspect
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from tests.crash.scenario import ANSWERED, EFFECTS, OBJECTIVE, STEERING

MIDDLE_S: Final = 0.03
"""After the start of a model call, whose reply takes twice as long."""
EFFECT_S: Final = 5.0
GATE: Final = "gate"
FAMILY: Final = "family.json"

Dies = Literal["alone", "with its group"]


@dataclass(frozen=True, slots=True)
class Death:
    """Where the process kills itself: at a point by name, at the n-th that it passes, or at a time."""

    at: str = ""
    count: int = 0
    after_s: float = 0.0
    dies: Dies = "alone"


class Points:
    """Writes each point to `record`, and kills the process at its death."""

    def __init__(self, state_dir: Path, record: Path, death: Death | None = None) -> None:
        self._state_dir = state_dir
        self._record = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._death = death or Death()
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._steered = asyncio.Event()
        if self._death.after_s:
            timer = threading.Timer(self._death.after_s, self._die)
            timer.daemon = True
            timer.start()

    def reach(self, name: str) -> None:
        """Pass a point, or die here."""
        with self._lock:
            self._seen[name] += 1
            point = f"{name} #{self._seen[name]}"
            os.write(self._record, f"{point}\n".encode())
            if point == self._death.at or self._seen.total() == self._death.count:
                self._die()

    def store(self, store: Any) -> Any:
        """The store, with the four points of each commit that a goal depends on."""
        writer = store.writer
        writer._database = _Database(writer._database, self)
        do = writer.do

        async def passing(job: Callable[[Any], Any], **more: Any) -> Any:
            named = _Named(job, self)
            if named.name:
                self.reach(f"before commit {named.name}")
            result = await do(named, **more)
            if named.done:
                self.reach(f"after commit {named.done}")
                if "MessageReceived" in named.done:
                    self._steered.set()
            return result

        writer.do = passing
        return store

    def model(self, model: Any) -> Any:
        """The model, with points before a request leaves, in the middle, and after its reply."""
        return _Model(model, self)

    def chat(self, chat: Any) -> Any:
        """The network, with a point before each send and after each acknowledgement."""
        return _Between(chat, self, {"send": _send})

    def sandbox(self, sandbox: Any) -> Any:
        """The sandbox, with points before each tool starts, at its effect and after its end."""
        return _Hands(sandbox, self)

    async def steered(self) -> None:
        """Ask for the person's words in the middle of the turn, and wait until they are stored."""
        (self._state_dir / GATE).touch()
        await self._steered.wait()

    def _die(self) -> None:
        family = [
            (process.pid, process.create_time())
            for process in psutil.Process().children(recursive=True)
        ]
        (self._state_dir / FAMILY).write_text(json.dumps(family))
        if self._death.dies == "alone":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            os.killpg(os.getpgrp(), signal.SIGKILL)


class _Named:
    """A job of the writer under the name of what it commits."""

    def __init__(self, job: Callable[[Any], Any], points: Points) -> None:
        self._job = job
        self._points = points
        self._method = job.__qualname__.partition(".<locals>")[0]
        self.name = _commit(self._method, inspect.getclosurevars(job).nonlocals)
        self.done = ""
        """The name, where something was committed."""

    def __call__(self, tx: Any) -> Any:
        result = self._job(tx)
        self.done = self.name or (_FOUND.get(self._method, "") if result else "")
        if self.done:
            self._points.reach(f"inside commit {self.done}")
        return result


class _Database:
    def __init__(self, database: Any, points: Points) -> None:
        self._database = database
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def transact(self, jobs: Sequence[Any]) -> Any:
        outcomes = self._database.transact(jobs)
        for job in jobs:
            if isinstance(job, _Named) and job.done:
                self._points.reach(f"untold commit {job.done}")
        return outcomes


class _Between:
    def __init__(self, part: Any, points: Points, names: Mapping[str, Any]) -> None:
        self._part = part
        self._points = points
        self._names = names

    def __getattr__(self, attribute: str) -> Any:
        method = getattr(self._part, attribute)
        named = self._names.get(attribute)
        if named is None:
            return method

        async def passing(*args: Any, **kwargs: Any) -> Any:
            name = named(*args, **kwargs)
            if not name:
                return await method(*args, **kwargs)
            self._points.reach(f"before {name}")
            result = await method(*args, **kwargs)
            self._points.reach(f"after {name}")
            return result

        return passing


class _Model:
    def __init__(self, model: Any, points: Points) -> None:
        self._model = model
        self._points = points

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._model, attribute)

    async def call(self, request: Any, **more: Any) -> Any:
        name = "audit call" if request.tool_choice else "agent call"
        told = json.dumps(request.messages)
        is_first = json.dumps(OBJECTIVE)[1:-1] in told
        if is_first and name == "agent call" and ANSWERED in told and STEERING not in told:
            await self._points.steered()
        self._points.reach(f"before {name}")
        calling = asyncio.ensure_future(self._model.call(request, **more))
        await asyncio.wait((calling,), timeout=MIDDLE_S)
        self._points.reach(f"during {name}")
        reply = await calling
        self._points.reach(f"after {name}")
        return reply


class _Hands:
    def __init__(self, sandbox: Any, points: Points) -> None:
        self._sandbox = sandbox
        self._points = points

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._sandbox, attribute)

    async def open(self, workspace: str, access: Any, line: Any = None) -> Any:
        self._points.reach("before sandbox opens")
        session = await self._sandbox.open(workspace, access, line)
        self._points.reach("after sandbox opens")
        effects = self._sandbox._workspaces / workspace / EFFECTS
        return _Session(session, self._points, effects)


class _Session:
    def __init__(self, session: Any, points: Points, effects: Path) -> None:
        self._session = session
        self._points = points
        self._effects = effects

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._session, attribute)

    @property
    def tree(self) -> Any:
        """The workspace's tree, with points before and after each look and each change."""
        return _Between(self._session.tree, self._points, _TREE)

    async def call(self, tool: str, args: Mapping[str, Any], **more: Any) -> Any:
        self._points.reach(f"before tool {tool}")
        calling = asyncio.ensure_future(self._session.call(tool, args, **more))
        if tool == "bash" and "once-" in args["command"]:
            await self._effect(calling, str(args["command"]).split()[1])
            self._points.reach(f"during tool {tool}")
        result = await calling
        self._points.reach(f"after tool {tool}")
        return result

    async def _effect(self, calling: "asyncio.Future[Any]", line: str) -> None:
        """Return once the command has done what it does, while it still runs."""
        for _ in range(int(EFFECT_S / 0.005)):
            if calling.done() or (self._effects.exists() and line in self._effects.read_text()):
                return
            await asyncio.sleep(0.005)


def _of_tree(method: str) -> Callable[..., str]:
    return lambda *args, **kwargs: f"tree {method}"


_TREE: Final = {name: _of_tree(name) for name in ("walk", "remove", "lay", "fill", "finish")}
_FOUND: Final = {"StoreLeases.claim": "claim"}
"""Jobs of which only those count that found something."""


def _commit(method: str, given: Mapping[str, Any]) -> str:
    match method:
        case "StoreJournal.commit":
            return "+".join(type(event).__name__ for event in given["unit"].events)
        case "StoreJournal.open":
            return "GoalOpened"
        case "StoreInbox.receive_all":
            return "inbox"
        case "StoreInbox.handled" | "StoreInbox.failed":
            return method
        case "StoreOutbox.say":
            return "reply"
        case "StoreOutbox.sent" | "StoreOutbox.unknown" | "StoreOutbox.failed":
            kind = _kind(given["key"])
            return "" if kind == "status" else f"{method.rpartition('.')[2]} {kind}"
        case "StoreRooms.begin":
            return "thread"
        case _:
            return ""


def _send(message: Any) -> str:
    kind = _kind(message.key)
    # How many status edits there are depends on timing; a drill of each kind of post does not.
    return "" if kind == "status" else f"send {kind}"


def _kind(key: str) -> str:
    """`reply`, or what a post of a goal is: `decision`, `card`, `settle`, `status`."""
    first, _, rest = key.partition(":")
    return first if first == "reply" else rest.partition(":")[0]
