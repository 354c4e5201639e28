"""What somebody said is taken out of the room's file, where it stands."""

import json
from dataclasses import replace
from pathlib import Path

from adapters.console.blanking import ConsoleTraces, blanked, forgotten, take_out
from adapters.console.parse import Line, Posted, SaidLine, Taken, room
from adapters.console.room import RoomFile
from bot.ports.chat import Incoming, Shape, Speaker
from bot.ports.forgetting import Known, Spot, Trail
from bot.ports.words import Words

ANN, BEN = Speaker("ann-x1", "ann-x1"), Speaker("ben", "ben")
SHAPE = Shape("⏳", "Working", ("G1",), body="find mrk-one", goal="g1", state="working")
LINES: tuple[Line, ...] = (
    SaidLine(Incoming("m1", room(), ANN, "/goal find mrk-one", 1.0)),
    Taken("m1"),
    Posted("p1", "g1:status:3", "m1", SHAPE, 2.0, True),
    SaidLine(Incoming("m2", room("m9"), BEN, "as ann-x1 said: mrk-two it is", 3.0)),
    Posted("p2", "g9:settle", "m9", replace(SHAPE, body="boats", notes=("mrk-two it is",)), 4.0),
    Posted("p3", "reply:m1", "", Shape("", "", body="- **G1** find mrk-one"), 5.0),
)
TRAIL = Trail(
    Known("p1", "console", ANN.id, ANN.name),
    own=(Spot("s1", room("m1")),),
    goals=("g1",),
    messages=frozenset({"m1"}),
    words=Words((ANN.id,), ("mrk-two it is",)),
)


def filled(folder: Path) -> Path:
    path = folder / "room.jsonl"
    folder.mkdir(exist_ok=True)
    RoomFile(path).append(*LINES)
    return path


def test_a_line_keeps_its_place_and_its_length(tmp_path: Path) -> None:
    path = filled(tmp_path)
    before = path.read_bytes().split(b"\n")

    count = blanked(path, forgotten(TRAIL, ""))

    after = path.read_bytes().split(b"\n")
    assert count == 5
    assert [len(line) for line in after] == [len(line) for line in before]
    assert all(mark not in path.read_bytes() for mark in (b"mrk", b"ann-x1"))


def test_others_lines_lose_the_words_alone_and_posts_still_tell_the_state(tmp_path: Path) -> None:
    path = filled(tmp_path)

    blanked(path, forgotten(TRAIL, ""))

    lines = list(RoomFile(path).news())
    assert len(lines) == len(LINES)
    assert isinstance(lines[2], Posted)
    assert lines[2].shape == replace(SHAPE, body="")
    assert isinstance(lines[3], SaidLine)
    assert (lines[3].message.speaker, lines[3].message.text) == (BEN, "as * said: *")
    assert isinstance(lines[4], Posted)
    assert (lines[4].shape.body, lines[4].shape.notes) == ("boats", ("",))


def test_a_rehearsal_counts_and_changes_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path)
    before = path.read_bytes()

    counted = blanked(path, forgotten(TRAIL, ""), is_dry=True)

    assert (counted, path.read_bytes()) == (5, before)
    assert blanked(path, forgotten(TRAIL, "")) == counted
    assert blanked(path, forgotten(TRAIL, "")) == 0


def test_whoever_reads_meanwhile_stays_where_they_are(tmp_path: Path) -> None:
    path = filled(tmp_path)
    reader = RoomFile(path)
    assert len(list(reader.news())) == len(LINES)

    blanked(path, forgotten(TRAIL, ""))
    RoomFile(path).append(Taken("m2"))

    assert list(reader.news()) == [Taken("m2")]


def test_a_damaged_line_that_holds_something_becomes_blanks(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"kind": "said", "text": "mrk-two it is\n{"harmless": 1\n')

    blanked(path, forgotten(TRAIL, ""))

    assert b"mrk" not in path.read_bytes()
    assert path.read_bytes().endswith(b'\n{"harmless": 1\n')


def test_a_message_that_is_taken_back_goes_with_what_repeats_it_in_its_thread(
    tmp_path: Path,
) -> None:
    path = filled(tmp_path)
    elsewhere = Posted("p4", "g7:status:1", "m7", SHAPE, 6.0)
    RoomFile(path).append(elsewhere)

    take_out(path, "m1")

    lines = list(RoomFile(path).news())
    assert isinstance(lines[0], SaidLine)
    assert (lines[0].message.text, lines[0].message.speaker) == ("", ANN)
    assert isinstance(lines[2], Posted)
    assert lines[2].shape.body == ""
    assert lines[6] == elsewhere


def test_a_taking_back_that_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    whole = filled(tmp_path / "a")
    take_out(whole, "m1")
    cut = filled(tmp_path / "b")
    rows = cut.read_bytes().split(b"\n")
    half = [json.dumps(json.loads(row)).encode() if row else row for row in rows]
    half[2] = whole.read_bytes().split(b"\n")[2]
    cut.write_bytes(b"\n".join(half))

    take_out(cut, "m1")

    assert list(RoomFile(cut).news()) == list(RoomFile(whole).news())


async def test_people_of_other_networks_have_said_nothing_here(tmp_path: Path) -> None:
    path = filled(tmp_path)
    elsewhere = replace(TRAIL, person=replace(TRAIL.person, network="slack"))

    assert await ConsoleTraces(path).take(elsewhere) == []
    assert await ConsoleTraces(tmp_path / "none").take(TRAIL) == []
