"""The control socket: who may speak, and what it says to nonsense."""

import asyncio
import stat
from pathlib import Path

import pytest

from bot.errors import HeadwayError, Refused
from scheduler.control import SOCKET, Request, ask_owner, serving


async def test_nobody_owns_an_empty_folder(tmp_path: Path) -> None:
    assert await ask_owner(tmp_path, {"do": "ping"}) is None


async def test_the_owner_answers(tmp_path: Path) -> None:
    async with serving(tmp_path, _echo):
        answer = await ask_owner(tmp_path, {"do": "ping", "text": "grüße\n"})

    assert answer == {"heard": {"do": "ping", "text": "grüße\n"}}


async def test_the_socket_is_its_owners_alone_and_goes_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, _echo):
        mode = stat.S_IMODE((tmp_path / SOCKET).stat().st_mode)

    assert mode == 0o600
    assert not (tmp_path / SOCKET).exists()


async def test_a_socket_left_by_a_killed_process_is_nobody(tmp_path: Path) -> None:
    server = await asyncio.start_unix_server(lambda r, w: w.close(), str(tmp_path / SOCKET))
    server.close()
    await server.wait_closed()

    assert await ask_owner(tmp_path, {"do": "ping"}) is None


async def test_a_state_folder_with_a_very_long_name_has_a_socket_too(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()

    async with serving(folder, _echo):
        answer = await ask_owner(folder, {"do": "ping"})

    assert answer == {"heard": {"do": "ping"}}


async def test_an_error_of_the_owner_reaches_the_asker_as_its_sentence(tmp_path: Path) -> None:
    async def refuse(request: Request) -> Request:
        raise Refused("G1 is complete. Reopen it.", code="final")

    async with serving(tmp_path, refuse):
        with pytest.raises(HeadwayError, match=r"G1 is complete\. Reopen it\."):
            await ask_owner(tmp_path, {"do": "say"})


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b"\xff\xfe\n", b"\n"])
async def test_nonsense_is_answered_and_the_next_request_is_served(
    tmp_path: Path, line: bytes
) -> None:
    async with serving(tmp_path, _echo):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET))
        writer.write(line + b'{"do": "ping"}\n')

        first, second = await reader.readline(), await reader.readline()

        writer.close()
    assert b"error" in first
    assert b"heard" in second


async def _echo(request: Request) -> Request:
    return {"heard": request}
