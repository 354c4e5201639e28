"""
`read`, `write` and `edit`.

Rule 1: a write is whole or not at all: a file beside it, then a rename.
Rule 2: an edit changes only what it names: line endings and bytes that are no UTF-8 stay.
Rule 3: each call gives the hash of the file as the agent now knows it.
"""

import contextlib
import hashlib
import os
import stat
from typing import Any

from adapters.sandbox.inside import paths
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.paths import Impossible
from adapters.sandbox.inside.room import disk_full
from adapters.sandbox.inside.tree import Survey, survey

Result = dict[str, Any]


def read(root: str, limits: Limits, args: dict[str, Any]) -> Result:
    """The lines of one file, numbered from 1."""
    name = args["path"]
    real = paths.resolve(root, name)
    content = _content(real, name, limits)
    seen = {paths.shown(root, real): hashlib.sha256(content).hexdigest()}
    if b"\0" in content[:8192]:
        text = f"{name} is a binary file of {len(content)} bytes. Use bash to look into it."
        return {"ok": False, "text": text, "read": seen}
    lines = content.decode("utf-8", "replace").splitlines()
    offset = args.get("offset") or 1
    if lines and offset > len(lines):
        text = f"{name} has {len(lines)} lines, so there is no line {offset}."
        return {"ok": False, "text": text, "read": seen}
    wanted = lines[offset - 1 : offset - 1 + (args.get("limit") or limits.read_lines)]
    text, given = _numbered(wanted, offset, limits.output_chars)
    return {"ok": True, "text": text + _remarks(content, lines, offset, given), "read": seen}


class Writer:
    """Writes within the workspace's limits, remembering its use between calls."""

    def __init__(self, root: str, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._known: Survey | None = None
        self._added = 0

    @property
    def known(self) -> Survey | None:
        """The last walk, when nothing was written since."""
        return None if self._added else self._known

    def surveyed(self, found: Survey | None) -> None:
        """A walk was just made, so that the next write need not make one; None: it does."""
        self._known = found
        self._added = 0

    def make_room(self, size: int) -> None:
        """Count what is about to be added. Raises Impossible where it does not fit."""
        self._refuse_over_limit(size)
        self._added += size + 1

    def write(self, args: dict[str, Any]) -> Result:
        """Make or replace one file."""
        name = args["path"]
        real = paths.resolve(self._root, name)
        content = _encoded(args["content"], name)
        existing = self._existing(real, name)
        self._put(real, name, content)
        verb = "Made" if existing is None else "Replaced"
        return self._written(
            real, content, f"{verb} {name} ({len(content)} bytes).", existing != _hash(content)
        )

    def edit(self, args: dict[str, Any]) -> Result:
        """Replace a piece of text that occurs exactly once, or all of them."""
        name = args["path"]
        old, new = args["old"], args["new"]
        if not old:
            raise Impossible("`old` is empty. Give the text to replace, or use write.")
        real = paths.resolve(self._root, name)
        before = _content(real, name, self._limits)
        old_bytes, new_bytes = _encoded(old, name), _encoded(new, name)
        if b"\r\n" in before and before.count(b"\n") == before.count(b"\r\n"):
            old_bytes, new_bytes = _as_crlf(old_bytes), _as_crlf(new_bytes)
        found = before.count(old_bytes)
        if found == 0:
            raise Impossible(
                f"`old` does not occur in {name}. Read it again: it must match exactly."
            )
        if found > 1 and not args.get("all"):
            raise Impossible(
                f"`old` occurs {found} times in {name}. Give more of the text around it, "
                "or set `all` to replace each."
            )
        after = before.replace(old_bytes, new_bytes)
        if after != before:
            self._put(real, name, after)
        places = "1 place" if found == 1 else f"{found} places"
        return self._written(real, after, f"Edited {name} in {places}.", after != before)

    def _written(self, real: str, content: bytes, text: str, changed: bool) -> Result:
        seen = {paths.shown(self._root, real): _hash(content)}
        return {"ok": True, "text": text, "changed": changed, "read": seen}

    def _existing(self, real: str, name: str) -> str | None:
        """The hash of what is there, None where nothing is."""
        try:
            state = os.lstat(real)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Impossible(paths.sentence(error, name)) from None
        paths.refuse_special(state, name)
        with open(paths.open_regular(real, name, None), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _put(self, real: str, name: str, content: bytes) -> None:
        self._refuse_over_limit(len(content))
        own, beside = os.path.basename(real), f".writing-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            with paths.folder_of(real, make=True) as folder:
                try:
                    _write_new(beside, folder, content, _mode(own, folder))
                    os.replace(beside, own, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError:
                    with contextlib.suppress(OSError):
                        os.unlink(beside, dir_fd=folder)
                    raise
        except OSError as error:
            raise Impossible(paths.sentence(error, name)) from None
        # Even an empty file makes the walk old.
        self._added += len(content) + 1

    def _refuse_over_limit(self, size: int) -> None:
        if (full := disk_full(self._root, self._limits, size)) is not None:
            raise Impossible(f"Nothing was written. {full}")
        known = self._known
        if known is None or known.bytes_used + self._added + size > self._limits.workspace_bytes:
            known = survey(self._root, self._limits)
            self.surveyed(known)
        then = Survey(known.bytes_used + self._added + size, known.entries + 1, "")
        if (breach := then.breach(self._limits)) is not None:
            raise Impossible(f"Nothing was written. With it: {breach}")


def _content(real: str, name: str, limits: Limits) -> bytes:
    with open(paths.open_regular(real, name, limits.read_bytes), "rb") as file:
        return file.read(limits.read_bytes + 1)


def _numbered(lines: list[str], first: int, room: int) -> tuple[str, int]:
    """The lines that fit into `room` characters, and how many they are."""
    numbered: list[str] = []
    for number, line in enumerate(lines, first):
        text = f"{number}\t{line}\n"
        if len(text) > room:
            if not numbered:
                numbered.append(text[:room] + "[... the rest of this line is left out]\n")
            break
        room -= len(text)
        numbered.append(text)
    return "".join(numbered), len(numbered)


def _remarks(content: bytes, lines: list[str], offset: int, given: int) -> str:
    remarks = []
    if not lines:
        remarks.append("[the file is empty]")
    last = offset + given - 1
    if last < len(lines):
        remarks.append(f"[lines {offset} to {last} of {len(lines)}; go on with offset {last + 1}]")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        remarks.append("[not all of it is UTF-8: what could not be decoded is shown as \ufffd]")
    return "\n".join(remarks)


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Impossible(
            f"The text for {name} holds half a character (a lone surrogate). Write it without."
        ) from None


def _as_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _mode(name: str, folder: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return 0o644


def _write_new(name: str, folder: int, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
