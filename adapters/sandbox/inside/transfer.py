"""
Whole files across the wall, piece by piece: those that people gave go in, those to be shared go out.

Rule 1: nothing that is there is replaced. A file comes in as a draft, and gets its name in one step
        when it is whole; put again, it is the same file.
Rule 2: only a regular file of the workspace goes out; one that changes while it is read does not.
"""

import base64
import contextlib
import hashlib
import os
from typing import Any

from adapters.sandbox.inside import paths
from adapters.sandbox.inside.files import Writer
from adapters.sandbox.inside.paths import Impossible
from adapters.sandbox.inside.tree import file_hash

Result = dict[str, Any]

PIECE_BYTES = 1024 * 1024
_NAMES = 100


def put(root: str, writer: Writer, args: dict[str, Any]) -> Result:
    """Add a piece to the draft of the file that will have this hash; at 0 the draft begins."""
    piece = base64.b64decode(args["data"])
    draft = _draft(root, args)
    writer.make_room(len(piece))
    flags, own = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, os.path.basename(draft)
    with paths.folder_of(draft, make=args["at"] == 0) as folder:
        if args["at"] == 0:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(own, dir_fd=folder)
            flags |= os.O_CREAT | os.O_EXCL
        fd = os.open(own, flags, 0o644, dir_fd=folder)
    with open(fd, "r+b" if args["at"] else "wb") as file:
        if file.seek(0, os.SEEK_END) != args["at"]:
            raise Impossible(f"The draft of {args['path']} was changed while it was written.")
        file.write(piece)
    return {"ok": True}


def place(root: str, args: dict[str, Any]) -> Result:
    """Give the whole draft its name, or the next free one with a number; tells which."""
    draft, hash = _draft(root, args), args["hash"]
    if file_hash(draft) != hash:
        raise Impossible(f"What was written of {args['path']} is not what was sent.")
    for number in range(1, _NAMES):
        name = _numbered(args["path"], number)
        real = paths.resolve(root, name)
        own = os.path.basename(draft)
        with paths.folder_of(draft) as folder:
            try:
                os.link(
                    own,
                    os.path.basename(real),
                    src_dir_fd=folder,
                    dst_dir_fd=folder,
                    follow_symlinks=False,
                )
            except FileExistsError:
                if file_hash(real) != hash:
                    continue
            os.unlink(own, dir_fd=folder)
        return {"ok": True, "path": name}
    raise Impossible(f"There are {_NAMES} files called {args['path']} already.")


def take(root: str, args: dict[str, Any]) -> Result:
    """A piece of a file, with its size and what tells whether it is still the same."""
    name = args["path"]
    with open(paths.open_regular(paths.resolve(root, name), name, None), "rb") as file:
        state = os.fstat(file.fileno())
        if state.st_size > args["most"]:
            raise Impossible(
                f"{name} has {state.st_size} bytes, and at most {args['most']} can be shared."
            )
        file.seek(args["at"])
        data = base64.b64encode(file.read(PIECE_BYTES)).decode("ascii")
    mark = f"{state.st_ino}:{state.st_size}:{state.st_mtime_ns}"
    return {"ok": True, "data": data, "size": state.st_size, "mark": mark}


def _draft(root: str, args: dict[str, Any]) -> str:
    """Beside the file, so that a link can give it its name."""
    folder = paths.resolve(root, os.path.dirname(args["path"]))
    name = hashlib.sha256(f"{args['path']}\0{args['hash']}".encode()).hexdigest()[:16]
    return os.path.join(folder, f".coming-{name}")


def _numbered(path: str, number: int) -> str:
    if number == 1:
        return path
    folder, name = os.path.split(path)
    stem, end = os.path.splitext(name)
    return os.path.join(folder, f"{stem}-{number}{end}")
