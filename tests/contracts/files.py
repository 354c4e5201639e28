"""What every keeper of files does."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable

import pytest

from bot.errors import BadInput, Refused
from bot.ports.files import Files, Kept

MOST = 1_000_000


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def cut_off(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    raise ConnectionError("cut")


async def read(files: Files, hash: str) -> bytes:
    with await files.open(hash) as file:
        return file.read()


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class FilesContract:
    """Subclasses give `files`, which takes MOST bytes, and `age`, after which all is old."""

    @pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x00\xff" * 100_000])
    async def test_what_is_kept_is_read_as_it_was(self, files: Files, content: bytes) -> None:
        kept = await files.keep(pieces_of(content[:5], content[5:]))

        assert kept == Kept(hash_of(content), len(content))
        assert await read(files, kept.hash) == content

    async def test_the_same_twice_is_one(self, files: Files) -> None:
        first, second = await asyncio.gather(
            files.keep(pieces_of(b"same")), files.keep(pieces_of(b"sa", b"me"))
        )

        assert first == second
        assert await read(files, first.hash) == b"same"

    async def test_what_is_too_large_is_refused_with_the_limit_and_not_kept(
        self, files: Files
    ) -> None:
        content = b"x" * (MOST + 1)

        with pytest.raises(BadInput, match="larger than"):
            await files.keep(pieces_of(content[:10], content[10:]))

        with pytest.raises(Refused):
            await files.open(hash_of(content))
        assert (await files.keep(pieces_of(content[1:]))).size == MOST

    async def test_what_is_cut_off_is_not_kept(self, files: Files) -> None:
        with pytest.raises(ConnectionError):
            await files.keep(cut_off(b"half"))

        with pytest.raises(Refused):
            await files.open(hash_of(b"half"))

    async def test_what_is_not_there_is_refused(self, files: Files) -> None:
        with pytest.raises(Refused) as refused:
            await files.open("0" * 64)

        assert refused.value.code == "file_gone"

    async def test_old_files_that_nothing_names_are_deleted_and_no_others(
        self, files: Files, age: Callable[[], None]
    ) -> None:
        named = await files.keep(pieces_of(b"named"))
        unnamed = await files.keep(pieces_of(b"unnamed"))
        again = await files.keep(pieces_of(b"kept again"))
        age()
        await files.keep(pieces_of(b"kept again"))
        fresh = await files.keep(pieces_of(b"fresh"))

        async def names() -> set[str]:
            return {named.hash}

        assert await files.sweep(names) == 1
        assert await files.sweep(names) == 0
        with pytest.raises(Refused):
            await files.open(unnamed.hash)
        for kept in (named, again, fresh):
            assert await read(files, kept.hash)

    async def test_a_sweep_with_nothing_old_asks_nobody(self, files: Files) -> None:
        await files.keep(pieces_of(b"fresh"))

        async def names() -> set[str]:
            raise AssertionError

        assert await files.sweep(names) == 0

    async def test_a_sweep_that_cannot_learn_the_names_deletes_nothing(
        self, files: Files, age: Callable[[], None]
    ) -> None:
        kept = await files.keep(pieces_of(b"named"))
        age()

        async def names() -> set[str]:
            raise ConnectionError("the database is away")

        with pytest.raises(ConnectionError):
            await files.sweep(names)
        assert await read(files, kept.hash) == b"named"
