"""Every number of a sandbox, in one value that both sides of the wall hold."""

from typing import NamedTuple

MIB = 1024 * 1024
FOLDERS = ("drafts", "artifacts", "notes", "checkouts", "cache", "tmp")
"""A workspace's folders. `cache` and `tmp` are scratch: no change there is a change of it."""
SCRATCH = ("cache", "tmp")


class Limits(NamedTuple):
    """What one session may use."""

    output_chars: int = 30_000
    """Characters of one result that reach the agent; the middle of a longer one is cut."""
    read_bytes: int = 16 * MIB
    """The largest file that `read`, `edit` and `grep` open."""
    read_lines: int = 2_000
    """Lines that `read` gives when no limit is named."""
    search_s: float = 20.0
    """Time for one `glob` or `grep`."""
    search_results: int = 500
    workspace_bytes: int = 1024 * MIB
    workspace_entries: int = 200_000
    tmp_bytes: int = 256 * MIB
    disk_reserve_bytes: int = 256 * MIB
    """What must stay free on the machine's disk; below it nothing is written and commands end."""
    memory_bytes: int = 4096 * MIB
    """Private memory of each process, and where a cgroup can be made, of all of a session."""
    processes: int = 256
    open_files: int = 1_024
    call_s: float = 120.0
    """Time of one command when the call names none."""
    longest_call_s: float = 600.0
    background: int = 8
    """Commands that run in the background at once."""
    background_s: float = 24 * 3600.0
    """The longest that one may run."""
    background_processes: int = 128
    """Processes of one of them."""
    poll_s: float = 30.0
    """The longest that `poll` waits."""
    heartbeat_s: float = 20.0
    """Everything inside ends when nothing was heard from the bot for so long."""
