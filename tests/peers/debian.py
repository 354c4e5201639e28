"""
Programs of Debian's packages that tests need, without being root.

What is on the PATH is used. Else the package is fetched with apt and unpacked, not installed, into
`.cache/debian`, once for all test processes. A program that cannot be had is a failure of the test
that needs it, never a skip.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "debian"
FETCH_S: Final = 35.0
"""For one call of apt; three of them, the most there are, stay under the time of one test."""
SYSTEM_STATUS: Final = "/var/lib/dpkg/status"


def program(name: str, package: str, cache: Path = CACHE) -> str:
    """The path of a program, fetched with its package where this machine does not have it.

    Raises:
        RuntimeError: it is not here and could not be fetched; the message says why and the mend.
    """
    found = shutil.which(name)
    if found is not None:
        return found
    with _alone(cache, package):
        if not (cache / package).exists():
            _fetch(package, cache)
    unpacked = cache / package / "usr" / "bin" / name
    if not unpacked.exists():
        raise RuntimeError(f"Debian's package {package} has no program {name} in /usr/bin.")
    return str(unpacked)


@contextmanager
def _alone(cache: Path, package: str) -> Iterator[None]:
    # The kernel drops the lock of a test process that is killed.
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(package: str, cache: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{package}-", dir=cache) as made:
        folder = Path(made)
        try:
            archive = _downloaded(package, folder)
            _run(["dpkg-deb", "-x", str(archive), str(folder / "unpacked")], folder)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            raise RuntimeError(
                f"{package} is not on the PATH and could not be fetched with apt. Install it"
                f" (Debian: apt-get install {package}), or see to the network. apt said: {said}"
            ) from error
        (folder / "unpacked").rename(cache / package)


def _downloaded(package: str, folder: Path) -> Path:
    try:
        _run(["apt-get", "download", package], folder)
    except subprocess.CalledProcessError:
        # No lists of packages here, or old ones: they are fetched, too, into a folder of our own.
        own = _own_state(folder)
        subprocess.run(
            ["apt-get", *own, "update"], cwd=folder, capture_output=True, check=False,
            timeout=FETCH_S,
        )  # fmt: skip
        _run(["apt-get", *own, "download", package], folder)
    return next(folder.glob("*.deb"))


def _own_state(folder: Path) -> list[str]:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    settings = (
        f"Dir::State={folder}/state", f"Dir::State::status={SYSTEM_STATUS}",
        f"Dir::Cache={folder}/cache", "Acquire::Languages=none", "Acquire::http::Timeout=10",
        "Acquire::https::Timeout=10", "Acquire::Retries=1",
    )  # fmt: skip
    return [word for setting in settings for word in ("-o", setting)]


def _run(command: list[str], folder: Path) -> None:
    # apt as root would change to an account that cannot write here.
    more = ["-o", "APT::Sandbox::User=root"] if command[0] == "apt-get" else []
    subprocess.run(
        [command[0], *more, *command[1:]], cwd=folder, check=True, capture_output=True, text=True,
        timeout=FETCH_S, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
