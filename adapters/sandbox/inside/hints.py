"""What a command ran into, where only the kernel knows it: told from what the command printed at its end."""

from adapters.sandbox.inside.limits import MIB, Limits

_LAST_CHARS = 2_000
_KILLED = (-9, 137)


def hints(printed: str, status: int | None, limits: Limits) -> list[str]:
    """A line for each limit that a failed command seems to have hit, and what to do about it."""
    if not status:
        return []
    end = printed[-_LAST_CHARS:]
    memory, room = limits.memory_bytes // MIB, limits.tmp_bytes // MIB
    told = {
        ("Too many open files",): f"a process may have {limits.open_files} files open; close some",
        ("MemoryError", "Cannot allocate memory", "out of memory", "bad_alloc", "OutOfMemory"): (
            f"a process may use {memory} MiB of memory; work on smaller pieces"
        ),
        ("fork: retry", "Resource temporarily unavailable", "can't start new thread"): (
            f"there may be {limits.processes} processes at once; start fewer side by side"
        ),
        ("No space left on device",): (
            f"the folder for temporary files holds {room} MiB, and the machine's disk may be full; delete what is "
            "not needed, and put large files into the workspace"
        ),
        ("File too large", "File size limit exceeded"): (
            f"a file may have {limits.workspace_bytes // MIB} MiB, as much as the whole workspace"
        ),
    }
    found = [hint for signs, hint in told.items() if any(sign in end for sign in signs)]
    if status in _KILLED and not found:
        found.append(
            f"it was killed, most often as it used more than {memory} MiB of memory; work on smaller pieces"
        )
    return [f"[limit: {hint}]" for hint in found]
