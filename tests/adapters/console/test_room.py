"""The room's file, whole and torn, with one reader or several."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.console.parse import Edited, Line, Posted, SaidLine, Taken, read, room, written
from adapters.console.room import RoomFile
from bot.errors import StoreUnusable
from bot.ports.chat import Button, Incoming, Shape, Speaker

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=50)
SHAPES = st.builds(
    Shape,
    glyph=ANY_TEXT,
    word=ANY_TEXT,
    facts=st.lists(ANY_TEXT, max_size=3).map(tuple),
    body=ANY_TEXT,
    tasks=st.lists(st.tuples(ANY_TEXT, st.sampled_from(["open", "done"])), max_size=2).map(tuple),
    options=st.lists(ANY_TEXT, max_size=2).map(tuple),
    buttons=st.lists(st.builds(Button, ANY_TEXT, ANY_TEXT), max_size=2).map(tuple),
    state=ANY_TEXT,
)
TIMES = st.floats(0, 2e9)
LINES = st.one_of(
    st.builds(Taken, ANY_TEXT),
    st.builds(Posted, ANY_TEXT, ANY_TEXT, ANY_TEXT, SHAPES, TIMES, st.booleans()),
    st.builds(Edited, ANY_TEXT, ANY_TEXT, ANY_TEXT, SHAPES, TIMES, st.booleans()),
    st.builds(
        SaidLine,
        st.builds(
            Incoming,
            ANY_TEXT,
            ANY_TEXT.map(room),
            st.builds(Speaker, ANY_TEXT, ANY_TEXT),
            ANY_TEXT,
            TIMES,
            ANY_TEXT,
        ),
    ),
)


@given(LINES)
def test_a_line_reads_back_as_it_was_written(line: Line) -> None:
    text = written(line)

    assert text.isascii()
    assert "\n" not in text
    assert read(text) == line


@given(ANY_TEXT)
def test_a_damaged_line_is_skipped(text: str) -> None:
    assert read(text) is None
    assert read('{"kind": "said"}') is None
    assert read('{"kind": "from the future"}') is None


@given(cut=st.integers(0, 200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_line_cut_by_a_crash_costs_that_line_alone(tmp_path: Path, cut: int) -> None:
    path = tmp_path / f"cut{cut}.jsonl"
    path.unlink(missing_ok=True)
    RoomFile(path).append(Taken("first"), Taken("second"))
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    path.write_bytes(whole[: second + min(cut, len(whole) - second)])

    RoomFile(path).append(Taken("third"))

    ids = [line.id for line in RoomFile(path).news() if isinstance(line, Taken)]
    assert ids[0] == "first"
    assert ids[-1] == "third"


def test_a_reader_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    reader = RoomFile(path)
    line = (written(Taken("one")) + "\n").encode()
    path.write_bytes(line[:5])

    early = list(reader.news())
    path.write_bytes(line)

    assert early == []
    assert list(reader.news()) == [Taken("one")]
    assert list(reader.news()) == []


def test_several_readers_each_see_everything(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    first, second, writer = RoomFile(path), RoomFile(path), RoomFile(path)

    writer.append(Taken("one"))
    seen_by_first = list(first.news())
    writer.append(Taken("two"))

    assert [*seen_by_first, *first.news()] == [Taken("one"), Taken("two")]
    assert list(second.news()) == [Taken("one"), Taken("two")]


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "console" / "room.jsonl"

    RoomFile(path).append(Taken("one"))

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_is_said_with_the_mend() -> None:
    with pytest.raises(StoreUnusable, match="Free space on its disk"):
        RoomFile(Path("/dev/full")).append(Taken("one"))


@pytest.mark.process
def test_what_was_appended_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from adapters.console.parse import Taken
        from adapters.console.room import RoomFile
        file, number = RoomFile(Path(sys.argv[1])), 0
        while True:
            file.append(Taken(str(number)))
            print(number, flush=True)
            number += 1
        """
    )
    root = Path(__file__).resolve().parents[3]
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert writer.stdout is not None
    confirmed = [writer.stdout.readline().strip() for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    confirmed += writer.stdout.read().split()
    writer.stdout.close()
    writer.wait()

    ids = [line.id for line in RoomFile(path).news() if isinstance(line, Taken)]
    assert ids[: len(confirmed)] == confirmed
    assert len(ids) <= len(confirmed) + 1
