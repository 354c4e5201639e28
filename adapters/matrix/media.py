"""
Files of a Matrix room, both ways.

Rule 1: what a message says of its file is a stranger's word: the size counts as it comes, and the name
        is made safe by whoever uses it.
Rule 2: an encrypted file is taken only if the ciphertext has the hash that came with its key; of one
        that is not, a page in its place is not taken.
Rule 3: a file goes through piece by piece and is never held whole.
Rule 4: thumbnails are not looked at.
"""

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final
from urllib.parse import quote, urlsplit

import aiohttp
import nio
import unpaddedbase64
from Crypto.Cipher import AES
from Crypto.Util import Counter

from adapters.matrix.errors import NotMatrix, refusal, translated, unwrap
from adapters.matrix.images import HEAD_BYTES, size_of_image
from bot.errors import BadInput, Wait
from bot.ports.attached import ANY_TYPE, safe_name, safe_type, size_of
from bot.ports.chat import Attachment
from bot.ports.files import Files

Json = Mapping[str, Any]
Content = dict[str, Any]

PIECE_BYTES: Final = 256 * 1024
CONNECT_S: Final = 30.0
SILENT_S: Final = 60.0
"""A download of which nothing came for so long is tried again."""
LEAST_RATE: Final = 50_000
"""Bytes a second. What is slower is given up, and tried again."""
_PAGE: Final = "text/html"
_ALGORITHM: Final = "A256CTR"


@dataclass(frozen=True, slots=True)
class Described:
    """What a message says of its file. `size` is None where it does not say."""

    name: str
    media_type: str
    size: int | None
    url: str
    cipher: "Cipher | None" = None


@dataclass(frozen=True, slots=True)
class Cipher:
    """How a file was encrypted: AES-256 in counter mode, and the SHA-256 of what came of it."""

    key: bytes
    iv: bytes
    sha256: bytes


async def fetch(client: nio.AsyncClient, content: Json, files: Files) -> Attachment:
    """Fetch the file of a message, decrypted, and keep it.

    Args:
        content: of an `m.file`, `m.image`, `m.audio` or `m.video`.

    Raises:
        BadInput: it is too large, malformed, or not what was sent; the message says which.
        Refused: the homeserver has it not, or does not give it.
        Wait: the homeserver is out of reach, or a page of somebody else's answers in its place.
        StoreUnusable: it cannot be kept.
    """
    told = described(content)
    if told.size is not None and told.size > files.most:
        raise BadInput(
            f"It has {size_of(told.size)}, and a file may have {size_of(files.most)} here."
        )
    try:
        async with asyncio.timeout(SILENT_S + files.most / LEAST_RATE):
            async with _download(client, told) as pieces:
                opened = pieces if told.cipher is None else _decrypted(pieces, told.cipher)
                kept = await files.keep(opened)
    except TimeoutError as error:
        raise Wait(f"{told.name} comes too slowly. It is tried again.") from error
    return Attachment(told.name, told.media_type, kept.size, kept.hash)


async def upload(
    client: nio.AsyncClient, data: bytes | BinaryIO, name: str, media_type: str, *, encrypted: bool
) -> Content:
    """Upload a file; returns the content of the message that brings it, without any relation.

    Args:
        data: the whole of it; a file is read from its beginning.
        encrypted: the room is: what the homeserver gets is encrypted, and told no name or type.

    Raises:
        Refused: the homeserver takes no such file, such as M_TOO_LARGE.
        Wait: the homeserver is out of reach, or asks to wait.
    """
    file = io.BytesIO(data) if isinstance(data, bytes) else data
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    image = size_of_image(file.read(HEAD_BYTES)) if media_type.startswith("image/") else None
    with translated(f"{name} cannot be uploaded"):
        async with asyncio.timeout(SILENT_S + size / LEAST_RATE):
            response, keys = await client.upload(
                _from_the_beginning(file),
                content_type=media_type,
                filename=None if encrypted else name,
                encrypt=encrypted,
                filesize=size,
            )
    url = unwrap(response).content_uri
    info: Content = {"mimetype": media_type, "size": size}
    if image is not None:
        info |= {"w": image[0], "h": image[1]}
    content = {"msgtype": "m.file" if image is None else "m.image", "body": name, "filename": name}
    where = {"file": {**(keys or {}), "url": url}} if encrypted else {"url": url}
    return {**content, "info": info, **where}


