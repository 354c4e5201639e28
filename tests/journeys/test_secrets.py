"""Planted secrets, looked for in everything that the process writes, sends, keeps and answers."""

import asyncio
import base64
import html
import http.client
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import psycopg
import pytest

from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile
from adapters.store.reading import open_for_reading
from tests.journeys.bot import Bot, headway, until
from tests.journeys.conftest import SHARED, Begin
from tests.peers.leaks import API_KEY, PASSWORD, PLANTED, SECRET
from tests.peers.messages_api import ROOT, BlockingMessagesApi, started
from tests.peers.postgres import private_postgres

pytestmark = pytest.mark.process

_RAISING = """
from bot.chat import intake
from bot.cli import main
from tests.peers.leaks import ALL

heard = intake.Intake._handle

async def handle(self, message):
    if "!raise" in message.text:
        raise RuntimeError(f"It broke on {ALL}")
    await heard(self, message)

intake.Intake._handle = handle
main()
"""
RAISING = (sys.executable, "-c", _RAISING)
"""The command line, with a defect whose error holds what it should not."""


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started("tests.peers.leaks:by_leak", key=API_KEY) as server:
        yield server


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "secret.key"


def written(value: str) -> list[str]:
    """A value as it may stand somewhere, without white space; not what the product makes of it."""
    forms = [value, quote(value, safe=""), quote(value), quote_plus(value), html.escape(value)]
    forms += [json.dumps(value)[1:-1], value.encode().hex()]
    for pad in range(3):
        encoded = base64.b64encode(b"\0" * pad + value.encode()).decode()
        forms.append(encoded[4:-4])
    return ["".join(form.split()) for form in forms]


def leaks(text: str) -> list[str]:
    """The names of planted values that stand in a text."""
    dense = "".join(text.replace("\\n", " ").split())
    return [name for name, value in PLANTED.items() if any(f in dense for f in written(value))]


def everything_below(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path), path.read_bytes().decode("utf-8", "replace")


def in_postgres(url: str) -> Iterator[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f'SELECT * FROM "{table}"'.encode()).fetchall()
            yield table, "\n".join(repr(row) for row in rows)


