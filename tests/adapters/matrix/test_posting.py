"""What is said in rooms without encryption, as the homeserver has it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nio
import pytest
import pytest_asyncio

from bot.errors import OutcomeUnknown, Refused, Wait
from bot.ports.chat import Attachment, Outgoing, Place, Shape
from tests.adapters.matrix.posting_bed import (
    ENCRYPTED,
    Poster,
    a_result,
    a_status,
    again,
    in_thread,
    poster,
)
from tests.peers.synapse import Synapse


@pytest_asyncio.fixture
async def bot(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Poster]:
    async with poster(synapse, tmp_path / "nio") as there:
        yield there


async def test_a_result_calls_whom_it_concerns_and_nobody_else(bot: Poster) -> None:
    place = await bot.room()

    await bot.posting.send(a_result(place, "g1:settle", "Done, @room.", bot.ann.user_id))

    [event] = bot.events(place.room)
    content = event["content"]
    assert content["msgtype"] == "m.text"
    assert content["m.mentions"] == {"user_ids": [bot.ann.user_id]}
    assert f'href="https://matrix.to/#/{bot.ann.user_id}"' in content["formatted_body"]
    assert "@room" not in content["body"]
    assert content["dev.headway"]["key"] == "g1:settle"


async def test_what_is_said_in_a_thread_hangs_under_its_root_and_answers_the_last_word_there(
    bot: Poster,
) -> None:
    place = await bot.room()
    root = bot.say(place.room, "!goal mend it")
    thread = in_thread(place, root)

    first = await bot.posting.send(a_status(thread, "g1:status:1", "looking"))
    await bot.posting.send(a_result(thread, "g1:settle", "Done."))
    bot.posting.saw(thread, "$said")
    await bot.posting.send(a_result(thread, "g1:more", "Done again."))

    relations = [event["content"]["m.relates_to"] for event in bot.events(place.room)]
    assert [relation["event_id"] for relation in relations] == [root] * 3
    assert all(r["rel_type"] == "m.thread" and r["is_falling_back"] for r in relations)
    answered = [relation["m.in_reply_to"]["event_id"] for relation in relations]
    assert answered == [root, first, "$said"]


async def test_a_status_is_a_notice_that_is_edited_in_place(bot: Poster) -> None:
    place = await bot.room()

    remote = await bot.posting.send(a_status(place, "g1:status:1", "looking"))
    edited = await bot.posting.send(
        a_status(place, "g1:status:2", "writing", edits=remote, word="Evaluating")
    )

    assert edited == remote
    first, second = (event["content"] for event in bot.events(place.room))
    assert first["msgtype"] == second["msgtype"] == "m.notice"
    assert second["m.relates_to"] == {"rel_type": "m.replace", "event_id": remote}
    assert second["body"].startswith("* ⏳ Evaluating")
    assert second["m.new_content"]["body"].startswith("⏳ Evaluating")
    assert second["m.mentions"] == second["m.new_content"]["m.mentions"] == {}


async def test_the_same_key_twice_is_one_event(bot: Poster) -> None:
    place = await bot.room()

    first = await bot.posting.send(a_result(place, "g1:settle", "Done."))
    second = await bot.posting.send(a_result(place, "g1:settle", "Done, said otherwise."))

    assert first == second
    assert len(bot.events(place.room)) == 1


async def test_the_same_key_is_one_event_over_a_restart(synapse: Synapse, tmp_path: Path) -> None:
    async with poster(synapse, tmp_path / "nio") as before:
        place = await before.room()
        first = await before.posting.send(a_result(place, "g1:settle", "Done."))

    async with again(synapse, tmp_path / "nio", before.account, before.ann) as after:
        second = await after.posting.send(a_result(place, "g1:settle", "Done."))
        found = await after.posting.find(place, "g1:settle")

        assert first == second == found
        assert len(after.events(place.room)) == 1


async def test_an_edit_that_is_made_again_with_another_text_is_there_as_it_is_now(
    bot: Poster,
) -> None:
    place = await bot.room()
    remote = await bot.posting.send(a_result(place, "g1:decision:1", "Red?"))

    for answer in ("red", "blue"):
        await bot.posting.send(replace(a_result(place, "g1:card:1", answer), edits=remote))

    bodies = [event["content"]["body"] for event in bot.events(place.room)]
    assert "blue" in bodies[-1]
    assert await bot.posting.find(place, "g1:card:1") == remote


async def test_a_text_of_a_hundred_kilobytes_is_a_file_under_its_first_paragraph(
    bot: Poster,
) -> None:
    place = await bot.room()
    whole = "First **paragraph**.\n\n" + "Ж line of the rest\n" * 5000

    remote = await bot.posting.send(a_result(place, "g1:settle", whole, bot.ann.user_id))

    text, file = (event["content"] for event in bot.events(place.room))
    assert "First paragraph.\n\nThe whole text is in result.md." in text["body"]
    assert text["dev.headway"] == {"key": "g1:settle", "part": 0, "of": 2}
    assert (file["msgtype"], file["body"]) == ("m.file", "result.md")
    assert file["info"]["size"] == len(whole.encode())
    assert file["m.mentions"] == {}
    assert await bot.posting.find(place, "g1:settle") == remote


@pytest.mark.parametrize("letter", ["a", "Ж", "<", "日", '"', "\U0001f600"])
async def test_a_text_of_any_letters_is_taken_whole_or_as_a_file(bot: Poster, letter: str) -> None:
    place = await bot.room()

    for size in (10_000, 13_000, 20_000, 27_000, 50_000):
        body = "\n".join(letter * 100 for _ in range(size // 100))
        assert await bot.posting.send(a_result(place, f"g1:{size}", body))


async def test_of_what_is_to_be_decided_there_is_no_card_whose_whole_is_refused(
    bot: Poster,
) -> None:
    place = await bot.room()
    upload = bot.client.upload
    shape = Shape(
        "❓", "Decision 1", ("G1",), body="line of the call\n" * 12_000,
        options=("Approve", "Deny"), is_yes_or_no=True,
    )  # fmt: skip
    card = Outgoing("card", place, shape)

    async def refused(*args: object, **further: object) -> object:
        return nio.UploadError("Too large", "M_TOO_LARGE"), None

    bot.client.upload = refused
    with pytest.raises(Refused):
        await bot.posting.send(card)
    assert bot.events(place.room) == []

    bot.client.upload = upload
    await bot.posting.send(card)
    assert len(bot.events(place.room)) == 2


async def test_files_come_under_the_post_and_one_that_is_gone_is_told(bot: Poster) -> None:
    place = await bot.room()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"# Report"

    kept = await bot.files.keep(pieces())
    files = (
        Attachment("report.md", "text/markdown", 8, kept.hash),
        Attachment("old.txt", "text/plain", 8, "0" * 64),
    )

    await bot.posting.send(replace(a_result(place, "g1:settle", "Done."), files=files))

    contents = [event["content"] for event in bot.events(place.room)]
    assert [content["msgtype"] for content in contents] == ["m.text", "m.file", "m.notice"]
    assert contents[1]["body"] == "report.md"
    assert contents[2]["body"] == "old.txt is lost."


async def test_a_post_that_is_there_in_part_is_not_found_and_is_completed(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with poster(synapse, tmp_path / "nio") as before:
        place = await before.room()
        lost = Attachment("old.txt", "text/plain", 8, "0" * 64)
        message = replace(a_result(place, "g1:settle", "Done."), files=(lost,))
        before.client.room_send = _only_once(before.client)
        with pytest.raises(OutcomeUnknown):
            await before.posting.send(message)
    [half] = before.events(place.room)

    async with again(synapse, tmp_path / "nio", before.account, before.ann) as after:
        found = await after.posting.find(place, "g1:settle")
        remote = await after.posting.send(message)

        assert found is None
        assert remote == half["event_id"]
        assert [event["content"]["dev.headway"]["part"] for event in after.events(place.room)] == [
            0,
            1,
        ]
        assert await after.posting.find(place, "g1:settle") == remote


def _only_once(client: nio.AsyncClient) -> Any:
    """The connection breaks at the second event."""
    send, sent = client.room_send, [0]

    async def once(*args: Any, **further: Any) -> Any:
        sent[0] += 1
        if sent[0] > 1:
            raise ConnectionAbortedError
        return await send(*args, **further)

    return once


async def test_reactions_that_answer_a_card_stand_under_it_in_order(bot: Poster) -> None:
    place = await bot.room()
    shape = Shape("❓", "Decision 1", ("G1",), options=("red", "blue"), reactions=("1️⃣", "2️⃣"))

    card = await bot.posting.send(Outgoing("g1:decision:1", place, shape))
    for _ in range(100):
        if len(bot.events(place.room)) == 3:
            break
        await asyncio.sleep(0.05)

    relations = [event["content"]["m.relates_to"] for event in bot.events(place.room)[1:]]
    assert [(one["event_id"], one["key"]) for one in relations] == [(card, "1️⃣"), (card, "2️⃣")]


async def test_a_reaction_is_put_once_and_taken_away(bot: Poster) -> None:
    place = await bot.room()
    said = bot.say(place.room, "hello")

    first = await bot.posting.react(place, said, "👀")
    second = await bot.posting.react(place, said, "👀")
    await bot.posting.take_reaction(place, first)
    third = await bot.posting.react(place, said, "👀")

    assert first == second != third
    assert [bool(event["content"]) for event in bot.events(place.room)][::2] == [False, True]


async def test_a_post_that_is_removed_is_empty_and_can_be_removed_again(bot: Poster) -> None:
    place = await bot.room()
    remote = await bot.posting.send(a_status(place, "g1:status:1", "looking"))
    removal = replace(a_status(place, "g1:removal:status", "", edits=remote), removes=True)

    assert await bot.posting.send(removal) == remote
    assert await bot.posting.send(removal) == remote

    [event, *redactions] = bot.events(place.room)
    assert event["content"] == {}
    assert len(redactions) == 1


async def test_a_status_that_somebody_removed_is_told_anew_once(bot: Poster) -> None:
    place = await bot.room()
    remote = await bot.posting.send(a_status(place, "g1:status:1", "looking"))

    bot.posting.gone(remote)
    anew = await bot.posting.send(a_status(place, "g1:status:2", "writing", edits=remote))
    after = await bot.posting.send(
        a_status(place, "g1:status:3", "reading", edits=anew, word="Evaluating")
    )

    assert anew != remote
    assert after == anew


async def test_a_status_in_the_same_state_is_told_again_after_a_minute(bot: Poster) -> None:
    place = await bot.room()
    remote = await bot.posting.send(a_status(place, "g1:status:1", "looking"))

    with pytest.raises(Wait) as waits:
        await bot.posting.send(a_status(place, "g1:status:2", "writing", edits=remote))

    assert waits.value.retry_after_s == pytest.approx(60.0, abs=10.0)
    assert len(bot.events(place.room)) == 1


async def test_after_a_hundred_edits_a_new_status_message_is_begun_once(bot: Poster) -> None:
    place = await bot.room()
    remotes = [await bot.posting.send(a_status(place, "g1:status:0", "looking"))]

    for n in range(1, 103):
        word = "Working" if n % 2 else "Evaluating"
        status = a_status(place, f"g1:status:{n}", f"{n}", edits=remotes[-1], word=word)
        if n == 1:
            status = replace(status, shape=replace(status.shape, word="Waiting"))
        remotes.append(await bot.posting.send(status))

    assert len(set(remotes)) == 2
    assert remotes.index(remotes[-1]) == 101


async def test_a_long_answer_is_whole_and_a_notice(bot: Poster) -> None:
    place = await bot.room()
    text = "\n".join(f"line {n}" for n in range(1000))

    await bot.posting.send(Outgoing("reply:1", place, Shape("", "", body=text), silent=True))

    [event] = bot.events(place.room)
    assert event["content"]["msgtype"] == "m.notice"
    assert event["content"]["body"] == text
    assert "m.relates_to" not in event["content"]


async def test_a_root_leads_back_to_the_message_because_of_which_it_is_there(bot: Poster) -> None:
    place = await bot.room()
    asked = bot.say(place.room, "!goal mend it")
    shape = Shape("", "", body="G13", origin=asked)

    await bot.posting.send(Outgoing("root:1", place, shape, silent=True))

    [event] = bot.events(place.room)
    link = f'href="https://matrix.to/#/{place.room}/{asked}"'
    assert link in event["content"]["formatted_body"]


async def test_a_room_of_others_is_refused(bot: Poster) -> None:
    place = replace(await bot.room(), room="!not:there")

    with pytest.raises(Refused, match="invite it again"):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))


async def test_a_room_that_the_bot_was_put_out_of_is_refused(bot: Poster) -> None:
    place = await bot.room()
    bot.synapse.done(
        "POST", f"/_matrix/client/v3/rooms/{place.room}/kick", {"user_id": bot.account.user_id},
        bot.ann.token,
    )  # fmt: skip

    with pytest.raises(Refused) as refused:
        await bot.posting.send(a_result(place, "g1:settle", "Done."))

    assert refused.value.code == "M_FORBIDDEN"


async def test_what_is_to_be_said_in_a_room_that_was_replaced_waits_for_the_next_one(
    bot: Poster,
) -> None:
    place = await bot.room()
    upgrade = {"new_version": "11"}
    path = f"/_matrix/client/v3/rooms/{place.room}/upgrade"
    bot.synapse.done("POST", path, upgrade, bot.ann.token)

    with pytest.raises(Wait, match="not in the next one yet"):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))


@pytest.mark.parametrize(
    "place",
    [
        Place("slack", "T1", "C1"),
        Place("matrix", "@other:localhost", "!r"),
        Place("console", "", "c"),
    ],
)
async def test_a_place_of_another_network_or_account_is_refused(bot: Poster, place: Place) -> None:
    with pytest.raises(Refused):
        await bot.posting.send(a_result(place, "g1:settle", "Done."))
    with pytest.raises(Refused):
        await bot.posting.find(place, "g1:settle")


async def test_without_a_homeserver_it_waits_and_nothing_is_unknown(bot: Poster) -> None:
    place = await bot.room()
    bot.client.homeserver = "http://127.0.0.1:9"

    with pytest.raises(Wait) as waits:
        await bot.posting.send(a_result(place, "g1:settle", "Done."))

    assert not isinstance(waits.value, OutcomeUnknown)


async def test_encryption_that_the_sync_has_not_told_of_yet_holds_from_the_next_event(
    bot: Poster,
) -> None:
    place = await bot.room()
    await bot.posting.send(a_result(place, "g1:before", "in clear"))
    bot.set_state(place.room, "m.room.encryption", ENCRYPTED)

    with pytest.raises(Wait):
        await bot.posting.send(a_result(place, "g1:after", "sealed"))
    remote = await bot.posting.send(a_result(place, "g1:after", "sealed"))

    kinds = [event["type"] for event in bot.events(place.room)]
    assert kinds == ["m.room.message", "m.room.encrypted"]
    assert await bot.posting.find(place, "g1:after") == remote


async def test_typing_is_shown_where_it_works_and_only_there(bot: Poster) -> None:
    here, there = await bot.room(), await bot.room()
    shown: list[tuple[str, bool]] = []
    typing = bot.client.room_typing

    async def told(room: str, state: bool = True, timeout: int = 0) -> object:
        shown.append((room, state))
        return await typing(room, state, timeout)

    bot.client.room_typing = told

    await bot.posting.show_working(frozenset({here}))
    await bot.posting.show_working(frozenset({here}))
    await bot.posting.show_working(frozenset({there}))
    await bot.posting.show_working(frozenset())

    assert shown == [(here.room, True), (here.room, False), (there.room, True), (there.room, False)]
