"""
A bot's folder with secrets in it and a sandbox in the middle; tries every escape.

Run as a script it prints the escapes that worked, as JSON; the tests do so as another user.
"""

import asyncio
import ctypes
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.limits import Limits
from bot.ports.sandbox import Outcome, Sandbox, Session
from tests.adapters.sandbox.escapes import ESCAPES, PLANTED, command

LIMITS = Limits(heartbeat_s=5.0)


@dataclass(frozen=True, slots=True)
class Prison:
    """A session, and what lies outside of it."""

    session: Session
    sandbox: Sandbox
    state: Path
    port: int
    socket: Path
    python: str = os.path.join(sys.base_prefix, "bin", "python3")

    async def attempt(self, escape: str) -> Outcome:
        line = command(
            escape,
            state=str(self.state),
            bot=os.getpid(),
            port=self.port,
            socket=str(self.socket),
            python=self.python,
        )
        outcome = await self.session.call("bash", {"command": line}, timeout_s=20)
        # An attempt whose program is not there has tried nothing.
        assert f"{self.python}: No such file" not in outcome.text, outcome.text
        return outcome


_LIBC = ctypes.CDLL(None)
_ADD_KEY, _KEYCTL, _REVOKE = 248, 250, 3
_SESSION_KEYRING = -3


def _planted_key() -> int:
    """A key in this process's session keyring, which its children have by themselves."""
    name, secret = PLANTED.encode(), b"secret"
    return int(_LIBC.syscall(_ADD_KEY, b"user", name, secret, len(secret), _SESSION_KEYRING))


def _walled(workspaces: Path, *, limits: Limits) -> Sandbox:
    return Bubblewrap(workspaces, limits=limits, hidden=(str(workspaces.parent),))


@asynccontextmanager
async def prison(state: Path, make: Callable[..., Sandbox] = _walled) -> AsyncIterator[Prison]:
    """`make` makes the sandbox over a folder of workspaces, with these limits."""
    (state / "headway.db").write_text(PLANTED)
    other = state / "workspaces" / "other"
    other.mkdir(parents=True)
    (other / "notes.txt").write_text(PLANTED)
    os.environ["HEADWAY_SECRET"] = PLANTED
    key = _planted_key()
    place = state / "control.sock"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        port = listener.getsockname()[1]
        named.bind(str(place))
        named.listen()
        abstract.bind(f"\0headway-{port}")
        abstract.listen()
        sandbox = make(state / "workspaces", limits=LIMITS)
        session = await sandbox.open("G1", "workspace")
        try:
            yield Prison(session, sandbox, state, port, place)
        finally:
            await session.close()
            del os.environ["HEADWAY_SECRET"]
            _LIBC.syscall(_KEYCTL, _REVOKE, key)


async def escaped(state: Path) -> dict[str, str]:
    """Every escape that worked, or after which the sandbox did not, with its output."""
    found = {}
    async with prison(state) as held:
        for escape in ESCAPES:
            outcome = await held.attempt(escape)
            after = await held.session.call("bash", {"command": "echo alive"}, timeout_s=20)
            if "ESCAPED" in outcome.text or "alive" not in after.text:
                found[escape] = outcome.text
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(escaped(Path(sys.argv[1])))))
