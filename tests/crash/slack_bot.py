"""
A Headway that kills itself once at a point: `python -m tests.crash.slack_bot POINT COUNT run`.

It is the real command line with five places of it watched. The COUNT-th time it comes to POINT with
something of Slack in its hands it dies with SIGKILL; a mark in the state folder lets it pass the next
time. What Slack sees (an acknowledgement, a request on its way) is the front's to kill at.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from adapters.slack.posting import SlackPosting
from adapters.store.inbox import StoreInbox
from adapters.store.outbox import StoreOutbox
from bot.cli import main
from tests.crash.dying import DIED, Death, then

INSIDE: Final = ("received", "stored", "claimed", "answered", "noted")
"""Something that came is here and not stored; it is stored and not acknowledged; rows of the outbox are
claimed; Slack's answer to a row is here; that is stored."""


def command(point: str, count: int) -> Sequence[str]:
    """What to start it with."""
    return (sys.executable, "-m", "tests.crash.slack_bot", point, str(count))


def watch(death: Death) -> None:
    """Have it come at its point."""
    receive_all, claim = StoreInbox.receive_all, StoreOutbox.claim
    sent, noted = SlackPosting.send, StoreOutbox.sent

    async def receiving(self: Any, arrivals: Sequence[Any], upto: Any = None) -> int:
        death.at("received", counts=bool(arrivals))
        stored = await receive_all(self, arrivals, upto)
        death.at("stored", counts=bool(arrivals))
        return stored

    async def claiming(self: Any, network: Any, **more: Any) -> Any:
        rows = await claim(self, network, **more)
        death.at("claimed", counts=network == "slack" and bool(rows))
        return rows

    StoreInbox.receive_all = receiving  # type: ignore[method-assign]
    StoreOutbox.claim = claiming  # type: ignore[method-assign]
    SlackPosting.send = then(sent, lambda: death.at("answered"))  # type: ignore[method-assign]
    StoreOutbox.sent = then(noted, lambda: death.at("noted"))  # type: ignore[method-assign]


if __name__ == "__main__":
    at, times, *words = sys.argv[1:]
    watch(Death(at, int(times), Path(os.environ["HEADWAY_STATE_DIR"]) / DIED))
    sys.argv = ["headway", *words]
    main()
