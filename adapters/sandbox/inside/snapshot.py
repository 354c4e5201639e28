"""
The workspace as a tree: walked, read, and put back to what it was.

Rule 1: links are links: none is followed, and their targets are kept as they are spelt.
Rule 2: of a file that changes while it is read, each piece tells so: who reads decides.
Rule 3: a file is put back as a draft in `tmp/`, and gets its place in one step when it is whole and what it
        was. Whatever ends the work, all of it can be done again.
"""

import base64
import contextlib
import ctypes
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from adapters.sandbox.inside import folders
from adapters.sandbox.inside.limits import FOLDERS, SCRATCH, Limits
from adapters.sandbox.inside.paths import Impossible

Result = dict[str, Any]

PAGE = 2_000
"""Entries of one answer."""
PIECE_BYTES = 1024 * 1024
"""Of files, in one answer."""
FRESH_NS = 100_000_000
"""A file that changed so lately may change once more and look the same: clocks of files tick in steps."""
TORN = "torn"
SPECIAL = "it is no file, folder or link"
_PLAIN = 0o755
_DRAFTS = ".putting-back"


class Trees:
    """The steps of a snapshot, as the bot asks for them."""

    def __init__(self, root: str, limits: Limits) -> None:
        self._root, self._limits = root, limits
        self._rows: list[list[Any]] = []
        self._steps: dict[str, Callable[[int, dict[str, Any]], Result]] = {
            "walk": self._walk,
            "read": self._read,
            "hash": self._hash,
            "remove": self._remove,
            "lay": self._lay,
            "fill": self._fill,
            "close": self._close,
        }

    def step(self, args: dict[str, Any]) -> Result:
        """Do one of them. Raises Impossible, OSError."""
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return self._steps[args["do"]](root, args)
        finally:
            os.close(root)

    def _walk(self, root: int, args: dict[str, Any]) -> Result:
        """What there is, a page at a time; the first look tells whether it is what is known already."""
        at = args["at"]
        answer: Result = {"ok": True}
        if at == 0:
            walk = _Walk(root, self._limits.workspace_entries)
            answer.update(walk.told())
            answer["same"] = walk.is_settled and walk.signature == args["known"]
            self._rows = [] if answer["same"] else walk.rows
        answer["rows"] = self._rows[at : at + PAGE]
        answer["more"] = at + PAGE < len(self._rows)
        if not answer["more"]:
            self._rows = []
        return answer

    def _read(self, root: int, args: dict[str, Any]) -> Result:
        """As many pieces of files, in their order, as one answer holds."""
        parts: list[Any] = []
        room = PIECE_BYTES
        for path, at, until in args["want"]:
            if room <= 0:
                break
            part = _piece(root, path, at, until, room)
            parts.append(part)
            if part is not None:
                # The rest of a file comes before any other one.
                room = room - part.pop("size_read") if part["end"] else 0
        return {"ok": True, "parts": parts}

    def _hash(self, root: int, args: dict[str, Any]) -> Result:
        return {"ok": True, "hashes": [_hash_of(root, path) for path in args["paths"]]}

    def _remove(self, root: int, args: dict[str, Any]) -> Result:
        """Remove what is there too much; of the workspace's own folders only what is in them."""
        return _each(args["paths"], lambda path: _removed(root, folders.parts_of(path)))

    def _lay(self, root: int, args: dict[str, Any]) -> Result:
        """Have these folders and links there, folders open to their owner."""
        return _each(args["entries"], lambda entry: _laid(root, *entry))

    def _fill(self, root: int, args: dict[str, Any]) -> Result:
        """Add pieces to drafts; with its last one a file gets its place."""
        return _each(args["pieces"], lambda piece: _filled(root, **piece))

    def _close(self, root: int, args: dict[str, Any]) -> Result:
        """Set rights, what is within first, and bring all of it to the disk."""
        answer = _each(args["modes"], lambda one: _moded(root, *one))
        if args["last"]:
            with contextlib.suppress(OSError), folders.folder("tmp", root) as tmp:
                folders.remove(_DRAFTS, tmp)
            ctypes.CDLL(None).syncfs(root)
        return answer


class _Walk:
    """One look at all there is, scratch folders apart."""

    def __init__(self, root: int, most: int) -> None:
        self.rows: list[list[Any]] = []
        self.bytes = 0
        self._left_out: dict[str, str] = {}
        self._most = most
        self._is_whole = True
        self._old = time.time_ns() - FRESH_NS
        self.is_settled = True
        """Whatever changes from now on will look different."""
        self._signature = hashlib.blake2b(digest_size=16)
        self._look(root, "", 1)
        self.signature = self._signature.hexdigest()

    def told(self) -> Result:
        """What the bot hears of it, its rows apart."""
        return {
            "signature": self.signature,
            "settled": self.is_settled,
            "bytes": self.bytes,
            "entries": len(self.rows) + len(self._left_out),
            "left_out": self._left_out,
            "whole": self._is_whole,
        }

    def _look(self, handle: int, within: str, depth: int) -> None:
        with os.scandir(handle) as found:
            names = sorted(entry.name for entry in found)
        for name in names:
            if len(self.rows) + len(self._left_out) > self._most:
                self._is_whole = False
                return
            if not within and name in SCRATCH:
                continue
            path = f"{within}/{name}" if within else name
            try:
                self._entry(handle, name, path, depth)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._left_out[path] = error.strerror or "it cannot be read"

    def _entry(self, handle: int, name: str, path: str, depth: int) -> None:
        state = os.stat(name, dir_fd=handle, follow_symlinks=False)
        mode = stat.S_IMODE(state.st_mode)
        if stat.S_ISREG(state.st_mode):
            self.bytes += state.st_size
            is_old = state.st_ctime_ns < self._old and state.st_mtime_ns < self._old
            self.is_settled = self.is_settled and is_old
            self._add([path, "file", mode, state.st_size, "", _mark(state)], is_old)
        elif stat.S_ISLNK(state.st_mode):
            self._add([path, "link", 0, 0, os.readlink(name, dir_fd=handle), ""])
        elif not stat.S_ISDIR(state.st_mode):
            self._left_out[path] = SPECIAL
        elif depth >= folders.DEPTH_MOST:
            self._left_out[path] = f"it lies {folders.DEPTH_MOST} folders deep"
        else:
            if depth > 1 or name not in FOLDERS or mode != _PLAIN:
                self._add([path, "folder", mode, 0, "", ""])
            with folders.folder(name, handle) as inner:
                self._look(inner, path, depth + 1)

    def _add(self, row: list[Any], is_old: bool = True) -> None:
        self._signature.update(repr(row).encode("ascii", "backslashreplace"))
        if not is_old:
            # Nobody shall rely on it.
            row[-1] = ""
        self.rows.append(row)


