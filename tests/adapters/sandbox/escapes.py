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
    "killing the server": "kill -9 1; kill -STOP 1; kill -TERM 1; kill -9 -1; sleep 0.1; true",
    "stopping everything": "kill -STOP 1; kill -STOP -1; true",
}


def command(escape: str, *, state: str, bot: int, port: int, socket: str, python: str) -> str:
    """The command of one escape, with its targets filled in."""
    return ESCAPES[escape].format(
        state=state, bot=bot, port=port, socket=socket, python=python, planted=PLANTED
    )
