"""A repository's tools, with the real git on both sides of a real sandbox, against a server over HTTP."""

import errno
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.git.mirrors import GitMirrors
from adapters.git.program import Git
from adapters.git.shed import Shed
from adapters.sandbox.bubblewrap import Bubblewrap
from bot.agent.projects import ProjectKit, Projects
from bot.errors import BadInput
from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.journal import Journal, content_hash
from bot.ports.mirrors import Credential
from bot.ports.repositories import Repository
from bot.ports.repository_urls import RepositoryUrl
from bot.ports.sandbox import Outcome
from bot.tools.toolbox import Asking
from tests.adapters.store.clocks import HandClock
from tests.doubles.store import MemoryStore
from tests.peers.git_server import GitServer, git_server

pytestmark = pytest.mark.sandbox

ROOM = Place("console", "w", "room", "t1")
OBJECTIVE = "Mend it.\nrepo: app"
GOAL = Goal("g1", "s1", 7, "ann", content_hash(OBJECTIVE))


class Texts:
    """The journal's contents, and nothing else of it."""

    async def contents(self, session: str, hashes: Any) -> Mapping[str, str]:
        return {GOAL.objective: OBJECTIVE, "plain": "Mend it."}


async def here(url: RepositoryUrl) -> str:
    return "127.0.0.1"


@dataclass
class Scene:
    """A goal with its kit, and what its agent can do besides."""

    server: GitServer
    sandbox: Bubblewrap
    projects: Projects
    kit: ProjectKit
    asked: list[str]

    async def bash(self, command: str) -> str:
        session = await self.sandbox.open("s1", "workspace")
        outcome = await session.call("bash", {"command": command}, timeout_s=60)
        await session.close()
        return outcome.text.strip()

    async def call(self, name: str, **args: Any) -> Outcome:
        return await self.kit.call(name, args, tool_use="t", timeout_s=60)

    async def committed(self, text: str = "x = 2") -> str:
        """A commit of the agent's."""
        await self.call("git_fetch")
        done = await self.bash(
            f"cd checkouts/app && echo '{text}' > app.py && git commit -qam Mended && git rev-parse HEAD"
        )
        return done.splitlines()[-1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "served") as running:
        running.create("app", {"app.py": "x = 1\n"})
        yield running


@pytest.fixture
async def scene(tmp_path: Path, server: GitServer) -> AsyncIterator[Scene]:
    sandbox = Bubblewrap(tmp_path / "workspaces", hidden=(str(tmp_path / "state"),))
    program = Git(most_mb=64, time_limit_s=60)
    shed = Shed(tmp_path / "state" / "repositories", program)
    mirrors, store = GitMirrors(shed, program, here, most_mb=32), MemoryStore(HandClock())
    await store.repositories.put(
        ROOM, Repository("app", server.url("app", "git.test"), "", "TOKEN")
    )
    asked: list[str] = []

    async def credentials(room: Place, repository: Repository) -> Credential | None:
        asked.append(repository.secret)
        return Credential(server.user, server.password)

    projects = Projects(
        sandbox, mirrors, store.repositories, credentials, cast(Journal, Texts()), most_mb=32
    )
    kit = await projects.open(GOAL, ROOM, read_only=False)
    yield Scene(server, sandbox, projects, kit, asked)
    await sandbox.close()


async def test_a_checkout_is_made_on_a_branch_of_its_own_and_gets_what_is_new(
    scene: Scene,
) -> None:
    first = await scene.call("git_fetch")
    branch = await scene.bash("git -C checkouts/app branch --show-current")
    newer = scene.server.commit("app", {"b.py": "y = 1\n"})
    second = await scene.call("git_fetch")
    third = await scene.call("git_fetch")

    assert (first.ok, first.changed, branch) == (True, True, "headway/g7")
    assert newer in second.text
    assert await scene.bash("git -C checkouts/app rev-parse origin/main") == newer
    assert await scene.bash("ls checkouts/app tmp") == "checkouts/app:\napp.py\n\ntmp:"
    assert (third.ok, third.changed) == (True, False)
    assert "Nothing is new." in third.text


async def test_what_was_shown_is_what_is_pushed(scene: Scene) -> None:
    commit = await scene.committed()

    shown = await scene.kit.about("git_push", {"commit": commit})
    await scene.bash("cd checkouts/app && echo 'evil()' > app.py && git commit -qam x --amend")
    pushed = await scene.call("git_push", commit=commit)
    again = await scene.call("git_push", commit=commit)

    assert "branch headway/g7" in shown
    assert "1 commit on" in shown
    assert "Headway: Mended" in shown
    assert "app.py | 2 +-" in shown
    assert (pushed.ok, pushed.changed, again.ok, again.changed) == (True, True, True, False)
    assert scene.server.pushes("app") == [("headway/g7", commit)]


async def test_a_commit_that_is_not_there_is_told_before_anybody_is_asked(scene: Scene) -> None:
    await scene.call("git_fetch")

    with pytest.raises(BadInput, match="There is no commit"):
        await scene.kit.about("git_push", {"commit": "f" * 40})

    assert scene.server.pushes("app") == []


