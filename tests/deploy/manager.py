"""What systemd would be to the processes of a unit: their start, their folders, and what they tell."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.deploy.unit import USER, Plan
from tests.peers.messages_api import KEY, BlockingMessagesApi

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/headway.service"
HEADWAY = ("/opt/headway/.venv/bin/headway",)


class Manager:
    """What systemd would be to the unit's processes."""

    def __init__(self, folder: Path, api: BlockingMessagesApi) -> None:
        self.name = f"@headway-unit-{os.getpid()}-{time.monotonic_ns()}"
        self.states: list[bytes] = []
        self._heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._heard.bind("\0" + self.name[1:])
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        self.state, self.keys = folder / "state", folder / "keys"
        for path in (self.state, self.keys):
            path.mkdir(mode=0o700)
            os.chown(path, USER, USER)
        self.log = folder / "log"
        self.calls: tuple[str, ...] = ()
        self.file = {"HEADWAY_BASE_URL": api.url, "NO_PROXY": "127.0.0.1"}

    def plan(self, command: Sequence[str], *covered: str, **environ: str) -> Plan:
        prefix, base = sys.prefix, os.path.realpath(sys.base_prefix)
        binds = [(str(ROOT), str(ROOT)), (base, base), (str(ROOT), "/opt/headway")]
        if Path(prefix) != ROOT / ".venv":
            binds += [(prefix, prefix), (prefix, "/opt/headway/.venv")]
        return Plan(
            str(UNIT),
            tuple(command),
            str(self.state),
            str(self.keys),
            KEY + "\n",
            tuple(binds),
            {**self.file, **environ},
            self.calls,
            covered,
        )

    def run(self, command: Sequence[str], *covered: str) -> tuple[int, str]:
        with self.plan(command, *covered).start(
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            told, _ = process.communicate(timeout=60)
        return process.returncode, told

    def hear(self, wanted: bytes) -> None:
        """Wait for a state."""
        until = time.monotonic() + 30
        while wanted not in self.states:
            if time.monotonic() > until:
                pytest.fail(f"{wanted!r} was not heard. The log:\n{self.log.read_text()}")
            time.sleep(0.05)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while state := self._heard.recv(200):
                self.states.append(state)

    def close(self) -> None:
        self._heard.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._heard.close()
