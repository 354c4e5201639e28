"""
The program git, run on what the bot itself has made and on nothing else.

Rule 1: it reads no configuration but what stands here and what the bot wrote into its own bare repositories:
        not the machine's, not the user's, no hooks, no monitors, no filters, no helpers, no submodules.
Rule 2: it speaks https and http alone, follows no redirect, asks nobody, and goes to the address that was
        looked up before. A credential is for one host and lies in memory: in no argument, file or variable.
Rule 3: each run has an end: time, processor, memory and the size of a file.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.errors import BadInput
from bot.ports.mirrors import Credential

TIME_LIMIT_S: Final = 300.0
MEMORY_KB: Final = 4 * 1024 * 1024
"""Of address space: git maps packs whole."""
OUTPUT_BYTES: Final = 4 * 1024 * 1024
"""Of what is read of one run's output; the rest is thrown away."""
TOLD_CHARS: Final = 600
_MB: Final = 1024 * 1024

CONFIGURATION: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.alternateRefsCommand=:",
    "core.bigFileThreshold=16m",
    "core.packedGitLimit=256m",
    "core.logAllRefUpdates=false",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "http.followRedirects=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
    "http.proxy=",
    "transfer.fsckObjects=true",
    "transfer.credentialsInUrl=die",
    "fetch.recurseSubmodules=no",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    "submodule.recurse=false",
    "diff.external=",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=1",
    "init.templateDir=",
    "safe.bareRepository=all",
)
"""Whatever a repository's own configuration says: what is given on the command line wins."""
_ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "https:http",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "0",
}
_LIMITED: Final = 'ulimit -v "$1" && ulimit -t "$2" && ulimit -f "$3" && shift 3 && exec "$@"'
"""By a shell of ours: what a child sets for itself before it becomes git (POSIX: -f counts 512 bytes)."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A server's address, as it is reached: the URL without a credential, and where its host is."""

    url: str
    host: str
    port: int
    address: str
    credential: Credential | None = None

    @property
    def origin(self) -> str:
        """The beginning of the URL that a credential is for: scheme, host and port."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: its exit code, its output (cut), and the end of what it said of errors."""

    code: int
    out: bytes
    told: str


class Git:
    """Runs git."""

    def __init__(
        self, *, most_mb: int, time_limit_s: float = TIME_LIMIT_S, program: str = "git"
    ) -> None:
        """`most_mb`: of one file that is written, a pack say."""
        self._most_mb, self._time_limit_s, self._program = most_mb, time_limit_s, program

    async def run(
        self,
        *arguments: str,
        at: Path,
        remote: Remote | None = None,
        given: AsyncIterator[bytes] | None = None,
        ok: Sequence[int] = (0,),
        most: int = OUTPUT_BYTES,
    ) -> Done:
        """Run it to its end on a bare repository of ours.

        Args:
            at: the repository.
            remote: the server that the command speaks to.
            given: what it reads on its standard input.
            ok: exit codes that are none of an error.
            most: bytes of its output that are kept.

        Raises:
            BadInput: it failed, or took too long, with what it said.
        """
        with contextlib.ExitStack() as stack:
            secret = _in_memory(stack, remote.credential) if remote else None
            command = [*self._limits(), self._program, *_settings(remote, secret), *arguments]
            process = await self._start(command, at, secret)
            try:
                async with asyncio.timeout(self._time_limit_s):
                    out, told = await _attended(process, given, most)
            except TimeoutError:
                raise BadInput(
                    f"git {arguments[0]} took longer than {self._time_limit_s:g} s and was ended."
                ) from None
            finally:
                _end(process)
                await process.wait()
        code = process.returncode or 0
        if code not in ok:
            raise BadInput(f"git {arguments[0]} failed: {told or f'it ended with {code}'}")
        return Done(code, out, told)

    def _limits(self) -> list[str]:
        blocks = str(self._most_mb * _MB // 512)
        return [
            "/bin/sh",
            "-c",
            _LIMITED,
            "sh",
            str(MEMORY_KB),
            f"{self._time_limit_s:.0f}",
            blocks,
        ]

    async def _start(
        self, command: Sequence[str], at: Path, secret: int | None
    ) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                cwd="/",
                env={**_ENVIRONMENT, "GIT_DIR": str(at)},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=() if secret is None else (secret,),
                start_new_session=True,
            )
        except OSError as error:
            raise BadInput(
                f"git cannot be run here: {error.strerror}. Ask the operator."
            ) from error


def _settings(remote: Remote | None, secret: int | None) -> list[str]:
    found = list(CONFIGURATION)
    if remote is not None:
        address = f"[{remote.address}]" if ":" in remote.address else remote.address
        found.append(f"http.curloptResolve={remote.host}:{remote.port}:{address}")
    if remote is not None and secret is not None:
        # Read anew each time that it is opened; asked for by `get` alone, of this one host.
        give = f'!f() {{ test "$1" = get && cat /dev/fd/{secret}; }}; f'
        found.append(f"credential.{remote.origin}.helper={give}")
    return [part for one in found for part in ("-c", one)]


def _in_memory(stack: contextlib.ExitStack, credential: Credential | None) -> int | None:
    """A file that lies in memory alone, as git's helpers answer."""
    if credential is None:
        return None
    fd = os.memfd_create("credential", 0)
    stack.callback(os.close, fd)
    lines = f"username={credential.user or 'x-access-token'}\npassword={credential.password}\n"
    os.write(fd, lines.encode())
    return fd


async def _attended(
    process: asyncio.subprocess.Process, given: AsyncIterator[bytes] | None, most: int
) -> tuple[bytes, str]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    tasks = [
        asyncio.ensure_future(each)
        for each in (
            _read(process.stdout, most),
            _read(process.stderr, 64 * 1024),
            _give(process.stdin, given),
        )
    ]
    try:
        out, told, _ = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    await process.wait()
    return out or b"", (told or b"").decode("utf-8", "replace").strip()[-TOLD_CHARS:]


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    kept = bytearray()
    while block := await stream.read(65_536):
        kept += block[: max(0, most - len(kept))]
    return bytes(kept)


async def _give(stream: asyncio.StreamWriter, given: AsyncIterator[bytes] | None) -> bytes:
    # Where it has ended already, its exit code says why.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        if given is not None:
            async for piece in given:
                stream.write(piece)
                await stream.drain()
        stream.close()
        await stream.wait_closed()
    return b""


def _end(process: asyncio.subprocess.Process) -> None:
    """End it with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
