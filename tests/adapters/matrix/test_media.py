"""Files of a room, against a real homeserver and against people who use matrix-js-sdk."""

import asyncio
import copy
import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import nio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.files.blobs import BlobFolder
from adapters.matrix.errors import LoggedOut, NotMatrix
from adapters.matrix.media import described, fetch, upload
from bot.errors import BadInput, Refused, Wait
from bot.ports.chat import Attachment
from tests.contracts.files import pieces_of
from tests.peers.matrix_faults import Cut, Limited, MatrixFaults, Page, Revoked, faults
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.synapse import Synapse

MOST = 2_000_000
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d"
    "0000001549444154789c636060606060606060606060606000000019000103a5b40000000049454e44ae426082"
)
TEXT = "a,b\nü,2\n".encode() * 50_000
WAYS = pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])


@pytest.fixture(scope="module")
def proxy(synapse: Synapse) -> Iterator[MatrixFaults]:
    with faults(synapse.url) as proxy:
        yield proxy


@pytest.fixture
async def client(synapse: Synapse, proxy: MatrixFaults) -> AsyncIterator[nio.AsyncClient]:
    account = synapse.register("bot")
    config = nio.AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0)
    client = nio.AsyncClient(proxy.url, account.user_id, config=config)
    client.restore_login(account.user_id, account.device_id, account.token)
    yield client
    await client.close()


@pytest.fixture
def files(tmp_path: Path) -> BlobFolder:
    return BlobFolder(tmp_path / "files", most=MOST)


@pytest.fixture
async def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))


async def read(files: BlobFolder, file: Attachment) -> bytes:
    with await files.open(file.hash) as blob:
        return blob.read()


@WAYS
@pytest.mark.parametrize(
    ("name", "media_type", "data", "kind"),
    [
        ("report.csv", "text/csv", TEXT, "m.file"),
        ("dot.png", "image/png", PNG, "m.image"),
        ("broken.png", "image/png", b"no image", "m.file"),
        ("empty", "application/octet-stream", b"", "m.file"),
    ],
)
async def test_what_is_uploaded_is_fetched_as_it_was(
    client: nio.AsyncClient,
    files: BlobFolder,
    encrypted: bool,
    name: str,
    media_type: str,
    data: bytes,
    kind: str,
) -> None:
    content = await upload(client, data, name, media_type, encrypted=encrypted)

    file = await fetch(client, content, files)

    assert file == Attachment(name, media_type, len(data), hashlib.sha256(data).hexdigest())
    assert await read(files, file) == data
    assert content["msgtype"] == kind
    assert content["info"]["size"] == len(data)
    assert ("w" in content["info"]) is (kind == "m.image")
    assert ("url" in content) is not encrypted


async def test_what_the_homeserver_gets_for_an_encrypted_room_tells_nothing(
    client: nio.AsyncClient, files: BlobFolder
) -> None:
    content = await upload(client, TEXT, "secret plans.csv", "text/csv", encrypted=True)

    raw = await client.download(content["file"]["url"])
    assert isinstance(raw, nio.MemoryDownloadResponse)
    assert raw.body != TEXT
    assert len(raw.body) == len(TEXT)
    assert raw.filename != "secret plans.csv"
    assert raw.content_type == "application/octet-stream"


async def test_a_file_is_uploaded_from_where_it_is_kept(
    client: nio.AsyncClient, files: BlobFolder
) -> None:
    kept = await files.keep(pieces_of(TEXT))
    with await files.open(kept.hash) as file:
        file.read(10)
        content = await upload(client, file, "a.csv", "text/csv", encrypted=True)

    assert await read(files, await fetch(client, content, files)) == TEXT


@WAYS
async def test_people_with_another_client_get_and_give_files(
    client: nio.AsyncClient,
    synapse: Synapse,
    files: BlobFolder,
    ann: MatrixUser,
    encrypted: bool,
) -> None:
    room = await asyncio.to_thread(ann.create)

    sent = await asyncio.to_thread(
        ann.file, room, "theirs.csv", TEXT, "text/csv", encrypted=encrypted
    )
    await asyncio.to_thread(ann.until_said, room, "theirs.csv")
    theirs = await fetch(client, ann.seen[room][sent].content, files)
    ours = await upload(client, TEXT[::-1], "ours.bin", "text/csv", encrypted=encrypted)
    posted = await asyncio.to_thread(ann.send, room, "m.room.message", ours)
    await asyncio.to_thread(ann.until_said, room, "ours.bin")
    got = await asyncio.to_thread(ann.download, ann.seen[room][posted])

    assert (theirs.name, theirs.media_type) == ("theirs.csv", "text/csv")
    assert await read(files, theirs) == TEXT
    assert got == TEXT[::-1]


