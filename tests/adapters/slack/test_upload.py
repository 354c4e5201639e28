"""Files that the bot gives, to a Slack whose answers get lost."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.files.blobs import BlobFolder
from adapters.slack.calling import Calls
from adapters.slack.errors import NOT_IN_ROOM, NotPermitted
from adapters.slack.media import Media
from adapters.slack.people import Directory, Home
from adapters.slack.upload import (
    SETTLES_S,
    Shared,
    Uploads,
    channels_of,
    is_shared,
    of_attachment,
    of_bytes,
)
from bot.errors import OutcomeUnknown, Refused, Wait
from bot.ports.chat import Attachment
from tests.adapters.slack.web_bed import (
    Watch,
    calls,
    clock,
    front,
    people,
    place,
    slack_of_module,
    watch,
)
from tests.contracts.files import pieces_of
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Cut, Failed, Limited, Page
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "clock", "front", "people", "slack_of_module", "watch"]
REPORT = of_bytes("report.csv", b"a,b\n1,2\n" * 1_000)
NOTES = of_bytes("notes.md", "# Nötes\n".encode())
OURS = Home(TEAM, "", "U0BOT", "B0BOT")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@pytest.fixture
def uploads(calls: Calls, people: Directory, watch: Watch) -> Uploads:
    return Uploads(calls, people, watch)


async def posted(calls: Calls, thread: str = "", key: str = "k") -> str:
    """A post of the bot's; its timestamp."""
    answer = await calls.call(
        TEAM, "chat.postMessage", channel="C01GEN", text="Complete", thread_ts=thread or None,
        metadata={"event_type": "headway_post", "event_payload": {"key": key, "part": 0, "of": 1}},
    )  # fmt: skip
    return str(answer["ts"])


def given_in(front: SlackFront, after: str) -> list[list[str]]:
    """Names of the files of each message since."""
    return [
        [file["name"] for file in message["files"]]
        for message in front.mirror.of("C01GEN")
        if message.get("files") and float(message["ts"]) > float(after)
    ]


async def test_files_of_a_post_are_one_message_in_its_thread(
    front: SlackFront, calls: Calls, uploads: Uploads
) -> None:
    root = await posted(calls)
    main = await posted(calls, root)

    shared = await uploads.share(
        place(thread=f"C01GEN:{root}"), "k", (REPORT, NOTES), after=main, comment="Two files"
    )

    message = front.mirror.of("C01GEN")[-1]
    assert shared == Shared(True)
    assert [one["name"] for one in message["files"]] == ["report.csv", "notes.md"]
    assert (message["thread_ts"], message["text"]) == (root, "Two files")


async def test_what_is_given_is_what_was_kept(
    front: SlackFront, calls: Calls, uploads: Uploads, tmp_path: Path
) -> None:
    files = BlobFolder(tmp_path / "files", most=1_000_000)
    data = bytes(range(256)) * 2_000
    kept = await files.keep(pieces_of(data))
    attachment = Attachment("data.bin", "application/octet-stream", kept.size, kept.hash)

    await uploads.share(
        place(), "k", (of_attachment(attachment, files),), after=await posted(calls)
    )

    fetched = await Media(calls, files).fetch(TEAM, front.mirror.of("C01GEN")[-1]["files"][0])
    assert fetched == dataclasses.replace(attachment, media_type=fetched.media_type)


async def test_what_a_person_gives_is_fetched_though_the_message_tells_little_of_it(
    front: SlackFront, calls: Calls, tmp_path: Path
) -> None:
    files, data = BlobFolder(tmp_path / "files", most=1_000_000), "a,b\nü,2\n".encode()
    ts = front.upload("U01ALICE", "C01GEN", "report.csv", data, kind="text/csv")
    whole = (front.mirror.get("C01GEN", ts) or {})["files"][0]
    little = {"id": whole["id"], "mode": "file_access", "file_access": "check_file_info"}
    media = Media(calls, files)

    fetched = [await media.fetch(TEAM, file) for file in (whole, little)]

    assert fetched[0] == fetched[1]
    assert (fetched[0].name, fetched[0].size) == ("report.csv", len(data))