def in_sqlite(path: Path) -> Iterator[tuple[str, str]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in names:
            rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
            yield table, "\n".join(repr(row) for row in rows)
    connection.close()


def exported(bot: Bot, *commands: str) -> Iterator[tuple[str, str]]:
    """What commands print, for people and for programs, on both streams."""
    for words in commands:
        done = headway(*words.split(), env=bot.env)
        yield f"headway {words}", done.stdout + done.stderr
    done = headway("show", SECRET, env=bot.env)
    yield "an error that repeats what was typed", done.stdout + done.stderr


def drive(bot: Bot, api: BlockingMessagesApi) -> None:
    """Say, call, fail and raise with every planted value."""
    thread = bot.goal("!leak tools")
    thread.until("complete")
    said = f"!leak writes with {API_KEY} and {SECRET} and {PASSWORD}"
    done = headway("chat", said, "--until-settled", env=bot.env)
    assert done.returncode == 0, done.stderr
    assert "[secret DEPLOY_TOKEN]" in done.stdout
    assert leaks(done.stdout + done.stderr) == []
    asks = bot.goal("!leak asks")
    asks.until_posted("decision")
    asks.say(f"take {SECRET}")
    asks.until("complete")
    api.fault({"status": 400, "message": f"bad x-api-key {API_KEY} in {SECRET} {PASSWORD}"})
    bot.goal("!leak nothing, refused").until("blocked")
    bot.say(f"/goal !raise {SECRET}")
    until(lambda: "It broke on" in bot.told(), 20, bot.told)
    bot.ask(do="settle")
    api.fault({"status": 401, "message": f"invalid x-api-key {API_KEY}, {SECRET}, {PASSWORD}"})
    bot.goal("!leak nothing, for a key that is refused")
    until(lambda: "refuses us" in bot.told(), 20, bot.told)


def test_no_planted_secret_is_found_anywhere(
    begin: Begin, api: BlockingMessagesApi, key_file: Path, tmp_path: Path
) -> None:
    bot = begin(
        api, command=RAISING, api_key=API_KEY, log_level="debug", secret_key_file=key_file,
        private_listen=f"unix:{tmp_path / 'm.sock'}",
    )  # fmt: skip
    # Also while it runs: what is set is known at once.
    told = headway("secret", "set", "DEPLOY_TOKEN", "--host", "api.example.com", env=bot.env,
                   typed=SECRET.encode())  # fmt: skip
    assert told.returncode == 0, told.stderr
    told = headway("secret", "set", "database_password", env=bot.env, typed=PASSWORD.encode())
    assert told.returncode == 0, told.stderr

    drive(bot, api)
    metrics = _metrics(tmp_path / "m.sock")
    commands = ("show G2", "show G3 --json", "trace G1 --json", "secret list --json")
    outputs = dict(exported(bot, *commands))
    backup = tmp_path / "backup"
    saved = headway("backup", str(backup), env=bot.env)
    assert bot.process is not None
    limits = Path(f"/proc/{bot.process.pid}/limits").read_text()
    code, _ = bot.stop()

    assert code == saved.returncode == 0, saved.stderr
    found = {where: leaks(text) for where, text in everything_below(bot.folder)}
    found |= {where: leaks(text) for where, text in everything_below(backup)}
    found |= {f"table {name}": leaks(text) for name, text in in_sqlite(bot.folder / "headway.db")}
    found |= {where: leaks(text) for where, text in outputs.items()}
    found |= {"the log": leaks(bot.told()), "metrics": leaks(metrics)}
    assert {where: names for where, names in found.items() if names} == {}
    assert "[secret api_key]" in bot.told(), "It was there to be found."
    posts = "\n".join(post.text for post in bot.posts())
    assert posts.count("[secret DEPLOY_TOKEN]") > 3
    assert "Others may have read it here" in posts
    assert sum("secret:console:" in post.key for post in bot.posts()) == 3, "Once for each."
    calls = [{**call, "key": "", "error": ""} for call in api.calls()]
    assert leaks(json.dumps(calls)) == [], "The model is told nothing either."
    assert re.search(r"Max core file size +0 +0 ", limits), "No dump holds a key."
    env = outputs["headway trace G1 --json"]
    assert "HOME=" in env
    assert "API_KEY" not in env


@pytest.mark.postgres
def test_the_databases_own_password_is_found_nowhere(
    api: BlockingMessagesApi, sandbox: str, tmp_path: Path, key_file: Path
) -> None:
    with private_postgres() as postgres:
        url = postgres.url().replace("postgres@", f"postgres:{quote(PASSWORD)}@")
        settings: dict[str, object] = {
            "base_url": api.url, "api_key": API_KEY, "sandbox": sandbox, **SHARED,
            "database": url, "secret_key_file": key_file, "log_level": "debug",
        }  # fmt: skip
        bot = Bot(tmp_path / "state", settings).start()
        try:
            headway("secret", "set", "DEPLOY_TOKEN", env=bot.env, typed=SECRET.encode())
            bot.goal(f"!leak writes {PASSWORD}").until("complete")
            broken = headway("goals", env={**bot.env, "HEADWAY_DATABASE": url.replace("?", "x?")})
            outputs = dict(exported(bot, "show G1 --json", "config show --json"))
            code, _ = bot.stop()
        finally:
            bot.end()
        found = {where: leaks(text) for where, text in everything_below(bot.folder)}
        found |= {f"table {name}": leaks(text) for name, text in in_postgres(postgres.url())}
        found |= {where: leaks(text) for where, text in outputs.items()}
        found |= {"the log": leaks(bot.told()), "no database": leaks(broken.stdout + broken.stderr)}

    assert code == 0
    assert broken.returncode != 0
    assert {where: names for where, names in found.items() if names} == {}


def test_a_process_whose_key_is_lost_says_which_secrets_to_set_again(
    begin: Begin, api: BlockingMessagesApi, key_file: Path
) -> None:
    bot = begin(api, api_key=API_KEY, secret_key_file=key_file)
    headway("secret", "set", "DEPLOY_TOKEN", env=bot.env, typed=SECRET.encode())
    bot.stop()
    key_file.unlink()

    refused = headway("run", env=bot.env)
    listed = headway("secret", "list", env=bot.env)

    assert refused.returncode == 78
    assert "is sealed under the key" in refused.stderr
    assert "headway secret set DEPLOY_TOKEN" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "no" in listed.stdout.split()


def test_a_rotation_that_is_killed_at_any_moment_leaves_every_secret_readable(
    tmp_path: Path, key_file: Path
) -> None:
    bot = Bot(tmp_path / "state", {"secret_key_file": key_file})
    headway("secret", "set", "DEPLOY_TOKEN", env=bot.env, typed=SECRET.encode())

    for at in ("add_key", "in the transaction", "committed", "drop_keys"):
        killed = subprocess.run(
            [sys.executable, "-c", _KILLED, at], cwd=ROOT, env=bot.env, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert asyncio.run(_values(bot, key_file)) == [SECRET]

    done = headway("secret", "rotate", env=bot.env)
    assert "1 sealed again" in done.stdout
    assert asyncio.run(_values(bot, key_file)) == [SECRET]
    assert len([line for line in key_file.read_text().splitlines() if line[:1] != "#"]) == 1


async def _values(bot: Bot, key_file: Path) -> list[str]:
    sealing = KeySealing(KeyFile(key_file, apart_from=bot.folder))
    async with open_for_reading(bot.database, state_dir=bot.folder, sealing=sealing) as store:
        return list((await store.secrets.values()).values())


_KILLED = """
import os, sys
from adapters.keys.sealing import KeySealing
from adapters.store.secrets import StoreSecrets
from bot.cli import main

def killing(owner, name, is_after=True):
    does = getattr(owner, name)
    def method(self, *more):
        if is_after:
            does(self, *more)
        os.kill(os.getpid(), 9)
    setattr(owner, name, method)

if sys.argv[1] == "in the transaction":
    killing(StoreSecrets, "_reseal")
elif sys.argv[1] == "committed":
    killing(StoreSecrets, "_drop", is_after=False)
else:
    killing(KeySealing, sys.argv[1])
sys.argv[1:] = ["secret", "rotate"]
main()
"""


def _metrics(at: Path) -> str:
    """What is served for machines, as one text."""

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(str(at))

    told = ""
    for path in ("/metrics", "/healthz", "/readyz", "/livez"):
        connection = Connection("localhost", timeout=10)
        connection.request("GET", path)
        told += connection.getresponse().read().decode()
        connection.close()
    return told
