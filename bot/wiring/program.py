"""What this program is called where it was typed, and its version."""

import shutil
import sys
from importlib import metadata
from pathlib import Path


def program() -> str:
    """`headway` where that is on PATH, else the path of the command, short where it can be."""
    path = Path(sys.argv[0])
    if path.name != "headway" or shutil.which("headway") == str(path):
        return "headway"
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def version() -> str:
    """Headway's own version."""
    try:
        return metadata.version("headway")
    except metadata.PackageNotFoundError:
        return "(not installed)"
