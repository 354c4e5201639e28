"""
Scripts about the network; a part of `tests.peers.scripts`.

| Line | What the agent does, and what the audit says |
|---|---|
| `does STEPS` | the steps of `as_word`, one after the other, then it says all that they gave; complete |
"""

import base64
import json
from collections.abc import Callable, Sequence

from adapters.rehearsal.script import Answer, Request, call, calls_of, say, verdict

Part = Callable[[Request, list[str]], Answer]
Step = tuple[str, dict[str, object]]


def bash(command: str) -> Step:
    """Run a command."""
    return "bash", {"command": command}


def reach(host: str) -> Step:
    """Ask for a host."""
    return "reach", {"host": host, "why": "the work needs it"}


def as_word(*steps: Step) -> str:
    """The argument of `does`."""
    return base64.urlsafe_b64encode(json.dumps(steps).encode()).decode()


def _does(request: Request, arguments: list[str]) -> Answer:
    steps: Sequence[Step] = json.loads(base64.urlsafe_b64decode(arguments[0]))
    made = [one for one in calls_of(request) if one.name in ("bash", "reach")]
    if len(made) < len(steps):
        name, args = steps[len(made)]
        return call(name, args)
    return say("\n---\n".join(str(one.result) for one in made))


def _says_complete(request: Request, arguments: list[str]) -> Answer:
    return verdict("complete", "It was all done.", evidence="the reply")


REACH: dict[str, tuple[Part, Part]] = {"does": (_does, _says_complete)}
