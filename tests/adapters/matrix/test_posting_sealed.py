"""What is said in encrypted rooms, as the server has it and as a client that is not the bot's reads it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import nio
import pytest
import pytest_asyncio

from bot.errors import Refused, Wait
from bot.ports.chat import Attachment, Place
from tests.adapters.matrix.posting_bed import (
    ENCRYPTED,
    Poster,
    a_result,
    a_status,
    again,
    in_thread,
    poster,
)
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.synapse import Synapse


@pytest_asyncio.fixture
async def bot(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Poster]:
    async with poster(synapse, tmp_path / "nio") as there:
        yield there


@pytest_asyncio.fixture
async def ann(bot: Poster, matrix_people: People) -> MatrixUser:
    return await asyncio.to_thread(matrix_people.login, bot.synapse, bot.ann)


async def a_room(bot: Poster, ann: MatrixUser) -> Place:
    room = await asyncio.to_thread(ann.create, encrypted=True, invite=[bot.account.user_id])
    await bot.join(room)
    await asyncio.to_thread(ann.until_member, room, bot.account.user_id)
    return Place("matrix", bot.account.user_id, room)


async def test_a_result_in_a_thread_is_read_by_another_client_and_by_nobody_else(
    bot: Poster, ann: MatrixUser
) -> None:
    place = await a_room(bot, ann)
    root = await asyncio.to_thread(ann.text, place.room, "!goal mend it")
    thread = in_thread(place, root)

    await bot.posting.send(a_result(thread, "g1:settle", "It is **done**.", ann.user_id))

    seen = await asyncio.to_thread(ann.until_said, place.room, "It is done.")
    assert (seen.encrypted, seen.msgtype, seen.thread) == (True, "m.text", root)
    assert "<strong>done</strong>" in seen.html
    assert seen.mentions == [ann.user_id]
    assert [event["type"] for event in bot.events(place.room)] == ["m.room.encrypted"]
    assert "done" not in str(bot.events(place.room)[0]["content"])


async def test_a_status_is_edited_in_place(bot: Poster, ann: MatrixUser) -> None:
    place = await a_room(bot, ann)

    remote = await bot.posting.send(a_status(place, "g1:status:1", "looking"))
    await bot.posting.send(a_status(place, "g1:status:2", "", edits=remote, word="Evaluating"))

    seen = await asyncio.to_thread(ann.until_said, place.room, "Evaluating")
    assert (seen.id, seen.edited, seen.msgtype) == (remote, True, "m.notice")
    assert {event["type"] for event in bot.events(place.room)} == {"m.room.encrypted"}


async def test_what_was_sent_is_found_by_its_key_also_after_a_restart(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with poster(synapse, tmp_path / "nio") as before:
        place = await before.room(encrypted=True)
        remote = await before.posting.send(a_result(place, "g1:settle", "Done."))
        found_before = await before.posting.find(place, "g1:settle")

    async with again(synapse, tmp_path / "nio", before.account, before.ann) as after:
        found_after = await after.posting.find(place, "g1:settle")
        missing = await after.posting.find(place, "g1:settle:2")
        second = await after.posting.send(a_result(place, "g1:settle", "Done."))

        assert found_before == found_after == remote == second
        assert missing is None
        assert len(after.events(place.room)) == 1


async def test_a_text_that_is_too_long_once_encrypted_is_an_encrypted_file(
    bot: Poster, ann: MatrixUser
) -> None:
    place = await a_room(bot, ann)
    whole = "First.\n\n" + "Ж line\n" * 4000

    await bot.posting.send(a_result(place, "g1:settle", whole))

    text = await asyncio.to_thread(ann.until_said, place.room, "result.md.")
    file = await asyncio.to_thread(
        ann.until_seen, place.room, lambda seen: seen.msgtype == "m.file"
    )
    assert text.encrypted
    assert file.encrypted
    assert "url" not in file.content
    assert await asyncio.to_thread(ann.download, file) == whole.encode()


@pytest.mark.parametrize("letter", ["a", "Ж", "<", "\U0001f600"])
async def test_a_text_of_any_letters_is_taken_whole_or_as_a_file(bot: Poster, letter: str) -> None:
    place = await bot.room(encrypted=True)

    for size in (3_000, 5_000, 10_000, 15_000, 20_000, 27_000):
        body = "\n".join(letter * 100 for _ in range(size // 100))
        assert await bot.posting.send(a_result(place, f"g1:{size}", body))


@pytest.mark.parametrize("letter", ["a", "<", "\U0001f600"])
async def test_a_status_of_any_length_and_letters_is_taken(bot: Poster, letter: str) -> None:
    place = await bot.room(encrypted=True)
    status = a_status(place, "g1:status:1", letter * 9_000)
    shape = replace(
        status.shape,
        body=letter * 60_000,
        tasks=((letter * 3_000, "open"),) * 500,
        notes=(letter * 9_000,) * 2,
    )

    remote = await bot.posting.send(replace(status, shape=shape))
    edit = replace(status, key="g1:status:2", edits=remote, shape=replace(shape, word="Waiting"))

    assert await bot.posting.send(edit) == remote


async def test_who_comes_later_reads_what_is_said_then(
    bot: Poster, ann: MatrixUser, matrix_people: People
) -> None:
    place = await a_room(bot, ann)
    await bot.posting.send(a_result(place, "g1:before", "Said before."))
    ben = await asyncio.to_thread(matrix_people.login, bot.synapse, bot.synapse.register("ben"))
    await asyncio.to_thread(ann.invite, place.room, ben.user_id)
    await asyncio.to_thread(ben.join, place.room)

    await bot.sync()
    await bot.posting.send(a_result(place, "g1:after", "Said after."))

    seen = await asyncio.to_thread(ben.until_said, place.room, "Said after.")
    assert seen.encrypted


async def test_a_new_device_of_somebody_reads_what_is_said_then(
    bot: Poster, ann: MatrixUser, matrix_people: People
) -> None:
    place = await a_room(bot, ann)
    await bot.posting.send(a_result(place, "g1:before", "Said before."))

    second = await asyncio.to_thread(matrix_people.login, bot.synapse, bot.ann, signs=False)
    await bot.sync()
    await bot.posting.send(a_result(place, "g1:after", "Said after."))

    assert await asyncio.to_thread(second.until_said, place.room, "Said after.")


@pytest.mark.parametrize("what", ["keys/claim", "sendToDevice", "keys/query", "joined_members"])
async def test_keys_that_cannot_be_given_are_waited_for_and_nothing_is_said_meanwhile(
    bot: Poster, ann: MatrixUser, what: str
) -> None:
    place = await a_room(bot, ann)

    if what == "keys/query":
        bot.client.users_for_key_query.add(ann.user_id)

    async with refusing(bot.client, what):
        for _ in range(2):
            with pytest.raises(Wait):
                await bot.posting.send(a_result(place, "g1:settle", "Done."))
    said_meanwhile = bot.events(place.room)
    await asyncio.wait_for(bot.posting.send(a_result(place, "g1:settle", "Done.")), 10)

    assert said_meanwhile == []
    assert await asyncio.to_thread(ann.until_said, place.room, "Done.")


@asynccontextmanager
async def refusing(client: nio.AsyncClient, path: str) -> AsyncIterator[None]:
    """The homeserver is out of reach for what has this in its path."""
    send = client.send

    async def refused(method: str, url: str, *args: object, **further: object) -> object:
        if path in url:
            raise ConnectionResetError
        return await send(method, url, *args, **further)

    client.send = refused
    try:
        yield
    finally:
        client.send = send


async def test_without_keys_of_its_own_the_bot_says_nothing(bot: Poster) -> None:
    place = await bot.room(encrypted=True)
    bot.client.olm = None

    with pytest.raises(Refused, match="headway matrix login"):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))

    assert bot.events(place.room) == []


async def test_a_client_that_takes_the_room_for_one_in_clear_encrypts_all_the_same(
    bot: Poster,
) -> None:
    place = await bot.room(encrypted=True)
    bot.client.rooms[place.room].encrypted = False

    with pytest.raises(Wait):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))
    await bot.posting.send(a_result(place, "g1:settle", "Done."))

    assert {event["type"] for event in bot.events(place.room)} == {"m.room.encrypted"}


async def test_a_file_is_not_uploaded_in_clear_once_the_room_is_encrypted(bot: Poster) -> None:
    place = await bot.room()
    lines = "Ж line\n" * 12000
    bot.set_state(place.room, "m.room.encryption", ENCRYPTED)
    uploads: list[str] = []
    upload = bot.client.upload

    async def told(*args: object, **further: object) -> object:
        uploads.append(str(further["encrypt"]))
        return await upload(*args, **further)

    bot.client.upload = told
    message = a_result(place, "g1:settle", f"First.\n\n{lines}")

    with pytest.raises(Wait):
        await bot.posting.send(message)
    await bot.posting.send(message)

    assert uploads == ["True"]


async def test_reactions_go_in_clear_as_everywhere_on_matrix(bot: Poster, ann: MatrixUser) -> None:
    place = await a_room(bot, ann)
    said = await asyncio.to_thread(ann.text, place.room, "hello")

    await bot.posting.react(place, said, "👀")

    assert bot.events(place.room)[0]["type"] == "m.reaction"
    await asyncio.to_thread(
        ann.until, lambda: bool(ann.reactions(place.room, said)), 10, lambda: "no reaction"
    )


async def test_two_threads_at_once_are_both_read(bot: Poster, ann: MatrixUser) -> None:
    place = await a_room(bot, ann)
    roots = [await asyncio.to_thread(ann.text, place.room, f"goal {n}") for n in range(4)]

    await asyncio.gather(
        *(
            bot.posting.send(a_result(in_thread(place, root), f"g{n}:settle", f"Result {n}."))
            for n, root in enumerate(roots)
        )
    )

    for n, root in enumerate(roots):
        seen = await asyncio.to_thread(ann.until_said, place.room, f"Result {n}.")
        assert seen.thread == root


async def test_an_attached_picture_is_encrypted_too(bot: Poster, ann: MatrixUser) -> None:
    place = await a_room(bot, ann)
    picture = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"

    async def pieces() -> AsyncIterator[bytes]:
        yield picture

    kept = await bot.files.keep(pieces())
    file = Attachment("dot.gif", "image/gif", len(picture), kept.hash)

    await bot.posting.send(replace(a_result(place, "g1:settle", "Done."), files=(file,)))

    seen = await asyncio.to_thread(ann.until_seen, place.room, lambda s: s.msgtype == "m.image")
    assert seen.encrypted
    assert await asyncio.to_thread(ann.download, seen) == picture
