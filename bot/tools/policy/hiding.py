"""
Where a command may hide that the words of a line do not name. Pure.

Rule 1: a program that is known to run what its arguments, its input or a file say (`eval`, `sh`, `xargs`,
        `env`, `npx`) hides others; so do the options of others that are known to (`git -c`, `tar -I`).
Rule 2: where bash evaluates a text as a number or as the name of a variable, the text may hold a command: of
        arithmetic, subscripts, declarations, tests of variables and expansions by name nobody is sure.
Rule 3: a variable may name what a program runs: where one is set whose name is in capital letters nobody
        is sure.
Rule 4: a program that nobody here knows may run anything, and so may a file that has a name. What rules make
        of a line saves questions; the boundary is the sandbox.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

Words = Sequence[str | None]
"""A command's words, its name first and without its folder; None: nobody knows which."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HIDING: Final = _names(
    """
    . source eval exec builtin command coproc time trap alias unalias enable hash shopt set bind
    mapfile readarray let declare typeset local export readonly unset
    sh bash dash ash zsh ksh fish csh tcsh busybox toybox
    env xargs parallel sudo su doas runuser setpriv nice ionice nohup timeout stdbuf setsid chroot
    unshare nsenter strace ltrace gdb script expect watch entr flock run-parts start-stop-daemon
    ssh at batch crontab systemd-run docker podman bwrap awk gawk mawk nawk sed ed ex vi vim emacs
    tclsh lua luajit osascript sqlite3 psql mysql tmux screen npx bunx uvx pipx
    if then else elif fi do done case esac while until for in select function { } ! [[ ]]
    """
)
_INTERPRETERS: Final = _names(
    "python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php Rscript julia"
)
_RUNNERS: Final[Mapping[str, tuple[str, ...]]] = {
    "uv": ("run", "tool", "x"),
    "poetry": ("run",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "conda": ("run",),
    "mamba": ("run",),
    "bundle": ("exec",),
    "npm": ("exec", "x"),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "bun": ("x",),
    "rg": ("--pre",),
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
}
"""By name: the words with which it runs a command that follows."""
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "tar": ("-I", "-F", "--checkpoint-a", "--use-c", "--to-c", "--info-s", "--new-v", "--rsh", "--rmt"),
    "rsync": ("-e", "--rsh", "--rsync-p"),
    "sort": ("--compress-p",),
    "rg": ("--pre=", "--hostname-bin"),
    "zip": ("-T", "--unzip-c"),
    "man": ("-P", "--pager", "-H", "--html"),
    "make": ("SHELL=", "-f-", "--eval", "MAKEFLAGS="),
    "wait": ("-p",),
    "printf": ("-v",),
    "test": ("-v", "-R"),
}  # fmt: skip
"""By name: how a word begins with which it runs, or evaluates, what another says."""
_GIT: Final[Mapping[str, tuple[str, ...]]] = {
    "bisect": ("run",),
    "rebase": ("-x", "--exec", "-ix"),
    "submodule": ("foreach",),
    "difftool": ("-x", "--extcmd"),
    "filter-branch": ("",),
    "grep": ("-O", "--open"),
    "clone": ("-c", "--config", "-u", "--upload-pack"),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "push": ("--receive-pack", "--exec"),
    "ls-remote": ("--upload-pack", "--exec"),
    "archive": ("--exec",),
}
_GIT_VALUED: Final = ("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix")
_GIT_PLAIN: Final = _names(
    """
    -p -P --paginate --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks
    --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs
    """
)
_EVALUATES: Final = frozenset(
    {"arithmetic_expansion", "c_style_for_statement", "declaration_command", "subscript", "unset_command"}
)  # fmt: skip
_OPENS: Final = frozenset({"[[", "((", "$((", "$["})
_BY_NAME: Final = re.compile(r"\$\{!|\$\{[A-Za-z0-9_]+(?:@|:[^-=?+])")
"""`${!x}`, `${x@P}`, `${x:1}`; and none of `${x:-y}`."""
_OWN: Final = re.compile(r"(?!npm_)[a-z_][a-z0-9_]*\+?=")
"""How a variable is set that no program looks at."""


def past_options(words: Words) -> int | None:
    """Where the subcommand of a `git` stands, or would; None where that cannot be told."""
    place = 1
    while place < len(words):
        word = words[place]
        if word is None:
            return None
        if word in ("-c", "--config-env", *_GIT_VALUED):
            place += 2
        elif word in _GIT_PLAIN or re.match(r"-c.|--[a-z-]+=", word):
            place += 1
        else:
            return None if word.startswith("-") and word not in ("--version", "--help") else place
    return place


def hides(words: Words) -> bool:
    """Whether others may hide behind a simple command: see rule 1."""
    name = words[0] if words else None
    if not name or name in _HIDING or not name.isascii():
        return not _only_looks_up(words)
    if name in _RUNNERS and any(word in _RUNNERS[name] for word in words[1:]):
        return True
    if name in _INTERPRETERS or name.startswith(("python3.", "python2.")):
        return not _runs_a_file(words)
    own = _BY_ITSELF.get(name)
    if own is not None and own(words):
        return True
    return any(word is not None and word.startswith(_OPTIONS.get(name, ())) for word in words[1:])


def is_evaluated(root: "Node") -> bool:
    """Whether bash may evaluate a text of the line, or a variable be one that programs look at."""
    return any(map(_evaluates, _all(root)))


def _only_looks_up(words: Words) -> bool:
    """`command -v NAME` runs nothing."""
    return len(words) >= 3 and tuple(words[:2]) in (("command", "-v"), ("command", "-V"))


def _runs_a_file(words: Words) -> bool:
    """Whether an interpreter is given a file or a module, and so what it runs has a name."""
    if len(words) < 2 or words[1] is None:
        return False
    if words[1] == "-m":
        return len(words) > 2 and words[2] is not None
    return not words[1].startswith("-")


def _git(words: Words) -> bool:
    """Settings of its own, or a subcommand that runs what follows."""
    place = past_options(words)
    before = words[1:] if place is None else words[1:place]
    if any(
        word is None or word.startswith(("-c", "--config-env", "--exec-path")) for word in before
    ):
        return True
    if place is None or place >= len(words):
        return place is None
    wanted = _GIT.get(words[place] or "", ())
    return any(word is not None and word.startswith(wanted) for word in ("", *words[place + 1 :]))


def _reads_into(words: Words) -> bool:
    """The name of a variable, which may have a subscript."""
    return any(word is None or "[" in word for word in words[1:])


def _unclear_option(words: Words) -> bool:
    """Nobody knows whether what stands first is an option."""
    return len(words) > 2 and words[1] is None


_BY_ITSELF: Final[Mapping[str, Callable[[Words], bool]]] = {
    "git": _git,
    "read": _reads_into,
    "getopts": _reads_into,
    "printf": _unclear_option,
    "wait": _unclear_option,
    "test": lambda words: len(words) == 3 and words[1] is None,
}


def _evaluates(node: "Node") -> bool:
    """See rules 2 and 3."""
    if node.type in _EVALUATES or node.type in _OPENS:
        return True
    text = (node.text or b"").decode()
    if node.type == "expansion":
        return _BY_NAME.match(text) is not None
    if node.type == "test_operator":
        return text in ("-v", "-R")
    if node.type == "variable_assignment":
        return _OWN.match(text) is None
    return False


def _all(node: "Node") -> Iterator["Node"]:
    left = [node]
    while left:
        one = left.pop()
        yield one
        left += one.children
