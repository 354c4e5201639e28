"""
What a confined process can see, as arguments for bubblewrap.

Rule 1: nothing is visible that is not named here; no folder of the host is writable but the
        workspace, and that only where the access says so.
Rule 2: the server is pid 1 of its namespace: nothing inside can kill, stop or outlive it.
Rule 3: the environment is made new; nothing of the bot's is passed on.
"""

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.lines import SOCKET
from bot.ports.sandbox import Access

UID = 65534
"""Inside, whoever runs the bot is `nobody`; bubblewrap maps it to that user and to no other."""

WORKSPACE = "/workspace"
_CODE = "/run/headway"
_START = (
    f"import sys; sys.path.insert(0, {_CODE!r}); "
    "from adapters.sandbox.inside.server import main; main()"
)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CONFIGURATION = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
)
"""What programs need to start and to check certificates; no accounts, keys or host names."""

HOME = WORKSPACE + "/tmp"  # noqa: S108 - a folder of the workspace
_TMP = "/tmp"  # noqa: S108 - the sandbox's own, on a file system of its own
_FILES = {
    "/etc/passwd": f"agent:x:{UID}:{UID}::{HOME}:/bin/bash\nroot:x:0:0::/:/bin/false\n",
    "/etc/group": f"agent:x:{UID}:\nroot:x:0:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


_RAISE = "echo 900 2>/dev/null >/proc/self/oom_score_adj; "
_ENTER = 'while [ "$1" != . ]; do echo $$ 2>/dev/null >"$1"; shift; done; shift; exec "$@"'


def first_to_go(doors: Sequence[str] = ()) -> list[str]:
    """What is put before a command: when memory runs out the kernel ends what is in the sandbox before
    it ends the bot. `doors` are those of the control group that it enters."""
    return ["/bin/sh", "-c", _RAISE + _ENTER, "sh", *doors, "."]


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that runs the tool server: its own path and the prefix it lives in."""

    executable: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Wall:
    """One machine's way of confining: what is the same for every session."""

    bwrap: str
    python: Python
    limits: Limits
    hidden: tuple[str, ...] = ()
    """Folders of the host that stay invisible even where they lie in a system folder."""
    forbids_namespaces: bool = True
    """This bubblewrap knows --disable-userns (0.8)."""

    def arguments(
        self,
        workspace: str,
        access: Access,
        files: Mapping[str, int],
        filter_fd: int | None,
        proxy: str | None = None,
        doors: Sequence[str] = (),
    ) -> list[str]:
        """The command line: `files` are descriptors by place, `filter_fd` a seccomp program, `proxy`
        the socket of the way out, `doors` those of a control group."""
        command = [
            *first_to_go(doors),
            self.bwrap,
            *self._namespaces(),
            *self._environment(),
            *self._system(),
        ]
        for place, fd in files.items():
            command += ["--perms", "0444", "--ro-bind-data", str(fd), place]
        command += self._private()
        bind = "--bind" if access == "workspace" else "--ro-bind"
        command += [bind, workspace, WORKSPACE]
        if proxy is not None:
            command += ["--ro-bind", proxy, SOCKET]
        for folder in self.hidden:
            if _is_below(folder, (*_SYSTEM, self.python.prefix)) and os.path.isdir(folder):
                command += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
        # A bot that runs as root owns the kernel's settings in /proc/sys, capabilities or not.
        for place in ("/proc", "/dev", "/"):
            command += ["--remount-ro", place]
        command += ["--chdir", WORKSPACE]
        if filter_fd is not None:
            command += ["--seccomp", str(filter_fd)]
        return [*command, "--", self.python.executable, *self._server(access)]

    def _namespaces(self) -> list[str]:
        forbidden = ["--disable-userns"] if self.forbids_namespaces else []
        return [
            "--unshare-user",
            "--unshare-all",
            *forbidden,
            *("--uid", str(UID), "--gid", str(UID), "--hostname", "workspace"),
            *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1"),
        ]

    def _environment(self) -> list[str]:
        path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        if not _is_below(self.python.prefix, _SYSTEM):
            path += f":{self.python.prefix}/bin"
        values = {
            "PATH": path,
            "HOME": HOME,
            "USER": "agent",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": _TMP,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        setting = [word for name in values for word in ("--setenv", name, values[name])]
        return ["--clearenv", *setting]

    def _system(self) -> Iterator[str]:
        for folder in _SYSTEM:
            if os.path.islink(folder):
                yield from ("--symlink", os.readlink(folder), folder)
            elif os.path.isdir(folder):
                yield from ("--ro-bind", folder, folder)
        for place in _CONFIGURATION:
            if os.path.exists(place):
                yield from ("--ro-bind", os.path.realpath(place), place)
        prefix = self.python.prefix
        if not _is_below(prefix, _SYSTEM):
            yield from ("--ro-bind", prefix, prefix)
        code = str(Path(__file__).parent / "inside")
        yield from ("--ro-bind", code, f"{_CODE}/adapters/sandbox/inside")

    def _private(self) -> list[str]:
        size = str(self.limits.tmp_bytes)
        return [
            *("--proc", "/proc", "--dev", "/dev"),
            *("--size", size, "--tmpfs", "/dev/shm"),  # noqa: S108
            *("--size", size, "--tmpfs", _TMP),
        ]

    def _server(self, access: Access) -> list[str]:
        settings = server_settings(
            WORKSPACE, f"{_TMP}/.shell", self.limits, is_writable=access == "workspace"
        )
        return ["-I", "-S", "-c", _START, settings]


def server_settings(
    root: str, state: str, limits: Limits, *, is_writable: bool, filter: bytes = b""
) -> str:
    """The server's one argument; `filter` is a seccomp program that it puts over itself."""
    return json.dumps(
        {
            "root": root,
            "state": state,
            "writable": is_writable,
            "limits": limits._asdict(),
            "filter": base64.b64encode(filter).decode("ascii"),
        }
    )


def synthesized_files() -> dict[str, int]:
    """Descriptors with the few files of /etc that are made up, by their place; the caller closes."""
    return {place: in_memory(text.encode()) for place, text in _FILES.items()}


def in_memory(content: bytes) -> int:
    """A descriptor from which `content` can be read."""
    fd = os.memfd_create("headway")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(real == folder or real.startswith(folder + "/") for folder in folders)
