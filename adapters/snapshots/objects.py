"""
Bytes in a folder, each under its SHA-256, compressed where that helps: `ab/<sha256>`.

Rule 1: what is added lies in drafts until `settle`, which brings all of it to the disk, then gives it its
        names, then brings those to the disk: nothing is named that is not there.
Rule 2: what is there already is not written again; it counts as new.
Rule 3: folders are 0700, files 0600.
Rule 4: what is held when a sweep begins, or while it goes on, stays.
"""

import contextlib
import ctypes
import hashlib
import os
import shutil
import threading
import time
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

from bot.errors import StoreUnusable
from bot.ports.attached import size_of

PIECE_BYTES: Final = 1024 * 1024
FREE_LEAST: Final = 200_000_000
"""The database and the goals' work need what is left of the disk more."""
DRAFTS: Final = "drafts"
DRAFT_S: Final = 3600.0
"""After so long nobody writes at a draft any more."""
_LEVEL: Final = 1
_LEAST: Final = 128
"""Bytes below which compressing gains nothing."""
_GAIN: Final = 0.9
_ONE_BY_ONE: Final = 8
"""More files than that are brought to the disk together with their whole file system."""
_RAW, _PACKED = b"r", b"z"


class Altered(StoreUnusable):
    """What lies there is not what was kept: that stays so."""


class Objects:
    """One folder of them."""

    def __init__(self, folder: Path, *, free_least: int = FREE_LEAST) -> None:
        self.folder = folder
        self._free_least = free_least
        self._lock = threading.Lock()
        """Nothing is removed that was just counted as new, or held."""
        self._held: Counter[str] = Counter()
        self._spared: set[str] = set()

    def touch(self, hash: str) -> bool:
        """Count it as new; False where it is not there."""
        with self._lock:
            try:
                os.utime(self.path(hash))
            except FileNotFoundError:
                return False
            return True

    def hold(self, hashes: Iterable[str]) -> None:
        """Until they are released no sweep removes these, whether or not they are there already."""
        with self._lock:
            held = list(hashes)
            self._held.update(held)
            self._spared.update(held)

    def release(self, hashes: Iterable[str]) -> None:
        """They are not held any more, each as often as it was."""
        with self._lock:
            self._held.subtract(hashes)
            self._held = +self._held

    def begin_sweep(self) -> frozenset[str]:
        """What is held now stays until the next sweep begins, and so does what is held meanwhile."""
        with self._lock:
            self._spared = set(self._held)
            return frozenset(self._spared)

    def read(self, hash: str) -> Iterator[bytes]:
        """What is under the hash, in pieces.

        Raises:
            FileNotFoundError: nothing is.
            StoreUnusable: it cannot be read; Altered: it never can.
        """
        with open(self.path(hash), "rb") as file, spoken(self.folder):
            if file.read(1) == _RAW:
                while piece := file.read(PIECE_BYTES):
                    yield piece
                return
            unpack = zlib.decompressobj()
            while not unpack.eof:
                block = unpack.unconsumed_tail or file.read(PIECE_BYTES)
                try:
                    piece = unpack.decompress(block, PIECE_BYTES)
                except zlib.error as error:
                    raise Altered(f"{self.path(hash)} is altered: restore a backup.") from error
                if not block and not piece:
                    raise Altered(f"{self.path(hash)} is cut off: restore a backup.")
                if piece:
                    yield piece

    def names(self) -> Iterator[tuple[str, os.stat_result]]:
        """All there are, with what the file system tells of each."""
        for shelf in _within(self.folder):
            if len(shelf.name) == 2:
                for one in _within(Path(shelf.path)):
                    with contextlib.suppress(FileNotFoundError):
                        yield one.name, one.stat()

    def sweep(self, kept: Collection[str], *, older_s: float) -> int:
        """Remove what is not kept and is older; drafts that were left, too. Returns bytes."""
        size, until = 0, time.time() - older_s
        with spoken(self.folder):
            for name, state in self.names():
                if name not in kept and state.st_mtime <= until:
                    size += self._remove(self.path(name), until)
            for draft in _within(self.folder / DRAFTS):
                size += self._remove(Path(draft.path), time.time() - DRAFT_S)
        return size

    def path(self, hash: str) -> Path:
        """Where it lies."""
        return self.folder / hash[:2] / hash

    def refuse_full(self) -> None:
        """Raise StoreUnusable where the disk is nearly full."""
        free = shutil.disk_usage(self.folder).free
        if free < self._free_least:
            raise StoreUnusable(
                f"The disk of {self.folder} has {size_of(free)} left, too little to keep snapshots: "
                "free some space."
            )

    def _remove(self, path: Path, until: float) -> int:
        with self._lock, contextlib.suppress(FileNotFoundError):
            state = path.stat()
            if state.st_mtime <= until and path.name not in self._spared:
                path.unlink()
                return state.st_size
        return 0


