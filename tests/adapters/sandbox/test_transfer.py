"""Files through the sandbox's wall: none leaves that the agent could not have given anyway."""

import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside import paths, transfer
from adapters.sandbox.inside.files import Writer
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.none import Unconfined
from bot.errors import BadInput
from bot.ports.sandbox import Sandbox, Session
from tests.contracts.sandbox import bash, put, taken

pytestmark = pytest.mark.sandbox


@pytest.fixture(params=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    folder = tmp_path / "workspaces"
    return Unconfined(folder) if request.param == "none" else Bubblewrap(folder)


@pytest.fixture
async def session(sandbox: Sandbox) -> AsyncIterator[Session]:
    opened = await sandbox.open("G1", "workspace")
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "trick",
    [
        "ln -s /etc/passwd out.txt",
        "ln -s /proc/self/environ out.txt",
        "ln -s /etc up && ln -s up/passwd out.txt",
        "ln -s ../G2/secret.txt out.txt",
        "ln -s out.txt out.txt",
        "mkfifo out.txt",
        "mkdir out.txt",
        "ln -s /dev/zero out.txt",
    ],
)
async def test_no_trick_of_the_agent_takes_out_what_is_no_file_of_its_workspace(
    sandbox: Sandbox, session: Session, trick: str
) -> None:
    other = await sandbox.open("G2", "workspace")
    await put(other, "secret.txt", b"another goal's")
    await other.close()
    await bash(session, trick)

    with pytest.raises(BadInput):
        await taken(session, "out.txt")


async def test_no_folder_that_leads_out_is_passed(session: Session, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept.txt").write_text("the operator's")
    await bash(session, f"ln -s {tmp_path}/outside inbox")

    with pytest.raises(BadInput):
        await put(session, "inbox/a.txt", b"x")
    with pytest.raises(BadInput):
        await taken(session, "inbox/kept.txt")

    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["kept.txt"]


async def test_a_link_within_the_workspace_is_taken_as_what_it_leads_to(session: Session) -> None:
    await bash(session, "echo kept > artifacts/a.txt && ln -s artifacts/a.txt b.txt")

    assert await taken(session, "b.txt") == b"kept\n"


async def test_a_file_that_changes_while_it_is_taken_is_not_shared_in_halves(
    session: Session,
) -> None:
    await put(session, "a.bin", b"x" * 3_000_000)
    pieces = session.take("a.bin", most=10_000_000)
    await anext(pieces)
    await bash(session, "echo more >> a.bin")

    with pytest.raises(BadInput, match="changed"):
        await anext(pieces)


async def test_a_full_workspace_takes_no_more_and_says_so(tmp_path: Path) -> None:
    small = Bubblewrap(tmp_path / "workspaces", limits=Limits(workspace_bytes=1_000_000))
    session = await small.open("G1", "workspace")

    with pytest.raises(BadInput, match="may hold"):
        await put(session, "inbox/a.bin", b"x" * 1_000_000, b"x" * 1_000_000)

    await session.close()


async def test_a_read_only_session_takes_nothing_in(tmp_path: Path) -> None:
    session = await Bubblewrap(tmp_path / "workspaces").open("G5", "read_only")

    with pytest.raises(BadInput, match="read-only"):
        await put(session, "inbox/a.txt", b"x")

    await session.close()


@pytest.mark.parametrize("steps", range(4))
def test_cut_off_anywhere_and_begun_again_it_is_one_whole_file(tmp_path: Path, steps: int) -> None:
    """The whole of what one call does is one step; the process may end after any of them."""
    root, content = str(tmp_path), b"first, second"
    of = {"path": "inbox/a.txt", "hash": hashlib.sha256(content).hexdigest()}
    calls: list[Callable[[], object]] = [
        lambda: transfer.put(root, Writer(root, Limits()), {**of, "at": 0, "data": "Zmlyc3Qs"}),
        lambda: transfer.put(root, Writer(root, Limits()), {**of, "at": 6, "data": "IHNlY29uZA=="}),
        lambda: transfer.place(root, of),
    ]
    for call in calls[:steps]:
        call()

    for call in calls:
        call()

    assert [path.name for path in (tmp_path / "inbox").iterdir()] == ["a.txt"]
    assert (tmp_path / "inbox" / "a.txt").read_bytes() == content


def test_a_draft_that_lost_its_beginning_is_no_file(tmp_path: Path) -> None:
    of = {"path": "a.txt", "hash": "0" * 64}
    transfer.put(str(tmp_path), Writer(str(tmp_path), Limits()), {**of, "at": 0, "data": "Zmly"})

    with pytest.raises(paths.Impossible, match="changed"):
        transfer.put(str(tmp_path), Writer(str(tmp_path), Limits()), {**of, "at": 9, "data": ""})
