"""The one way out: programs find it, nothing else is there, and it lasts as long as its session."""

import asyncio
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from bot.errors import NoSandbox
from bot.ports.sandbox import Line, Sandbox, Session
from tests.adapters.sandbox.way import Way, way
from tests.contracts.sandbox import bash

pytestmark = pytest.mark.sandbox

PAGE = "http://plain.example/page"
SEALED = "https://sealed.example/page"
LARGE = "http://plain.example/large"
INDEX = "https://index.example/simple/"
WHEEL = "small_thing-1.0-py3-none-any.whl"
LARGE_BYTES = 20_000_000
PYTHON = os.path.join(sys.base_prefix, "bin", "python3")


@pytest.fixture(params=["bubblewrap", "none"])
def each(request: pytest.FixtureRequest, folder: Path) -> Sandbox:
    return Bubblewrap(folder) if request.param == "bubblewrap" else Unconfined(folder)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Way]:
    pages = {PAGE: b"plain\n", SEALED: b"sealed\n", LARGE: b"x" * LARGE_BYTES, **_index()}
    async with way(tmp_path, {**pages, **_repository(tmp_path)}, TOKEN="placeholder-1") as made:
        yield made


@pytest.fixture
async def session(each: Sandbox, opened: Way) -> AsyncIterator[Session]:
    made = await each.open("G1", "workspace", opened.line)
    yield made
    await made.close()


async def test_curl_reaches_what_the_proxy_gives(session: Session, opened: Way) -> None:
    plain = await bash(session, f"curl -sS {PAGE}")
    sealed = await bash(session, f"curl -sS {SEALED}")

    assert (plain.text, sealed.text) == ("plain", "sealed")
    assert opened.asked == [f"GET {PAGE}", f"GET {SEALED}"]


async def test_git_clones_through_it(session: Session) -> None:
    outcome = await bash(session, "git clone -q https://code.example/r.git && cat r/a.txt")

    assert outcome.text == "in the repository"


async def test_pip_installs_through_it(session: Session) -> None:
    command = (
        f"{PYTHON} -m pip install -q --no-cache-dir --disable-pip-version-check --target got "
        f"--index-url {INDEX} small-thing && cat got/small_thing.py"
    )

    outcome = await bash(session, command)

    assert "THING = 1" in outcome.text


async def test_what_the_line_brings_is_in_the_environment(session: Session) -> None:
    outcome = await bash(session, "echo $TOKEN; export TOKEN=other; echo $NO_PROXY")
    after = await bash(session, "echo $TOKEN")

    assert outcome.text.splitlines() == ["placeholder-1", "localhost,127.0.0.1,::1"]
    assert after.text == "other"


async def test_much_comes_through_and_whole(session: Session) -> None:
    outcome = await bash(session, f"curl -sS {LARGE} | wc -c")

    assert outcome.text == str(LARGE_BYTES)


async def test_many_at_once_come_through(session: Session) -> None:
    command = f"for n in $(seq 40); do curl -sS {PAGE} & done; wait"

    outcome = await bash(session, command)

    assert outcome.text.split() == ["plain"] * 40


async def test_who_kills_the_forwarder_gets_another(folder: Path, opened: Way) -> None:
    session = await Bubblewrap(folder).open("G1", "workspace", opened.line)

    outcome = await bash(
        session,
        f"for p in /proc/[0-9]*; do p=${{p#/proc/}}; [ $p = $$ ] || kill -9 $p; done; sleep 0.5; "
        f"curl -sS {PAGE}",
    )
    await session.close()

    assert outcome.text.startswith("plain")


async def test_a_proxy_that_has_gone_is_said_and_hangs_nobody(
    session: Session, opened: Way
) -> None:
    opened.stop()

    plain = await bash(session, f"curl -sS -m 5 {PAGE}")
    sealed = await bash(session, f"curl -sS -m 5 {SEALED}")

    assert plain.text == "The way out of the sandbox is gone. Try again in a while."
    assert "502" in sealed.text


async def test_besides_the_line_there_is_no_network(folder: Path, opened: Way) -> None:
    session = await Bubblewrap(folder).open("G1", "workspace", opened.line)

    outcome = await bash(
        session,
        "grep -c : /proc/net/dev; timeout 2 bash -c 'echo > /dev/tcp/169.254.169.254/80'; "
        "timeout 2 bash -c 'echo > /dev/udp/192.0.2.1/53'; [ -s /etc/resolv.conf ] && echo names",
    )
    await session.close()

    assert outcome.text.count("Network is unreachable") == 4
    assert outcome.text.startswith("1\n")
    assert "names" not in outcome.text


async def test_the_line_s_secrets_are_in_no_command_line(folder: Path, tmp_path: Path) -> None:
    async with way(tmp_path, {}, TOKEN="given-value-77") as made:
        session = await Bubblewrap(folder).open("G1", "workspace", made.line)
        lines = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
        await session.close()

    assert any(made.line.socket in line for line in lines)
    assert not any("given-value-77" in line for line in lines)


async def test_a_session_rests_for_the_same_line_only(
    folder: Path, opened: Way, tmp_path: Path
) -> None:
    sandbox = Bubblewrap(folder, rest_s=30.0)
    other = Line(opened.line.socket, opened.line.certificate, {"TOKEN": "placeholder-2"})
    told = []
    for line in (opened.line, other, None, opened.line):
        session = await sandbox.open("G1", "workspace", line)
        told.append(
            (
                await bash(
                    session, "echo ${TOKEN-none} ${http_proxy-none} $KEPT; KEPT=1; export KEPT"
                )
            ).text
        )
        await session.close()
    await sandbox.close()

    assert told == [
        "placeholder-1 http://127.0.0.1:3128",
        "placeholder-2 http://127.0.0.1:3128",
        "none none",
        "placeholder-1 http://127.0.0.1:3128 1",
    ]


async def test_a_certificate_that_is_not_there_opens_nothing(each: Sandbox, opened: Way) -> None:
    with pytest.raises(NoSandbox, match="certificate cannot be read"):
        await each.open("G1", "workspace", Line(opened.line.socket, "/nowhere.pem"))


async def test_it_is_there_again_after_a_call_that_was_cancelled(session: Session) -> None:
    call = asyncio.create_task(bash(session, "sleep 60"))
    await asyncio.sleep(0.3)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert (await bash(session, f"curl -sS {PAGE}")).text == "plain"


def _index() -> dict[str, bytes]:
    file = io.BytesIO()
    about = "small_thing-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("small_thing.py", "THING = 1\n")
        wheel.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: small-thing\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    listed = f'<html><body><a href="https://index.example/files/{WHEEL}">{WHEEL}</a></body></html>'
    return {
        f"{INDEX}small-thing/": listed.encode(),
        f"https://index.example/files/{WHEEL}": file.getvalue(),
    }


def _repository(folder: Path) -> dict[str, bytes]:
    """A repository as files, as git fetches it from a server that knows nothing of git."""
    work, bare = folder / "work", folder / "r.git"
    work.mkdir()
    (work / "a.txt").write_text("in the repository\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "."],
        ["git", *identity, "commit", "-qm", "first"],
        ["git", "clone", "-q", "--bare", ".", str(bare)],
        ["git", "-C", str(bare), "update-server-info"],
    ):
        subprocess.run(command, cwd=work, check=True)
    files = {str(path.relative_to(bare)): path for path in bare.rglob("*") if path.is_file()}
    pages = {
        f"https://code.example/r.git/{name}": path.read_bytes() for name, path in files.items()
    }
    refs = "https://code.example/r.git/info/refs"
    return {**pages, f"{refs}?service=git-upload-pack": pages[refs]}
