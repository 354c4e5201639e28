"""
The tool server: takes calls from the bot, one at a time, and answers each with one frame.

Started as `python -I -S -c ... <settings as JSON>`; what it hears comes by descriptor 0, what it says goes by 1.
Whatever goes wrong inside a call is that call's result. When the bot is gone, everything ends.
"""

import base64
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from adapters.sandbox.inside import files, paths, processes, search, snapshot, transfer, tree
from adapters.sandbox.inside.attending import Attendant
from adapters.sandbox.inside.background import Background, as_told
from adapters.sandbox.inside.launch import KEPT, Launcher
from adapters.sandbox.inside.limits import FOLDERS, Limits
from adapters.sandbox.inside.link import NEWS, BotGone, Link, ready_of
from adapters.sandbox.inside.paths import Impossible
from adapters.sandbox.inside.processes import Family
from adapters.sandbox.inside.room import Room
from adapters.sandbox.inside.shell import Shell
from adapters.sandbox.inside.tail import cut_middle

_WHOLE_TREE_S = 120.0
_ANSWER_BYTES = 8 * 1024 * 1024
CERTIFICATES = "certificates.pem"
"""Beside the shell's state: the authorities that programs trust."""


class Server:
    """The tools over one workspace."""

    def __init__(self, root: str, state: str, limits: Limits, link: Link) -> None:
        self._root = os.path.realpath(root)
        self._limits = limits
        self._link, self._state = link, state
        self._family = family = Family()
        self._writer = files.Writer(self._root, limits)
        self._trees = snapshot.Trees(self._root, limits)
        self._launcher = Launcher(self._root, state, limits)
        room = Room(self._root, limits)
        self._background = Background(self._root, limits, family, self._launcher, room)
        self._background.tell = self._tell
        self._attendant = Attendant(link, family, self._background)
        self._shell = Shell(self._root, limits, self._launcher, self._attendant, family, room)
        self._signature = ""

    def serve(self) -> None:
        """Answer calls until the bot is gone; then everything has ended."""
        try:
            self._serve()
        finally:
            self._family.end_all()

    def _serve(self) -> None:
        while True:
            frame = self._link.next_call(self._background)
            answer = self._answer(frame)
            answer["text"] = cut_middle(answer.get("text", ""), self._limits.output_chars + 500)
            self._link.send({"id": frame["id"], **answer})

    def _answer(self, frame: dict[str, Any]) -> dict[str, Any]:
        tool, args = frame["tool"], frame["args"]
        try:
            return self._call(frame["id"], tool, args, frame["timeout_s"])
        except Impossible as refusal:
            return {"ok": False, "text": str(refusal)}
        except OSError as error:
            return {"ok": False, "text": paths.sentence(error, str(args.get("path", tool)))}
        except BotGone:
            raise
        except Exception as error:  # noqa: BLE001 - one call's defect must not end the session
            return {"ok": False, "text": f"{tool} failed inside: {type(error).__name__}: {error}"}

    def _call(self, call: int, tool: str, args: dict[str, Any], most_s: float) -> dict[str, Any]:
        root, limits = self._root, self._limits
        search_s = min(limits.search_s, most_s)
        if tool == "read":
            return files.read(root, limits, args)
        if tool == "write":
            return self._writer.write(args)
        if tool == "edit":
            return self._writer.edit(args)
        if tool in ("bash", "poll", "kill"):
            answer = self._command(call, tool, args, most_s)
            return {**answer, "background": self._background.states}
        if tool == "glob":
            return self._aside(call, lambda: search.glob(root, limits, args), search_s)
        if tool == "grep":
            return self._aside(call, lambda: search.grep(root, limits, args), search_s)
        if tool == "digest":
            return self._aside(call, lambda: {"ok": True, "text": tree.digest(root)}, _WHOLE_TREE_S)
        if tool == "hashes":
            return self._aside(call, lambda: self._hashes(args["paths"]), _WHOLE_TREE_S)
        if tool == "put":
            return transfer.put(root, self._writer, args)
        if tool == "place":
            return transfer.place(root, args)
        if tool == "take":
            return transfer.take(root, args)
        if tool == "snapshot":
            return self._trees.step(args)
        if tool == "held":
            return {"ok": self._background.is_held(args["id"]), "text": ""}
        if tool == "line":
            return self._take_line(args)
        raise Impossible(f"There is no tool {tool!r} in the sandbox.")

    def _command(self, call: int, tool: str, args: dict[str, Any], most_s: float) -> dict[str, Any]:
        lost = self._background.lost()
        try:
            if tool == "bash":
                run = self._begin if args.get("background") else self._run
                answer = run(call, args, most_s)
            else:
                answer = self._poll(call, args, most_s) if tool == "poll" else self._kill(args)
                found = tree.survey(self._root, self._limits)
                answer["changed"] = found.signature != self._signature
                self._signature = found.signature
        except Impossible as refusal:
            answer = {"ok": False, "text": str(refusal)}
        if lost:
            gone = f"[Gone with the sandbox in which they ran: {', '.join(lost)}]"
            answer["text"] = f"{gone}\n{answer['text']}"
        return answer

    def _run(self, call: int, args: dict[str, Any], most_s: float) -> dict[str, Any]:
        known = None if self._background.is_running else self._writer.known
        answer = self._shell.run(call, args, most_s, known)
        found = answer.pop("survey")
        self._writer.surveyed(None if self._background.is_running else found)
        self._signature = found.signature
        notes = self._background.endings()
        if notes:
            answer["text"] = "\n".join([answer["text"], *notes])
        return answer

    def _begin(self, call: int, args: dict[str, Any], most_s: float) -> dict[str, Any]:
        self._signature = tree.survey(self._root, self._limits).signature
        one = self._background.start(args["command"])
        self._writer.surveyed(None)
        return {"ok": True, "text": f"It runs in the background as {one.id}. See it with poll."}

    def _poll(self, call: int, args: dict[str, Any], most_s: float) -> dict[str, Any]:
        background, link = self._background, self._link
        one = background.get(args["id"])
        until = time.monotonic() + min(args.get("wait_s") or 0, self._limits.poll_s, most_s)
        while True:
            left = until - time.monotonic()
            pause = background.pause_s(max(0.0, left))
            ready = ready_of({link.fd, *background.fds()}, pause if not one.is_over else 0)
            link.check()
            if link.fd in ready:
                link.take()
            background.look(ready)
            if one.is_over or left <= 0 or link.is_cancelled(call):
                return as_told(one, one.news(), self._limits)

    def _kill(self, args: dict[str, Any]) -> dict[str, Any]:
        one = self._background.get(args["id"])
        was_over = one.is_over
        self._background.end(one, "killed")
        told = as_told(one, one.news(), self._limits)
        return {**told, "ok": True} if not was_over else told

    def _tell(self) -> None:
        self._link.post({"id": NEWS, "background": self._background.states})

    def _take_line(self, args: dict[str, Any]) -> dict[str, Any]:
        """Open the way out that the bot has given; before the first command."""
        from adapters.sandbox.inside import way

        opened = way.Way(args["socket"], args["port"])
        bundle = None
        if args["certificate"]:
            bundle = os.path.join(self._state, CERTIFICATES)
            way.write_bundle(bundle, args["certificate"])
        self._launcher.further = way.environment(opened.port, bundle, args["environment"])

        def tend() -> None:
            opened.keep()
            self._family.aide = opened.child

        self._shell.tend = self._background.tend = tend
        return {"ok": True}

    def _hashes(self, wanted: list[str]) -> dict[str, Any]:
        found: dict[str, str | None] = {}
        for path in wanted:
            try:
                found[path] = tree.file_hash(paths.resolve(self._root, path))
            except Impossible:
                found[path] = None
        return {"ok": True, "hashes": found}

    def _aside(
        self, call: int, work: Callable[[], dict[str, Any]], allowed_s: float
    ) -> dict[str, Any]:
        """Run `work` in a child, so that what never ends can be ended."""
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _work_and_exit(work, theirs)
        os.close(theirs)
        answer = bytearray()
        ending = self._attendant.attend(
            call,
            pid,
            ours,
            answer.extend,
            time.monotonic() + allowed_s,
            lambda: "too long" if len(answer) > _ANSWER_BYTES else None,
        )
        if ending.cause == "timeout":
            text = f"It took longer than {allowed_s:g} s and was ended. Narrow it."
            return {"ok": False, "text": text, "timed_out": True}
        if ending.cause != "ended" or ending.status != 0:
            return {"ok": False, "text": f"It was ended ({ending.cause})."}
        given: dict[str, Any] = json.loads(answer)
        return given