async def test_a_sign_in_page_is_not_taken_for_a_file(
    front: SlackFront, calls: Calls, tmp_path: Path
) -> None:
    ts = front.upload("U01ALICE", "C01GEN", "report.csv", b"a,b\n", kind="text/csv")
    file = (front.mirror.get("C01GEN", ts) or {})["files"][0]

    async def expired(workspace: str) -> str:
        return "xoxb-expired"

    stale = Calls(expired, api_url=calls.api_url)
    files = BlobFolder(tmp_path / "files", most=1_000_000)
    with pytest.raises(Refused, match="log-in"):
        await Media(stale, files).fetch(TEAM, file)
    await stale.close()


@pytest.mark.parametrize("is_known", [True, False], ids=["same process", "next process"])
async def test_a_share_whose_answer_is_lost_is_found_and_not_made_again(
    front: SlackFront, calls: Calls, people: Directory, watch: Watch, is_known: bool
) -> None:
    root = await posted(calls)
    main, where = await posted(calls, root), place(thread=f"C01GEN:{root}")
    uploads = Uploads(calls, people, watch)
    front.faults.next_times("files.completeUploadExternal", Cut("after"))
    with pytest.raises(OutcomeUnknown):
        await uploads.share(where, "k", (REPORT, NOTES), after=main)
    if not is_known:
        uploads = Uploads(calls, people, watch)

    shared = await uploads.share(where, "k", (REPORT, NOTES), after=main, is_again=True)

    assert shared == Shared(True)
    assert given_in(front, main) == [["report.csv", "notes.md"]]


async def test_a_share_that_did_not_arrive_is_made_once_it_cannot_come_any_more(
    front: SlackFront, calls: Calls, uploads: Uploads, watch: Watch
) -> None:
    main = await posted(calls)
    front.faults.next_times("files.completeUploadExternal", Cut("before"))
    with pytest.raises(OutcomeUnknown):
        await uploads.share(place(), "k", (REPORT,), after=main)

    with pytest.raises(OutcomeUnknown):
        await uploads.share(place(), "k", (REPORT,), after=main)
    watch.now_s += SETTLES_S
    shared = await uploads.share(place(), "k", (REPORT,), after=main)

    assert shared == Shared(True)
    assert given_in(front, main) == [["report.csv"]]
    assert len(front.of("files.getUploadURLExternal")) == 1


async def test_an_upload_that_slack_has_forgotten_is_looked_up_and_made_anew(
    front: SlackFront, calls: Calls, uploads: Uploads
) -> None:
    main = await posted(calls)
    front.faults.next_times("files.completeUploadExternal", Failed("file_not_found"))
    with pytest.raises(OutcomeUnknown):
        await uploads.share(place(), "k", (REPORT,), after=main)

    await uploads.share(place(), "k", (REPORT,), after=main, is_again=True)

    assert given_in(front, main) == [["report.csv"]]
    assert len(front.of("files.getUploadURLExternal")) == 2


async def test_what_slack_refused_is_given_when_it_does_no_more_without_another_upload(
    front: SlackFront, calls: Calls, uploads: Uploads
) -> None:
    main = await posted(calls)
    lacking = Failed("missing_scope", further=(("needed", "files:write"),))
    front.faults.next_times("files.completeUploadExternal", lacking, Limited(1))
    with pytest.raises(NotPermitted):
        await uploads.share(place(), "k", (REPORT,), after=main)
    with pytest.raises(Wait):
        await uploads.share(place(), "k", (REPORT,), after=main)

    await uploads.share(place(), "k", (REPORT,), after=main)

    assert given_in(front, main) == [["report.csv"]]
    assert len(front.of("files.getUploadURLExternal")) == 1


@pytest.mark.parametrize("what", ["files.getUploadURLExternal", "upload"])
@pytest.mark.parametrize("fault", [Limited(1), Cut("before"), Cut("after"), Page(502)])
async def test_an_upload_that_fails_is_made_again_unseen(
    front: SlackFront, calls: Calls, uploads: Uploads, fault: Limited | Cut | Page, what: str
) -> None:
    main = await posted(calls)
    front.faults.next_times(what, fault)
    with pytest.raises(Wait) as caught:
        await uploads.share(place(), "k", (REPORT,), after=main)

    await uploads.share(place(), "k", (REPORT,), after=main)

    assert type(caught.value) is Wait
    assert given_in(front, main) == [["report.csv"]]


