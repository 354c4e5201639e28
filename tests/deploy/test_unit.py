"""deploy/headway.service: checked by systemd's own tools, and its command run as the unit says.

systemd is not the first process of a test machine, so what takes a service manager is not tried here
(tests/deploy/unit.py, NOT_DONE): restarts, the watchdog's kill, control groups.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.manager import HEADWAY, UNIT, Manager
from tests.deploy.unit import DONE, NOT_DONE, USER, read

OBJECTIVE = "work\n!script appends 2 x.txt"
EXPOSURE_MOST = 3.2
"""Of 10, by `systemd-analyze security`; what is left is what bubblewrap needs."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the unit's mounts")


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    there = tmp_path / "headway.service"
    there.write_text(UNIT.read_text().replace("/opt/headway/.venv/bin/headway", "/bin/true"))

    looked = subprocess.run(
        ["systemd-analyze", "verify", str(there)], capture_output=True, text=True, check=False
    )

    assert (looked.returncode, looked.stdout + looked.stderr) == (0, "")


def test_it_is_as_closed_as_the_sandbox_allows() -> None:
    looked = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(UNIT)],
        capture_output=True,
        text=True,
        check=False,
    )

    [exposure] = re.findall(r"Overall exposure level for \S+: ([\d.]+)", looked.stdout)
    assert float(exposure) <= EXPOSURE_MOST


def test_every_line_of_it_is_tried_or_said_not_to_be() -> None:
    assert set(read(str(UNIT))) == DONE | NOT_DONE
    assert not DONE & NOT_DONE


def test_its_comment_names_what_it_leaves_out() -> None:
    text = UNIT.read_text()
    left_out = ("RestrictNamespaces", "PrivateUsers", "ProtectHostname", "ProtectKernelTunables",
                "ProtectKernelLogs", "ProcSubset", "MemoryDenyWriteExecute")  # fmt: skip

    assert [name for name in left_out if name not in text] == []
    assert [name for name in left_out if name in read(str(UNIT))] == []


@needs_root
@pytest.mark.process
@pytest.mark.sandbox
def test_a_goal_completes_in_the_unit_and_its_stop_drains(manager: Manager) -> None:
    unit = read(str(UNIT))
    notified = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "200000"}
    log = manager.log.open("w")
    start, stop = (unit[name][0].removeprefix("-").split() for name in ("ExecStart", "ExecStop"))
    headway = start[:1]
    service = manager.plan(start, **notified).start(
        stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    try:
        manager.hear(b"READY=1")
        manager.hear(b"WATCHDOG=1")
        code, told = manager.run((*headway, "chat", "--until-settled", OBJECTIVE))
        looked, found = manager.run((*headway, "doctor", "sandbox", "--json"))
        stopped, _ = manager.run(stop)
        manager.hear(b"STOPPING=1")
        ended = service.wait(30)
    finally:
        service.kill()
        service.wait()
        log.close()

    assert code == 0, told + manager.log.read_text()
    assert "✅ Complete" in told
    assert (looked, json.loads(found)["ok"]) == (0, True)
    assert "with a seccomp filter; without new privileges" in found
    assert (stopped, ended) == (0, 0), manager.log.read_text()
    assert manager.state.stat().st_uid == USER


@needs_root
@pytest.mark.process
@pytest.mark.sandbox
def test_what_the_unit_leaves_out_would_end_the_sandbox(manager: Manager) -> None:
    code, found = manager.run((*HEADWAY, "doctor", "sandbox", "--json"), "/proc/sys")

    [sandbox, *causes, facts] = json.loads(found)["checks"]
    assert code == 1
    assert sandbox["state"] == "wrong"
    assert causes
    assert "/proc covered at /proc/sys" in facts["text"]
