"""
A private Synapse, the homeserver that most people on Matrix use, for as long as a `with` lasts.

It runs from an environment of its own, listens on 127.0.0.1 alone and federates with nobody. It can
be stopped and started again on the same data and port. Start it from the thread that lives longest:
the kernel ends it with the thread that started it, so that a killed test run leaves nothing behind.
"""

import hashlib
import hmac
import itertools
import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from tests.peers import beds

LOCK: Final = beds.ROOT / "deploy" / "synapse.lock"
SERVER_NAME: Final = "localhost"
SECRET: Final = "registration-of-tests"
START_S: Final = 90.0
STOP_S: Final = 20.0
CALL_S: Final = 60.0

Limits = Literal["none", "stock"]
Json = dict[str, Any]

# Ends with the thread that started it, and is Synapse otherwise: one process, one pid.
_BOOT: Final = """
import ctypes, runpy, sys
ctypes.CDLL(None).prctl(1, 15)
sys.argv[0] = "synapse"
runpy.run_module("synapse.app.homeserver", run_name="__main__")
"""
_FREE: Final = {"per_second": 100_000, "burst_count": 100_000}
_OWN_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Account:
    """A user who was registered, with one device logged in."""

    user_id: str
    password: str
    token: str
    device_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the JSON that came with it; empty where it was none."""

    status: int
    body: Json


@dataclass
class Synapse:
    """A homeserver; `url` stays the same over restarts, and so does everything in `folder`."""

    folder: Path
    port: int
    limits: Limits
    _process: "subprocess.Popen[bytes] | None" = None
    _admin: Account | None = None
    _names: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it wrote, warnings and worse."""
        return "".join(
            path.read_text(errors="replace")
            for name in ("output.log", "homeserver.log")
            if (path := self.folder / name).exists()
        )

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it ended or did not answer in time; with the end of its log.
        """
        with (self.folder / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                [_python(), "-c", _BOOT, "-c", self.folder / "homeserver.yaml"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        until = time.monotonic() + START_S
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"Synapse did not start:\n{self.log[-3000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in order; does nothing where it is down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a loss of power does; does nothing where it is down."""
        self._end(signal.SIGKILL)

    def register(
        self, name: str = "user", *, password: str = "", admin: bool = False, exact: bool = False
    ) -> Account:
        """A new user, whose localpart is `name` and a number, unless it has to be `exact`."""
        localpart = name if exact else f"{name}{next(self._names)}"
        password = password or f"password of {localpart}"
        path = "/_synapse/admin/v1/register"
        nonce = self.call("GET", path).body["nonce"]
        words = [nonce, localpart, password, "admin" if admin else "notadmin"]
        mac = hmac.new(SECRET.encode(), "\0".join(words).encode(), hashlib.sha1).hexdigest()
        wish = {
            "nonce": nonce, "username": localpart, "password": password, "admin": admin, "mac": mac,
        }  # fmt: skip
        made = self.done("POST", path, wish)
        return Account(made["user_id"], password, made["access_token"], made["device_id"])

    def login(self, account: Account, device_id: str | None = None) -> Account:
        """A further login of a user, on a new device or on the one that is named."""
        wish = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": account.user_id},
            "password": account.password,
        }
        named = {"device_id": device_id} if device_id else {}
        made = self.done("POST", "/_matrix/client/v3/login", wish | named)
        return Account(account.user_id, account.password, made["access_token"], made["device_id"])

    def log_out(self, token: str) -> None:
        """End a login as a client does: the token is unknown from now on, the device is gone."""
        self.done("POST", "/_matrix/client/v3/logout", {}, token)

    def forget_token(self, token: str, *, soft: bool = False) -> None:
        """Make a token unknown and keep its device with its keys; restarts the server.

        Args:
            soft: the token has run out, so that the server says `soft_logout`.
        """
        change = "DELETE FROM access_tokens WHERE token = ?"
        if soft:
            change = "UPDATE access_tokens SET valid_until_ms = 1 WHERE token = ?"
        self.stop()
        with sqlite3.connect(self.folder / "homeserver.db") as database:
            changed = database.execute(change, (token,)).rowcount
        database.close()
        assert changed == 1, "this token was not known"
        self.start()

    def delete_device(self, user_id: str, device_id: str) -> None:
        """Remove a device as an administrator does, with its keys and its tokens."""
        self.admin("DELETE", f"/v2/users/{quote(user_id)}/devices/{quote(device_id)}")

    def deactivate(self, user_id: str) -> None:
        """Close an account for good."""
        self.admin("POST", f"/v1/deactivate/{quote(user_id)}", {"erase": False})

    def free_of_limits(self, user_id: str) -> None:
        """Let one user send without limits, on a server that has some."""
        path = f"/v1/users/{quote(user_id)}/override_ratelimit"
        self.admin("POST", path, {"messages_per_second": 0, "burst_count": 0})

    def admin(self, method: str, path: str, body: Json | None = None) -> Json:
        """A call to the admin API below `/_synapse/admin`, by an administrator of the bed's own.

        Raises:
            AssertionError: it was refused.
        """
        if self._admin is None:
            self._admin = self.register("administrator", admin=True)
        return self.done(method, f"/_synapse/admin{path}", body, self._admin.token)

    def done(self, method: str, path: str, body: Json | None = None, token: str = "") -> Json:
        """The answer to a call that has to succeed.

        Raises:
            AssertionError: it did not; with what the server said.
        """
        answer = self.call(method, path, body, token)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body}"
        return answer.body

    def call(
        self, method: str, path: str, body: Json | None = None, token: str = "", through: str = ""
    ) -> Answer:
        """One call to any of its APIs, whatever comes of it; `through` another address of it."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request((through or self.url) + path, data, headers, method=method)
        try:
            with _OWN_OPENER.open(request, timeout=CALL_S) as response:
                return Answer(response.status, _json(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _json(error.read()))

    def _is_up(self) -> bool:
        try:
            return self.call("GET", "/_matrix/client/versions").status == 200
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


@contextmanager
def private_synapse(limits: Limits = "none", more: Json | None = None) -> Iterator[Synapse]:
    """Set one up, start it, and at the end stop and remove it; its log stays in `.cache/beds`.

    Args:
        limits: `none`, or `stock`: those that a homeserver has when nobody chose any. Only logins
            are free in both, as all users of a bed come from one address.
        more: further settings of `homeserver.yaml`, which win.
    """
    folder = Path(tempfile.mkdtemp(prefix="synapse-"))
    server = Synapse(folder, _free_port(), limits)
    try:
        _configure(server, more or {})
        server.start()
        yield server
    finally:
        server.stop()
        (beds.CACHE / f"{folder.name}.log").write_text(server.log, encoding="utf-8")
        _drop_old_logs()
        shutil.rmtree(folder, ignore_errors=True)


def _python() -> Path:
    return beds.python_environment("synapse", LOCK)


def _configure(server: Synapse, more: Json) -> None:
    """Write the settings, as JSON, which is YAML too, and make the signing key."""
    folder = server.folder
    settings = _settings(folder, server.port) | (_no_limits() if server.limits == "none" else {})
    settings |= {"rc_login": {"address": _FREE, "account": _FREE, "failed_attempts": _FREE}}
    (folder / "homeserver.yaml").write_text(json.dumps(settings | more), encoding="utf-8")
    (folder / "log.yaml").write_text(json.dumps(_logging(folder)), encoding="utf-8")
    make_key: list[str | Path] = [
        _python(), "-m", "synapse.app.homeserver", "-c", "homeserver.yaml", "--generate-keys",
    ]  # fmt: skip
    beds.run(make_key, folder, "Making Synapse's signing key")


def _settings(folder: Path, port: int) -> Json:
    listener = {
        "port": port, "bind_addresses": ["127.0.0.1"], "type": "http", "tls": False,
        "resources": [{"names": ["client", "media"], "compress": False}],
    }  # fmt: skip
    return {
        "server_name": SERVER_NAME,
        "public_baseurl": f"http://127.0.0.1:{port}/",
        "pid_file": str(folder / "pid"),
        "listeners": [listener],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "log_config": str(folder / "log.yaml"),
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "registration_shared_secret": SECRET,
        "macaroon_secret_key": "macaroons-of-tests",
        "form_secret": "forms-of-tests",
        "report_stats": False,
        "trusted_key_servers": [],
        "suppress_key_server_warning": True,
        "federation_domain_whitelist": [],
        "serve_server_wellknown": False,
        "url_preview_enabled": False,
        "presence": {"enabled": False},
        "bcrypt_rounds": 4,
        # Else an initial sync that is asked for again within two minutes is answered from memory:
        # a client that starts anew would miss what happened since.
        "caches": {"sync_response_cache_duration": 0},
    }


def _no_limits() -> Json:
    one_number = (
        "message", "registration", "admin_redaction", "joins_per_room", "room_creation",
        "media_create", "delayed_event_mgmt", "reports", "3pid_validation", "key_requests",
        "third_party_invite",
    )  # fmt: skip
    several = {
        "joins": ("local", "remote"),
        "invites": ("per_room", "per_user", "per_issuer"),
        "presence": ("per_user",),
    }
    return {f"rc_{name}": _FREE for name in one_number} | {
        f"rc_{name}": dict.fromkeys(parts, _FREE) for name, parts in several.items()
    }


def _logging(folder: Path) -> Json:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(asctime)s %(name)s %(levelname)s %(message)s"}},
        "handlers": {
            "file": {
                "class": "logging.FileHandler",
                "filename": str(folder / "homeserver.log"),
                "formatter": "plain",
            }
        },
        "root": {"level": "WARNING", "handlers": ["file"]},
    }


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _drop_old_logs(kept: int = 8) -> None:
    logs = sorted(beds.CACHE.glob("synapse-*.log"), key=lambda path: path.stat().st_mtime)
    for old in logs[:-kept]:
        old.unlink(missing_ok=True)


def _json(data: bytes) -> Json:
    try:
        read = json.loads(data)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
