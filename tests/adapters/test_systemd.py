"""What a service manager hears, over a real socket."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters import systemd


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def asked(manager: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(manager.getsockname()), **more}


def test_a_state_arrives(manager: socket.socket) -> None:
    assert systemd.tell(systemd.READY, asked(manager))

    assert manager.recv(100) == b"READY=1"


def test_without_a_manager_nothing_happens(tmp_path: Path) -> None:
    assert not systemd.tell(systemd.READY, {})
    assert not systemd.tell(systemd.READY, {"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert not systemd.tell(systemd.READY, {"NOTIFY_SOCKET": "vsock:2:1"})


def test_an_abstract_name_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0headway-test-{os.getpid()}")
        listening.settimeout(5)

        assert systemd.tell("STOPPING=1", {"NOTIFY_SOCKET": f"@headway-test-{os.getpid()}"})

        assert listening.recv(100) == b"STOPPING=1"


def test_a_manager_that_does_not_read_holds_nothing_up(manager: socket.socket) -> None:
    told = [systemd.tell(systemd.ALIVE, asked(manager)) for _ in range(1000)]

    assert told[0]
    assert not told[-1]


async def test_a_loop_that_runs_gives_signs_of_life(manager: socket.socket) -> None:
    environ = asked(manager, WATCHDOG_USEC="40000")

    async with systemd.signs_of_life(environ):
        heard = [await asyncio.to_thread(manager.recv, 100) for _ in range(3)]

    assert set(heard) == {b"WATCHDOG=1"}


@pytest.mark.parametrize("more", [{}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "9", "WATCHDOG_PID": "1"}])  # fmt: skip
async def test_where_no_sign_is_asked_for_none_is_given(
    manager: socket.socket, more: dict[str, str]
) -> None:
    manager.setblocking(False)

    async with systemd.signs_of_life(asked(manager, **more)):
        await asyncio.sleep(0.02)

    with pytest.raises(BlockingIOError):
        manager.recv(100)
