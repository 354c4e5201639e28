"""
Environments of their own for peers that are not part of the project, in `.cache/beds`.

Each is made once for all test processes from a lock of hashes, and made anew when its lock, its
Python or this folder's place changes. A mark is written last, so that a set-up which was cut off
starts again from nothing. What cannot be made is a failure of the test that asks, never a skip.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache" / "beds"
SET_UP_S: Final = 600.0
_MARK: Final = ".whole"


def say(words: str) -> None:
    """One line of progress on stderr."""
    print(words, file=sys.stderr, flush=True)


def python_environment(name: str, lock: Path) -> Path:
    """The Python of an environment that holds exactly what `lock` pins.

    Raises:
        RuntimeError: it could not be installed; the message holds the installer's last words.
    """
    version = "py{}.{}".format(*sys.version_info)
    return bed(f"{name}-{version}", lock, lambda folder: _fill(folder, lock)) / "bin" / "python"


def bed(name: str, lock: Path, fill: Callable[[Path], None]) -> Path:
    """A folder that `fill` made whole, once for each content of `lock`."""
    digest = hashlib.sha256(lock.read_bytes() + bytes(ROOT)).hexdigest()[:12]
    folder = CACHE / f"{name}-{digest}"
    with alone(name):
        if not (folder / _MARK).exists():
            _clear(name)
            folder.mkdir(parents=True)
            began = time.monotonic()
            say(f"Setting up {name} from {lock.name} ...")
            fill(folder)
            (folder / _MARK).touch()
            say(f"{name} is there after {time.monotonic() - began:.0f} s.")
    return folder


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock among all test processes; the kernel drops it when its holder dies."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def have(programs: Sequence[str]) -> None:
    """Have these programs, each of a package of its name, where root asks; else leave it.

    Raises RuntimeError: apt failed.
    """
    if all(map(find, programs)) or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    with alone(programs[0]):
        if not all(map(find, programs)):
            say(f"Installing {' and '.join(programs)} ...")
            install(programs)


def find(program: str) -> str | None:
    """The path of a program, where only root looks, too."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def install(packages: Sequence[str]) -> None:
    """Install Debian's packages, as root. Raises RuntimeError as `run`."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    what = f"apt-get install {packages[0]}"
    try:
        run(command, CACHE, what)
    except RuntimeError:
        run(["apt-get", "update"], CACHE, "apt-get update")
        run(command, CACHE, what)


def run(command: Sequence[str | Path], folder: Path, what: str) -> None:
    """Run an installer.

    Raises:
        RuntimeError: it failed; with `what` it was to do and its last words.
    """
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=SET_UP_S,
            stdin=subprocess.DEVNULL, env={**os.environ, "UV_SYSTEM_CERTS": "1"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        words = getattr(error, "stderr", None) or getattr(error, "stdout", None) or str(error)
        raise RuntimeError(f"{what} failed; see to the network and try again: {words}") from error


def uv() -> str | None:
    """The installer that the set-up fetched, or one of the machine's."""
    for place in (Path(sys.executable).parent / "uv", ROOT / ".cache" / "uv-bin" / "bin" / "uv"):
        if place.exists():
            return str(place)
    return shutil.which("uv")


def _fill(folder: Path, lock: Path) -> None:
    what = f"Installing {lock.name}"
    python = folder / "bin" / "python"
    installer = uv()
    bare = ["--without-pip"] if installer else []
    run([sys.executable, "-I", "-m", "venv", *bare, folder], folder, what)
    install: list[str | Path] = [python, "-m", "pip", "install"]
    if installer:
        install = [installer, "pip", "install", "--no-config", "--python", python]
    run([*install, "--only-binary", ":all:", "--require-hashes", "-r", lock], folder, what)


def _clear(name: str) -> None:
    """Remove what is left of older locks and of set-ups that were cut off."""
    for old in CACHE.glob(f"{name}-*"):
        if old.is_dir():
            shutil.rmtree(old)