def _work_and_exit(work: Callable[[], dict[str, Any]], pipe: int) -> None:
    try:
        os.closerange(3, pipe)
        os.closerange(pipe + 1, 65_536)
        try:
            answer = work()
        except Impossible as refusal:
            answer = {"ok": False, "text": str(refusal)}
        with open(pipe, "wb") as file:
            file.write(json.dumps(answer).encode("ascii"))
        os._exit(0)
    finally:
        os._exit(1)


def _make_anew(state: str) -> None:
    with contextlib.suppress(OSError):
        os.mkdir(state)
    for kept in KEPT:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(state, kept))


def main() -> None:
    """Serve until the bot is gone, then end everything."""
    settings = json.loads(sys.argv[1])
    limits = Limits(**settings["limits"])
    os.umask(0o022)
    # Children get neither the bot's socket nor its log.
    link_fd, out_fd = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nothing, fd)
    processes.seclude()
    if settings["filter"]:
        processes.refuse_calls(base64.b64decode(settings["filter"]))
    link = Link(link_fd, out_fd, limits.heartbeat_s)
    root, state = settings["root"], settings["state"]
    if settings["writable"]:
        for folder in FOLDERS:
            with contextlib.suppress(OSError):
                os.mkdir(os.path.join(root, folder))
    _make_anew(state)
    try:
        link.send({"id": 0, "ok": True, "text": "ready"})
        os.dup2(nothing, 2)
        Server(root, state, limits, link).serve()
    except BotGone:
        return
