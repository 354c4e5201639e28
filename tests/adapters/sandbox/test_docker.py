"""Containers: their command line word for word, and what a real engine makes of it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.docker import Containers, Engine
from adapters.sandbox.inside.limits import MIB, Limits
from bot.errors import NoSandbox
from bot.ports.sandbox import Session
from tests.adapters.sandbox.engine import containers
from tests.adapters.sandbox.escapes import ESCAPES
from tests.adapters.sandbox.prison import Prison, prison
from tests.adapters.sandbox.test_line import PAGE
from tests.adapters.sandbox.way import way
from tests.contracts.sandbox import bash, write

SMALL = Limits(memory_bytes=256 * MIB, processes=40, heartbeat_s=4.0)
ENGINE = Engine(("docker",), "image", is_podman=False, user="1000:1000")
OF_BUBBLEWRAP = {
    # What an engine shows of its own making, where bubblewrap shows nothing.
    "the network": "an engine writes a resolv.conf, which leads nowhere",
    "the accounts of the host": "an image has a /home",
    "becoming root": "a bot that runs as root is root there, too, without its capabilities",
    "kernel objects": "/sys is there, read-only and its firmware covered",
    "the host's control groups": "/sys/fs/cgroup is there, read-only",
    "private keys": "an image has an /etc/ssl",
    "writing the system": "/dev is private and in memory: see below",
    "kernel settings": "/proc has files that are covered: see below",
    "a setuid program": "as becoming root",
}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    sandbox = containers(tmp_path / "workspaces", limits=SMALL)
    opened = await sandbox.open("G1", "workspace")
    yield opened
    await opened.close()


def test_every_fence_stands_in_the_command_line() -> None:
    line = ENGINE.run("name", "/w/G1", "workspace", Limits(), "/s/proxy.sock")
    told = " ".join(line)

    for fence in (
        "docker run --rm --interactive --pull never --name name",
        "--network none",
        "--user 1000:1000",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--read-only",
        "--pids-limit 544",
        f"--memory {4096 * MIB} --memory-swap {4096 * MIB}",
        "--ulimit nofile=1024:1024",
        "type=bind,source=/w/G1,target=/workspace --mount",
        "type=bind,source=/s/proxy.sock,target=/run/proxy.sock,readonly",
    ):
        assert fence in told
    assert "--privileged" not in told
    assert "--tty" not in told
    assert "docker.sock" not in told


def test_what_only_reads_gets_a_workspace_that_cannot_be_written() -> None:
    line = " ".join(ENGINE.run("name", "/w/G1", "read_only", Limits()))

    assert "type=bind,source=/w/G1,target=/workspace,readonly" in line
    assert "proxy.sock" not in line


def test_a_folder_with_a_comma_is_refused_before_it_becomes_an_option() -> None:
    with pytest.raises(NoSandbox, match="comma"):
        ENGINE.run("name", "/w/a,readonly=false", "workspace", Limits())


def test_podman_without_root_keeps_the_user_s_id() -> None:
    engine = Engine(("podman",), "image", is_podman=True, user="1000:1000")

    assert "--userns keep-id" in " ".join(engine.run("n", "/w", "workspace", Limits()))


async def test_without_an_engine_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoSandbox, match="neither docker nor podman"):
        await Containers(tmp_path / "w", "image").check()


@pytest.mark.sandbox
async def test_an_image_that_is_not_there_is_said_with_its_mend(tmp_path: Path) -> None:
    found = containers(tmp_path / "w")
    sandbox = Containers(tmp_path / "w", "localhost/none:1", command=found._command)

    with pytest.raises(NoSandbox, match=r"pull localhost/none:1"):
        await sandbox.check()


@pytest.mark.sandbox
@pytest.mark.parametrize("escape", [name for name in ESCAPES if name not in OF_BUBBLEWRAP])
async def test_a_container_keeps_from(held: Prison, escape: str) -> None:
    outcome = await held.attempt(escape)
    after = await held.session.call("bash", {"command": "echo alive"}, timeout_s=20)

    assert "ESCAPED" not in outcome.text
    assert after.text == "alive"


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Prison]:
    async with prison(tmp_path, containers) as made:
        yield replace(made, python="/usr/bin/python3")


@pytest.mark.sandbox
async def test_the_system_of_a_container_cannot_be_written(session: Session) -> None:
    places = "/usr/x /etc/x /x /bin/x /var/x /headway/x /headway/adapters/sandbox/inside/server.py"
    kernel = "/proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/x"

    outcome = await bash(
        session, f"for f in {places} {kernel}; do echo x >> $f && echo WROTE $f; done; true"
    )

    assert "WROTE" not in outcome.text


@pytest.mark.sandbox
async def test_there_is_no_network_in_a_container(session: Session) -> None:
    outcome = await bash(
        session,
        "grep -c : /proc/net/dev; timeout 2 bash -c 'echo > /dev/tcp/169.254.169.254/80' && echo OUT; "
        "timeout 2 bash -c 'echo > /dev/udp/192.0.2.1/53' && echo OUT",
    )

    assert outcome.text.startswith("1\n")
    assert "OUT" not in outcome.text


@pytest.mark.sandbox
async def test_a_fork_bomb_in_a_container_dies_with_its_call(session: Session) -> None:
    started = time.monotonic()

    outcome = await bash(session, "f() { f | f & f | f & }; f; sleep 30", timeout_s=20)
    after = await bash(session, "echo on")

    assert not outcome.ok
    assert "40 processes" in outcome.text
    assert after.text == "on"
    assert time.monotonic() - started < 20


@pytest.mark.sandbox
async def test_a_container_s_memory_is_limited_as_a_whole(session: Session) -> None:
    program = "import time; x = bytearray(90 << 20); time.sleep(3); print('kept')"

    outcome = await bash(
        session, f'for i in 1 2 3 4 5; do /usr/bin/python3 -c "{program}" & done; wait'
    )

    assert outcome.text.splitlines().count("kept") < 5


@pytest.mark.sandbox
async def test_the_way_out_works_in_a_container(tmp_path: Path) -> None:
    async with way(tmp_path, {PAGE: b"plain\n"}, TOKEN="placeholder-1") as opened:
        sandbox = containers(tmp_path / "w")
        session = await sandbox.open("G1", "workspace", opened.line)
        outcome = await bash(session, f"echo $TOKEN; /usr/bin/curl -sS {PAGE}")
        await session.close()

    assert outcome.text.splitlines() == ["placeholder-1", "plain"]


@pytest.mark.sandbox
async def test_a_container_ends_with_its_client(tmp_path: Path) -> None:
    sandbox = containers(tmp_path / "workspaces", limits=SMALL)
    session = await sandbox.open("G1", "workspace")
    call = asyncio.create_task(bash(session, "(setsid sleep 9821 &) ; sleep 9821"))
    family = await _sleeping("9821", 2)
    pid = session.pid  # type: ignore[attr-defined]

    os.kill(pid, 9)
    outcome = await call
    for _ in range(200):
        if not any(one.is_running() for one in family):
            break
        await asyncio.sleep(0.1)
    await session.close()

    assert "not known" in outcome.text
    assert not [one for one in family if one.is_running()]


@pytest.mark.sandbox
async def test_the_files_of_a_container_are_the_bot_s_own(session: Session, tmp_path: Path) -> None:
    await write(session, "drafts/a.txt", "x")

    state = (tmp_path / "workspaces" / "G1" / "drafts" / "a.txt").stat()

    assert (state.st_uid, state.st_gid) == (os.getuid(), os.getgid())


async def _sleeping(seconds: str, many: int) -> list[psutil.Process]:
    for _ in range(300):
        every = psutil.process_iter(["cmdline"])
        found = [one for one in every if one.info["cmdline"] == ["sleep", seconds]]
        if len(found) >= many:
            return found
        await asyncio.sleep(0.05)
    pytest.fail("the commands do not run")
