"""
A Headway that kills itself once at a point: `python -m tests.crash.slack_bot POINT COUNT run`.

It is the real command line with five places of it watched. The COUNT-th time it comes to POINT with
something of Slack in its hands it dies with SIGKILL; a mark in the state folder lets it pass the next
time. What is on its way between it and Slack is the front's to kill at.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from adapters.slack.calling import Calls
from adapters.store.inbox import StoreInbox
from adapters.store.outbox import StoreOutbox
from bot.cli import main
from bot.ports.chat import Incoming
from tests.crash.matrix_bot import DIED, Death

INSIDE: Final = ("received", "stored", "claimed", "answered", "kept")
"""An event is here and not stored; it is stored and not acknowledged; rows of the outbox are claimed;
Slack's answer to a post is here; that is stored."""
POSTS: Final = ("chat.postMessage", "chat.update")


def command(point: str, count: int) -> Sequence[str]:
    """What to start it with."""
    return (sys.executable, "-m", "tests.crash.slack_bot", point, str(count))


def watch(death: Death) -> None:
    """Have it come at its point."""
    receive_all, claim = StoreInbox.receive_all, StoreOutbox.claim
    call, sent = Calls.call, StoreOutbox.sent

    async def receiving(self: Any, arrivals: Sequence[Any], upto: Any = None) -> int:
        has_words = any(
            isinstance(each, Incoming) and each.place.network == "slack" for each in arrivals
        )
        death.at("received", counts=has_words)
        stored = await receive_all(self, arrivals, upto)
        death.at("stored", counts=has_words)
        return stored

    async def claiming(self: Any, network: Any, *args: Any, **more: Any) -> Any:
        rows = await claim(self, network, *args, **more)
        death.at("claimed", counts=network == "slack" and bool(rows))
        return rows

    async def calling(self: Any, workspace: str, method: str, /, **more: Any) -> Any:
        answer = await call(self, workspace, method, **more)
        death.at("answered", counts=method in POSTS)
        return answer

    async def keeping(self: Any, key: str, remote: str) -> None:
        await sent(self, key, remote)
        death.at("kept")

    StoreInbox.receive_all = receiving  # type: ignore[method-assign]
    StoreOutbox.claim = claiming  # type: ignore[method-assign]
    Calls.call = calling  # type: ignore[method-assign]
    StoreOutbox.sent = keeping  # type: ignore[method-assign]


if __name__ == "__main__":
    at, times, *words = sys.argv[1:]
    watch(Death(at, int(times), Path(os.environ["HEADWAY_STATE_DIR"]) / DIED))
    sys.argv = ["headway", *words]
    main()
