"""What an agent may bring: nothing of it runs, and nothing broken is taken."""

import hashlib
import subprocess
import zlib
from pathlib import Path

import pytest

from adapters.git.mirrors import GitMirrors
from adapters.git.program import Git
from adapters.git.shed import Shed
from bot.errors import BadInput
from bot.ports.mirrors import Credential
from bot.ports.repositories import Repository
from tests.adapters.git.conftest import Agent, here, pieces
from tests.peers.git_server import GitServer, git


def plant(agent: Agent, marker: Path) -> None:
    """Everything in a checkout that makes git run something, each leaving a mark."""
    run = f"touch {marker}; true"
    script = agent.folder / "evil.sh"
    script.write_text(f"#!/bin/sh\n{run}\ncat\n")
    script.chmod(0o755)
    for hook in ("pre-push", "reference-transaction", "post-checkout", "post-index-change",
                 "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"):  # fmt: skip
        path = agent.folder / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\n{run}\n")
        path.chmod(0o755)
    with open(agent.folder / ".git" / "config", "a") as config:
        config.write(f"""
[core]
	fsmonitor = {script}
	pager = {script}
	sshCommand = {script}
	hooksPath = {agent.folder}/.git/hooks
	alternateRefsCommand = {script}
[diff]
	external = {script}
[diff "evil"]
	textconv = {script}
	command = {script}
[filter "evil"]
	clean = {script}
	smudge = {script}
	process = {script}
[uploadpack]
	packObjectsHook = {script}
[credential]
	helper = !{script}
[remote "origin"]
	uploadpack = {script}
	receivepack = {script}
	url = ext::{script}
""")


async def test_nothing_that_an_agent_set_runs_outside(
    mirrors: GitMirrors,
    app: Repository,
    server: GitServer,
    credential: Credential,
    agent: Agent,
    tmp_path: Path,
) -> None:
    head = await mirrors.fetch(app, credential)
    commit = agent.commit(
        _gitattributes="* diff=evil filter=evil merge=evil\n",
        _gitmodules='[submodule "m"]\n\tpath = m\n\turl = https://example.org/m\n\tupdate = checkout\n',
        app_py="x = 5\n",
    )
    pack, marker = agent.pack(commit, f"^{head.commit}"), tmp_path / "it-ran"
    plant(agent, marker)

    await mirrors.take("g1", app, commit, pieces(pack))
    change = await mirrors.change("g1", app, commit)
    diff = await mirrors.diff("g1", app, commit, 10_000)
    await mirrors.push("g1", app, credential, commit, "headway/g1")
    await mirrors.fetch(app, credential, "headway/g1")

    assert not marker.exists()
    assert "x = 5" in diff
    assert change.commits == 1
    assert server.heads("app")["headway/g1"] == commit


def made(agent: Agent, kind: str, content: bytes) -> str:
    """An object that git itself would not make."""
    head = f"{kind} {len(content)}\0".encode()
    id = hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
    path = agent.folder / ".git" / "objects" / id[:2] / id[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(head + content))
    return id


def tree_with(agent: Agent, mode: str, name: str, id: str) -> str:
    content = f"{mode} {name}\0".encode() + bytes.fromhex(id)
    return made(agent, "tree", content)


def commit_of(agent: Agent, tree: str) -> str:
    who = "A <a@example.org> 1 +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n"
    return made(agent, "commit", text.encode())