def _mark(state: os.stat_result) -> str:
    return f"{state.st_ino}:{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}"


def _piece(root: int, path: str, at: int, until: int | None, room: int) -> Result | None:
    """A piece of a file, and what tells whether it is still the same; None: it is gone.

    `until`: its size when its first piece was read, so that what grows all the time has an end.
    """
    *above, name = folders.parts_of(path)
    try:
        with folders.folder_at(root, above) as within:
            handle = folders.open_file(name, within)
    except (OSError, Impossible):
        return None
    try:
        before = os.fstat(handle)
        size = before.st_size if until is None else until
        data = os.pread(handle, min(room, max(0, size - at)), at)
        after = os.fstat(handle)
    except OSError:
        return None
    finally:
        os.close(handle)
    mark = _mark(after) if _mark(before) == _mark(after) else TORN
    data_text = base64.b64encode(data).decode("ascii")
    is_end = at + len(data) >= size or not data
    about = {"data": data_text, "mark": mark, "end": is_end, "size": size}
    return {**about, "size_read": len(data) + 1}


def _hash_of(root: int, path: str) -> str | None:
    *above, name = folders.parts_of(path)
    try:
        with folders.folder_at(root, above) as within:
            handle = folders.open_file(name, within)
        with open(handle, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, Impossible):
        return None


def _each(given: list[Any], do: Callable[[Any], None]) -> Result:
    """Do it for each; what cannot be done is told by its place in the list."""
    failed = {}
    for place, one in enumerate(given):
        try:
            do(one)
        except (OSError, Impossible) as error:
            failed[str(place)] = getattr(error, "strerror", None) or str(error)
    return {"ok": True, "failed": failed}


def _removed(root: int, parts: list[str]) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if len(parts) == 1 and parts[0] in FOLDERS:
            with folders.folder(parts[0], root, write=True) as within:
                for name in os.listdir(within):
                    folders.remove(name, within)
            return
        with _existing(root, parts[:-1]) as within:
            folders.remove(parts[-1], within)


@contextlib.contextmanager
def _existing(root: int, above: list[str]) -> Iterator[int]:
    """A folder that can be changed, where there is one. Raises OSError."""
    if not above:
        yield root
        return
    with (
        folders.folder_at(root, above[:-1]) as within,
        folders.folder(above[-1], within, write=True) as handle,
    ):
        yield handle


def _laid(root: int, path: str, kind: str, target: str) -> None:
    *above, name = folders.parts_of(path)
    with folders.folder_at(root, above, write=True) as within:
        if kind == "folder":
            folders.make_folder(name, within)
            with folders.folder(name, within) as handle:
                os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) | stat.S_IRWXU)
            return
        with contextlib.suppress(OSError):
            if os.readlink(name, dir_fd=within) == target:
                return
        folders.remove(name, within)
        os.symlink(target, name, dir_fd=within)


def _filled(root: int, path: str, hash: str, mode: int, at: int, data: str, last: bool) -> None:
    *above, name = folders.parts_of(path)
    draft = hashlib.sha256(f"{path}\0{hash}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    with folders.folder_at(root, ["tmp", _DRAFTS], write=True) as drafts:
        with open(_draft(draft, drafts, at), "r+b") as file:
            if file.seek(0, os.SEEK_END) != at:
                raise Impossible("Its draft was changed while it was written.")
            file.write(base64.b64decode(data))
            if not last:
                return
            file.flush()
            file.seek(0)
            if hashlib.file_digest(file, "sha256").hexdigest() != hash:
                raise Impossible("What was written of it is not what was kept.")
            os.fchmod(file.fileno(), mode)
        with folders.folder_at(root, above, write=True) as within, _no_folder(name, within):
            os.replace(draft, name, src_dir_fd=drafts, dst_dir_fd=within)


def _draft(name: str, within: int, at: int) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    if at == 0:
        folders.remove(name, within)
        flags |= os.O_CREAT | os.O_EXCL
    return os.open(name, flags, 0o600, dir_fd=within)


@contextlib.contextmanager
def _no_folder(name: str, within: int) -> Iterator[None]:
    """A folder in the way of a file is removed first."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode):
            folders.remove(name, within)
    yield


def _moded(root: int, path: str, mode: int) -> None:
    *above, name = folders.parts_of(path)
    with folders.folder_at(root, above) as within:
        folders.set_mode(name, within, mode)
