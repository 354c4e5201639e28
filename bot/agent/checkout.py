"""
A goal's checkout, worked at by git inside its sandbox.

Rule: whatever is told from inside is an agent's word: ids are taken for ids only where they look like it, and
what they lead to is checked outside. The scripts keep hooks and monitors out for peace, not for safety.
"""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Final

from bot.errors import BadInput
from bot.ports.git_names import is_commit
from bot.ports.mirrors import Bundle, Head
from bot.ports.repositories import Repository
from bot.ports.sandbox import Session

FOLDER: Final = "checkouts"
TIME_LIMIT_S: Final = 300.0
TOLD_CHARS: Final = 2_000
_QUIET: Final = (
    "-c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c advice.detachedHead=false"
)
_HEAD: Final = f'set -euo pipefail\nROOT=$PWD\ng() {{ command git {_QUIET} "$@"; }}\n'


class Checkout:
    """One repository's checkout in an open session."""

    def __init__(self, session: Session, repository: Repository, branch: str) -> None:
        """`branch`: of the goal's own."""
        self._session, self._repository, self._branch = session, repository, branch
        self.folder = f"{FOLDER}/{repository.name}"

    async def have(self, branch: str) -> str:
        """The commit of the server's branch that it has; empty: none."""
        ref = shlex.quote(f"refs/remotes/origin/{branch}")
        told = await self._run(
            f"cd {self._place()} 2>/dev/null && g rev-parse --verify -q {ref} || true"
        )
        return _id_in(told)

    async def refresh(self, head: Head, bundle: Bundle | None) -> str:
        """Make it, or give it what is new; returns how it stands. Raises BadInput, NoSandbox."""
        if bundle is None:
            return await self._run(f"cd {self._place()}\n{_STANDING}")
        path = f"tmp/headway-{token_hex(6)}.bundle"
        there = await self._session.put(path, bundle.hash, bundle.pieces)
        branch, url = shlex.quote(head.branch), shlex.quote(self._repository.url)
        script = f"""
bundle="$ROOT"/{shlex.quote(there)}
trap 'rm -f -- "$bundle"' EXIT
if [ -e {self._place()}/.git ]; then
  cd {self._place()}
  g fetch -q -- "$bundle" +refs/heads/{branch}:refs/remotes/origin/{branch}
else
  g clone -q --origin origin --branch {branch} -- "$bundle" {self._place()}
  cd {self._place()}
  g config user.name Headway
  g config user.email headway@localhost
  g remote set-url origin {url}
  g checkout -q -B {shlex.quote(self._branch)}
fi
{_STANDING}"""
        return await self._run(script)

    @asynccontextmanager
    async def packed(self, commit: str, most: int) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of a pack of a commit, without what came from the server. Raises BadInput, NoSandbox."""
        path = f"tmp/headway-{token_hex(6)}.pack"
        await self._run(f"""
cd {self._place()}
[ "$(g cat-file -t {commit} 2>/dev/null)" = commit ] || {{ echo "There is no commit {commit}."; exit 1; }}
{{ echo {commit}; g for-each-ref --format='^%(objectname)' refs/remotes/origin; }} |
  g pack-objects --revs --stdout -q > "$ROOT"/{path}""")
        try:
            yield self._session.take(path, most=most)
        finally:
            await self._run(f"rm -f -- {path}")

    async def snapshot(self, message: str) -> str:
        """A commit of all that stands in it, committed or not; what the agent had stays as it is."""
        told = await self._run(f"""
cd {self._place()}
export GIT_INDEX_FILE="$ROOT"/tmp/headway-{token_hex(6)}.index
trap 'rm -f -- "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.lock"' EXIT
g read-tree HEAD
g add --all
tree=$(g write-tree)
if [ "$tree" = "$(g rev-parse 'HEAD^{{tree}}')" ]
then g rev-parse HEAD
else g commit-tree "$tree" -p HEAD -m {shlex.quote(message)}
fi""")
        commit = _id_in(told)
        if not commit:
            raise BadInput(f"The checkout could not be committed: {told[-TOLD_CHARS:]}")
        return commit

    async def settle(self, commit: str) -> None:
        """Let its branch lead to the commit that was made of it; the files stay."""
        await self._run(f"cd {self._place()}\ng reset -q {commit}")

    async def put_back(self, commit: str, base: str) -> None:
        """Put it back to `base`; what is given up is kept under a name of its own."""
        await self._run(f"""
cd {self._place()}
g update-ref refs/headway/discarded/{commit} {commit}
g checkout -q -f -B {shlex.quote(self._branch)} {base}
g reset -q --hard {base}
g clean -q -f -d""")

    def _place(self) -> str:
        return shlex.quote(self.folder)

    async def _run(self, script: str) -> str:
        """What a script printed. Raises BadInput: it failed; NoSandbox."""
        args = {"command": _HEAD + script, "timeout_s": TIME_LIMIT_S, "fresh": True}
        outcome = await self._session.call("bash", args, timeout_s=TIME_LIMIT_S + 10)
        if not outcome.ok:
            raise BadInput(f"git in the checkout failed: {outcome.text[-TOLD_CHARS:]}")
        return outcome.text


_STANDING: Final = """\
g status --short --branch | head -n 20
g log -n 3 --no-color --no-decorate --format='%h %s'"""


def _id_in(told: str) -> str:
    """The id that a script printed last; empty where what it printed is none."""
    last = told.strip().rpartition("\n")[2].strip()
    return last if is_commit(last) else ""
