"""
Points at which a drill kills the process, and the wrappers that pass them.

A point has a name (what is about to happen or has just happened) and an occurrence number. A
recording run writes every point that it passes; a drill kills itself with SIGKILL at one of them.
"""

import os
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Points:
    """Writes each point to `record`, and kills the process at `kill_at` (`name#occurrence`)."""

    def __init__(self, record: Path, kill_at: str = "") -> None:
        self._record = record
        self._kill_at = kill_at
        self._seen: Counter[str] = Counter()

    def reach(self, name: str) -> None:
        """Pass a point, or die here."""
        self._seen[name] += 1
        point = f"{name}#{self._seen[name]}"
        with self._record.open("a") as file:
            file.write(point + "\n")
        if point == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def store(self, store: Any) -> Any:
        """The store, with a point before and after each commit that a goal depends on."""
        return _Between(store, self, _STORE)

    def model(self, model: Any) -> Any:
        """The model, with a point before each request leaves and after each reply has come."""
        return _Between(model, self, {"call": _call})

    def chat(self, chat: Any) -> Any:
        """The network, with a point before each send and after each acknowledgement."""
        return _Between(chat, self, {"send": _send})

    def sandbox(self, sandbox: Any) -> Any:
        """The sandbox, with a point before each tool starts and after it has ended."""
        return _Hands(sandbox, self)


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


class _Hands:
    def __init__(self, sandbox: Any, points: Points) -> None:
        self._sandbox = sandbox
        self._points = points

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._sandbox, attribute)

    async def open(self, *args: Any) -> Any:
        session = await self._sandbox.open(*args)
        return _Between(session, self._points, {"call": _tool})


def _commit(unit: Any, *_: Any, **__: Any) -> str:
    return "commit " + "+".join(type(event).__name__ for event in unit.events)


def _open(*_: Any, **__: Any) -> str:
    return "commit GoalOpened"


def _receive(*_: Any, **__: Any) -> str:
    return "commit inbox"


def _sent(key: str, *_: Any, **__: Any) -> str:
    return "" if _is_status(key) else "commit sent"


def _call(request: Any, **_: Any) -> str:
    return "audit call" if request.tool_choice else "agent call"


def _tool(tool: str, *_: Any, **__: Any) -> str:
    return f"tool {tool}"


def _send(message: Any) -> str:
    # How many status edits there are depends on timing; a drill of each kind of post does not.
    return "" if _is_status(message.key) else "send"


def _is_status(key: str) -> bool:
    return "status" in key


_STORE = {"commit": _commit, "open": _open, "receive": _receive, "sent": _sent}
