"""An engine for containers that needs no service: podman with runc, from Debian's packages."""

import os
import shutil
from typing import Final

from tests.peers import beds

_PACKAGES: Final = ("podman", "runc")


def install() -> None:
    """Have both on the PATH, where root asks; else leave it.

    Raises:
        RuntimeError: apt failed.
    """
    if _is_here() or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    with beds.alone("podman"):
        if not _is_here():
            beds.say("Installing podman and runc, for sandboxes in containers ...")
            beds.install(_PACKAGES)


def find(program: str) -> str | None:
    """The path of one of them; runc lies where only root looks."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _is_here() -> bool:
    return all(map(find, _PACKAGES))
