"""Fetching, taking in and pushing, against a server over HTTP."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from adapters.git.mirrors import GitMirrors
from adapters.git.program import Git
from adapters.git.shed import UNUSED_S, Shed
from bot.errors import BadInput
from bot.ports.mirrors import Bundle, Credential, Head
from bot.ports.repositories import Repository
from tests.adapters.git.conftest import Agent, holding, mirror_in, pieces, running
from tests.peers.git_server import GitServer, git


async def read(bundle: Bundle | None) -> bytes:
    assert bundle is not None
    with bundle:
        return b"".join([piece async for piece in bundle.pieces])


def goal_in(folder: Path) -> Path:
    [goal] = folder.glob("*/goals/*.git")
    return goal


async def taken(
    mirrors: GitMirrors,
    app: Repository,
    agent: Agent,
    credential: Credential,
    text: str = "x = 2\n",
) -> str:
    """A commit of the agent's that was taken in."""
    head = await mirrors.fetch(app, credential)
    commit = agent.commit(app_py=text)
    await mirrors.take("g1", app, commit, pieces(agent.pack(commit, f"^{head.commit}")))
    return commit


async def test_what_the_server_has_is_fetched_with_its_credential(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential
) -> None:
    head = await mirrors.fetch(app, credential)
    newer = server.commit("app", {"app.py": "x = 3\n"})

    again = await mirrors.fetch(app, credential)

    assert head.branch == "main"
    assert head.commit != newer
    assert again == Head("main", newer)
    assert {user for _, _, user in server.requests} >= {"bot"}


async def test_without_its_credential_it_says_who_has_to_give_it(
    mirrors: GitMirrors, app: Repository
) -> None:
    for none in (None, Credential("bot", "another")):
        with pytest.raises(BadInput, match="does not let the bot in"):
            await mirrors.fetch(app, none)


async def test_a_branch_that_is_not_there_or_is_no_name_is_said(
    mirrors: GitMirrors, app: Repository, credential: Credential
) -> None:
    with pytest.raises(BadInput, match="no such branch"):
        await mirrors.fetch(app, credential, "other")
    for hostile in ("--upload-pack=touch /tmp/x", "-x", "a..b", "main:evil", "x.lock", "a/-b", ""):
        if hostile:
            with pytest.raises(BadInput, match="no branch's name"):
                await mirrors.fetch(app, credential, hostile)


async def test_a_checkout_is_made_of_a_bundle_and_gets_what_is_new(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential, tmp_path: Path
) -> None:
    head = await mirrors.fetch(app, credential)
    (tmp_path / "whole").write_bytes(await read(await mirrors.bundle(app, head)))
    git("clone", "--quiet", "-b", "main", str(tmp_path / "whole"), "copy", at=tmp_path)
    server.commit("app", {"b.py": "y = 1\n"})
    newer = await mirrors.fetch(app, credential)

    (tmp_path / "new").write_bytes(await read(await mirrors.bundle(app, newer, head.commit)))
    git("fetch", "--quiet", str(tmp_path / "new"), "main", at=tmp_path / "copy")

    assert git("rev-parse", "FETCH_HEAD", at=tmp_path / "copy") == newer.commit
    assert await mirrors.bundle(app, newer, newer.commit) is None
    assert await mirrors.bundle(app, newer, "f" * 40) is not None


async def test_a_bundle_that_nobody_has_read_leaves_no_file(
    mirrors: GitMirrors, app: Repository, credential: Credential, folder: Path
) -> None:
    bundle = await mirrors.bundle(app, await mirrors.fetch(app, credential))
    assert bundle is not None

    with bundle:
        assert list(mirror_in(folder).glob("bundle-*"))

    assert not list(mirror_in(folder).glob("bundle-*"))


async def test_a_bundle_is_of_the_commit_that_was_fetched_though_somebody_has_fetched_since(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential, tmp_path: Path
) -> None:
    head = await mirrors.fetch(app, credential)
    server.commit("app", {"b.py": "y = 1\n"})
    newer = await mirrors.fetch(app, credential)

    (tmp_path / "old").write_bytes(await read(await mirrors.bundle(app, head)))

    git("clone", "--quiet", "-b", "main", str(tmp_path / "old"), "copy", at=tmp_path)
    assert git("rev-parse", "HEAD", at=tmp_path / "copy") == head.commit
    assert await mirrors.bundle(app, head, newer.commit) is None
    assert await mirrors.fetch(app, credential) == newer


@pytest.mark.parametrize(("before", "after"), [("rel", "rel/1.0"), ("rel/1.0", "rel")])
async def test_a_branch_whose_name_another_one_was_in_the_way_of_is_fetched(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential,
    folder: Path, before: str, after: str,
) -> None:  # fmt: skip
    server.commit("app", {"b.py": "y = 1\n"}, before)
    await mirrors.fetch(app, credential, before)
    with pytest.raises(BadInput, match="no such branch"):
        await mirrors.fetch(app, credential, after)
    # The server has the one, and not the other: nothing is in any way.
    assert git("rev-parse", before, at=mirror_in(folder))
    git("update-ref", "-d", f"refs/heads/{before}", at=server.bare("app"))
    commit = server.commit("app", {"b.py": "y = 2\n"}, after)

    assert await mirrors.fetch(app, credential, after) == Head(after, commit)


