"""
A filter that refuses system calls no agent's command needs, where `pyseccomp` is installed.

It is a second wall: namespaces, dropped capabilities and the read-only view stand without it.
"""

import os

_REFUSED = (
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "personality",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "reboot",
    "request_key",
    "setns",
    "swapoff",
    "swapon",
    "umount2",
    "unshare",
    "userfaultfd",
)
_NEW_NAMESPACES = (
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
)
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put words into the terminal's mouth."""


def program() -> bytes | None:
    """The filter as a BPF program, or None where it cannot be made here."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):
        return None
    refuse = pyseccomp.ERRNO(1)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in _REFUSED:
        try:
            rules.add_rule(refuse, name)
        except (OSError, ValueError, RuntimeError):
            # A library older than the system call does not know it; the other walls do.
            continue
    for flag in _NEW_NAMESPACES:
        rules.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # Its flags are behind a pointer; "not known" makes the C library take `clone` instead.
    rules.add_rule(pyseccomp.ERRNO(38), "clone3")
    for request in _TERMINAL_INPUT:
        rules.add_rule(refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    fd = os.memfd_create("filter")
    with open(fd, "wb+", buffering=0) as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