def hostile(agent: Agent, which: str) -> tuple[str, list[str]]:
    """A commit that is refused, and what is packed."""
    blob = made(agent, "blob", b"#!/bin/sh\n")
    match which:
        case "a .git folder":
            inner = tree_with(agent, "100755", "post-checkout", blob)
            tree = tree_with(agent, "40000", ".git", inner)
        case "a .GIT in disguise":
            tree = tree_with(agent, "40000", ".g\u200cit", tree_with(agent, "100755", "x", blob))
        case "a parent folder":
            tree = tree_with(agent, "40000", "..", tree_with(agent, "100755", "x", blob))
        case "a path in a name":
            tree = tree_with(agent, "100755", "a/b", blob)
        case "a .gitmodules with an option":
            text = b'[submodule "m"]\n\tpath = m\n\turl = -u./evil\n'
            tree = tree_with(agent, "100644", ".gitmodules", made(agent, "blob", text))
        case "a .gitmodules that is a link":
            tree = tree_with(agent, "120000", ".gitmodules", made(agent, "blob", b".git/config"))
        case "a submodule's name that leads out":
            text = b'[submodule "../../x"]\n\tpath = m\n\turl = https://example.org/m\n'
            tree = tree_with(agent, "100644", ".gitmodules", made(agent, "blob", text))
        case _:
            tree = tree_with(agent, "100644", "x", "1" * 40)
            commit = commit_of(agent, tree)
            return commit, [commit, tree]
    commit = commit_of(agent, tree)
    listed = subprocess.run(
        ["git", "rev-list", "--objects", "--no-object-names", commit], cwd=agent.folder,
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    return commit, listed or [commit, tree, blob]


def packed(agent: Agent, ids: list[str]) -> bytes:
    done = subprocess.run(
        ["git", "pack-objects", "--stdout", "-q"], cwd=agent.folder,
        input="\n".join(ids).encode() + b"\n", capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize(
    "which",
    ["a .git folder", "a .GIT in disguise", "a parent folder", "a path in a name",
     "a .gitmodules with an option", "a .gitmodules that is a link",
     "a submodule's name that leads out", "a missing file"],
)  # fmt: skip
async def test_a_commit_that_could_harm_a_checkout_is_not_taken(
    which: str, mirrors: GitMirrors, app: Repository, credential: Credential, agent: Agent
) -> None:
    await mirrors.fetch(app, credential)
    commit, ids = hostile(agent, which)

    with pytest.raises(BadInput):
        await mirrors.take("g1", app, commit, pieces(packed(agent, ids)))

    assert not await mirrors.has("g1", app, commit)


async def test_a_pack_that_is_none_or_lacks_its_commit_is_not_taken(
    mirrors: GitMirrors, app: Repository, credential: Credential, agent: Agent
) -> None:
    head = await mirrors.fetch(app, credential)
    commit = agent.commit(app_py="x = 2\n")
    pack = agent.pack(commit, f"^{head.commit}")
    broken = pack[:-30] + bytes(30)

    for content in (b"", b"PACK", b"#!/bin/sh\ntrue\n", pack[:-1], broken):
        with pytest.raises(BadInput, match="index-pack failed"):
            await mirrors.take("g1", app, commit, pieces(content))
    with pytest.raises(BadInput, match="There is no commit"):
        await mirrors.take("g1", app, "f" * 40, pieces(pack))
    tree = git("rev-parse", f"{commit}^{{tree}}", at=agent.folder)
    with pytest.raises(BadInput, match="There is no commit"):
        await mirrors.take("g1", app, tree, pieces(pack))


@pytest.mark.parametrize(
    "id", ["HEAD", "--upload-pack=x", "-f", "", "abc", "A" * 40, "f" * 39, "f" * 40 + "^0"]
)
async def test_what_is_no_commits_id_never_gets_to_git(
    id: str, mirrors: GitMirrors, app: Repository
) -> None:
    with pytest.raises(BadInput, match="no whole id of a commit"):
        await mirrors.take("g1", app, id, pieces(b""))

    assert not await mirrors.has("g1", app, id)
    assert await mirrors.known(app, (id,)) == ()


async def test_a_pack_that_is_too_large_is_not_taken(
    app: Repository, credential: Credential, agent: Agent, folder: Path
) -> None:
    program = Git(most_mb=64, time_limit_s=30)
    small = GitMirrors(Shed(folder, program), program, here, most_mb=1)
    head = await small.fetch(app, credential)
    noise = hashlib.shake_256(b"noise").hexdigest(1_200_000)
    commit = agent.commit(big_txt=noise + noise[::-1])

    with pytest.raises(BadInput, match="exceeds maximum allowed size"):
        await small.take("g1", app, commit, pieces(agent.pack(commit, f"^{head.commit}")))


async def test_a_change_too_large_to_be_read_is_refused_whole(
    mirrors: GitMirrors, app: Repository, credential: Credential, agent: Agent
) -> None:
    head = await mirrors.fetch(app, credential)
    commit = agent.commit(big_txt="line\n" * 50_000)
    await mirrors.take("g1", app, commit, pieces(agent.pack(commit, f"^{head.commit}")))

    with pytest.raises(BadInput, match="more than somebody reads at once"):
        await mirrors.diff("g1", app, commit, 10_000)


async def test_what_people_are_shown_holds_nothing_unseen(
    mirrors: GitMirrors, app: Repository, credential: Credential, agent: Agent
) -> None:
    head = await mirrors.fetch(app, credential)
    commit = agent.commit(app_py="a\u202eb\x1b[2Kc\x00d\n")
    await mirrors.take("g1", app, commit, pieces(agent.pack(commit, f"^{head.commit}")))

    diff = await mirrors.diff("g1", app, commit, 10_000)

    assert all(letter.isprintable() or letter in "\n\t" for letter in diff)