async def test_what_an_agent_committed_is_shown_and_pushed_once(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential, agent: Agent
) -> None:
    commit = await taken(mirrors, app, agent, credential)

    change = await mirrors.change("g1", app, commit)
    diff = await mirrors.diff("g1", app, commit, 10_000)
    first = await mirrors.push("g1", app, credential, commit, "headway/g1")
    again = await mirrors.push("g1", app, credential, commit, "headway/g1")

    assert change.commits == 1
    assert change.log.endswith("Peer: Of the agent")
    assert "app.py | 2 +-" in change.stat
    assert "-x = 1\n+x = 2" in diff
    assert (first, again) == (True, False)
    assert server.heads("app")["headway/g1"] == commit
    assert server.pushes("app") == [("headway/g1", commit)]


@pytest.mark.parametrize(
    "branch",
    ["main", "headway", "headway/", "headway/../main", "headway/x:main", "--mirror", "headway/a b",
     "headway/x.lock", "refs/heads/headway/x", "+headway/x"],
)  # fmt: skip
async def test_no_other_branch_is_ever_pushed(
    branch: str,
    mirrors: GitMirrors,
    app: Repository,
    server: GitServer,
    credential: Credential,
    agent: Agent,
) -> None:
    commit = await taken(mirrors, app, agent, credential)

    with pytest.raises(BadInput, match="no branch of yours"):
        await mirrors.push("g1", app, credential, commit, branch)

    assert server.pushes("app") == []


async def test_a_branch_that_has_moved_on_is_not_overwritten(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential, agent: Agent
) -> None:
    commit = await taken(mirrors, app, agent, credential)
    server.commit("app", {"other.py": "1\n"}, "headway/g1")

    with pytest.raises(BadInput, match="has moved on, and is never overwritten"):
        await mirrors.push("g1", app, credential, commit, "headway/g1")


async def test_only_what_this_goal_brought_is_pushed(
    mirrors: GitMirrors, app: Repository, credential: Credential, agent: Agent
) -> None:
    commit = await taken(mirrors, app, agent, credential)

    assert not await mirrors.has("g2", app, commit)
    with pytest.raises(BadInput, match="is not here"):
        await mirrors.push("g2", app, credential, commit, "headway/g2")


async def test_a_redirect_is_not_followed_and_takes_no_credential_along(
    mirrors: GitMirrors, app: Repository, server: GitServer, credential: Credential, tmp_path: Path
) -> None:
    server.redirects["/app.git"] = f"http://127.0.0.1:{server.port}/elsewhere"

    with pytest.raises(BadInput):
        await mirrors.fetch(app, credential)

    assert not any("elsewhere" in path for _, path, _ in server.requests)


async def test_a_credential_is_in_no_argument_variable_or_file(
    mirrors: GitMirrors,
    app: Repository,
    server: GitServer,
    credential: Credential,
    folder: Path,
) -> None:
    server.hangs.add("/app.git/info/refs")
    fetching = asyncio.create_task(mirrors.fetch(app, credential))
    seen = b""
    for _ in range(200):
        await asyncio.sleep(0.01)
        seen += running(b"git")
        if b"remote-http" in seen:
            break
    server.hangs.clear()
    await fetching

    assert b"remote-http" in seen
    assert credential.password.encode() not in seen
    assert holding(folder, credential.password) == []


async def test_a_run_that_was_killed_leaves_nothing_in_the_way(
    mirrors: GitMirrors, app: Repository, credential: Credential, folder: Path
) -> None:
    await mirrors.fetch(app, credential)
    mirror = mirror_in(folder)
    for left in ("packed-refs.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x"):
        (mirror / left).write_text("left")

    await mirrors.fetch(app, credential)

    assert not list(mirror.glob("**/*.lock"))
    assert not list(mirror.glob("objects/pack/tmp_*"))


async def test_a_repository_whose_taking_away_was_cut_short_is_made_anew(
    mirrors: GitMirrors, app: Repository, credential: Credential, folder: Path
) -> None:
    await mirrors.fetch(app, credential)
    mirror = mirror_in(folder)
    left = mirror.rename(mirror.with_name(f"{mirror.name}.going"))
    shutil.rmtree(left / "objects")

    assert await mirrors.fetch(app, credential)
    await Shed(folder, Git(most_mb=64, time_limit_s=30)).sweep()

    assert mirror.exists()
    assert not left.exists()


async def test_a_mirror_that_nothing_has_looked_at_for_long_goes_after_the_goals_that_borrow_of_it(
    mirrors: GitMirrors, app: Repository, agent: Agent, credential: Credential, folder: Path
) -> None:
    await taken(mirrors, app, agent, credential)
    shed = Shed(folder, Git(most_mb=64, time_limit_s=30))
    old = time.time() - UNUSED_S - 60
    os.utime(mirror_in(folder), (old, old))

    assert await shed.sweep() == 0
    os.utime(goal_in(folder), (old, old))

    assert await shed.sweep() == 2
    assert await mirrors.fetch(app, credential)
    assert await shed.sweep() == 0
