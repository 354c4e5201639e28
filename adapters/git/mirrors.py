"""
The bot's copies of repositories: one mirror each, and one repository a goal for what it brings back.

Rule 1: a mirror is written by fetches alone. What a goal brings lies in a repository of that goal's, which
        borrows the mirror's objects: nothing of an agent's is ever among those that others get.
Rule 2: what comes from inside is a pack and a commit's id. The pack is checked as it is unpacked
        (`index-pack --strict`), and a commit counts when all that it needs is there.
"""

import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

from adapters.git.bundles import bundled
from adapters.git.program import Git, Remote
from adapters.git.shed import Shed
from bot.errors import BadInput
from bot.ports.git_names import OURS, checked, checked_commit, is_commit, is_ours
from bot.ports.mirrors import Bundle, Change, Credential, Head
from bot.ports.repositories import Repository
from bot.ports.repository_urls import NoUrl, RepositoryUrl, read_url

Locate = Callable[[RepositoryUrl], Awaitable[str]]
"""Where a server is. Raises BadInput: it is not to be reached from here."""

MB: Final = 1024 * 1024
LOG_MOST: Final = 30
STAT_LINES: Final = 60
LINE_CHARS: Final = 200
_TAKEN: Final = "refs/taken"


class GitMirrors:
    """Port Mirrors."""

    def __init__(self, shed: Shed, git: Git, locate: Locate, *, most_mb: int) -> None:
        """`most_mb`: of a bundle, and of a pack that comes back."""
        self._shed, self._git, self._locate = shed, git, locate
        self._most = most_mb * MB

    async def fetch(
        self, repository: Repository, credential: Credential | None, branch: str = ""
    ) -> Head:
        """As in the port."""
        remote = await self._remote(repository, credential)
        async with self._shed.held(self._shed.mirror(repository)) as at:
            with _told_of(repository):
                ref = checked(branch or repository.branch or await self._default(at, remote))
                await self._fetch(at, remote, ref)
            done = await self._git.run(
                "rev-parse", "--verify", f"refs/heads/{ref}^{{commit}}", at=at
            )
            return Head(ref, done.out.decode().strip())

    async def bundle(self, repository: Repository, head: Head, have: str = "") -> Bundle | None:
        """As in the port."""
        without = [f"^{one}" for one in await self.known(repository, (have,))]
        async with self._shed.held(self._shed.mirror(repository)) as at:
            return await bundled(self._git, at, head, without, most=self._most)

    async def known(self, repository: Repository, commits: tuple[str, ...]) -> tuple[str, ...]:
        """As in the port."""
        at = self._shed.mirror(repository)
        if not at.exists():
            return ()
        whole = [one for one in dict.fromkeys(commits) if is_commit(one)]
        return tuple([one for one in whole if await self._is_there(at, one)])

    async def take(
        self, goal: str, repository: Repository, commit: str, pack: AsyncIterator[bytes]
    ) -> None:
        """As in the port."""
        checked_commit(commit)
        async with self._shed.brought(goal, repository, self._most) as at:
            await self._git.run(
                "index-pack", "--stdin", "--strict", f"--max-input-size={self._most}",
                at=at, given=pack,
            )  # fmt: skip
            if not await self._is_there(at, commit):
                raise BadInput(f"There is no commit {commit[:12]} in what came.")
            heads = [f"^{head}" for head in await self._heads(repository)]
            await self._git.run("rev-list", "--objects", "--quiet", commit, *heads, "--", at=at)
            await self._git.run("update-ref", f"{_TAKEN}/{commit}", commit, at=at)

    async def has(self, goal: str, repository: Repository, commit: str) -> bool:
        """As in the port."""
        at = self._shed.of_goal(goal, repository)
        if not is_commit(commit) or not (at / "HEAD").exists():
            return False
        done = await self._git.run(
            "rev-parse", "--verify", "--quiet", f"{_TAKEN}/{commit}", at=at, ok=(0, 1)
        )
        if done.code == 0:
            os.utime(at)
        return done.code == 0

    async def change(self, goal: str, repository: Repository, commit: str) -> Change:
        """As in the port."""
        at, base = await self._compared(goal, repository, commit)
        span = f"{base}..{commit}" if base else commit
        count = await self._git.run("rev-list", "--count", span, "--", at=at)
        log = await self._git.run(
            "log", f"--max-count={LOG_MOST}", "--no-color", "--no-decorate", "--no-show-signature",
            "--format=%h %an: %s", span, "--", at=at,
        )  # fmt: skip
        stat = await self._differing(at, base, commit, "--stat=100", f"--stat-count={STAT_LINES}")
        number, lines = int(count.out.strip() or b"0"), _lines(log.out)
        if number > len(lines):
            lines.append(f"... and {number - len(lines)} more")
        return Change(commit, base, "\n".join(lines), "\n".join(_lines(stat)), number)

    async def diff(self, goal: str, repository: Repository, commit: str, most: int) -> str:
        """As in the port."""
        at, base = await self._compared(goal, repository, commit)
        out = await self._differing(at, base, commit, "--no-color", "-M", most=4 * most + 1)
        text = _text(out)
        if len(text) > most or len(out) > 4 * most:
            raise BadInput(
                f"The change has more than {most} characters, more than somebody reads at once. "
                "Ask about smaller parts of it, each a commit of its own."
            )
        return text

    async def push(
        self,
        goal: str,
        repository: Repository,
        credential: Credential | None,
        commit: str,
        branch: str,
    ) -> bool:
        """As in the port."""
        if not is_ours(branch):
            raise BadInput(f"{branch[:80]!r} is no branch of yours: they begin with `{OURS}`.")
        if not await self.has(goal, repository, commit):
            raise BadInput(f"Commit {commit[:12]} is not here. Push it again.")
        remote = await self._remote(repository, credential)
        async with self._shed.held(self._shed.of_goal(goal, repository)) as at:
            with _told_of(repository):
                done = await self._git.run(
                    "push", "--porcelain", "--no-verify", "--no-signed", "--",
                    remote.url, f"{commit}:refs/heads/{branch}", at=at, remote=remote, ok=(0, 1),
                )  # fmt: skip
                return _was_new(done.code, done.out, branch, done.told)

    async def _remote(self, repository: Repository, credential: Credential | None) -> Remote:
        try:
            url = read_url(repository.url)
        except NoUrl as error:
            raise BadInput(f"The address of {repository.name} cannot be used.") from error
        return Remote(url.url, url.host, url.port, await self._locate(url), credential)

    async def _fetch(self, at: Path, remote: Remote, branch: str) -> None:
        ref = f"refs/heads/{branch}"
        told = ("--no-tags", "--no-write-fetch-head", "--quiet", "--", remote.url)
        try:
            await self._git.run("fetch", *told, f"+{ref}:{ref}", at=at, remote=remote)
        except BadInput as error:
            gone = await self._in_the_way(at, branch)
            if not gone or "cannot lock ref" not in str(error):
                raise
            for one in gone:
                await self._git.run("update-ref", "-d", one, at=at)
            await self._git.run("fetch", *told, f"+{ref}:{ref}", at=at, remote=remote)

    async def _in_the_way(self, at: Path, branch: str) -> list[str]:
        """Branches that cannot be beside this one: the server, which has this one, has them no more."""
        done = await self._git.run("for-each-ref", "--format=%(refname)", "refs/heads", at=at)
        parts = branch.split("/")
        above = {"refs/heads/" + "/".join(parts[:count]) for count in range(1, len(parts))}
        found = done.out.decode("utf-8", "surrogateescape").splitlines()
        below = f"refs/heads/{branch}/"
        return [one for one in found if one in above or one.startswith(below)]

    async def _default(self, at: Path, remote: Remote) -> str:
        """The branch that the server names."""
        done = await self._git.run(
            "ls-remote", "--symref", "--quiet", "--", remote.url, "HEAD", at=at, remote=remote
        )
        found = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", done.out, re.MULTILINE)
        if found is None:
            raise BadInput("It is empty, or names no branch of its own. Name one: `branch NAME`.")
        return found[1].decode("utf-8", "replace")

    async def _compared(self, goal: str, repository: Repository, commit: str) -> tuple[Path, str]:
        """The goal's repository, and the newest commit of the mirror's that this one comes from."""
        if not await self.has(goal, repository, commit):
            raise BadInput(f"Commit {commit[:12]} is not here. Bring it again.")
        at, heads = self._shed.of_goal(goal, repository), await self._heads(repository)
        if not heads:
            return at, ""
        done = await self._git.run("merge-base", commit, *heads, at=at, ok=(0, 1))
        return at, done.out.decode().strip().partition("\n")[0]

    async def _differing(
        self, at: Path, base: str, commit: str, *how: str, most: int = MB
    ) -> bytes:
        if not base:
            empty = await self._git.run("hash-object", "-t", "tree", "/dev/null", at=at)
            base = empty.out.decode().strip()
        done = await self._git.run(
            "diff", "--no-ext-diff", "--no-textconv", *how, base, commit, "--", at=at, most=most
        )
        return done.out

    async def _heads(self, repository: Repository) -> list[str]:
        """Where the mirror's branches lead, but for the bot's own."""
        done = await self._git.run(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads",
            at=self._shed.mirror(repository),
        )  # fmt: skip
        found = [line.split(" ", 1) for line in done.out.decode("utf-8", "replace").splitlines()]
        own = f"refs/heads/{OURS}"
        return list(dict.fromkeys(id for id, ref in found if not ref.startswith(own)))

    async def _is_there(self, at: Path, commit: str) -> bool:
        done = await self._git.run("cat-file", "-t", commit, at=at, ok=(0, 1, 128))
        return done.code == 0 and done.out.strip() == b"commit"


