"""
A real engine for containers: podman with runc in a folder of its own, else one that answers by itself.

Where neither is, root has podman installed; a test that then has no engine fails. Who is not root and
has none cannot play these tests.

The image is made here, without a registry: empty folders, and the machine's own /usr put over them.
"""

import contextlib
import functools
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from adapters.sandbox.docker import Containers
from adapters.sandbox.inside.limits import Limits
from tests.peers import beds
from tests.peers.__main__ import ENGINE

IMAGE = "headway-test"
_FOLDERS = ("usr", "etc", "tmp", "run", "proc", "dev", "sys", "var", "workspace", "headway")
_LINKS = ("bin", "lib", "lib64", "sbin")
_SHOWN = (
    *("--mount", "type=bind,source=/usr,target=/usr,readonly"),
    # What podman takes by itself may be more than this machine gives.
    *("--ulimit", "nproc=4096:4096"),
)
_CERTIFICATES = Path("/etc/ssl/certs")


def containers(folder: Path, *, limits: Limits | None = None) -> Containers:
    """A sandbox of the engine that is here, or was installed.

    Raises:
        RuntimeError: it could not be installed.
        AssertionError: it does not take an image.
    """
    command = _engine()
    if not command:
        beds.have(ENGINE)
        _engine.cache_clear()
        command = _engine()
    if not command and os.getuid() != 0:
        pytest.skip(
            "neither podman with runc nor a docker that answers is here, and nobody is root"
        )
    assert command, "no podman with runc, and no docker, takes an image here"
    shown = list(_SHOWN)
    if _CERTIFICATES.is_dir():
        place = str(_CERTIFICATES)
        shown += ["--mount", f"type=bind,source={place},target={place},readonly"]
    return Containers(folder, IMAGE, limits=limits, command=command, further=shown)


@functools.cache
def _engine() -> tuple[str, ...]:
    """The command line of an engine that has the image; empty where there is none."""
    for command in _candidates():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if _has_image(command) or _imported(command):
                return command
    return ()


def _candidates() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    program, runc = map(beds.find, ENGINE)
    if program and runc and os.getuid() == 0:
        place = Path(tempfile.gettempdir()) / "headway-test-engine"
        kept = ("--root", str(place / "store"), "--runroot", str(place / "run"))
        own = (
            "--storage-driver",
            "vfs",
            "--cgroup-manager",
            "cgroupfs",
            "--events-backend",
            "none",
        )
        found.append((program, *kept, *own, "--runtime", runc))
    docker = shutil.which("docker")
    if docker:
        found.append((docker,))
    return found


def _has_image(command: tuple[str, ...]) -> bool:
    return _run(command, "image", "inspect", IMAGE).returncode == 0


def _imported(command: tuple[str, ...]) -> bool:
    return _run(command, "import", "-", IMAGE, given=_image()).returncode == 0


def _run(
    command: tuple[str, ...], *words: str, given: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*command, *words], input=given, capture_output=True, timeout=60, check=False
    )


def _image() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in _FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for name in _LINKS:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
    return file.getvalue()
