"""The room's file, whole and torn, with one reader or several."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.console.parse import Edited, Line, Posted, SaidLine, Taken, read, room, written
from adapters.console.render import clean
from adapters.console.room import RoomFile
from bot.errors import StoreUnusable
from bot.ports.chat import Button, Incoming, Shape, Speaker
from bot.ports.plain import plain

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


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("kind", "id", "key", "thread", "at", "shape", "speaker", "text", "silent", "reply_to")
PARTS = (*Shape.__slots__, "name", "id", "verb", "label")


@given(LINES, st.sampled_from(FIELDS), st.sampled_from(PARTS), JSONS)
def test_a_line_with_anything_in_a_field_is_read_or_skipped(
    line: Line, field: str, part: str, given: object
) -> None:
    row = json.loads(written(line))
    inside = row.get("shape", row.get("speaker"))

    row[field] = given
    whole = read(json.dumps(row))
    if inside is not None:
        inside[part] = given
    deep = read(json.dumps(row))

    for found in (whole, deep):
        if isinstance(found, Posted | Edited):
            assert plain(found.shape) is not None
            clean(found.shape)
        if isinstance(found, SaidLine):
            datetime.fromtimestamp(found.message.at, UTC)
        assert found is None or read(written(found)) == found


@pytest.mark.parametrize("at", ["1" + "0" * 400, "1e400", "NaN", "-1", "1e300"])
def test_a_time_that_is_none_makes_a_damaged_line(at: str) -> None:
    line = '{"kind": "said", "id": "x", "thread": "", "speaker": {"id": "a", "name": "a"}'

    assert read(f'{line}, "text": "hi", "at": 5}}') is not None
    assert read(f'{line}, "text": "hi", "at": {at}}}') is None


def test_a_line_of_a_hundred_thousand_brackets_is_skipped() -> None:
    assert read("[" * 100_000) is None


def test_a_line_longer_than_any_is_skipped_and_those_around_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.console.room.LINE_MOST", 100)
    path = tmp_path / "room.jsonl"
    reader = RoomFile(path)
    RoomFile(path).append(Taken("one"), Taken("x" * 450))

    before = list(reader.news())
    RoomFile(path).append(Taken("two"))

    assert before == [Taken("one")]
    assert list(reader.news()) == [Taken("two")]


@pytest.mark.parametrize("most", [10, 10_000])
def test_a_file_that_was_replaced_or_cut_is_read_from_its_beginning(
    tmp_path: Path, most: int
) -> None:
    path = tmp_path / "room.jsonl"
    reader = RoomFile(path)
    RoomFile(path).append(*(Taken(str(number)) for number in range(20)))
    list(reader.news())

    path.unlink()
    gone = list(reader.news())
    RoomFile(path).append(*(Taken("new") for _ in range(most)))
    replaced = list(reader.news())
    os.truncate(path, 0)
    RoomFile(path).append(Taken("after the cut"))

    assert gone == []
    assert len(replaced) == most
    assert list(reader.news()) == [Taken("after the cut")]


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
