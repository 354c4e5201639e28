"""The control socket: who may speak, and what it says to nonsense."""

import asyncio
import stat
from pathlib import Path

import pytest

from bot.errors import HeadwayError, Refused
from scheduler.control import LINE_LIMIT, SOCKET, Request, ask_owner, serving


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


async def test_an_error_of_the_owner_reaches_the_asker_as_its_sentence_and_exit_code(
    tmp_path: Path,
) -> None:
    async def refuse(request: Request) -> Request:
        raise Refused("G1 is complete. Reopen it.", code="final")

    async with serving(tmp_path, refuse):
        with pytest.raises(HeadwayError, match=r"G1 is complete\. Reopen it\.") as told:
            await ask_owner(tmp_path, {"do": "say"})

    assert told.value.exit_code == Refused.exit_code


async def test_a_defect_is_not_taken_for_a_request_that_nobody_can_read(tmp_path: Path) -> None:
    async def broken(request: Request) -> Request:
        raise ValueError("of ours")

    async with serving(tmp_path, broken):
        with pytest.raises(HeadwayError, match=r"a defect of its own \(ValueError\)"):
            await ask_owner(tmp_path, {"do": "say"})


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"[1]\n", b"\xff\xfe\n", b"\n", b"[" * 100_000 + b"\n"],
    ids=["words", "a list", "no UTF-8", "nothing", "a deep list"],
)
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


async def test_what_is_too_long_is_refused_on_both_sides(tmp_path: Path) -> None:
    async with serving(tmp_path, _echo):
        with pytest.raises(HeadwayError, match="longer than 1 MiB"):
            await ask_owner(tmp_path, {"do": "say", "text": "x" * LINE_LIMIT})
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET))
        writer.write(b"x" * (2 * LINE_LIMIT))

        answer = await reader.readline()

        writer.close()
    assert b"longer than 1 MiB" in answer


async def test_an_owner_that_dies_while_it_is_asked_is_nobody(tmp_path: Path) -> None:
    def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with await asyncio.start_unix_server(die, str(tmp_path / SOCKET)):
        answer = await ask_owner(tmp_path, {"do": "say", "text": "x" * 500_000})

    assert answer is None


async def _echo(request: Request) -> Request:
    return {"heard": request}
