"""
`bash`: one command in a process group of its own, its directory and variables kept for the next.

Rule 1: a reader never holds more than the output limit, however much is printed.
Rule 2: when the command has ended, so has everything that it started.
Rule 3: a `fresh` one has nothing of those before, and leaves nothing for those after it.
"""

import os
import resource
import signal
import time
from collections.abc import Callable
from typing import Any

from adapters.sandbox.inside import processes
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.link import Link
from adapters.sandbox.inside.processes import Ending, Family
from adapters.sandbox.inside.tree import Survey, survey

_PROLOGUE = """
[ -r "$HEADWAY_SHELL/variables" ] && . "$HEADWAY_SHELL/variables" 2>/dev/null
IFS= read -r -d '' __headway 2>/dev/null <"$HEADWAY_SHELL/directory" && cd -- "$__headway" 2>/dev/null
unset __headway
__headway_keep() {
  { export -p >"$HEADWAY_SHELL/variables"; printf '%s\\0' "$PWD" >"$HEADWAY_SHELL/directory"; } 2>/dev/null
}
trap __headway_keep EXIT
eval "$1"
"""
KEPT = ("variables", "directory")
"""`exec`, or a trap on EXIT of the command's own, leaves the state as it was before."""


class Shell:
    """Runs commands for one session."""

    def __init__(self, root: str, state: str, limits: Limits, link: Link, family: Family) -> None:
        self._root = root
        self._state = state
        self._limits = limits
        self._link, self._family = link, family
        self.further: dict[str, str] = {}
        """Variables that every command has."""
        self.tend: Callable[[], None] = lambda: None
        """Looks after what serves the commands, before each and while it runs."""
        self._next_walk = 0.0

    def run(
        self, call: int, args: dict[str, Any], most_s: float, known: Survey | None
    ) -> dict[str, Any]:
        """Run one command; `known` is the workspace before it, where that is known.

        Raises:
            BotGone: the bot is silent.
        """
        limits = self._limits
        asked = min(args.get("timeout_s") or limits.call_s, limits.longest_call_s)
        allowed = min(asked, most_s)
        before = known or survey(self._root, limits)
        output = Tail(limits.output_chars)
        self.tend()
        pid, pipe = self._start(args["command"], is_fresh=args.get("fresh") is True)
        self._next_walk = time.monotonic() + 1.0
        ending = processes.attend(
            self._link,
            self._family,
            call,
            pid,
            pipe,
            output.take,
            time.monotonic() + allowed,
            self._guard,
        )
        after = survey(self._root, limits)
        text = _report(output.text(), ending, allowed)
        breach = after.breach(limits)
        if breach is not None and breach not in text:
            text = f"{text}\n[{breach}]"
        return {
            "ok": ending.status == 0 and breach is None,
            "text": text,
            "changed": before.signature != after.signature,
            "exit_code": ending.status,
            "timed_out": ending.cause == "timeout",
            "survey": after,
        }

    def _start(self, command: str, *, is_fresh: bool) -> tuple[int, int]:
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid:
            os.close(theirs)
            return pid, ours
        try:
            os.setsid()
            nothing = os.open("/dev/null", os.O_RDONLY)
            for fd, place in ((nothing, 0), (theirs, 1), (theirs, 2)):
                os.dup2(fd, place)
            self._limit()
            # Python ignores it; a command whose reader has gone should end without a word.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.chdir(self._root)
            arguments = ["bash", "--noprofile", "--norc", "-c"]
            arguments += [command] if is_fresh else [_PROLOGUE, "bash", command]
            environment = {**os.environ, **self.further}
            if not is_fresh:
                environment["HEADWAY_SHELL"] = self._state
            os.execvpe("bash", arguments, environment)  # noqa: S606
        except OSError as error:
            os.write(2, f"bash could not be started: {error}\n".encode())
        finally:
            os._exit(127)

    def _limit(self) -> None:
        limits = self._limits
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_FSIZE, limits.workspace_bytes)
        _lower(resource.RLIMIT_NOFILE, limits.open_files)
        _lower(resource.RLIMIT_DATA, limits.memory_bytes)
        # Runtimes reserve far more address space than they use; this only stops the absurd.
        _lower(resource.RLIMIT_AS, 16 * limits.memory_bytes)
        if os.getppid() == 1:
            # Counted within the sandbox's own user namespace; outside one it would count the
            # processes of the bot's whole user.
            _lower(resource.RLIMIT_NPROC, 2 * limits.processes)

    def _guard(self) -> str | None:
        self.tend()
        if len(self._family.living()) > self._limits.processes:
            return f"it ran more than {self._limits.processes} processes at once"
        now = time.monotonic()
        if now < self._next_walk:
            return None
        breach = survey(self._root, self._limits).breach(self._limits)
        # The walk may cost a twentieth of the time, no more.
        self._next_walk = time.monotonic() + max(1.0, 20 * (time.monotonic() - now))
        return breach


class Tail:
    """The first and the last half of an output, and how much lay between."""

    def __init__(self, most: int) -> None:
        # Four bytes are the longest character.
        self._most = most
        self._room = 2 * most
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def take(self, block: bytes) -> None:
        """Add what was printed."""
        fits = self._room - len(self._head)
        if fits > 0:
            self._head += block[:fits]
            block = block[fits:]
        self._tail += block
        if len(self._tail) > 2 * self._room:
            over = len(self._tail) - self._room
            self._dropped += over
            del self._tail[:over]

    def text(self) -> str:
        """What the agent gets to see."""
        head = self._head.decode("utf-8", "replace")
        tail = self._tail.decode("utf-8", "replace")
        if not self._dropped:
            return cut_middle((self._head + self._tail).decode("utf-8", "replace"), self._most)
        half = self._most // 2
        left_out = self._dropped + len(head[half:].encode()) + len(tail[:-half].encode())
        return f"{head[:half]}\n[... {left_out} bytes left out ...]\n{tail[-half:]}"


def cut_middle(text: str, most: int) -> str:
    """The text, or its first and last half with a note of what was left out between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _report(output: str, ending: Ending, allowed_s: float) -> str:
    notes = []
    if ending.cause == "timeout":
        notes.append(f"[ended after {allowed_s:g} s, with all it had started]")
    elif ending.cause == "cancelled":
        notes.append("[interrupted, and all it had started ended]")
    elif ending.cause != "ended":
        notes.append(f"[ended: {ending.cause}]")
    elif ending.status is not None and ending.status < 0:
        notes.append(f"[ended by signal {-ending.status}]")
    elif ending.status:
        notes.append(f"[exit code {ending.status}]")
    if ending.left_running:
        notes.append(f"[{ending.left_running} processes that it left running were ended]")
    return "\n".join([output.rstrip("\n"), *notes]) if output else "\n".join(notes) or "[no output]"


def _lower(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(which, (limit, limit))
