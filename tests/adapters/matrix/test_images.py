"""The size of images, from their first bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix.images import size_of_image

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe1" + struct.pack(">H", 10) + b"profiles"
    + b"\xff\xff\xc2" + struct.pack(">HBHHB", 17, 8, 480, 640, 3)
)  # fmt: skip
LOSSY = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480)
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0" + b"\0" * 4 + b"\x7f\x02\x00\xdf\x01\x00"


@pytest.mark.parametrize("head", [PNG, GIF, JPEG, LOSSY, LOSSLESS, EXTENDED])
def test_the_size_is_read_and_of_a_cut_image_it_is_none(head: bytes) -> None:
    assert size_of_image(head) == (640, 480)
    assert all(size_of_image(head[:end]) is None for end in range(len(head) - 4))


@pytest.mark.parametrize(
    "head", [b"", b"no image", b"<svg width='640'/>", PNG[:16] + bytes(8), b"\xff\xd8\xff"]
)
def test_what_is_no_image_has_no_size(head: bytes) -> None:
    assert size_of_image(head) is None


@given(
    st.binary(), st.sampled_from([b"", PNG[:8], GIF[:6], b"\xff\xd8", LOSSY[:16], EXTENDED[:16]])
)
def test_any_bytes_have_a_size_or_none(rest: bytes, head: bytes) -> None:
    found = size_of_image(head + rest)

    assert found is None or all(side > 0 for side in found)
