"""
Commands that try to get out of the sandbox, standard library only.

Each prints ESCAPED when it has got where it should not. `{state}` is the bot's folder with a
database and another goal's workspace in it, `{bot}` the bot's pid, `{port}` a port on which
somebody listens on the loopback, `{socket}` a Unix socket of the host.
"""

PLANTED = "planted-secret-7f3a"
"""What stands in the bot's database, its environment and the other workspace."""

ESCAPES = {
    "the database": "cat '{state}/headway.db' && echo ESCAPED",
    "another goal's workspace": (
        "cat '{state}/workspaces/other/notes.txt' ../other/notes.txt && echo ESCAPED; "
        "ls '{state}/workspaces' && echo ESCAPED"
    ),
    "a secret anywhere below the top": (
        "grep -rlsI {planted} /etc /run /tmp /dev/shm /workspace && echo ESCAPED"
    ),
    "the bot's environment": (
        "{{ env; cat /proc/*/environ | tr '\\0' '\\n'; }} | grep -q {planted} && echo ESCAPED"
    ),
    "the bot's process": "[ -e /proc/{bot} ] && grep -q headway-bot /proc/{bot}/cmdline && echo ESCAPED",
    "more processes than our own": '[ "$(ls /proc | grep -c "^[0-9]")" -gt 12 ] && echo ESCAPED',
    "the server's memory": "head -c 1 /proc/1/mem && echo ESCAPED; cat /proc/1/maps && echo ESCAPED",
    "the server's files": "ls -l /proc/1/fd && echo ESCAPED; cd /proc/1/root && echo ESCAPED",
    "the accounts of the host": "cat /etc/shadow && echo ESCAPED; [ -d /home ] && ls /home && echo ESCAPED",
    "private keys": "ls /etc/ssl/private /etc/ssh ~root/.ssh && echo ESCAPED",
    "writing the system": (
        "for f in /usr/x /etc/x /x /run/x /dev/x /usr/local/x /run/headway/adapters/x; do "
        "echo x > $f && echo ESCAPED; done"
    ),
    "changing the server's code": (
        "echo x >> /run/headway/adapters/sandbox/inside/server.py && echo ESCAPED"
    ),
    "kernel settings": (
        # Each of these would be harmless to the host even if it could be written.
        "for f in /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger; "
        "do echo x > $f && echo ESCAPED; done; "
        "find /proc -maxdepth 2 -not -path '/proc/[0-9]*' -not -path '/proc/self*' "
        "-not -path '/proc/thread-self*' -type f -writable 2>/dev/null | grep . && echo ESCAPED"
    ),
    "kernel objects": "ls /sys/kernel && echo ESCAPED; head -c 1 /proc/kcore && echo ESCAPED",
    "mounting": "mkdir -p m; mount -t tmpfs none m && echo ESCAPED; umount /tmp && echo ESCAPED",
    "a mount made writable": "mount -o remount,rw / && echo ESCAPED; mount -o remount,rw /usr && echo ESCAPED",
    "new namespaces": "unshare -U true && echo ESCAPED; unshare -Urm true && echo ESCAPED",
    "another namespace": "nsenter -t 1 -m true && echo ESCAPED",
    "a device": "mknod d b 8 0 && echo ESCAPED; mknod c c 1 1 && echo ESCAPED; ls /dev/sda /dev/vda /dev/mem && echo ESCAPED",
    "a hard link outwards": "ln /usr/bin/env linked && echo ESCAPED; ln /etc/passwd p && echo ESCAPED",
    "becoming root": "su -c true && echo ESCAPED; sudo -n true && echo ESCAPED; [ $(id -u) = 0 ] && echo ESCAPED",
    "capabilities": "grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v '0000000000000000' && echo ESCAPED",
    "new privileges": "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo ESCAPED",
    "the loopback of the host": "(echo > /dev/tcp/127.0.0.1/{port}) && echo ESCAPED",
    "the metadata address": "timeout 2 bash -c 'echo > /dev/tcp/169.254.169.254/80' && echo ESCAPED",
    "the network": (
        "timeout 2 bash -c 'echo > /dev/udp/192.0.2.1/53' && echo ESCAPED; "
        "[ $(grep -c : /proc/net/dev) -gt 1 ] && echo ESCAPED; [ -s /etc/resolv.conf ] && echo ESCAPED"
    ),
    "a socket of the host": (
        '{python} -c \'import socket; s = socket.socket(socket.AF_UNIX); s.connect("{socket}"); '
        'print("ESCAPED")\''
    ),
    "an abstract socket of the host": (
        "{python} -c 'import socket; s = socket.socket(socket.AF_UNIX); "
        's.connect(b"\\0headway-{port}"); print("ESCAPED")\''
    ),
    "the network by name": (
        "timeout 3 getent hosts example.com && echo ESCAPED; "
        "timeout 3 bash -c 'echo > /dev/tcp/metadata.google.internal/80' && echo ESCAPED"
    ),
    "a packet of one's own": (
        "{python} -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"ESCAPED\")'; "
        "{python} -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"ESCAPED\")'"
    ),
    "the host's control groups": "ls /sys/fs/cgroup/*/* && echo ESCAPED; mount -t cgroup2 c /tmp && echo ESCAPED",
    "tracing the server": (
        "{python} -c 'import ctypes; print(\"ESCAPED\" if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0 else 0)'"
    ),
    "reading the server from aside": (
        "{python} -c 'import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(8); "
        "v = (ctypes.c_void_p * 2)(ctypes.addressof(b), 8); r = (ctypes.c_void_p * 2)(0x400000, 8); "
        'print("ESCAPED" if c.process_vm_readv(1, v, 1, r, 1, 0) > 0 else 0)\''
    ),
    "taking the server's files": (
        "{python} -c 'import ctypes, os; c = ctypes.CDLL(None); p = os.pidfd_open(1); "
        '[print("ESCAPED") for n in range(20) if c.syscall(438, p, n, 0) >= 0]\''
    ),
    "a link to what is outside": (
        "ln -s '{state}/headway.db' link; cat link && echo ESCAPED; ln -s /proc/1/root root; "
        "ls root/ && echo ESCAPED; ln -s /proc/1/environ e; cat e && echo ESCAPED"
    ),
    "a hard link to another goal": "ln ../other/notes.txt n && echo ESCAPED; ln '{state}/headway.db' d && echo ESCAPED",
    "the terminal of the host": "[ -t 0 ] && echo ESCAPED; cat /dev/tty && echo ESCAPED; ls /dev/console && echo ESCAPED",
    "the kernel's log": "dmesg && echo ESCAPED; head -c 1 /dev/kmsg && echo ESCAPED",
    "the keyring of the host": (
        "{python} -c 'import ctypes; c = ctypes.CDLL(None); "
        'print("ESCAPED" if c.syscall(250, 10, -3, b"user", b"{planted}", 0) > 0 else 0)\''
    ),
    "a setuid program": "cp /bin/bash b; chmod u+s b; [ $(./b -p -c 'id -u') = 0 ] && echo ESCAPED",
    "outliving its call": "(setsid nohup bash -c 'trap \"\" TERM HUP INT; sleep 0.5; echo ESCAPED > later' &) ; true",
    "what it left": "sleep 1; cat later",
    "killing the server": "kill -9 1; kill -STOP 1; kill -TERM 1; kill -9 -1; sleep 0.1; true",
    "stopping everything": "kill -STOP 1; kill -STOP -1; true",
}


def command(escape: str, *, state: str, bot: int, port: int, socket: str, python: str) -> str:
    """The command of one escape, with its targets filled in."""
    return ESCAPES[escape].format(
        state=state, bot=bot, port=port, socket=socket, python=python, planted=PLANTED
    )
