"""
A sandbox in memory: files are entries of a dict, commands the few words of a toy shell.

The shell knows echo (with > and >>), cat, cd, pwd, sleep, true, false, exit and rm, joined by ; and
&&. `answers` gives the outcome of any other command by its whole text.
"""

import asyncio
import fnmatch
import hashlib
import posixpath
import re
import shlex
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from bot.errors import BadInput, NoSandbox
from bot.ports.sandbox import Access, Line, Outcome, Session
from tests.doubles.snapshots import MemoryTree

Files = dict[str, str]


class MemorySandbox:
    """Makes sessions over dicts. `broken` is the sentence of a sandbox that does not start."""

    def __init__(
        self, *, answers: Mapping[str, Outcome] | None = None, broken: str | None = None
    ) -> None:
        self.workspaces: dict[str, Files] = {}
        self.answers = dict(answers or {})
        self.broken = broken
        self.sessions: list[MemorySession] = []
        self.background: dict[str, dict[str, _Running]] = {}
        """What has been started in the background, by workspace and id."""
        self.lives_on: dict[str, str] = {}

    @property
    def name(self) -> str:
        return "memory"

    async def check(self) -> None:
        if self.broken is not None:
            raise NoSandbox(self.broken)

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        await self.check()
        if not re.fullmatch(r"[A-Za-z0-9._-]+", workspace) or workspace in {".", ".."}:
            raise NoSandbox(f"{workspace!r} is no workspace's name.")
        files = self.workspaces.setdefault(workspace, {})
        session = MemorySession(
            files, self.answers, self, workspace, is_writable=access == "workspace"
        )
        self.sessions.append(session)
        return session

    def processes(self, workspace: str) -> Mapping[str, str]:
        return {id: one.state for id, one in self.background.get(workspace, {}).items()}

    @property
    def lingering(self) -> Mapping[str, str]:
        return self.lives_on

    async def release(self, workspace: str) -> None:
        self.lives_on.pop(workspace, None)
        for one in self.background.pop(workspace, {}).values():
            one.task.cancel()


class _Running:
    """A command in the background."""

    def __init__(self, task: "asyncio.Task[Outcome]", printed: list[str]) -> None:
        self.task, self._printed = task, printed
        self.is_killed = False

    @property
    def state(self) -> str:
        if self.is_killed:
            return "killed"
        return f"ended with exit code {self.code}" if self.task.done() else "running"

    @property
    def code(self) -> int | None:
        return self.task.result().exit_code if self.task.done() and not self.is_killed else None

    def news(self) -> Outcome:
        text = "".join(self._printed)
        self._printed.clear()
        return Outcome(not self.code, f"{text}[{self.state}]", exit_code=self.code)