def described(content: Json) -> Described:
    """What a message says of its file.

    Raises:
        BadInput: it names none, or how it was encrypted cannot be read.
    """
    info, file = _object(content.get("info")), content.get("file")
    named = content.get("filename")
    name = safe_name(str(named if isinstance(named, str) and named else content.get("body", "")))
    size = info.get("size")
    is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    sealed = _object(file)
    url = sealed.get("url") if sealed else content.get("url")
    if not isinstance(url, str) or _place(url) is None:
        raise BadInput("The message names no file of a homeserver.")
    return Described(
        name,
        safe_type(str(info.get("mimetype", "")), name),
        size if is_size else None,
        url,
        _cipher(sealed) if sealed else None,
    )


@asynccontextmanager
async def _download(
    client: nio.AsyncClient, told: Described
) -> AsyncIterator[AsyncIterator[bytes]]:
    place = _place(told.url)
    assert place is not None
    server, media = (quote(part, safe="") for part in place)
    path = f"/_matrix/client/v1/media/download/{server}/{media}"
    headers = {"Authorization": f"Bearer {client.access_token}"}
    limits: Any = aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=SILENT_S)
    what = f"{told.name} cannot be fetched"
    with translated(what):
        answer = await client.send("GET", path, None, headers, None, limits)
    try:
        await _refuse_no_file(answer, told, what)
        yield _pieces(answer, told, what)
    finally:
        answer.close()


async def _refuse_no_file(answer: aiohttp.ClientResponse, told: Described, what: str) -> None:
    """Raise what the answer says in place of a file, where it does."""
    if answer.status != 200:
        with translated(what):
            try:
                said = await answer.json()
            except (ValueError, aiohttp.ContentTypeError):
                said = None
        raise refusal(answer.status, said, answer.headers)
    is_page = answer.content_type == _PAGE and told.media_type != _PAGE
    if is_page and told.cipher is None:
        raise NotMatrix(f"{what}: a page came in its place (HTTP 200). It is tried again.")


async def _pieces(
    answer: aiohttp.ClientResponse, told: Described, what: str
) -> AsyncIterator[bytes]:
    announced = answer.content_length if "Content-Encoding" not in answer.headers else None
    come = 0
    stream = answer.content.iter_chunked(PIECE_BYTES)
    while True:
        with translated(what):
            piece = await anext(stream, b"")
        if not piece:
            break
        if not come and told.cipher is None and _looks_like_a_page(piece, told):
            raise NotMatrix(f"{what}: a page came in its place (HTTP 200). It is tried again.")
        come += len(piece)
        yield piece
    if announced is not None and come != announced:
        raise NotMatrix(f"{what}: it was cut off. It is tried again.")


async def _decrypted(pieces: AsyncIterator[bytes], cipher: Cipher) -> AsyncIterator[bytes]:
    start = int.from_bytes(cipher.iv[8:], "big")
    counter = Counter.new(64, prefix=cipher.iv[:8], initial_value=start)
    aes, hash = AES.new(cipher.key, AES.MODE_CTR, counter=counter), hashlib.sha256()
    async for piece in pieces:
        hash.update(piece)
        yield await asyncio.to_thread(aes.decrypt, piece)
    if hash.digest() != cipher.sha256:
        raise BadInput("It is not what was sent: its hash is another one.")


def _from_the_beginning(file: BinaryIO) -> Callable[[int, int], AsyncIterator[bytes]]:
    """What nio asks for the bytes; asked again, they begin again."""

    async def pieces() -> AsyncIterator[bytes]:
        file.seek(0)
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece

    return lambda limited, timed_out: pieces()


def _looks_like_a_page(piece: bytes, told: Described) -> bool:
    """A page of a network that wants a log-in first, whatever type it says it has."""
    if told.media_type in (_PAGE, "application/xhtml+xml", "image/svg+xml"):
        return False
    begins = piece[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    is_text = told.media_type.startswith("text/") or told.media_type == ANY_TYPE
    return not is_text and begins.startswith((b"<!doctype html", b"<html"))


def _place(url: str) -> tuple[str, str] | None:
    """The server and the id in an `mxc://` URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    media = parts.path.removeprefix("/")
    is_one = parts.scheme == "mxc" and parts.netloc and media and "/" not in media
    return (parts.netloc, media) if is_one and url.isprintable() else None


def _cipher(file: Json) -> Cipher:
    try:
        key, hashes = _object(file.get("key")), _object(file.get("hashes"))
        if key.get("alg") != _ALGORITHM:
            raise ValueError("another algorithm")
        told = (key["k"], file["iv"], hashes["sha256"])
        parts = [unpaddedbase64.decode_base64(one) for one in told]
        cipher = Cipher(*parts)
        if [len(part) for part in parts] != [32, 16, 32]:
            raise ValueError("another length")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput("How it was encrypted cannot be read, so it was not taken.") from error
    return cipher


def _object(given: object) -> Json:
    return given if isinstance(given, Mapping) else {}
