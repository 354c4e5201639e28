"""
`glob` and `grep`, run in a child that is killed when it takes too long.

Results are sorted by path and capped, and say so when something was left out.
"""

import fnmatch
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any

from adapters.sandbox.inside import paths
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.paths import Impossible
from adapters.sandbox.inside.tree import walk

_LINE_CHARS = 400
_SKIPPED = (".git", "node_modules", ".venv", "__pycache__")
"""Folders that a search enters only when they are named."""


def glob(root: str, limits: Limits, args: dict[str, Any]) -> dict[str, Any]:
    """Names of files that match, one a line."""
    pattern = args["pattern"]
    pattern = pattern.removeprefix("/workspace/")
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise Impossible("The pattern leads out of the workspace. Start it at the workspace's top.")
    matches = _matcher(pattern)
    found = [name for name, _ in _files(root, "", pattern) if matches(name)]
    if not found:
        return {"ok": True, "text": f"No file matches {pattern}."}
    return {"ok": True, "text": _capped(sorted(found), limits.search_results, "files")}


def grep(root: str, limits: Limits, args: dict[str, Any]) -> dict[str, Any]:
    """Lines that match a regular expression, as `path:line: text`."""
    try:
        expression = re.compile(args["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        raise Impossible(f"The pattern is no regular expression of Python: {error}.") from None
    wanted = _matcher(_at_any_depth(args["glob"])) if args.get("glob") else None
    lines: list[str] = []
    seen: dict[str, str] = {}
    passed_over = 0
    for name in sorted(_places(root, args.get("path") or "", wanted)):
        content = _text(os.path.join(root, name), limits)
        if content is None:
            passed_over += 1
            continue
        here = _matching(expression, name, content, limits.search_results + 1 - len(lines))
        if here:
            seen[name] = hashlib.sha256(content).hexdigest()
        lines += here
        if len(lines) > limits.search_results:
            break
    text = _capped(lines, limits.search_results, "lines") if lines else "No line matches."
    if passed_over:
        text += f"\n[{passed_over} binary, too large or unreadable files were passed over]"
    return {"ok": True, "text": text, "read": seen}


def _places(root: str, path: str, wanted: Callable[[str], bool] | None) -> Iterator[str]:
    real = paths.resolve(root, path)
    try:
        state = os.lstat(real)
    except OSError as error:
        raise Impossible(paths.sentence(error, path)) from None
    within = paths.shown(root, real)
    if not stat.S_ISDIR(state.st_mode):
        paths.refuse_special(state, path)
        yield within
        return
    prefix = "" if within == "." else within + "/"
    for name, kind in _files(root, prefix, prefix):
        if stat.S_ISREG(kind) and (
            wanted is None or wanted(name) or wanted(name.removeprefix(prefix))
        ):
            yield name


def _files(root: str, prefix: str, named: str) -> Iterator[tuple[str, int]]:
    """Everything but folders below a prefix, with its mode."""
    skipped = [folder for folder in _SKIPPED if folder not in named]
    for name, state in walk(os.path.join(root, prefix), skipped):
        if not stat.S_ISDIR(state.st_mode):
            yield prefix + name, state.st_mode


def _text(real: str, limits: Limits) -> bytes | None:
    try:
        with open(paths.open_regular(real, real, limits.read_bytes), "rb") as file:
            content = file.read(limits.read_bytes + 1)
    except (Impossible, OSError):
        return None
    return None if b"\0" in content[:8192] else content


def _matching(expression: re.Pattern[str], name: str, content: bytes, most: int) -> list[str]:
    found = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if expression.search(line):
            shown = line if len(line) <= _LINE_CHARS else line[:_LINE_CHARS] + " [...]"
            found.append(f"{name}:{number}: {shown}")
            if len(found) >= most:
                break
    return found


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Match whole names; `**` stands for any number of folders, `{a,b}` is not known."""
    parts = [part for part in pattern.split("/") if part]
    if len(parts) == 1 and "/" not in pattern and parts[0] != "**":
        one = re.compile(fnmatch.translate(parts[0]))
        return lambda name: "/" not in name and one.match(name) is not None
    compiled = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]
    return lambda name: _match_parts(compiled, name.split("/"))


def _at_any_depth(pattern: str) -> str:
    return pattern if "/" in pattern else "**/" + pattern


def _match_parts(pattern: list[re.Pattern[str] | None], name: list[str]) -> bool:
    """Which prefixes of the pattern the name's parts so far can have used up."""
    places = _with_skips(pattern, {0})
    for part in name:
        moved = set()
        for at in places:
            if at < len(pattern):
                one = pattern[at]
                if one is None:
                    moved.add(at)
                elif one.match(part):
                    moved.add(at + 1)
        places = _with_skips(pattern, moved)
    return len(pattern) in places


def _with_skips(pattern: list[re.Pattern[str] | None], places: set[int]) -> set[int]:
    whole = set(places)
    for at in sorted(places):
        while at < len(pattern) and pattern[at] is None:
            at += 1
            whole.add(at)
    return whole


def _capped(lines: list[str], most: int, what: str) -> str:
    if len(lines) <= most:
        return "\n".join(lines)
    return (
        "\n".join(lines[:most]) + f"\n[only the first {most} {what} are shown; narrow the search]"
    )