class Batch:
    """What is added together, and held until `drop`, which also forgets what is not settled."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._drafts: dict[str, Path] = {}
        self._held: list[str] = []

    def hold(self, hashes: Iterable[str]) -> None:
        """Hold these as well, which are there."""
        held = list(hashes)
        self._objects.hold(held)
        self._held += held

    def add(self, data: bytes) -> str:
        """Add these bytes; returns their hash. Raises StoreUnusable."""
        hash = hashlib.sha256(data).hexdigest()
        if not self._is_known(hash):
            draft = self.begin(data)
            with spoken(self._objects.folder):
                draft.add(data)
                self._drafts[hash] = draft.close()
        return hash

    def begin(self, first: bytes) -> "Draft":
        """Bytes that come in pieces; `first` tells whether they can be compressed. End with `end`.

        Raises:
            StoreUnusable.
        """
        with spoken(self._objects.folder):
            return Draft(self._new(), first)

    def end(self, draft: "Draft") -> str:
        """The draft is whole; returns the hash of what is in it. Raises StoreUnusable."""
        hash = draft.hash
        with spoken(self._objects.folder):
            path = draft.close()
            if self._is_known(hash):
                path.unlink()
            else:
                self._drafts[hash] = path
        return hash

    def settle(self) -> int:
        """Give all of it its names, on the disk; returns how much it was. Raises StoreUnusable."""
        folder = self._objects.folder
        with spoken(folder):
            _to_disk(list(self._drafts.values()), folder)
            shelves = set()
            for hash, draft in self._drafts.items():
                path = self._objects.path(hash)
                path.parent.mkdir(mode=0o700, exist_ok=True)
                os.replace(draft, path)
                shelves.add(path.parent)
            _to_disk([*shelves, folder] if shelves else [], folder)
        count = len(self._drafts)
        self._drafts = {}
        return count

    def drop(self) -> None:
        """Forget what is not settled, and hold nothing more."""
        self._objects.release(self._held)
        self._held = []
        for draft in self._drafts.values():
            draft.unlink(missing_ok=True)
        self._drafts = {}

    def _is_known(self, hash: str) -> bool:
        self.hold([hash])
        return hash in self._drafts or self._objects.touch(hash)

    def _new(self) -> BinaryIO:
        folder = self._objects.folder / DRAFTS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._objects.refuse_full()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        path = folder / token_hex(8)
        return open(path, "wb", opener=lambda name, _: os.open(name, flags, 0o600))


class Draft:
    """Bytes on their way in."""

    def __init__(self, file: BinaryIO, sample: bytes) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._pack = zlib.compressobj(_LEVEL) if _packs(sample) else None
        self.size = 0
        file.write(_RAW if self._pack is None else _PACKED)

    @property
    def hash(self) -> str:
        """sha256 hex of what was added."""
        return self._hash.hexdigest()

    def add(self, data: bytes) -> None:
        """Add a piece. Raises OSError."""
        self._hash.update(data)
        self.size += len(data)
        self._file.write(data if self._pack is None else self._pack.compress(data))

    def close(self) -> Path:
        """Nothing more comes; returns where it lies."""
        with self._file as file:
            if self._pack is not None:
                file.write(self._pack.flush())
        return Path(file.name)

    def drop(self) -> None:
        """It is not wanted."""
        self._file.close()
        Path(self._file.name).unlink(missing_ok=True)


@contextlib.contextmanager
def spoken(folder: Path) -> Iterator[None]:
    """The system's errors as ours. Raises StoreUnusable."""
    try:
        yield
    except (OSError, zlib.error) as error:
        raise StoreUnusable(
            f"The snapshots in {folder} cannot be kept or read "
            f"({getattr(error, 'strerror', None) or error}): free some space on its disk, or mend its "
            "rights."
        ) from error


def _packs(sample: bytes) -> bool:
    if len(sample) < _LEAST:
        return False
    part = sample[: 64 * 1024]
    return len(zlib.compress(part, _LEVEL)) < _GAIN * len(part)


def _to_disk(paths: Collection[Path], folder: Path) -> None:
    if len(paths) > _ONE_BY_ONE and _sync_all(folder):
        return
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync_all(folder: Path) -> bool:
    """Bring the whole file system to the disk at once, where this system can."""
    sync = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if sync is None:
        return False
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if sync(handle):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
    return True


def _within(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
