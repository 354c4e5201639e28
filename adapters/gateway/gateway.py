"""
Lines of all goals; see `bot.ports.gateway`.

Rule 1: the folder of sockets is made new at the start, for this user alone; what an earlier process left is gone.
Rule 2: where the state folder's path is too long for a socket's, the folder lies in the system's own for such.
"""

import logging
import os
import secrets as chance
import shutil
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from adapters.gateway.authority import Authority
from adapters.gateway.bounds import Bounds
from adapters.gateway.line import GoalLine, Noted, Value, short_folder
from adapters.gateway.proxy import House
from adapters.gateway.verdicts import Resolve, SystemResolve, Verdicts
from bot.errors import NoSandbox
from bot.goals.goal import Goal
from bot.hosts import HostRule
from bot.ports.chat import Place
from bot.ports.gateway import Passed, Reach, Refusal
from bot.ports.sandbox import Line

log = logging.getLogger(__name__)

FOLDER: Final = "lines"
KEY_FILE: Final = "lines.key"
_NAME_BYTES: Final = 21
"""`0123456789abcdef.sock`."""


def _unnoted(goal: str, host: str, why: str, put_in: frozenset[str]) -> None:
    return


class ProxyGateway:
    """Port Gateway: a proxy in this process."""

    def __init__(
        self,
        state_dir: Path,
        value: Value,
        *,
        vouched: Mapping[HostRule, tuple[str, int | None]] | None = None,
        noted: Noted = _unnoted,
        bounds: Bounds | None = None,
        resolve: Resolve | None = None,
        upstream: ssl.SSLContext | None = None,
    ) -> None:
        """
        Args:
            value: opens a secret by its name.
            vouched: private addresses that the operator vouches for, by host.
            resolve: looks names up; the system's way where it is not given.
            noted: told of everything that was passed on or refused.
            upstream: how hosts' certificates are checked; the system's way where it is not given.
        """
        self._state_dir, self._value = state_dir, value
        self._vouched, self._noted = vouched or {}, noted
        self._bounds = bounds or Bounds()
        self._own_resolve = SystemResolve()
        self._resolve = resolve
        self._upstream = upstream
        self._folder = state_dir / FOLDER
        self._house: House | None = None
        self._key = b""
        self._lines: dict[str, GoalLine] = {}

    @property
    def certificate(self) -> Path:
        """The authority's file, which sandboxes trust."""
        return self._folder / "authority.pem"

    def start(self) -> None:
        """Make the folder, the authority and the key.

        Raises:
            NoSandbox: a file cannot be made.
        """
        try:
            self._folder = self._made_folder()
            self._key = _kept_key(self._state_dir / KEY_FILE)
            authority = Authority(self._folder)
            self.certificate.write_bytes(authority.pem)
            upstream = self._upstream or ssl.create_default_context()
        except (OSError, ssl.SSLError) as error:
            raise NoSandbox(
                f"The proxy of sandboxes cannot start: {error}. Mend {self._state_dir}, then start again."
            ) from error
        upstream.set_alpn_protocols(["http/1.1"])
        self._house = House(self._verdicts(), authority, upstream, self._bounds)

    async def stop(self) -> None:
        """End every line."""
        for goal in list(self._lines):
            await self.close(goal)
        self._own_resolve.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def open(self, goal: Goal, place: Place, reach: Reach) -> Line:
        """As in the port."""
        if self._house is None:
            raise NoSandbox("the proxy to the network has not started; see `headway doctor`.")
        line, path = self._lines.get(goal.id), self._path(goal.id)
        if line is None:
            house = replace(self._house, verdicts=self._verdicts())
            line = GoalLine(goal.id, reach, house, self._value, self._key, self._noted)
            try:
                path.unlink(missing_ok=True)
                await line.open(path)
            except OSError as error:
                raise NoSandbox(f"the way to the network cannot be opened: {error}.") from error
            self._lines[goal.id] = line
        else:
            line.change(reach)
        return Line(str(path), str(self.certificate), await line.environment())

    def change(self, goal: str, reach: Reach) -> None:
        """As in the port."""
        line = self._lines.get(goal)
        if line is not None and line.reach != reach:
            line.change(reach)

    def refused(self, goal: str) -> tuple[Refusal, ...]:
        """As in the port."""
        line = self._lines.get(goal)
        return line.take_refused() if line is not None else ()

    def passed(self, goal: str) -> tuple[Passed, ...]:
        """As in the port."""
        line = self._lines.get(goal)
        return line.take_passed() if line is not None else ()

    async def close(self, goal: str) -> None:
        """As in the port."""
        line = self._lines.pop(goal, None)
        if line is not None:
            await line.close()

    def _verdicts(self) -> Verdicts:
        """Those of one goal: names whose servers do not answer hold up its own alone."""
        resolve = self._resolve or self._own_resolve.of_one()
        return Verdicts(resolve, self._vouched, self._bounds.resolve_s)

    def _path(self, goal: str) -> Path:
        return self._folder / f"{sha256(goal.encode()).hexdigest()[:16]}.sock"

    def _made_folder(self) -> Path:
        wanted = self._state_dir / FOLDER
        with suppress(FileNotFoundError):
            shutil.rmtree(wanted)
        if not short_folder(wanted, _NAME_BYTES):
            return _near_folder(self._state_dir)
        wanted.mkdir(mode=0o700)
        return wanted


def _near_folder(state_dir: Path) -> Path:
    """The one in the system's own: of one name for each state folder, so that it is found after a kill."""
    name = f"headway-{sha256(os.fsencode(state_dir.resolve())).hexdigest()[:8]}"
    near = Path(tempfile.gettempdir(), name)
    if not short_folder(near, _NAME_BYTES):
        # That of the environment is too long as well; the system's own is not.
        near = Path("/tmp", name)  # noqa: S108 - made for this user alone
    with suppress(FileNotFoundError):
        if near.lstat().st_uid == os.getuid():
            near.unlink() if near.is_symlink() else shutil.rmtree(near)
    try:
        near.mkdir(mode=0o700)
    except FileExistsError:
        # Somebody else has made it first: no name that they can know.
        return Path(tempfile.mkdtemp(prefix="headway-", dir=near.parent))
    return near


def _kept_key(file: Path) -> bytes:
    """What words for secrets are made with: kept, so that one that a goal wrote down stays good."""
    with suppress(FileNotFoundError):
        key = bytes.fromhex(file.read_text("ascii").strip())
        if len(key) == 32:
            return key
    key = chance.token_bytes(32)
    fresh = file.with_suffix(".fresh")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as opened:
        opened.write(key.hex() + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(file)
    return key
