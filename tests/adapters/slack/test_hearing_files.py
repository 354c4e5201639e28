"""Files that people give, from Slack's event to what is stored of it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.files.blobs import BlobFolder
from adapters.slack.attaching import Attaching
from adapters.slack.calling import Calls
from adapters.slack.ear import Ear
from adapters.slack.media import Media
from bot.ports.attached import not_taken
from bot.ports.chat import Place, Speaker
from tests.adapters.slack.hearing_bed import Hearing, WallClock, hearing
from tests.peers.localslack import BOT_TOKEN
from tests.peers.slack_faults import Cut, Fault, Slow
from tests.peers.slack_front import SlackFront, slack

MOST = 10_000
DATA = b"a,b\n1,2\n" * 100
MENTION = "<@U0BOT> sum this up"


@pytest.fixture(scope="module")
def slack_of_module() -> Iterator[SlackFront]:
    with slack(ack_s=1.0) as front:
        yield front


@pytest.fixture
def front(slack_of_module: SlackFront) -> Iterator[SlackFront]:
    slack_of_module.faults.calm()
    yield slack_of_module
    assert slack_of_module.violations == [], slack_of_module.violations


@asynccontextmanager
async def listening(front: SlackFront, files: BlobFolder) -> AsyncIterator[Hearing]:
    """An ear that takes files of Alice."""

    async def token_for(workspace: str) -> str:
        return BOT_TOKEN

    async def is_heard(place: Place, speaker: Speaker) -> bool:
        return speaker.id == "T01TEST:U01ALICE"

    calls = Calls(token_for, api_url=front.api_url)
    attaching = Attaching(
        Media(calls, files).fetch, WallClock(), is_heard=is_heard, unfetched=not_taken
    )
    async with hearing(front, Ear(with_files=attaching.with_files)) as bed:
        yield bed
    await attaching.close()
    await calls.close()


@pytest.mark.parametrize(
    "faults", [(), (Slow(1.6),), (Cut("middle"),)], ids=["at once", "slow", "in the end"]
)
async def test_a_file_comes_with_its_message_once(
    front: SlackFront, tmp_path: Path, faults: tuple[Fault, ...]
) -> None:
    front.faults.next_times("download", *faults)
    files = BlobFolder(tmp_path / "files", most=MOST)
    async with listening(front, files) as bed:
        await bed.does(lambda: front.upload("U01ALICE", "C01GEN", "report.csv", DATA, MENTION))
        await bed.inbox.until(lambda: bed.inbox.messages, "the file")
        await bed.does(lambda: front.say("U01ALICE", "C01GEN", "and now?"))
        await bed.inbox.until(lambda: len(bed.inbox.messages) > 1, "what is said after it")

    with_file, after = sorted(bed.inbox.messages, key=lambda one: one.at)
    assert with_file.text == "@headway sum this up"
    (file,) = with_file.files
    assert (file.name, file.size) == ("report.csv", len(DATA))
    with await files.open(file.hash) as kept:
        assert kept.read() == DATA
    assert after.text == "and now?"


@pytest.mark.parametrize(
    ("user", "size", "text"),
    [
        (
            "U01ALICE",
            MOST + 1,
            "Look\n\n[file: big.bin, not taken: It has 10 KB, and a file may have 10 KB here.]",
        ),
        ("U02BOB", 10, "Look"),
    ],
    ids=["too large", "of a stranger"],
)
async def test_a_file_that_is_not_taken_keeps_no_message_back(
    front: SlackFront, tmp_path: Path, user: str, size: int, text: str
) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST)
    async with listening(front, files) as bed:
        await bed.does(lambda: front.upload(user, "C01GEN", "big.bin", b"x" * size, "Look"))
        await bed.inbox.until(lambda: bed.inbox.messages, "the message")

    (message,) = bed.inbox.messages
    assert (message.text, message.files) == (text, ())
