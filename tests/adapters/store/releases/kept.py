"""The kept databases of former releases, unpacked where a test may do with them as it likes."""

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
RELEASES: Final = tuple(sorted(path.name for path in HERE.glob("[0-9]*") if path.is_dir()))
WHO: Final = "ann"
"""Whose goals they are."""


@dataclass(frozen=True)
class Kept:
    """One release's folder: when it was made, and the thread and session of each goal by name."""

    made_at: float
    threads: dict[str, str]
    sessions: dict[str, str]


def kept(release: str) -> Kept:
    """What is told of a release."""
    told = json.loads((HERE / release / "made.json").read_text())
    return Kept(told["made_at"], told["threads"], told["sessions"])


def unpack(release: str, state_dir: Path) -> Kept:
    """Make `state_dir` what the killed process left."""
    source = HERE / release
    (state_dir / "console").mkdir(parents=True, mode=0o700)
    for name, path in (("headway.db", "headway.db"), ("room.jsonl", "console/room.jsonl")):
        (state_dir / path).write_bytes(gzip.decompress((source / f"{name}.gz").read_bytes()))
    shutil.copytree(source / "workspaces", state_dir / "workspaces")
    return kept(release)
