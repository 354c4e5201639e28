"""
A Headway that kills itself once at a point: `python -m tests.crash.matrix_bot POINT COUNT run`.

It is the real command line with five places of it watched. The COUNT-th time it comes to POINT with
something of Matrix in its hands it dies with SIGKILL; a mark in the state folder lets it pass the
next time. A request that is on its way is the proxy's to kill at.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from adapters.matrix.sending import Sender
from adapters.store.inbox import StoreInbox
from adapters.store.outbox import StoreOutbox
from bot.cli import main
from bot.ports.chat import Incoming
from tests.crash.dying import DIED, Death, then

INSIDE: Final = ("received", "stored", "claimed", "answered", "acknowledged")
"""An event is here and not stored; it is stored; rows of the outbox are claimed; the homeserver's
answer to a send is here; that is stored."""


def command(point: str, count: int) -> Sequence[str]:
    """What to start it with."""
    return (sys.executable, "-m", "tests.crash.matrix_bot", point, str(count))


def watch(death: Death) -> None:
    """Have it come at its point."""
    receive_all, claim = StoreInbox.receive_all, StoreOutbox.claim
    sent, acknowledged = Sender.message, StoreOutbox.sent

    async def receiving(self: Any, arrivals: Sequence[Any], upto: Any = None) -> int:
        has_words = any(isinstance(each, Incoming) for each in arrivals)
        death.at("received", counts=has_words)
        stored = await receive_all(self, arrivals, upto)
        death.at("stored", counts=has_words)
        return stored

    async def claiming(self: Any, network: Any, **more: Any) -> Any:
        rows = await claim(self, network, **more)
        death.at("claimed", counts=network == "matrix" and bool(rows))
        return rows

    StoreInbox.receive_all = receiving  # type: ignore[method-assign]
    StoreOutbox.claim = claiming  # type: ignore[method-assign]
    Sender.message = then(sent, lambda: death.at("answered"))  # type: ignore[method-assign]
    StoreOutbox.sent = then(acknowledged, lambda: death.at("acknowledged"))  # type: ignore[method-assign]


if __name__ == "__main__":
    at, times, *words = sys.argv[1:]
    watch(Death(at, int(times), Path(os.environ["HEADWAY_STATE_DIR"]) / DIED))
    sys.argv = ["headway", *words]
    main()
