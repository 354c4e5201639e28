"""
A git server over HTTP on this machine: git's own `http-backend` behind a small server with basic auth.

with git_server(folder, "bot", "secret") as server:
    server.create("app", {"app.py": "x = 1\\n"})
    server.url("app")            # http://127.0.0.1:PORT/app.git
    server.heads("app")          # {"main": "<commit>"}
    server.pushes                # [("app", "refs/heads/headway/g1", "<commit>"), ...], each that was taken

`hangs` names paths whose requests wait until it is emptied, `holds` those whose answers do; `requests` tells
each one with its user.
"""

import base64
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BACKEND = ("/usr/lib/git-core/git-http-backend", "/usr/libexec/git-core/git-http-backend")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Peer",
    "GIT_AUTHOR_EMAIL": "peer@example.org",
    "GIT_COMMITTER_NAME": "Peer",
    "GIT_COMMITTER_EMAIL": "peer@example.org",
}


def git(*arguments: str, at: Path) -> str:
    """Run git as whoever owns the server."""
    done = subprocess.run(
        ["git", *arguments], cwd=at, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {arguments}: {done.stderr}"
    return done.stdout.strip()


@dataclass
class GitServer:
    """The server, its repositories, and what was asked of it."""

    folder: Path
    user: str
    password: str
    port: int = 0
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path with its query, and user, of each request that was let in; "" where it was not."""
    hangs: set[str] = field(default_factory=set)
    holds: set[str] = field(default_factory=set)
    redirects: dict[str, str] = field(default_factory=dict)

    def url(self, name: str, host: str = "127.0.0.1") -> str:
        """The address of a repository."""
        return f"http://{host}:{self.port}/{name}.git"

    def create(self, name: str, files: Mapping[str, str]) -> str:
        """Make a repository with one commit on `main`; returns its id."""
        bare, work = self.bare(name), self.folder / f"{name}.work"
        self.folder.mkdir(parents=True, exist_ok=True)
        git("init", "--quiet", "--bare", "--initial-branch=main", str(bare), at=self.folder)
        git("config", "http.receivepack", "true", at=bare)
        hook = bare / "hooks" / "post-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ncat >> {self.folder / name}.pushes\n")
        hook.chmod(0o755)
        git("init", "--quiet", "--initial-branch=main", str(work), at=self.folder)
        return self.commit(name, files)

    def commit(self, name: str, files: Mapping[str, str], branch: str = "main") -> str:
        """Add a commit; returns its id."""
        work = self.folder / f"{name}.work"
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        git("add", "--all", at=work)
        git("commit", "--quiet", "--allow-empty", "-m", "A change of the peer's", at=work)
        git("push", "--quiet", str(self.bare(name)), f"HEAD:refs/heads/{branch}", at=work)
        (self.folder / f"{name}.pushes").unlink(missing_ok=True)
        return git("rev-parse", "HEAD", at=work)

    def bare(self, name: str) -> Path:
        """Where it lies."""
        return self.folder / f"{name}.git"

    def heads(self, name: str) -> dict[str, str]:
        """Its branches and where they lead."""
        lines = git("for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads",
                    at=self.bare(name)).splitlines()  # fmt: skip
        return dict(line.split(" ") for line in lines)

    def pushes(self, name: str) -> list[tuple[str, str]]:
        """Each update of a branch that came over HTTP: the branch and its commit."""
        kept = self.folder / f"{name}.pushes"
        lines = kept.read_text().splitlines() if kept.exists() else []
        return [(ref.removeprefix("refs/heads/"), new) for _, new, ref in map(str.split, lines)]


def _handler(server: GitServer) -> type[BaseHTTPRequestHandler]:
    expected = "Basic " + base64.b64encode(f"{server.user}:{server.password}".encode()).decode()
    backend = next(path for path in BACKEND if os.path.exists(path))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *arguments: Any) -> None:
            return

        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            self._serve(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().strip() or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _serve(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            while path in server.hangs:
                time.sleep(0.02)
            elsewhere = next((to for of, to in server.redirects.items() if path.startswith(of)), "")
            if elsewhere:
                self.send_response(302)
                self.send_header("Location", elsewhere + self.path)
                self.end_headers()
                return
            is_let_in = self.headers.get("Authorization") == expected
            server.requests.append((self.command, self.path, server.user if is_let_in else ""))
            if not is_let_in:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            self._backend(path, query, body)

        def _backend(self, path: str, query: str, body: bytes) -> None:
            environment = {
                **ENVIRONMENT,
                "GIT_PROJECT_ROOT": str(server.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "REMOTE_USER": server.user,
                "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            done = subprocess.run(
                [backend], input=body, env=environment, capture_output=True, check=False
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            lines = [
                line.partition(": ")[::2] for line in head.decode().split("\r\n") if ":" in line
            ]
            headers = dict(lines)
            while path in server.holds:
                # It is done; whoever asked does not hear of it yet.
                time.sleep(0.02)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)

    return Handler


@contextmanager
def git_server(
    folder: Path, user: str = "bot", password: str = "s3cret-of-the-git-server"
) -> Iterator[GitServer]:
    """A server over the repositories in `folder`, until the context ends."""
    server = GitServer(folder, user, password)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    server.port = http.server_address[1]
    thread = threading.Thread(
        target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.hangs.clear()
        server.holds.clear()
        http.shutdown()
        http.server_close()
        thread.join(5)