async def test_a_file_whose_hash_is_another_one_is_not_taken(
    client: nio.AsyncClient, files: BlobFolder, tmp_path: Path
) -> None:
    content = await upload(client, TEXT, "a.csv", "text/csv", encrypted=True)
    other = await upload(client, TEXT, "a.csv", "text/csv", encrypted=True)
    content["file"]["url"] = other["file"]["url"]

    with pytest.raises(BadInput, match="not what was sent"):
        await fetch(client, content, files)

    assert not [path for path in (tmp_path / "files").rglob("*") if path.is_file()]


@pytest.mark.parametrize("told", [None, 3, MOST + 1, "many", -1, True, 10**30])
async def test_what_is_too_large_is_refused_whatever_its_message_says(
    client: nio.AsyncClient, tmp_path: Path, told: object
) -> None:
    small = BlobFolder(tmp_path / "small", most=1_000)
    content = await upload(client, TEXT, "a.csv", "text/csv", encrypted=False)
    content["info"]["size"] = told

    with pytest.raises(BadInput, match=r"1\.0 KB"):
        await fetch(client, content, small)


async def test_a_file_that_is_not_there_is_refused(
    client: nio.AsyncClient, files: BlobFolder
) -> None:
    with pytest.raises(Refused) as refused:
        await fetch(client, {"body": "a.txt", "url": "mxc://localhost/none"}, files)

    assert refused.value.code == "M_NOT_FOUND"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Page(502), Wait),
        (Page(200), NotMatrix),
        (Cut("middle"), Wait),
        (Limited(retry_after_ms=900), Wait),
        (Revoked(), LoggedOut),
    ],
)
async def test_what_comes_in_place_of_a_file_is_waited_out(
    client: nio.AsyncClient,
    files: BlobFolder,
    proxy: MatrixFaults,
    fault: Any,
    error: type[Exception],
) -> None:
    content = await upload(client, TEXT, "a.csv", "text/csv", encrypted=False)
    proxy.next_times("media", fault)

    with pytest.raises(error):
        await fetch(client, content, files)

    if not isinstance(fault, Revoked):
        assert await read(files, await fetch(client, content, files)) == TEXT


@pytest.mark.parametrize(
    "fault", [Page(502), Page(200), Cut("before"), Cut("after"), Limited(900), Revoked()]
)
async def test_an_upload_that_meets_trouble_is_tried_again_later(
    client: nio.AsyncClient, files: BlobFolder, proxy: MatrixFaults, fault: Any
) -> None:
    proxy.next_times("media", fault)

    with pytest.raises(Wait):
        await upload(client, TEXT, "a.csv", "text/csv", encrypted=True)

    if not isinstance(fault, Revoked):
        content = await upload(client, TEXT, "a.csv", "text/csv", encrypted=True)
        assert await read(files, await fetch(client, content, files)) == TEXT


async def test_a_page_is_a_file_where_a_page_was_sent(
    client: nio.AsyncClient, files: BlobFolder
) -> None:
    page = b"<!doctype html><title>mine</title>"
    content = await upload(client, page, "page.html", "text/html", encrypted=False)

    assert await read(files, await fetch(client, content, files)) == page


async def test_a_login_page_that_calls_itself_an_image_is_not_taken(
    client: nio.AsyncClient, files: BlobFolder
) -> None:
    page = b"\n<HTML><form>Sign in to this network</form>"
    content = await upload(client, page, "photo.png", "image/png", encrypted=False)

    with pytest.raises(NotMatrix):
        await fetch(client, content, files)


SEALED = {
    "body": "a.txt",
    "file": {
        "url": "mxc://localhost/abc",
        "key": {"alg": "A256CTR", "k": "A" * 43, "kty": "oct"},
        "iv": "A" * 22,
        "hashes": {"sha256": "A" * 43},
    },
}


@pytest.mark.parametrize(
    "change",
    [
        {"file": {"url": "mxc://localhost/abc"}},
        {"file": {**SEALED["file"], "key": None}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "key": {"alg": "A128CBC", "k": "A" * 43}}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "iv": "A"}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "iv": 5}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "hashes": []}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "url": "http://127.0.0.1/a"}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "url": "mxc://localhost/../../a"}},  # type: ignore[dict-item]
        {"file": {**SEALED["file"], "url": None}},  # type: ignore[dict-item]
    ],
)
def test_a_malformed_description_is_refused_with_a_reason(change: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        described({**copy.deepcopy(SEALED), **change})


def test_a_whole_description_is_taken() -> None:
    told = described({**SEALED, "filename": "../b.txt", "info": {"thumbnail_url": "mxc://a/b"}})

    assert (told.name, told.media_type, told.size) == ("b.txt", "text/plain", None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
NAMES = st.sampled_from(["url", "file", "info", "body", "filename"])
INNER = st.dictionaries(
    st.sampled_from(["url", "key", "iv", "hashes", "size", "mimetype"]),
    JSON | st.just("mxc://a/b"),
)


@given(st.dictionaries(NAMES, JSON | INNER | st.just("mxc://a/b")))
def test_any_description_is_read_or_refused(content: dict[str, Any]) -> None:
    try:
        told = described(content)
    except BadInput:
        return

    assert told.url.startswith("mxc://")
    assert told.size is None or told.size >= 0
