"""
A child that becomes a command: bash, with the limits and variables of the session.

Rule 1: what can be limited by the kernel is limited before the command runs.
Rule 2: a `fresh` command has nothing of those before, and leaves nothing for those after it; one in the
        background begins where the last one ended and leaves nothing.
"""

import os
import resource
import signal
from typing import Literal, NoReturn

from adapters.sandbox.inside.limits import Limits

_TAKEN_UP = """
[ -r "$HEADWAY_SHELL/variables" ] && . "$HEADWAY_SHELL/variables" 2>/dev/null
IFS= read -r -d '' __headway 2>/dev/null <"$HEADWAY_SHELL/directory" && cd -- "$__headway" 2>/dev/null
unset __headway
"""
_KEPT_AT_EXIT = """
__headway_keep() {
  { export -p >"$HEADWAY_SHELL/variables"; printf '%s\\0' "$PWD" >"$HEADWAY_SHELL/directory"; } 2>/dev/null
}
trap __headway_keep EXIT
"""
_ALL_USERS = "4294967295"
_RUN = 'eval "$1"\n'
KEPT = ("variables", "directory")
"""`exec`, or a trap on EXIT of the command's own, leaves the state as it was before."""

Manner = Literal["usual", "fresh", "background"]
_PROLOGUES = {"usual": _TAKEN_UP + _KEPT_AT_EXIT + _RUN, "background": _TAKEN_UP + _RUN}


class Launcher:
    """Makes children into commands."""

    def __init__(self, root: str, state: str, limits: Limits) -> None:
        self._root, self._state, self._limits = root, state, limits
        self._is_alone = os.getpid() == 1 and has_own_users()
        self.further: dict[str, str] = {}
        """Variables that every command has."""

    def start(self, command: str, manner: Manner) -> tuple[int, int]:
        """A child that runs `command`; its pid, and where its output can be read."""
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            self.become(command, manner, theirs)
        os.close(theirs)
        return pid, ours

    def become(self, command: str, manner: Manner, output: int) -> NoReturn:
        """Run `command` in place of this process, its output to `output`."""
        try:
            os.setsid()
            nothing = os.open("/dev/null", os.O_RDONLY)
            for fd, place in ((nothing, 0), (output, 1), (output, 2)):
                os.dup2(fd, place)
            self._limit()
            # Python ignores it; a command whose reader has gone should end without a word.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.chdir(self._root)
            environment = {**os.environ, **self.further}
            arguments = ["bash", "--noprofile", "--norc", "-c"]
            if manner == "fresh":
                arguments.append(command)
            else:
                arguments += [_PROLOGUES[manner], "bash", command]
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
        if self._is_alone:
            # Outside a user namespace of its own it would count the processes of the bot's whole
            # user, in whatever container they are.
            _lower(resource.RLIMIT_NPROC, 2 * limits.processes)


def has_own_users(about: str = "/proc/self/uid_map") -> bool:
    """Whether this is a user namespace of its own: one that is not has all users as they are."""
    try:
        with open(about, encoding="ascii") as file:
            return file.read().split() != ["0", "0", _ALL_USERS]
    except OSError:
        return False


def _lower(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(which, (limit, limit))
