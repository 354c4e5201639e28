"""Files at the console: given with the next message, and laid out where a post says."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.console.connection import ConsoleChat
from adapters.console.parse import SaidLine, read, room, written
from adapters.console.room import RoomFile, room_path
from adapters.console.seat import Seat
from adapters.console.shelf import Shelf
from adapters.files.blobs import BlobFolder
from bot.chat.texts import Texts
from bot.errors import BadInput, Refused
from bot.ports.chat import Attachment, Incoming, Outgoing, Shape, Speaker
from tests.adapters.files.test_blobs import aged
from tests.doubles.clock import HandClock

ANN = Speaker("ann", "ann")
REPORT = Attachment("report.md", "text/markdown", 7, "1" * 64)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    files = BlobFolder(tmp_path / "files", most=1_000)
    return Shelf(files, tmp_path / "console" / "files")


@pytest.fixture
def console(tmp_path: Path, shelf: Shelf) -> ConsoleChat:
    return ConsoleChat(tmp_path, HandClock(), shelf=shelf)


@pytest.fixture
def seat(tmp_path: Path, console: ConsoleChat) -> Seat:
    async def say(text: str, thread: str, files: tuple[Attachment, ...] = ()) -> str:
        return await console.say(ANN, text, thread, files=files)

    assert console.shelf is not None
    made = Seat(RoomFile(room_path(tmp_path)), say, lambda text: False, Texts())
    made.attach, made.say_with = console.shelf.attach, say
    return made


def a_file(folder: Path, content: bytes = b"a,b\n", name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def said(folder: Path) -> list[Incoming]:
    lines = RoomFile(room_path(folder)).news()
    return [line.message for line in lines if isinstance(line, SaidLine)]


async def test_what_is_attached_goes_with_the_next_message_and_no_later_one(
    seat: Seat, tmp_path: Path
) -> None:
    told = await seat.typed(f"/attach {a_file(tmp_path)}")
    await seat.typed(f"/attach {a_file(tmp_path, name='two words.csv')}")
    await seat.typed("look at these")
    await seat.typed("and that is all")

    first, second = said(tmp_path)
    assert told == "table.csv (4 bytes) goes with what you say next."
    assert [file.name for file in first.files] == ["table.csv", "two words.csv"]
    assert second.files == ()


async def test_a_path_is_meant_from_where_somebody_sits(
    seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert "goes with" in await seat.typed("/attach table.csv")
    assert "goes with" in await seat.typed("/attach ~/table.csv")


@pytest.mark.parametrize("what", ["none", "folder", "pipe", "large", "device"])
async def test_what_is_no_file_to_give_is_told_and_goes_with_nothing(
    seat: Seat, tmp_path: Path, what: str
) -> None:
    path = tmp_path / what
    match what:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_bytes(b"x" * 1_001)
        case "device":
            path = Path("/dev/zero")
        case _:
            pass

    told = await seat.typed(f"/attach {path}")
    await seat.typed("hello")

    assert "goes with" not in told
    assert told.endswith((".", "here."))
    assert said(tmp_path)[0].files == ()


async def test_attach_alone_says_how(seat: Seat) -> None:
    assert "PATH" in await seat.typed("/attach")


async def test_the_files_of_a_message_are_kept_in_its_line() -> None:
    message = Incoming("m1", room(), ANN, "look", 1.0, files=(REPORT, replace(REPORT, name="b")))

    assert read(written(SaidLine(message))) == SaidLine(message)
    assert "files" not in written(SaidLine(replace(message, files=())))


@pytest.mark.parametrize("damaged", ['[{"name": 1}]', '"a"', "[5]", '[{"name":"a","size":"x"}]'])
def test_a_damaged_line_of_files_is_no_line(damaged: str) -> None:
    whole = written(SaidLine(Incoming("m1", room(), ANN, "look", 1.0)))

    assert read(f'{whole[:-1]}, "files": {damaged}}}') is None


async def test_a_post_says_where_its_file_lies_and_is_written_once(
    console: ConsoleChat, shelf: Shelf, tmp_path: Path
) -> None:
    file = await shelf.attach(str(a_file(tmp_path)))
    post = Outgoing("g1:file:3", room("t1"), Shape("📎", "table.csv"), files=(file,))

    first = await console.send(post)
    again = await console.send(post)

    assert first == again
    lines = room_path(tmp_path).read_text().splitlines()
    assert len(lines) == 1
    path = tmp_path / "console" / "files" / file.hash[:12] / "table.csv"
    assert str(path) in lines[0]
    assert path.read_bytes() == b"a,b\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_file_that_is_gone_is_refused(console: ConsoleChat) -> None:
    with pytest.raises(Refused):
        await console.send(Outgoing("k", room("t1"), Shape("📎", "a"), files=(REPORT,)))


async def test_what_lies_there_goes_when_nothing_names_it_any_more(
    shelf: Shelf, tmp_path: Path
) -> None:
    named = await shelf.attach(str(a_file(tmp_path, b"named")))
    gone = await shelf.attach(str(a_file(tmp_path, b"gone")))
    fresh = await shelf.attach(str(a_file(tmp_path, b"fresh")))
    kept, old = await shelf.lay_out(named), await shelf.lay_out(gone)
    aged(tmp_path / "console" / "files")
    new = await shelf.lay_out(fresh)

    async def names() -> set[str]:
        return {named.hash}

    await shelf.sweep(names)

    assert (kept.exists(), old.exists(), new.exists()) == (True, False, True)


async def test_a_name_leads_nowhere_else(shelf: Shelf, tmp_path: Path) -> None:
    file = await shelf.attach(str(a_file(tmp_path)))

    path = await shelf.lay_out(replace(file, name="../../../up.csv"))

    assert path == tmp_path / "console" / "files" / file.hash[:12] / "up.csv"


async def test_a_file_that_cannot_be_read_is_refused_with_the_mend(shelf: Shelf) -> None:
    with pytest.raises(BadInput, match="Check the path"):
        await shelf.attach("/nowhere/at/all")
