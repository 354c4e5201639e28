"""
local-slack, a Slack server with a page for people, for as long as a `with` lasts.

Its binary comes from the packages of `tests/peers/slack`. It is given every channel with the bot in
it and sends what happens to sockets alone; who is where, and the rest of what Slack does and it does
not, is the front's (`tests/peers/slack_front.py`), through which bot and people speak to it.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.peers.slack_schemas import javascript

START_S: Final = 30.0
CALL_S: Final = 30.0
TEAM: Final = "T01TEST"
APP: Final = "A01APP"
BOT: Final = "U0BOT"
BOT_TOKEN: Final = "xoxb-test-token"
APP_TOKEN: Final = "xapp-test-token"
SIGNING_SECRET: Final = "test-signing-secret"

_OWN_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# Ends with the thread that started it: a killed test run leaves nothing behind.
_BOOT: Final = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 15)
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of the workspace and the people in it."""

    id: str
    name: str
    members: tuple[str, ...] = ("U01ALICE", "U02BOB")
    is_private: bool = False
    team: str = TEAM


@dataclass(frozen=True, slots=True)
class Install:
    """The app in one workspace. local-slack holds one app and one bot for each."""

    team: str = TEAM
    bot: str = BOT
    bot_token: str = BOT_TOKEN
    name: str = "Test Workspace"
    domain: str = "test-workspace"
    enterprise: str = ""
    is_org_wide: bool = False
    app: str = APP

    @property
    def bot_id(self) -> str:
        """As messages of the bot name it."""
        return f"B{self.bot[1:]}"

    @property
    def upstream_app(self) -> str:
        """What local-slack calls the app there."""
        return self.app if self.bot == BOT else f"{self.app}{self.bot}"


CHANNELS: Final = (
    Channel("C01GEN", "general"),
    Channel("C02RND", "random"),
    Channel("C03PRV", "private", is_private=True),
)
USERS: Final = (
    ("U01ALICE", "alice", "Alice Anderson"),
    ("U02BOB", "bob", "Bob Brown"),
    ("U03CAROL", "carol", "Carol Clark"),
    ("U04DAVE", "dave", "Dave Duke"),
    ("U05ERIN", "erin", "Erin Ellis"),
    ("U06GUEST", "guest", "Gus Guest"),
    ("U07FORGN", "foreign", "Fay Foreign"),
)


@dataclass
class LocalSlack:
    """The server; started again on the same port it remembers nothing."""

    folder: Path
    channels: Sequence[Channel] = CHANNELS
    installs: Sequence[Install] = (Install(),)
    bot_name: str = "headway"
    app_token: str = APP_TOKEN
    port: int = 0
    _process: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        self.port = self.port or free_port()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises RuntimeError."""
        config = self.folder / "slack.json"
        config.write_text(json.dumps(self._config()))
        binary = javascript() / "node_modules" / "local-slack-linux-x64" / "bin" / "local-slack"
        command: list[str | Path] = [
            sys.executable, "-c", _BOOT, binary, "--config", config, "--port", str(self.port),
            "--base-host", "127.0.0.1", "--files-dir", self.folder / "files",
        ]  # fmt: skip
        with (self.folder / "slack.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        until = time.monotonic() + START_S
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                said = (self.folder / "slack.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"local-slack did not start:\n{said}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it; does nothing where it is down."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        with _OWN_OPENER.open(self.url + path, timeout=CALL_S) as answer:
            return json.load(answer)

    def _is_up(self) -> bool:
        try:
            self.get("/_control/state")
        except (OSError, ValueError):
            return False
        return True

    def _config(self) -> dict[str, Any]:
        first = self.installs[0]
        bots = {install.team: install.bot for install in self.installs}
        return {
            "workspace": {"name": first.name, "domain": first.domain, "teamId": first.team},
            "apps": [
                {
                    "appId": install.upstream_app, "botUserId": install.bot,
                    "botName": self.bot_name, "botToken": install.bot_token,
                    "appToken": f"{self.app_token}-{install.bot}", "mode": "socket",
                    "signingSecret": SIGNING_SECRET,
                }
                for install in self.installs
            ],
            "users": [
                {"id": id, "name": name, "real_name": real, "email": f"{name}@example.com"}
                for id, name, real in USERS
            ],
            "channels": [
                {
                    "id": each.id, "name": each.name, "is_private": each.is_private,
                    "members": [*each.members, bots[each.team]],
                }
                for each in self.channels
            ],
        }  # fmt: skip


@contextmanager
def local_slack(
    channels: Sequence[Channel] = CHANNELS,
    installs: Sequence[Install] = (Install(),),
    bot_name: str = "headway",
) -> Iterator[LocalSlack]:
    """A server of its own, in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="slack-") as folder:
        server = LocalSlack(Path(folder), channels, installs, bot_name)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
