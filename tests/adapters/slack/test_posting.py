"""Posts, edits and removals in a Slack, as it has them afterwards."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.slack.ids import message_id, parted
from bot.errors import OutcomeUnknown, Refused, Wait
from bot.ports.chat import THREAD_CLOSED, Attachment, Button, Outgoing, Place, Shape
from tests.adapters.slack.posting_bed import ANN, GENERAL, Poster, poster, says
from tests.adapters.slack.web_bed import Watch, front, slack_of_module, watch
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Failed
from tests.peers.slack_front import SlackFront, plain_text

__all__ = ["front", "slack_of_module", "watch"]

WORKING = Shape(
    "⏳", "Working", ("G12", "turn 7 of 20", "$0.84 of $2.00", "since 14:05"),
    body="Find out why the nightly build fails, and mend it.", now="Now: running `pytest`",
    tasks=(("Reproduce", "done"), ("Fix", "doing"), ("Docs", "open")),
    buttons=(Button("pause", "Pause"), Button("stop", "Stop")), state="working", goal="g12",
)  # fmt: skip
COMPLETE = Shape(
    "✅", "Complete", ("G12", "9 turns"), "It **works**.", mentions=(ANN,), state="complete"
)
DECISION = Shape(
    "❓", "Decision 2", ("G12", "@ann"), "May I run this?\n\n```\nrm -rf build\n```",
    options=("yes", "no"), notes=("No answer by Tue 14:00: it stays parked.",), mentions=(ANN,),
    state="deciding", reactions=("✅", "❌"),
)  # fmt: skip
MINUTE_AGO = 60.0


@pytest.fixture
async def bot(front: SlackFront) -> AsyncIterator[Poster]:
    async with poster(front) as made:
        yield made


def status(place: Place, shape: Shape, n: int = 1, edits: str = "") -> Outgoing:
    return Outgoing(f"g12:status:{n}", place, shape, silent=True, edits=edits)


async def test_a_post_is_said_in_its_thread_with_its_key_and_unfurls_nothing(bot: Poster) -> None:
    thread = bot.thread()

    id = await bot.posting.send(says("See https://example.com/x and **that**.", thread))

    message = bot.message(id)
    call = bot.front.of("chat.postMessage")[-1].arguments
    assert message["thread_ts"] == parted(thread.thread)[1]
    assert (call["unfurl_links"], call["unfurl_media"], call["reply_broadcast"]) == (False,) * 3
    assert call["metadata"]["event_payload"] == {"key": "k1", "part": 0, "of": 1}
    assert call["text"] == "See https://example.com/x and that."


async def test_a_result_calls_whom_it_concerns_and_an_edit_of_it_nobody(bot: Poster) -> None:
    thread = bot.thread()

    id = await bot.posting.send(Outgoing("k", thread, COMPLETE))
    called = plain_text(bot.message(id))
    await bot.posting.send(Outgoing("k", thread, COMPLETE, silent=True, edits=id))

    assert "<@U01ALICE>" in called
    assert "<@U01ALICE>" not in plain_text(bot.message(id))


async def test_a_text_of_the_model_calls_nobody(bot: Poster) -> None:
    text = "Hi <!channel> <@U01ALICE> @here <!subteam^S1> <https://evil.example|safe> &lt;!here&gt;"

    for n, body in enumerate((text, f"# A\n\n{text}\n\n- {text}", f"| a |\n|---|\n| {text} |")):
        await bot.posting.send(says(body, bot.thread(), f"k{n}"))

    for call in bot.front.of("chat.postMessage"):
        for block in call.arguments["blocks"]:
            assert block["type"] != "markdown"
            assert "<!" not in str(block.get("text", {})).replace("&lt;", "")
        assert not any(mark in call.arguments["text"] for mark in ("<!", "<@", "@here"))


async def test_a_status_is_edited_in_place_at_most_every_three_seconds(
    front: SlackFront, watch: Watch
) -> None:
    async with poster(front, watch) as bot:
        thread = bot.thread()
        id = await bot.posting.send(status(thread, WORKING))
        later = replace(WORKING, now="Now: writing it down")

        with pytest.raises(Wait) as refused:
            await bot.posting.send(status(thread, later, 2, id))
        watch.now_s += 3.1
        edited = await bot.posting.send(status(thread, later, 2, id))

        assert 0 < (refused.value.retry_after_s or 0) <= 3
        assert edited == id
        assert "writing it down" in bot.front.of("chat.update")[-1].arguments["text"]


async def test_a_status_that_says_the_same_is_not_edited(bot: Poster) -> None:
    thread = bot.thread()
    id = await bot.posting.send(status(thread, WORKING))

    again = await bot.posting.send(status(thread, WORKING, 2, id))

    assert again == id
    assert bot.front.of("chat.update") == []


async def test_cards_are_edited_when_statuses_have_used_up_their_share(
    front: SlackFront, watch: Watch
) -> None:
    async with poster(front, watch) as bot:
        threads = [bot.thread() for _ in range(4)]
        ids = [await bot.posting.send(status(one, WORKING)) for one in threads]
        edits = 0
        refused: Wait | None = None
        while refused is None:
            watch.now_s += 3.0 if edits % 4 == 0 else 0.0
            shape, at = replace(WORKING, now=f"Now: step {edits}"), edits % 4
            try:
                await bot.posting.send(status(threads[at], shape, edits, ids[at]))
                edits += 1
            except Wait as error:
                refused = error

        card = await bot.posting.send(Outgoing("card", threads[0], DECISION))
        closed = replace(DECISION, options=(), now="Answered: yes.")
        await bot.posting.send(Outgoing("card", threads[0], closed, silent=True, edits=card))

        assert edits == 30
        assert (refused.retry_after_s or 0) > 3
        assert "Answered: yes." in bot.front.of("chat.update")[-1].arguments["text"]


async def test_a_status_that_somebody_removed_is_told_anew_once(
    front: SlackFront, watch: Watch
) -> None:
    async with poster(front, watch) as bot:
        thread = bot.thread()
        first = await bot.posting.send(status(thread, WORKING))
        bot.front.remove("U0BOT", *parted(first))
        watch.now_s += 10

        second = await bot.posting.send(status(thread, replace(WORKING, now="a"), 2, first))
        bot.front.remove("U0BOT", *parted(second))
        watch.now_s += 10
        third = await bot.posting.send(status(thread, replace(WORKING, now="b"), 3, second))

        assert first != second == third
        assert len(bot.front.of("chat.postMessage")) == 2


async def test_a_status_told_anew_before_a_kill_is_not_told_a_third_time(bot: Poster) -> None:
    thread = bot.thread()
    first = await bot.posting.send(status(thread, WORKING))
    anew = await bot.posting.send(status(thread, replace(WORKING, now="x"), 2))
    bot.front.remove("U0BOT", *parted(first))

    async with poster(bot.front) as other:
        found = await other.posting.send(status(thread, replace(WORKING, now="x"), 2, first))

    assert found == anew


async def test_a_card_says_each_choice_on_a_button_and_its_call_whole(bot: Poster) -> None:
    id = await bot.posting.send(Outgoing("card", bot.thread(), DECISION))

    blocks = bot.front.of("chat.postMessage")[-1].arguments["blocks"]
    [acts] = [block for block in blocks if block["type"] == "actions"]
    assert [one["text"]["text"] for one in acts["elements"]] == ["yes", "no"]
    assert [one["value"] for one in acts["elements"]] == ['{"v":"1"}', '{"v":"2"}']
    assert "rm -rf build" in plain_text(bot.message(id))


async def test_a_text_that_no_message_holds_is_a_file_under_its_first_paragraph(
    bot: Poster,
) -> None:
    body = "# The plan\n\nFirst paragraph.\n\n" + "More of it.\n\n" * 9_000

    id = await bot.posting.send(replace(says(body, bot.thread()), silent=False))

    message, [main, shared] = bot.message(id), bot.replies(_place_of(bot, id))
    assert main["ts"] == message["ts"]
    assert "First paragraph." in plain_text(message)
    assert "The whole text is in" in plain_text(message)
    [file] = shared["files"]
    assert (file["name"], file["size"]) == ("result.md", len(body.encode()))


async def test_a_card_too_long_for_a_message_names_the_hash_of_its_whole(bot: Poster) -> None:
    body = "Run it?\n\n```\n" + "line of the call\n" * 3_000 + "```"

    id = await bot.posting.send(Outgoing("card", bot.thread(), replace(DECISION, body=body)))

    digest = hashlib.sha256(body.encode()).hexdigest()
    assert digest in plain_text(bot.message(id))
    assert bot.replies(_place_of(bot, id))[-1]["files"][0]["name"] == "result.md"


async def test_a_cut_card_whose_file_is_refused_cannot_be_answered_by_a_button(
    bot: Poster,
) -> None:
    bot.front.faults.next_times("files.getUploadURLExternal", Failed("missing_scope"))
    body = "Run it?\n\n```\n" + "line of the call\n" * 3_000 + "```"

    id = await bot.posting.send(Outgoing("card", bot.thread(), replace(DECISION, body=body)))

    assert "actions" not in [block["type"] for block in bot.message(id)["blocks"]]
    assert "result.md cannot be sent here." in plain_text(bot.replies(_place_of(bot, id))[-1])


async def test_files_of_a_post_in_the_main_timeline_hang_under_it(bot: Poster) -> None:
    report = await _kept(bot, "report.md", b"# It works\n")

    id = await bot.posting.send(replace(says("Done."), files=(report,)))

    [shared] = bot.replies(_place_of(bot, id))
    assert [file["name"] for file in shared["files"]] == ["report.md"]


async def test_a_post_is_found_by_its_key_and_another_ones_is_not(bot: Poster) -> None:
    thread, now = bot.thread(), time.time()
    id = await bot.posting.send(says("Here.", thread, "this"))
    main = await bot.posting.send(says("There.", GENERAL, "main"))

    assert await bot.posting.find(thread, "this", now - 1) == id
    assert await bot.posting.find(thread, "other", now - 1) is None
    assert await bot.posting.find(GENERAL, "main", now - 1) == main
    assert await bot.posting.find(GENERAL, "this", now - 1) is None


async def test_a_post_with_files_is_found_once_they_are_there_and_is_completed(
    bot: Poster,
) -> None:
    thread, report = bot.thread(), await _kept(bot, "report.md", b"# It works\n")
    bot.front.faults.next_times("files.completeUploadExternal", Failed("internal_error"))
    post = replace(says("Done.", thread), files=(report,))
    with pytest.raises(OutcomeUnknown):
        await bot.posting.send(post)

    async with poster(bot.front) as other:
        other.files.blobs.update(bot.files.blobs)
        found = await other.posting.find(thread, "k1", time.time() - 5)
        id = await other.posting.send(post)
        again = await other.posting.find(thread, "k1", time.time() - 5)
        await other.posting.send(post)

    assert (found, again) == (None, None)
    assert [len(one.get("files", ())) for one in bot.replies(thread)] == [0, 1]
    assert bot.message(id)["text"] == "Done."


async def test_a_thread_that_is_gone_holds_nothing(bot: Poster) -> None:
    gone = replace(GENERAL, thread=message_id("C01GEN", "1700000000.000100"))

    assert await bot.posting.find(gone, "k1", time.time() - 5) is None


async def test_a_post_is_removed_and_may_be_removed_again(bot: Poster) -> None:
    thread = bot.thread()
    id = await bot.posting.send(says("Here.", thread))
    removal = replace(says("Taken back.", thread), edits=id, removes=True)

    assert await bot.posting.send(removal) == id
    assert await bot.posting.send(removal) == id
    assert bot.replies(thread) == []


async def test_a_channel_that_the_bot_is_not_in_is_joined_first(bot: Poster) -> None:
    bot.front.kick("C02RND")

    id = await bot.posting.send(says("Here.", replace(GENERAL, room="C02RND")))

    assert bot.message(id)["text"] == "Here."
    assert len(bot.front.of("conversations.join")) == 1


async def test_a_private_channel_that_the_bot_is_not_in_is_refused_with_the_mend(
    bot: Poster,
) -> None:
    bot.front.kick("C03PRV")

    with pytest.raises(Refused, match="Invite") as refused:
        await bot.posting.send(says("Here.", replace(GENERAL, room="C03PRV")))

    bot.front.invite("C03PRV")
    assert refused.value.code in ("not_in_room", "channel_not_found")


@pytest.mark.parametrize(
    ("code", "mend"),
    [
        ("is_archived", "Unarchive"),
        ("restricted_action", "admin"),
        ("channel_not_found", "Invite"),
    ],
)
async def test_a_place_that_takes_no_posts_is_refused_with_its_reason_and_the_mend(
    bot: Poster, code: str, mend: str
) -> None:
    bot.front.faults.next_times("chat.postMessage", Failed(code))

    with pytest.raises(Refused, match=mend) as refused:
        await bot.posting.send(says("Here.", bot.thread()))

    assert refused.value.code == code


@pytest.mark.parametrize(
    "code", ["thread_not_found", "restricted_action_thread_locked", "cannot_reply_to_message"]
)
async def test_what_a_thread_takes_no_more_is_said_in_the_channel_and_found_there(
    bot: Poster, code: str
) -> None:
    thread = bot.thread()
    _, root = parted(thread.thread)
    bot.front.world.locked[thread.room, root] = code

    id = await bot.posting.send(Outgoing("g12:settle", thread, COMPLETE))
    assert await bot.posting.find(thread, "g12:settle") == id
    rests = await bot.posting.send(status(thread, replace(WORKING, state="paused")))
    with pytest.raises(Refused) as refused:
        await bot.posting.send(status(thread, WORKING, 2))

    assert bot.replies(thread) == []
    assert not bot.message(id).get("thread_ts")
    assert not bot.message(rests).get("thread_ts")
    assert refused.value.code == THREAD_CLOSED


async def test_of_unknown_outcome_it_is_found_in_the_channel_where_its_thread_is_gone(
    bot: Poster,
) -> None:
    thread = bot.thread()
    _, root = parted(thread.thread)
    bot.front.world.locked[thread.room, root] = "thread_not_found"
    id = await bot.posting.send(says("Here it is.", thread, "g12:settle"))
    bot.front.faults.next_times("conversations.replies", Failed("thread_not_found"))

    assert await bot.posting.find(thread, "g12:settle") == id


@pytest.mark.parametrize(
    "place",
    [
        Place("matrix", TEAM, "C01GEN"),
        replace(GENERAL, thread="C02RND:1700000000.000100"),
        replace(GENERAL, thread="$event"),
    ],
)
async def test_a_place_of_another_network_is_refused(bot: Poster, place: Place) -> None:
    with pytest.raises(Refused):
        await bot.posting.send(says("Here.", place))

    assert bot.front.of("chat.postMessage") == []


async def test_blocks_that_slack_refuses_are_said_in_plainer_ones_and_remembered(
    bot: Poster,
) -> None:
    thread = bot.thread()
    bot.front.faults.next_times("chat.postMessage", Failed("invalid_blocks"))
    await bot.posting.send(status(thread, WORKING))

    await bot.posting.send(status(bot.thread(), WORKING, 2))

    types = [
        [block["type"] for block in call.arguments["blocks"]]
        for call in bot.front.of("chat.postMessage")
    ]
    assert ["plan" in one for one in types] == [True, False, False]
    assert "☑ Reproduce  ▸ Fix  ☐ Docs" in plain_text(bot.replies(thread)[-1])


async def test_where_slack_takes_no_blocks_at_all_the_text_says_it(bot: Poster) -> None:
    thread = bot.thread()
    bot.front.faults.next_times("chat.postMessage", *[Failed("invalid_blocks")] * 3)

    await bot.posting.send(Outgoing("card", thread, DECISION))

    call = bot.front.of("chat.postMessage")[-1].arguments
    assert "blocks" not in call
    assert all(part in call["text"] for part in ("May I run this?", "rm -rf build", "1. yes"))


async def test_what_slack_finds_too_long_after_all_is_a_file_under_its_first_paragraph(
    bot: Poster,
) -> None:
    thread, body = bot.thread(), "# A\n\nFirst.\n\n" + "More of it.\n\n" * 300
    bot.front.faults.next_times("chat.postMessage", Failed("msg_blocks_too_long"))
    bot.front.faults.next_times("files.completeUploadExternal", Failed("internal_error"))
    with pytest.raises(OutcomeUnknown):
        await bot.posting.send(says(body, thread))

    async with poster(bot.front) as other:
        await other.posting.find(thread, "k1", time.time() - 5)
        await other.posting.send(says(body, thread))

    main, shared = bot.replies(thread)
    assert "More of it." not in plain_text(main)
    assert [file["name"] for file in shared["files"]] == ["result.md"]


async def test_in_plainer_blocks_nothing_is_left_out(bot: Poster) -> None:
    thread, body = bot.thread(), "".join(f"{n}. point *{n}*\n\n" for n in range(1, 600))
    bot.front.faults.next_times("chat.postMessage", *[Failed("invalid_blocks")] * 3)

    await bot.posting.send(says(body, thread))

    main, shared = bot.replies(thread)
    assert "The whole text is in" in main["text"]
    assert shared["files"][0]["size"] == len(body.encode())


async def test_a_root_leads_back_to_the_message_because_of_which_it_is_there(bot: Poster) -> None:
    origin = message_id("C01GEN", bot.front.say("U01ALICE", "C01GEN", "Please do it."))

    id = await bot.posting.send(
        Outgoing("root:1", GENERAL, Shape("", "", body="🎯 G12", origin=origin), silent=True)
    )

    assert "|Asked for here>" in plain_text(bot.message(id))


async def test_what_is_said_in_one_thread_at_once_arrives_in_its_order(bot: Poster) -> None:
    thread = bot.thread()

    await asyncio.gather(
        *(bot.posting.send(says(f"Number {n}.", thread, f"k{n}")) for n in range(4))
    )

    assert [one["text"] for one in bot.replies(thread)] == [f"Number {n}." for n in range(4)]


def _place_of(bot: Poster, id: str) -> Place:
    message = bot.message(id)
    channel, ts = parted(id)
    return replace(GENERAL, thread=message_id(channel, message.get("thread_ts", ts)))


async def _kept(bot: Poster, name: str, data: bytes) -> Attachment:
    async def pieces() -> AsyncIterator[bytes]:
        yield data

    kept = await bot.files.keep(pieces())
    return Attachment(name, "text/markdown", kept.size, kept.hash)
