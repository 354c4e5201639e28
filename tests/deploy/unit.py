"""
A systemd unit without systemd: its command under its user, mounts, limits and system call filter.

`python -m tests.deploy.unit PLAN` is started by root in a mount namespace of its own, does what the
unit says as far as it is listed in `DONE`, and becomes the command. What is not done, since it takes
a service manager or the kernel's control groups: `NOT_DONE`.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

USER: Final = 64_321
"""An account of nobody on the machine; inside it is called as the unit says."""

DONE: Final = frozenset(
    [
        "User",
        "Group",
        "WorkingDirectory",
        "StateDirectory",
        "StateDirectoryMode",
        "Environment",
        "LoadCredential",
        "ExecStart",
        "ExecStop",
        "LimitNOFILE",
        "UMask",
        "NoNewPrivileges",
        "CapabilityBoundingSet",
        "AmbientCapabilities",
        "ProtectSystem",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "PrivateMounts",
        "ProtectProc",
        "RestrictAddressFamilies",
        "RestrictSUIDSGID",
        "SystemCallFilter",
        "SystemCallErrorNumber",
        "Type",
        "NotifyAccess",
        "WatchdogSec",
        "EnvironmentFile",
    ]
)
NOT_DONE: Final = frozenset(
    [
        "TimeoutStartSec",
        "TimeoutStopSec",
        "KillMode",
        "Restart",
        "RestartSec",
        "RestartPreventExitStatus",
        "TasksMax",
        "OOMPolicy",
        "ProtectClock",
        "ProtectControlGroups",
        "ProtectKernelModules",
        "RestrictRealtime",
        "LockPersonality",
        "RemoveIPC",
        "KeyringMode",
        "SystemCallArchitectures",
    ]
)


@dataclass(frozen=True)
class Plan:
    """What to do: where things really lie, the command, and what systemd would put beside it."""

    unit: str
    command: tuple[str, ...]
    state: str
    keys: str
    api_key: str
    binds: tuple[tuple[str, str], ...]
    """Folders of this machine and where they are inside, in this order."""
    environ: dict[str, str]
    calls: tuple[str, ...] = ()
    """The system calls that are allowed, in place of those that the unit names."""
    covered: tuple[str, ...] = ()
    """Places that are made read-only besides: what the unit must not do."""

    def start(self, **popen: Any) -> subprocess.Popen[str]:
        """The command, on its way."""
        root = str(Path(__file__).resolve().parents[2])
        words = ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", __name__]
        return subprocess.Popen(
            [*words, json.dumps(asdict(self))],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": root},
            text=True,
            **popen,
        )


@cache
def read(path: str) -> dict[str, list[str]]:
    """The unit's settings of [Service], each with its values in order."""
    found: dict[str, list[str]] = defaultdict(list)
    section = ""
    for line in Path(path).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "Service" and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return dict(found)


def environment(unit: Mapping[str, list[str]], given: Mapping[str, str]) -> dict[str, str]:
    """What the command finds in its environment."""
    [name] = unit["User"]
    own = dict(value.partition("=")[::2] for value in unit["Environment"])
    folder = "/run/credentials/headway.service"
    made = {key: value.replace("%d", folder) for key, value in own.items()}
    home = {"USER": name, "LOGNAME": name, "HOME": unit["WorkingDirectory"][0], "LANG": "C.UTF-8"}
    path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    return {**path, **home, "CREDENTIALS_DIRECTORY": folder, **made, **given}


def main() -> None:
    """Become the command."""
    plan = Plan(**json.loads(sys.argv[1]))
    unit = read(plan.unit)
    calls = frozenset(plan.calls) or _calls(" ".join(unit["SystemCallFilter"]).split())
    import pyseccomp

    _mounts(plan, unit)
    _limits(unit)
    os.chdir(unit["WorkingDirectory"][0])
    _drop()
    _filter(pyseccomp, calls, unit["RestrictAddressFamilies"][0].split())
    os.execvpe(plan.command[0], list(plan.command), environment(unit, plan.environ))


