"""
Looking at the whole workspace: its use, a cheap signature, a full digest.

Rule 1: links are never followed, and an entry that vanishes meanwhile is passed over.
Rule 2: `cache` and `tmp` count for the use, not for what the workspace is.
"""

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from typing import NamedTuple

from adapters.sandbox.inside import paths
from adapters.sandbox.inside.limits import SCRATCH, Limits


class Survey(NamedTuple):
    """One walk: bytes on disk, entries, and a hash over names, kinds, sizes, times and inodes."""

    bytes_used: int
    entries: int
    signature: str

    def breach(self, limits: Limits) -> str | None:
        """The sentence for the agent when the workspace is over its limits."""
        if self.bytes_used > limits.workspace_bytes:
            return (
                f"The workspace holds {self.bytes_used // 1024} KiB and may hold "
                f"{limits.workspace_bytes // 1024}. Delete what is not needed."
            )
        if self.entries > limits.workspace_entries:
            return (
                f"The workspace holds more than {limits.workspace_entries} files and folders. "
                "Delete what is not needed."
            )
        return None


def survey(root: str, limits: Limits) -> Survey:
    """Walk the tree once, to at most one entry more than the limit."""
    used = entries = 0
    signature = hashlib.blake2b(digest_size=16)
    for name, state in walk(root):
        entries += 1
        used += state.st_blocks * 512
        if name.split("/", 1)[0] not in SCRATCH:
            is_folder = stat.S_ISDIR(state.st_mode)
            # A folder's time and size move with every temporary file; its names say enough.
            marks = (0, 0) if is_folder else (state.st_size, state.st_mtime_ns)
            line = f"{name}\0{state.st_mode}\0{marks}\0{state.st_ino}\n"
            signature.update(line.encode("utf-8", "surrogateescape"))
        if entries > limits.workspace_entries:
            break
    return Survey(used, entries, signature.hexdigest())


def digest(root: str) -> str:
    """A hash over names, kinds, sizes and contents, the same on every machine."""
    whole = hashlib.sha256()
    for name, state in sorted(walk(root)):
        if name.split("/", 1)[0] in SCRATCH:
            continue
        line = f"{name}\0{_kind(state)}\0{_content(os.path.join(root, name), state)}\n"
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def file_hash(real: str) -> str | None:
    """sha256 hex of a regular file of any size; None when it cannot be read."""
    try:
        fd = paths.open_regular(real, real, None)
    except paths.Impossible:
        return None
    with open(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def walk(root: str, skipped: Collection[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below `root` by relative name, folders before what they hold.

    Folders of a `skipped` name are given but not entered.
    """
    open_ = [""]
    while open_:
        folder = open_.pop()
        try:
            found = sorted(os.scandir(os.path.join(root, folder)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            name = f"{folder}/{entry.name}" if folder else entry.name
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(state.st_mode) and entry.name not in skipped:
                open_.append(name)
            yield name, state


def _kind(state: os.stat_result) -> str:
    if stat.S_ISREG(state.st_mode):
        return f"file {state.st_size} {'x' if state.st_mode & stat.S_IXUSR else '-'}"
    if stat.S_ISDIR(state.st_mode):
        return "folder"
    return "link" if stat.S_ISLNK(state.st_mode) else "other"


def _content(real: str, state: os.stat_result) -> str:
    if stat.S_ISLNK(state.st_mode):
        try:
            return os.readlink(real)
        except OSError:
            return "gone"
    if stat.S_ISREG(state.st_mode):
        return file_hash(real) or "gone"
    return ""
