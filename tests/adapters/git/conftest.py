"""A git server, and mirrors of what it has."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.git.mirrors import GitMirrors
from adapters.git.program import Git
from adapters.git.shed import Shed
from bot.ports.mirrors import Credential
from bot.ports.repositories import Repository
from bot.ports.repository_urls import RepositoryUrl
from tests.peers.git_server import GitServer, git, git_server

HOST = "git.test"
"""No resolver knows it: it is reached where `here` says."""


async def here(url: RepositoryUrl) -> str:
    """Every server is on this machine."""
    return "127.0.0.1"


class Agent:
    """A checkout as an agent has it, with whatever it wrote into it."""

    def __init__(self, folder: Path, server: GitServer) -> None:
        self.folder = folder / "checkout"
        git("clone", "--quiet", str(server.bare("app")), str(self.folder), at=folder)

    def commit(self, **files: str) -> str:
        """Commit files by their name (`_` for a dot); returns the commit's id."""
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        git("add", "--all", at=self.folder)
        git("commit", "--quiet", "-m", "Of the agent", at=self.folder)
        return git("rev-parse", "HEAD", at=self.folder)

    def pack(self, *revisions: str) -> bytes:
        """What the sandbox packs."""
        done = subprocess.run(
            ["git", "pack-objects", "--revs", "--stdout", "-q"], cwd=self.folder,
            input="\n".join(revisions).encode() + b"\n", capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout


def running(word: bytes) -> bytes:
    """Command lines and environments of all processes that have the word in their line."""
    seen = b""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
            seen += line + (process / "environ").read_bytes() if word in line else b""
        except OSError:
            continue
    return seen


def mirror_in(folder: Path) -> Path:
    """The one mirror there is."""
    [mirror] = folder.glob("*/mirror.git")
    return mirror


def holding(folder: Path, text: str) -> list[Path]:
    """The files below a folder that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    """As a session gives them."""
    for at in range(0, len(content), 65_536):
        yield content[at : at + 65_536]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "served") as running:
        running.create("app", {"app.py": "x = 1\n"})
        yield running


@pytest.fixture
def credential(server: GitServer) -> Credential:
    return Credential(server.user, server.password)


@pytest.fixture
def app(server: GitServer) -> Repository:
    return Repository("app", server.url("app", HOST))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "repositories"


@pytest.fixture
def mirrors(folder: Path) -> GitMirrors:
    program = Git(most_mb=64, time_limit_s=30)
    return GitMirrors(Shed(folder, program), program, here, most_mb=16)


@pytest.fixture
def agent(tmp_path: Path, server: GitServer) -> Agent:
    return Agent(tmp_path, server)