def _mounts(plan: Plan, unit: Mapping[str, list[str]]) -> None:
    stage = Path("/mnt")
    _mount("-t", "tmpfs", "stage", str(stage))
    folders = [source for source, _ in plan.binds]
    for number, source in enumerate([*folders, plan.state, plan.keys, "/dev"]):
        _bind(Path(source), stage / str(number))
    (stage / "passwd").write_text(
        f"{Path('/etc/passwd').read_text()}headway:x:{USER}:{USER}::/var/lib/headway:/bin/sh\n"
    )
    for covered in (
        "/home",
        "/root",
        "/tmp",
        "/var/tmp",
        "/opt",
        "/run",
        "/var/lib",
        "/etc/headway",
    ):
        if Path(covered).is_dir():
            mode = "1777" if "tmp" in covered else "755"
            _mount("-t", "tmpfs", "-o", f"mode={mode}", "cover", covered)
    for closed in _closed(place for _, place in plan.binds):
        _mount("-t", "tmpfs", "-o", "mode=755", "cover", closed)
    for number, (_, place) in enumerate(plan.binds):
        _bind(stage / str(number), Path(place))
    count = len(folders)
    _bind(stage / str(count), Path("/var/lib/headway"))
    _bind(stage / str(count + 1), Path("/var/lib/headway-keys"))
    _mount("--bind", str(stage / "passwd"), "/etc/passwd")
    _credential(plan)
    _devices(stage / str(count + 2))
    _mount("-t", "proc", "-o", "hidepid=invisible", "proc", "/proc")
    for place in plan.covered:
        _mount("--bind", place, place)
        _mount("-o", "remount,bind,ro", place)
    subprocess.run(["umount", "-l", str(stage)], check=True)
    _read_only()


def _closed(places: Iterable[str]) -> list[str]:
    """The outermost folders on the way to these places that an ordinary user cannot pass."""
    found = []
    for place in places:
        for above in reversed(Path(place).parents):
            if above.is_dir() and not above.stat().st_mode & 0o001:
                found.append(str(above))
                break
    return list(dict.fromkeys(found))


def _read_only() -> None:
    """ProtectSystem=strict: everything but the API file systems and what is the unit's own."""
    kept = ("/proc", "/dev", "/sys", "/tmp", "/var/tmp", "/var/lib/headway")
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in dict.fromkeys(points):
        if not point.startswith(kept):
            _mount("-o", "remount,bind,ro", point)


def _credential(plan: Plan) -> None:
    folder = Path("/run/credentials/headway.service")
    folder.mkdir(parents=True)
    (folder / "api_key").write_text(plan.api_key)
    for path in (folder, folder / "api_key"):
        os.chown(path, USER, USER)
    (folder / "api_key").chmod(0o400)
    folder.chmod(0o500)


def _devices(real: Path) -> None:
    """PrivateDevices: the harmless ones alone."""
    _mount("-t", "tmpfs", "-o", "mode=755,nosuid", "dev", "/dev")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        Path("/dev", name).touch()
        _mount("--bind", str(real / name), f"/dev/{name}")
    for name, to in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0")):
        Path("/dev", name).symlink_to(to)
    Path("/dev/shm").mkdir(mode=0o1777)


def _bind(source: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    _mount("--rbind", str(source), str(place))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _limits(unit: Mapping[str, list[str]]) -> None:
    # A machine that gives less than the unit asks for is harder, and so good enough.
    most = min(int(unit["LimitNOFILE"][0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.umask(int(unit["UMask"][0], 8))


def _drop() -> None:
    """No capability, now or ever, and the unit's user."""
    libc = ctypes.CDLL(None, use_errno=True)
    bounding_drop, no_new_privileges = 24, 38
    for number in range(64):
        libc.prctl(bounding_drop, number, 0, 0, 0)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    if libc.prctl(no_new_privileges, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")


def _calls(words: Iterable[str]) -> frozenset[str]:
    """The system calls of a filter, its sets taken apart as systemd knows them."""
    found: set[str] = set()
    for word in words:
        if not word.startswith("@"):
            found.add(word)
            continue
        listed = subprocess.run(
            ["systemd-analyze", "syscall-filter", "--no-pager", word],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        inner = [line.strip() for line in listed.splitlines()[1:]]
        found |= _calls(line for line in inner if line and not line.startswith("#"))
    return frozenset(found)


def _filter(pyseccomp: Any, calls: Iterable[str], families: list[str]) -> None:
    import errno
    import socket

    made = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in calls:
        if name == "socket":
            for family in families:
                wanted = pyseccomp.Arg(0, pyseccomp.EQ, int(getattr(socket, family)))
                made.add_rule(pyseccomp.ALLOW, name, wanted)
        else:
            try:
                made.add_rule(pyseccomp.ALLOW, name)
            except (OSError, ValueError):
                continue  # a call of another architecture
    made.load()


if __name__ == "__main__":
    main()