@pytest.mark.parametrize("name", ["git_fetch", "git_push", "review"])
def test_arguments_that_name_something_else_are_refused(name: str) -> None:
    from bot.agent.projects import TOOLS

    [tool] = [tool for tool in TOOLS if tool.name == name]
    bad: dict[str, list[dict[str, Any]]] = {
        "git_fetch": [{"branch": "--upload-pack=x"}, {"url": "https://x"}],
        "git_push": [
            {"commit": "HEAD"}, {"commit": "-f"}, {"commit": "a" * 40, "branch": "main"},
            {"commit": "a" * 40, "branch": "headway/../main"}, {},
        ],
        "review": [{}, {"summary": ""}],
    }  # fmt: skip

    for args in bad[name]:
        with pytest.raises(BadInput):
            tool.check(args)


async def test_all_that_changed_is_shown_committed_or_not(scene: Scene) -> None:
    await scene.committed()
    await scene.bash("cd checkouts/app && echo more > new.txt && mkdir sub && echo y > sub/y.py")
    before = await scene.bash("git -C checkouts/app status --short")

    asked = await scene.call("review", summary="Mends x.\n\nAnd adds y.")

    assert isinstance(asked, Asking)
    assert asked.kind == "review"
    assert asked.question.startswith("Mends x.\n\nAnd adds y.\n\napp, for headway/g7. 2 commits on")
    assert all(one in asked.question for one in ("+x = 2", "+more", "sub/y.py"))
    assert asked.question.endswith("\n```")
    assert await scene.bash("git -C checkouts/app status --short") == before
    assert await scene.projects.mirrors.has("g1", await repository(scene), asked.call)


async def test_a_checkout_that_changes_nothing_is_not_asked_about(scene: Scene) -> None:
    await scene.call("git_fetch")

    asked = await scene.call("review", summary="Nothing")

    assert not asked.ok
    assert "changes nothing" in asked.text


async def test_the_credential_is_nowhere_in_the_sandbox(scene: Scene) -> None:
    commit = await scene.committed()
    await scene.call("git_push", commit=commit)

    found = await scene.bash(
        "env; git -C checkouts/app config --list; cat checkouts/app/.git/config; "
        "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' ' '; "
        f"grep -rl '{scene.server.password[:6]}' . 2>/dev/null; ls -la /proc/*/fd 2>/dev/null"
    )

    assert scene.server.password not in found
    assert scene.asked == ["TOKEN", "TOKEN"]
    assert "credential" not in found


async def test_hostile_settings_of_a_checkout_run_inside_alone(
    scene: Scene, tmp_path: Path
) -> None:
    marker = tmp_path / "it-ran"
    commit = await scene.committed()
    await scene.bash(
        f"cd checkouts/app && printf '#!/bin/sh\\ntouch {marker} $HOME/inside\\ncat\\n' > .git/evil && "
        "chmod +x .git/evil && git config core.fsmonitor $PWD/.git/evil && "
        "git config diff.external $PWD/.git/evil && git config core.hooksPath $PWD/.git && "
        "git config filter.evil.clean $PWD/.git/evil && git config uploadpack.packObjectsHook "
        "$PWD/.git/evil && echo '* filter=evil diff=evil' > .gitattributes && "
        "git config remote.origin.url 'ext::sh -c touch% x' && "
        "for h in pre-push reference-transaction post-checkout; do cp .git/evil .git/$h; done"
    )

    await scene.call("review", summary="Hostile")
    await scene.call("git_fetch")
    await scene.kit.about("git_push", {"commit": commit})
    await scene.call("git_push", commit=commit)

    assert not marker.exists()
    assert [one for one, _ in scene.server.pushes("app")] == ["headway/g7"]


async def test_a_dot_git_that_is_a_link_or_a_file_leads_nowhere_outside(
    scene: Scene, tmp_path: Path
) -> None:
    commit = await scene.committed()
    for trick in (
        "ln -s /etc checkouts/app/.git",
        f"echo 'gitdir: {tmp_path}/served/app.git' > checkouts/app/.git",
        "mkdir checkouts/app/.git",
    ):
        await scene.bash(f"rm -rf checkouts/app/.git; {trick}")
        outcome = await scene.call("review", summary="Tricked")
        with pytest.raises(BadInput):
            await scene.kit.about("git_push", {"commit": commit[::-1]})

        assert not outcome.ok
    assert scene.server.pushes("app") == []


async def test_a_goal_without_a_line_for_it_has_no_such_tools(scene: Scene) -> None:
    plain = await scene.projects.open(replace(GOAL, objective="plain"), ROOM, read_only=False)
    looking = await scene.projects.open(GOAL, ROOM, read_only=True)
    elsewhere = await scene.projects.open(GOAL, replace(ROOM, room="other"), read_only=False)

    assert (plain.tools, looking.tools) == ((), ())
    outcome = await elsewhere.call("git_fetch", {}, tool_use="t", timeout_s=60)
    assert "The room has no repository 'app'" in outcome.text


async def test_a_server_out_of_reach_is_a_result(scene: Scene) -> None:
    scene.server.password = "changed"

    outcome = await scene.call("git_fetch")

    assert not outcome.ok
    assert "does not let the bot in" in outcome.text


async def repository(scene: Scene) -> Repository:
    _, found = await scene.projects.of(GOAL, ROOM)
    assert found is not None
    return found


async def test_a_full_disk_of_the_bot_is_a_result(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = await scene.committed()

    async def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scene.projects.mirrors, "has", full)

    with pytest.raises(BadInput, match="No space left"):
        await scene.kit.about("git_push", {"commit": commit})
    assert "No space left" in (await scene.call("git_push", commit=commit)).text
