"""Server-sent events out of bytes, however they were cut."""

import itertools
import json
from typing import Any

import pytest
from anthropic._streaming import SSEDecoder
from hypothesis import given
from hypothesis import strategies as st

from adapters.claude.sse import EventReader


def read(*chunks: bytes) -> list[dict[str, Any]]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_an_event_is_whole_at_its_blank_line() -> None:
    reader = EventReader()

    assert reader.feed(b'event: a\ndata: {"type":') == []
    assert reader.feed(b'"a"}\n') == []
    assert reader.feed(b'\nevent: b\ndata: {"type":"b"}\n\n') == [{"type": "a"}, {"type": "b"}]


def test_comments_ids_and_events_without_data_are_passed_over() -> None:
    sent = b': hello\n\nid: 1\nretry: 5\n\nevent: x\n\nid: 2\ndata:{"type":"a"}\n\n'

    assert read(sent) == [{"type": "a"}]


def test_lines_of_data_are_joined() -> None:
    assert read(b'data: {"type":\ndata: "a"}\n\n') == [{"type": "a"}]


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(json.JSONDecodeError):
        read(b"data: <html>\n\n")


values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    events=st.lists(
        st.fixed_dictionaries({"type": st.text(min_size=1), "value": values}), max_size=6
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    is_ascii=st.booleans(),
)
def test_events_are_the_same_however_they_are_cut_and_as_the_sdk_reads_them(
    events: list[dict[str, Any]], end: str, cuts: list[int], is_ascii: bool
) -> None:
    written = "".join(
        f"event: x{end}data: {json.dumps(event, ensure_ascii=is_ascii)}{end}{end}"
        for event in events
    ).encode("utf-8", "replace")
    places = sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    chunks = [written[a:b] for a, b in itertools.pairwise(places)]

    # A last CR may be half of a CRLF: the bytes after it tell.
    got = read(*chunks, b"\n" if end == "\r" else b"")

    assert got == [json.loads(sse.data) for sse in SSEDecoder().iter_bytes(iter([written]))]
