"""Files of messages, from hosts that give them, and from hosts that give something else."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.files.blobs import BlobFolder
from adapters.slack.calling import Calls
from adapters.slack.media import Media, described, is_slacks
from bot.errors import BadInput, HeadwayError, Refused, Wait
from bot.ports.chat import Attachment
from tests.adapters.slack.file_host import FileHost, Reply, file_host

MOST = 100_000
DATA = "a,b\nü,2\n".encode() * 1_000
LOGIN = b"<!DOCTYPE html><html><body>Sign in to your workspace</body></html>"
TOKENS = {"T01TEST": "xoxb-one", "T02SECOND": "xoxb-two"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
FIELDS = [
    "id", "name", "title", "mimetype", "size", "mode", "url_private", "url_private_download",
    "file_access", "is_external", "external_type",
]  # fmt: skip


@pytest.fixture
async def host() -> AsyncIterator[FileHost]:
    async with file_host() as host:
        yield host


@pytest.fixture
async def stranger() -> AsyncIterator[FileHost]:
    async with file_host() as host:
        yield host


@pytest.fixture
async def media(host: FileHost, tmp_path: Path) -> AsyncIterator[Media]:
    async def token_for(workspace: str) -> str:
        return TOKENS[workspace]

    calls = Calls(token_for, api_url=f"{host.url}/api/")
    yield Media(calls, BlobFolder(tmp_path / "files", most=MOST))
    await calls.close()


def file_at(host: FileHost, **different: object) -> dict[str, Any]:
    file = {
        "id": "F01FILE", "name": "report.csv", "mimetype": "text/csv", "size": len(DATA),
        "mode": "hosted", "file_access": "visible",
        "url_private": f"{host.url}/files-pri/T01-F01/report.csv",
        "url_private_download": f"{host.url}/files-pri/T01-F01/download/report.csv",
    }  # fmt: skip
    return file | different


def gives(host: FileHost, reply: Reply) -> None:
    host.replies["/files-pri/T01-F01/download/report.csv"] = reply


@pytest.mark.parametrize("workspace", TOKENS)
async def test_a_file_is_fetched_with_the_token_of_its_own_workspace(
    host: FileHost, media: Media, workspace: str
) -> None:
    gives(host, Reply(DATA, "text/csv"))

    file = await media.fetch(workspace, file_at(host))

    assert file == Attachment(
        "report.csv", "text/csv", len(DATA), hashlib.sha256(DATA).hexdigest()
    )  # fmt: skip
    assert [asked for _, asked in host.asked] == [f"Bearer {TOKENS[workspace]}"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(LOGIN, "text/html; charset=utf-8"),
        Reply(LOGIN, "text/csv"),
        Reply(b"", "text/html", status=302, location="/?redir=%2Ffiles-pri"),
        Reply(b"", "text/html", status=302, location="http://["),
        Reply(b"denied", "text/plain", status=403),
        Reply(LOGIN, "text/html", status=401),
        Reply(b"", "text/plain", status=404),
    ],
    ids=[
        "page",
        "page of the file's type",
        "sent to a log-in",
        "sent nowhere",
        "403",
        "401",
        "404",
    ],
)
async def test_what_is_not_the_file_is_not_taken_for_it(
    host: FileHost, media: Media, reply: Reply
) -> None:
    host.replies["/"] = Reply(LOGIN, "text/html")
    gives(host, reply)

    with pytest.raises((Refused, BadInput)):
        await media.fetch("T01TEST", file_at(host))


async def test_a_log_in_page_in_place_of_an_image_without_a_size_is_known_by_its_first_bytes(
    host: FileHost, media: Media
) -> None:
    gives(host, Reply(LOGIN, "image/png"))
    file = file_at(host, name="a.png", mimetype="image/png", size=None)

    with pytest.raises(Refused, match="log-in"):
        await media.fetch("T01TEST", file)


async def test_a_page_that_somebody_gives_is_a_file(host: FileHost, media: Media) -> None:
    gives(host, Reply(LOGIN, "text/html"))
    file = file_at(host, name="a.html", mimetype="text/html", size=len(LOGIN))

    fetched = await media.fetch("T01TEST", file)

    assert fetched.size == len(LOGIN)


async def test_slack_may_send_on_within_its_own_hosts(host: FileHost, media: Media) -> None:
    gives(host, Reply(status=302, location="/edge/report.csv"))
    host.replies["/edge/report.csv"] = Reply(DATA, "text/csv")

    fetched = await media.fetch("T01TEST", file_at(host))

    assert fetched.size == len(DATA)


async def test_nobody_follows_to_a_stranger(
    host: FileHost, stranger: FileHost, media: Media
) -> None:
    gives(host, Reply(status=302, location=f"{stranger.url}/report.csv"))
    stranger.replies["/report.csv"] = Reply(DATA, "text/csv")

    with pytest.raises(Refused):
        await media.fetch("T01TEST", file_at(host))

    assert stranger.asked == []


async def test_a_file_that_sends_in_circles_is_given_up(host: FileHost, media: Media) -> None:
    path = "/files-pri/T01-F01/download/report.csv"
    gives(host, Reply(status=302, location=path))

    with pytest.raises(Refused):
        await media.fetch("T01TEST", file_at(host))

    assert len(host.asked) < 6


async def test_a_file_elsewhere_is_never_asked_for(
    host: FileHost, stranger: FileHost, media: Media
) -> None:
    url = f"{stranger.url}/report.csv"
    file = file_at(host, url_private_download=url, url_private=url)

    with pytest.raises(Refused, match="does not lie with Slack"):
        await media.fetch("T01TEST", file)

    assert (stranger.asked, host.asked) == ([], [])


async def test_a_file_that_says_it_is_too_large_is_not_begun(host: FileHost, media: Media) -> None:
    gives(host, Reply(DATA, "text/csv"))

    with pytest.raises(BadInput, match="100 KB"):
        await media.fetch("T01TEST", file_at(host, size=MOST + 1))

    assert host.asked == []


async def test_a_file_that_turns_out_too_large_is_not_kept(
    host: FileHost, media: Media, tmp_path: Path
) -> None:
    gives(host, Reply(b"x" * (MOST + 1), "text/csv"))

    with pytest.raises(BadInput):
        await media.fetch("T01TEST", file_at(host, size=None))

    assert [one for one in (tmp_path / "files").rglob("*") if one.is_file()] == []


async def test_a_file_of_another_size_than_was_told_is_not_kept(
    host: FileHost, media: Media, tmp_path: Path
) -> None:
    gives(host, Reply(DATA[:-1], "text/csv"))

    with pytest.raises(BadInput, match="not what was given"):
        await media.fetch("T01TEST", file_at(host))

    assert [one for one in (tmp_path / "files").rglob("*") if one.is_file()] == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(DATA[:500], "text/csv", announced=len(DATA)),
        Reply(b"busy", "text/plain", status=503),
        Reply(b"slower", "text/plain", status=429),
    ],
    ids=["cut off", "503", "429"],
)
async def test_what_passes_by_itself_is_waited_for(
    host: FileHost, media: Media, reply: Reply
) -> None:
    gives(host, reply)

    with pytest.raises(Wait) as caught:
        await media.fetch("T01TEST", file_at(host))

    assert type(caught.value) is Wait


@pytest.mark.parametrize(
    ("different", "why"),
    [
        ({"mode": "tombstone"}, "deleted"),
        ({"mode": "hidden_by_limit"}, "plan"),
        ({"mode": "external", "external_type": "gdrive"}, "gdrive"),
        ({"is_external": True}, "elsewhere"),
        ({"file_access": "access_denied"}, "may not read"),
        ({"mimetype": "application/vnd.slack-docs", "mode": "quip"}, "Slack's own"),
        ({"id": "", "url_private": "", "url_private_download": ""}, "no file"),
    ],
)
async def test_what_is_no_file_says_why_without_being_asked_for(
    host: FileHost, media: Media, different: dict[str, object], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        await media.fetch("T01TEST", file_at(host, **different))

    assert host.asked == []


def test_a_file_of_another_organisation_is_asked_about() -> None:
    assert described({"id": "F01FILE", "file_access": "check_file_info"}).is_untold
    assert described({"id": "F01FILE", "mode": "hosted"}).is_untold
    assert not described({"id": "F01FILE", "mode": "tombstone"}).is_untold


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://files.slack.com/files-pri/T01-F01/download/a.csv", True),
        ("https://acme.enterprise.slack.com/files-pri/T01-F01/a.csv", True),
        ("https://files.slack-gov.com/files-pri/T01-F01/a.csv", True),
        ("http://files.slack.com/files-pri/T01-F01/a.csv", False),
        ("https://files.slack.com:8443/a.csv", False),
        ("https://files.slack.com@evil.example/a.csv", False),
        ("https://files.slack.com.evil.example/a.csv", False),
        ("https://notslack.com/a.csv", False),
        ("https://files.slack.com\\@evil.example/a.csv", False),
        ("http://127.0.0.1:9400/upload", True),
        ("http://127.0.0.1:9401/upload", False),
        ("https://127.0.0.1:9400/upload", False),
        ("ftp://files.slack.com/a.csv", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_the_token_goes_to_slacks_own_hosts_alone(url: str, is_one: bool) -> None:
    assert is_slacks(url, "http://127.0.0.1:9400/api/") is is_one


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_whatever_is_told_of_a_file_is_read(file: dict[str, Any]) -> None:
    told = described(file)

    assert told.name
    assert "/" not in told.name
    assert "/" in told.media_type
    assert told.size is None or told.size >= 0


@given(st.text(max_size=60))
def test_whatever_a_file_points_at_is_slacks_or_not(url: str) -> None:
    assert is_slacks(f"https://{url}", "https://slack.com/api/") in (True, False)


async def test_a_workspace_without_a_token_gives_no_file(host: FileHost, tmp_path: Path) -> None:
    async def token_for(workspace: str) -> str:
        raise Refused("It is not installed there.", code="not_installed")

    calls = Calls(token_for, api_url=f"{host.url}/api/")
    media = Media(calls, BlobFolder(tmp_path / "files", most=MOST))

    with pytest.raises(HeadwayError):
        await media.fetch("T01TEST", file_at(host))

    assert host.asked == []
