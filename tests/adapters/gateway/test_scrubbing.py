"""Secrets taken out of a stream: with white space inside, wherever its pieces end, soon enough, and from all of a body."""

import gzip
import json
import secrets
import time
import zlib

import pytest

from adapters.gateway.placing import Held
from adapters.gateway.scrubbing import Scrubber, Unpacking
from adapters.gateway.verdicts import Denied

WORD = b"headway_word"
LINES = [secrets.token_urlsafe(48) for _ in range(26)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "-----END PRIVATE KEY-----", ""])


def scrubber(value: str) -> Scrubber:
    return Scrubber((Held("NAME", WORD, value.encode()),))


def streamed(value: str, text: bytes, size: int) -> bytes:
    made = scrubber(value)
    said = [made.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join([*said, made.feed(b"", is_last=True)])


@pytest.mark.parametrize(
    "value", ['corr"ect horse battery', "line1-secret\nline2-secret", "a b&c d secret"]
)
def test_a_value_with_white_space_is_found_as_it_is_written(value: str) -> None:
    for text in (json.dumps({"a": value}), value, f"<p>{value}</p>", value.replace(" ", "\n  ")):
        assert value.rsplit(maxsplit=1)[-1] not in scrubber(value).whole(text.encode()).decode()


@pytest.mark.parametrize("size", [1, 7, 100, 65_536])
@pytest.mark.parametrize("value", ["ghp_0123456789abcdefghij", KEY, "pass word 1234"])
def test_a_value_is_found_wherever_pieces_end(value: str, size: int) -> None:
    before, after = b"x y\n" * 700, b" z\n" * 900

    said = streamed(value, before + value.encode() + after + value.encode(), size)

    assert said.split() == (before + WORD + after + WORD).split()


def test_what_holds_no_value_passes_as_it_is() -> None:
    text = secrets.token_bytes(300_000) + b" " * 300_000 + b"\n"

    assert streamed(KEY, text, 65_536) == text


def test_a_value_over_much_white_space_is_found() -> None:
    value = "ghp_0123456789abcdefghij"
    text = f"{value[:9]}{' ' * 100_000}{value[9:]}".encode()

    assert streamed(value, text, 4096) == WORD


@pytest.mark.parametrize("size", [100, 65_536])
def test_a_long_value_costs_no_minutes(size: int) -> None:
    text = (b'{"name": "value", "url": "https://api.example/x/y"},\n' * 80_000)[: 4 * 1024 * 1024]
    text = text[: 40 * 4096] if size == 100 else text
    begun = time.process_time()

    assert streamed(KEY, text, size) == text

    assert time.process_time() - begun < 2


def unpacked(coding: bytes, body: bytes, size: int) -> bytes:
    made = Unpacking(coding, "h")
    said = [part for at in range(0, len(body), size) for part in made.feed(body[at : at + size])]
    return b"".join([*said, *made.end()])


@pytest.mark.parametrize("size", [1, 10, 65_536])
def test_all_parts_of_a_compressed_body_are_unpacked(size: int) -> None:
    large = b"y" * 1_000_000
    body = gzip.compress(b"one ") + gzip.compress(large) + b"\0\0" + gzip.compress(b"two") + b"\0"

    assert unpacked(b"gzip", body, size) == b"one " + large + b"two"
    assert unpacked(b"deflate", zlib.compress(large), size) == large


@pytest.mark.parametrize("size", [1, 65_536])
def test_a_compressed_body_that_breaks_off_is_broken(size: int) -> None:
    for body in (gzip.compress(b"one ")[:-3], gzip.compress(b"one") + b"garbage"):
        with pytest.raises(Denied):
            unpacked(b"gzip", body, size)


def test_a_compressed_body_that_is_empty_is_empty() -> None:
    assert unpacked(b"gzip", b"", 1) == b""