class MemorySession:
    """One dict of files and a current directory. `calls` keeps what was called, in order."""

    def __init__(
        self,
        files: Files,
        answers: Mapping[str, Outcome],
        sandbox: MemorySandbox,
        workspace: str,
        *,
        is_writable: bool,
    ) -> None:
        self.files = files
        self._sandbox, self._workspace = sandbox, workspace
        self._known = ""
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.is_closed = False
        self._answers = answers
        self._is_writable = is_writable
        self._directory = "/workspace"
        self._turn = asyncio.Lock()

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        if self.is_closed:
            raise NoSandbox("The session is closed.")
        tools: Mapping[str, Callable[[Mapping[str, Any]], Outcome]] = {
            "read": self._read,
            "write": self._write,
            "edit": self._edit,
            "glob": self._glob,
            "grep": self._grep,
        }
        async with self._turn:
            self.calls.append((tool, dict(args)))
            await asyncio.sleep(0)
            try:
                if tool in ("poll", "kill") or args.get("background"):
                    return await self._behind(tool, args)
                if tool == "bash":
                    allowed_s = min(timeout_s, args.get("timeout_s") or 120)
                    return await asyncio.wait_for(self._bash(args["command"]), allowed_s)
                return tools[tool](args)
            except TimeoutError:
                return Outcome(False, "[ended: it took too long]", timed_out=True)
            except (KeyError, ValueError) as error:
                return Outcome(False, str(error.args[0]))

    async def digest(self) -> str:
        return _hash(repr(sorted(self.files.items())))

    async def hashes(self, paths: tuple[str, ...]) -> Mapping[str, str | None]:
        return {path: _hash(self.files[path]) if path in self.files else None for path in paths}

    async def put(self, path: str, hash: str, pieces: AsyncIterable[bytes]) -> str:
        content = b"".join([piece async for piece in pieces])
        if hashlib.sha256(content).hexdigest() != hash:
            raise BadInput(f"What was written of {path} is not what was sent.")
        text, (stem, end) = content.decode("utf-8", "surrogateescape"), posixpath.splitext(path)
        name, number = path, 1
        try:
            while self.files.get(_within(name), text) != text:
                number += 1
                name = f"{stem}-{number}{end}"
            self._put(name, text)
        except ValueError as error:
            raise BadInput(str(error)) from None
        return name

    async def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        try:
            content = self._file(path)[1].encode("utf-8", "surrogateescape")
        except ValueError as error:
            raise BadInput(str(error)) from None
        if len(content) > most:
            raise BadInput(f"{path} has {len(content)} bytes, and at most {most} can be shared.")
        yield content

    @property
    def tree(self) -> MemoryTree:
        return MemoryTree(self.files, is_writable=self._is_writable)

    async def close(self, *, lives_on: str = "") -> None:
        self.is_closed = True
        sandbox, workspace = self._sandbox, self._workspace
        if lives_on and workspace in sandbox.background:
            sandbox.lives_on[workspace] = lives_on
        if workspace not in sandbox.lives_on:
            await sandbox.release(workspace)

    def _read(self, args: Mapping[str, Any]) -> Outcome:
        path, content = self._file(args["path"])
        lines = content.splitlines()
        first = args.get("offset") or 1
        wanted = lines[first - 1 : first - 1 + (args.get("limit") or 2_000)]
        text = "".join(f"{number}\t{line}\n" for number, line in enumerate(wanted, first))
        if first - 1 + len(wanted) < len(lines):
            text += f"[go on with offset {first + len(wanted)}]"
        return Outcome(True, text, read={path: _hash(content)})

    def _write(self, args: Mapping[str, Any]) -> Outcome:
        return self._put(_within(args["path"]), args["content"])

    def _edit(self, args: Mapping[str, Any]) -> Outcome:
        path, content = self._file(args["path"])
        found = content.count(args["old"])
        if found == 0 or (found > 1 and not args.get("all")):
            raise ValueError(f"`old` occurs {found} times in {path}.")
        return self._put(path, content.replace(args["old"], args["new"]))

    def _glob(self, args: Mapping[str, Any]) -> Outcome:
        pattern = args["pattern"]
        shapes = {pattern, pattern.replace("**/", "")}
        found = [p for p in sorted(self.files) if any(fnmatch.fnmatch(p, s) for s in shapes)]
        return Outcome(True, "\n".join(found) or f"No file matches {pattern}.")

    def _grep(self, args: Mapping[str, Any]) -> Outcome:
        expression = re.compile(args["pattern"])
        lines: list[str] = []
        seen: dict[str, str] = {}
        for path in sorted(self.files):
            if path.startswith(args.get("path") or ""):
                for number, line in enumerate(self.files[path].splitlines(), 1):
                    if expression.search(line):
                        lines.append(f"{path}:{number}: {line}")
                        seen[path] = _hash(self.files[path])
        return Outcome(True, "\n".join(lines) or "No line matches.", read=seen)

    async def _behind(self, tool: str, args: Mapping[str, Any]) -> Outcome:
        there = self._sandbox.background.setdefault(self._workspace, {})
        if tool == "bash":
            id = f"bg-{len(there) + 1:08x}"
            self._known = await self.digest()
            printed: list[str] = []
            there[id] = _Running(asyncio.create_task(self._bash(args["command"], printed)), printed)
            return Outcome(True, f"It runs in the background as {id}.")
        one = there.get(args["id"])
        if one is None:
            return Outcome(False, f"There is no {args['id']}. There are: {', '.join(there)}.")
        if tool == "kill" and not one.task.done():
            one.is_killed = one.task.cancel()
        elif args.get("wait_s"):
            await asyncio.wait({one.task}, timeout=args["wait_s"])
        now = await self.digest()
        changed, self._known = now != self._known, now
        return replace(one.news(), changed=changed)

    async def _bash(self, command: str, told: list[str] | None = None) -> Outcome:
        told = [] if told is None else told
        if command in self._answers:
            return self._answers[command]
        before = dict(self.files)
        code = 0
        for part in re.split(r";|&&", command):
            text, code, is_over = await self._word(shlex.split(part))
            told.append(text)
            if is_over:
                break
        return Outcome(code == 0, "".join(told), changed=before != self.files, exit_code=code)

    async def _word(self, words: list[str]) -> tuple[str, int, bool]:
        """What it prints, its exit code, and whether the command ends with it."""
        match words:
            case []:
                return "", 0, False
            case ["echo", *rest, (">" | ">>") as how, path]:
                place = self._place(path)
                kept = self.files.get(place, "") if how == ">>" else ""
                self._put(place, kept + " ".join(rest) + "\n")
                return "", 0, False
            case ["echo", *rest]:
                return " ".join(rest) + "\n", 0, False
            case ["cat", path]:
                return self._file(self._place(path))[1], 0, False
            case ["rm", path]:
                return "", 0 if self.files.pop(self._place(path), None) is not None else 1, False
            case ["cd", path]:
                self._directory = posixpath.join(self._directory, path)
                return "", 0, False
            case ["pwd"]:
                return self._directory + "\n", 0, False
            case ["sleep", seconds]:
                await asyncio.sleep(float(seconds))
                return "", 0, False
            case ["true"]:
                return "", 0, False
            case ["false"]:
                return "", 1, False
            case ["exit", code]:
                return "", int(code), True
            case _:
                return f"bash: {words[0]}: command not found\n", 127, True

    def _file(self, path: str) -> tuple[str, str]:
        place = _within(path)
        if place not in self.files:
            raise ValueError(f"There is no {place}.")
        return place, self.files[place]

    def _put(self, path: str, content: str) -> Outcome:
        if not self._is_writable:
            raise ValueError(f"The workspace is read-only here, so {path} was not written.")
        changed = self.files.get(path) != content
        self.files[path] = content
        return Outcome(True, f"Wrote {path}.", changed=changed, read={path: _hash(content)})

    def _place(self, path: str) -> str:
        return _within(posixpath.join(self._directory, path))


def _within(path: str) -> str:
    if "\0" in path or ".." in path.split("/"):
        raise ValueError(f"{path!r} leads out of the workspace.")
    if path.startswith("/workspace/"):
        path = path.removeprefix("/workspace/")
    if path.startswith("/"):
        raise ValueError(f"{path!r} is outside the workspace.")
    return path


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