async def test_files_that_slack_refuses_are_left_out_and_named(
    front: SlackFront, calls: Calls, uploads: Uploads
) -> None:
    main, empty = await posted(calls), of_bytes("empty.txt", b"")
    front.faults.next_times("files.getUploadURLExternal", Failed("file_type_not_allowed"))

    shared = await uploads.share(place(), "k", (REPORT, empty, NOTES), after=main)

    assert shared == Shared(True, ("report.csv", "empty.txt"))
    assert given_in(front, main) == [["notes.md"]]


async def test_where_every_file_is_refused_nothing_is_given(
    front: SlackFront, calls: Calls, uploads: Uploads
) -> None:
    main = await posted(calls)

    shared = await uploads.share(place(), "k", (of_bytes("empty.txt", b""),), after=main)

    assert shared == Shared(False, ("empty.txt",))
    assert front.of("files.completeUploadExternal") == []


async def test_files_are_not_given_where_the_bot_is_not(
    front: SlackFront, uploads: Uploads
) -> None:
    front.world.room("C02RND").has_bot = False

    with pytest.raises(Refused) as caught:
        await uploads.share(place("C02RND"), "k", (REPORT,), after="")

    front.world.room("C02RND").has_bot = True
    assert caught.value.code == NOT_IN_ROOM


async def test_the_same_file_is_given_again_for_another_post(
    front: SlackFront, calls: Calls, people: Directory, watch: Watch
) -> None:
    root = await posted(calls)
    where, first = place(thread=f"C01GEN:{root}"), await posted(calls, root, "one")
    await Uploads(calls, people, watch).share(where, "one", (REPORT,), after=first)
    second = await posted(calls, root, "two")

    await Uploads(calls, people, watch).share(
        where, "two", (REPORT,), after=second, is_again=True
    )  # fmt: skip
    lost = await Uploads(calls, people, watch).find(where, "zero", (REPORT,), after=root)

    assert given_in(front, first) == [["report.csv"], ["report.csv"]]
    assert not lost


def message(ts: str, **different: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "user": "U0BOT",
        "bot_id": "B0BOT",
        "ts": ts,
        "text": "",
        **different,
    }


def with_files(ts: str, *files: tuple[str, int], **different: Any) -> dict[str, Any]:
    listed = [{"name": name, "title": name, "size": size} for name, size in files]
    return message(ts, files=listed, subtype="file_share", **different)


def post_of(key: str, ts: str) -> dict[str, Any]:
    payload = {"key": key, "part": 0, "of": 1}
    return message(ts, metadata={"event_type": "headway_post", "event_payload": payload})


@pytest.mark.parametrize(
    ("messages", "is_there"),
    [
        ([with_files("100.000002", ("a.csv", 5))], True),
        ([with_files("100.000001", ("a.csv", 5))], False),
        ([with_files("99.999999", ("a.csv", 5))], False),
        ([with_files("100.000002", ("a.csv", 6))], False),
        ([with_files("100.000002", ("b.csv", 5))], False),
        ([with_files("100.000002", ("a.csv", 5), user="U01ALICE", bot_id="")], False),
        ([with_files("100.000002", ("a.csv", 5), ("z.csv", 5))], False),
        ([post_of("other", "100.000002"), with_files("100.000003", ("a.csv", 5))], False),
        ([with_files("100.000003", ("a.csv", 5)), post_of("key", "100.000002")], True),
        ([post_of("other", "100.000004"), with_files("100.000003", ("a.csv", 5))], True),
        ([], False),
    ],
)
def test_a_share_is_known_by_whose_it_is_and_what_it_brings(
    messages: list[dict[str, Any]], is_there: bool
) -> None:
    wanted = {("a.csv", 5)}

    found = is_shared(messages, wanted, key="key", after="100.000001", home=OURS)

    assert found is is_there


@given(st.lists(st.dictionaries(st.sampled_from(["user", "ts", "files", "metadata"]), JSON)))
def test_whatever_slack_tells_of_messages_is_read(messages: list[dict[str, Any]]) -> None:
    found = is_shared(messages, {("a", 1)}, key="key", after="100.000001", home=OURS)

    assert found in (True, False)


@given(st.dictionaries(st.sampled_from(["shares", "channels", "ims"]), JSON))
def test_whatever_slack_tells_of_a_file_is_read(file: dict[str, Any]) -> None:
    assert all(isinstance(one, str) for one in channels_of(file))
