"""The size of an image, from its first bytes. Pure; what it does not know is no image."""

import struct
from collections.abc import Iterator
from typing import Final

HEAD_BYTES: Final = 256 * 1024
"""So much of a JPEG may stand before its size (profiles, previews)."""
_JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})


def size_of_image(head: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels of a PNG, GIF, JPEG or WebP; None for anything else."""
    try:
        found = _png(head) or _gif(head) or _webp(head) or _jpeg(head)
    except (struct.error, IndexError):
        return None
    return found if found and all(0 < side < 1 << 24 for side in found) else None


def _png(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or head[12:16] != b"IHDR":
        return None
    return _pair(struct.unpack_from(">II", head, 16))


def _gif(head: bytes) -> tuple[int, int] | None:
    if head[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return _pair(struct.unpack_from("<HH", head, 6))


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            [bits] = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            sides = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
            return _pair(tuple(sides)) if len(head) >= 30 else None
        case _:
            return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    for marker, at in _segments(head):
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", head, at + 3)
            return width, height
    return None


def _segments(head: bytes) -> Iterator[tuple[int, int]]:
    """Each segment's marker, and where its length stands."""
    if head[:2] != b"\xff\xd8":
        return
    at = 2
    while at + 4 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        at += 2 if marker != 0xFF else 1
        if marker in _ALONE or marker == 0xFF:
            continue
        yield marker, at
        at += max(2, struct.unpack_from(">H", head, at)[0])


def _pair(sides: tuple[int, ...]) -> tuple[int, int]:
    width, height = sides
    return width, height
