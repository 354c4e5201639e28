"""A person at a pseudo-terminal: each prompt is answered once, in order."""

import os
import pty
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

REACTS_S: Final = 0.1
"""How long a person needs at least to answer a prompt."""


def on_a_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    answers: Sequence[tuple[str, str]],
    *,
    folder: Path | None = None,
    longest_s: float = 60.0,
) -> tuple[int, str]:
    """Run on a terminal; each (prompt, what is typed) is used once. The exit code and the screen."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(folder or Path.cwd())
        os.execvpe(command[0], list(command), dict(environment))
    told, waiting, looked = b"", list(answers), 0
    until = time.monotonic() + longest_s
    while time.monotonic() < until:
        ready, _, _ = select.select([screen], [], [], 0.2)
        if not ready:
            continue
        try:
            told += os.read(screen, 65536)
        except OSError:
            break
        if waiting and waiting[0][0].encode() in told[looked:]:
            looked = len(told)
            # Nobody is faster; a Ctrl-C between the prompt and the read waits for the next key.
            time.sleep(REACTS_S)
            os.write(screen, waiting.pop(0)[1].encode())
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    return os.waitstatus_to_exitcode(status), told.decode("utf-8", "replace")