_CAUSES: Final = (
    (
        r"could not read (Username|Password)|Authentication failed|HTTP.* 40[13]|error: 40[13]",
        (
            "The server of {name} does not let the bot in. An admin sets its credential: "
            "`/goal room repo add URL secret NAME`, with the secret bound to that host."
        ),
    ),
    (
        r"not found|error: 404",
        "There is no repository at the address of {name}, or the bot may not see it.",
    ),
    (r"couldn't find remote ref", "{name} has no such branch."),
    (
        r"Could not resolve|Failed to connect|Connection refused|timed out|took longer",
        "The server of {name} is out of reach. Try again later.",
    ),
    (r"File too large|exceeds maximum|signal 25", "{name} is larger than is taken here."),
)


@contextlib.contextmanager
def _told_of(repository: Repository) -> Iterator[None]:
    """What git says of a server, as who asked can use it."""
    try:
        yield
    except BadInput as error:
        for pattern, cause in _CAUSES:
            if re.search(pattern, str(error), re.IGNORECASE):
                raise BadInput(cause.format(name=repository.name)) from error
        raise


def _was_new(code: int, out: bytes, branch: str, told: str) -> bool:
    """Whether a push changed something. Raises BadInput where the server did not take it."""
    lines = [line for line in _text(out).splitlines() if "\t" in line]
    if code == 0:
        return not any(line.startswith("=") for line in lines)
    refused = next((line for line in lines if line.startswith("!")), "")
    if "non-fast-forward" in refused or "fetch first" in refused:
        raise BadInput(
            f"{branch} has moved on, and is never overwritten. Push to another branch, or build on it."
        )
    raise BadInput(f"The server did not take it: {refused[:LINE_CHARS] or told}")


def _lines(out: bytes) -> list[str]:
    return [line[:LINE_CHARS] for line in _text(out).splitlines()]


def _text(out: bytes) -> str:
    """What git printed of what somebody wrote: text that can be stored, with nothing unseen."""
    text = out.decode("utf-8", "replace")
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
