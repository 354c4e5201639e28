"""
Commands that are known to read only, whatever their arguments here say.

Rule 1: a command, an option and a predicate that are not listed are not known; nothing is guessed.
Rule 2: a pattern that may become an option (`*`, which may find a file named `-delete`) is taken for one
        that is not listed.
Rule 3: this says what a command does by itself. What a file or a repository's own settings make of it
        is held by the session, in which nothing can be written.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from bot.tools.policy.shell import Command, Word, names

Check = Callable[[Command], bool]
"""Whether the words after the name leave it a command that reads."""

_NUMBER: Final = re.compile(r"-[0-9]+[A-Za-z]?")


def reads_only(command: Command) -> bool:
    """Whether a simple command of a plain line is known to read only."""
    if not command or not command[0].is_fixed:
        return False
    check = _CHECKS.get(command[0].text)
    return check is not None and check(command[1:])


def _any(words: Command) -> bool:
    """It has no option that writes or runs anything."""
    return True


def _none(words: Command) -> bool:
    return not words


def _but(*unfit: str, operands: int | None = None) -> Check:
    """Any option but those that begin so; `operands`: how many other words it may have."""

    def check(words: Command) -> bool:
        options = [word for word in words if word.may_be_option or word.text[:1] == "-"]
        # `-` alone is a place, and so is whatever stands behind `--`.
        texts = [word.text for word in words]
        end = texts.index("--") if "--" in texts else len(texts)
        others = sum(text[:1] != "-" or text == "-" for text in texts[:end]) + len(texts[end + 1 :])
        if operands is not None and (others > operands or any(not w.is_fixed for w in words)):
            return False
        return not any(_begins(word, unfit) for word in options)

    return check


def _begins(word: Word, unfit: Iterable[str]) -> bool:
    """Whether a word may be one of these options."""
    if not word.is_fixed:
        return True
    if word.text.startswith("--"):
        # GNU's may be cut short.
        name = word.text.partition("=")[0]
        return name != "--" and any(option.startswith(name) for option in unfit)
    # Letters stand together.
    return any(option[1] in word.text for option in unfit if not option.startswith("--"))


def _only(short: str, long: str = "") -> Check:
    """No option but those: `short`: letters, which may stand together; `long`: names."""
    listed = names(long)

    def check(words: Command) -> bool:
        for word in words:
            if word.may_be_option:
                return False
            if word.text == "--":
                return not any(one.may_be_option for one in words)
            if word.text[:1] == "-" and len(word.text) > 1 and not _is_listed(word, short, listed):
                return False
        return True

    return check


def _is_listed(word: Word, short: str, long: frozenset[str]) -> bool:
    text = word.text
    if text.startswith("--"):
        return text[2:].partition("=")[0] in long
    if _NUMBER.fullmatch(text):
        return True
    letters = text[1:].rstrip("0123456789")
    return word.is_fixed and all(letter in short for letter in letters)


_FIND: Final = names(
    """
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type
    -xtype -maxdepth -mindepth -size -empty -newer -newermt -anewer -cnewer -mtime -mmin -atime -amin
    -ctime -cmin -perm -user -group -uid -gid -nouser -nogroup -links -inum -samefile -readable
    -writable -executable -true -false -print -print0 -printf -ls -prune -quit -not -o -or -a -and
    -depth -mount -xdev -follow -daystart -L -H -P
    """
)
_FIND_NUMBER: Final = re.compile(r"-[0-9]+[bcwkMG]?")


def _find(words: Command) -> bool:
    """Looks, tests and prints; no `-exec`, `-delete`, `-fprint`."""
    for word in words:
        if word.may_be_option:
            return False
        if (
            word.text[:1] == "-"
            and word.text not in _FIND
            and not _FIND_NUMBER.fullmatch(word.text)
        ):
            return False
    return True


_LOG: Final = _only(
    "npsuzibwMUGSLqacmFEPt",
    """
    oneline stat shortstat numstat dirstat summary graph all patch no-patch name-only name-status
    format pretty since until after before author committer grep all-match invert-grep follow decorate
    no-decorate decorate-refs merges no-merges first-parent reverse abbrev-commit abbrev no-abbrev date
    date-order topo-order max-count skip cached staged word-diff word-diff-regex color no-color
    no-ext-diff no-textconv diff-filter unified raw text ignore-all-space ignore-space-change
    ignore-blank-lines find-renames find-copies no-renames minimal patience histogram exit-code quiet
    check relative branches tags remotes left-right cherry-pick no-index merge-base full-index
    parents children full-history simplify-merges cc no-prefix inter-hunk-context function-context
    no-notes source boundary no-walk no-pager
    """,
)  # fmt: skip
_STATUS: Final = _only(
    "sbuvzU",
    """
    short branch porcelain long verbose untracked-files ignored ignore-submodules column no-column
    ahead-behind no-ahead-behind renames no-renames find-renames show-stash null
    """,
)
_LIST: Final = _only("avrlni", "all verbose remotes list show-current ignore-case")


_CONFIG: Final = names("--get --get-all --get-regexp --list -l")
_CONFIG_OPTIONS: Final = _only(
    "lz", "get get-all get-regexp list local global null show-origin name-only"
)


def _bare(check: Check) -> Check:
    """The same, with options alone: any other word would make something."""
    return lambda words: check(words) and all(word.text[:1] == "-" for word in words)


def _listing(words: Command) -> bool:
    """`git stash list`, `git worktree list`."""
    return len(words) >= 1 and words[0] == Word("list") and _LOG(words[1:])


def _reflog(words: Command) -> bool:
    shows = not words or words[0] == Word("show") or words[0].text[:1] == "-"
    return shows and _LOG(words[1:] if words and words[0] == Word("show") else words)


def _config(words: Command) -> bool:
    shows = words[:1] and words[0].is_fixed and words[0].text in _CONFIG
    return bool(shows) and _CONFIG_OPTIONS(words)


_GIT: Final[Mapping[str, Check]] = {
    "status": _STATUS,
    "log": _LOG,
    "show": _LOG,
    "diff": _LOG,
    "shortlog": _only("sneg", "summary numbered email group all since until no-merges"),
    "blame": _only("lstpeCMwnfL", "porcelain line-porcelain date show-email show-name"),
    "branch": _bare(_LIST),
    "tag": _bare(_LIST),
    "remote": _bare(_LIST),
    "stash": _listing,
    "worktree": _listing,
    "reflog": _reflog,
    "config": _config,
    "rev-parse": _only("q", "short abbrev-ref verify show-toplevel git-dir is-inside-work-tree "
                       "show-prefix show-cdup quiet symbolic-full-name all"),
    "rev-list": _only("n", "count all max-count since until left-right first-parent no-merges "
                      "oneline abbrev-commit reverse branches tags"),
    "merge-base": _only("a", "all is-ancestor octopus fork-point"),
    "describe": _only("", "tags all long always abbrev dirty match exclude contains"),
    "ls-files": _only("cdmoistuzvk", "cached deleted modified others ignored stage unmerged "
                      "exclude-standard full-name error-unmatch"),
    "ls-tree": _only("rdtlz", "name-only name-status full-name full-tree long abbrev"),
    "cat-file": _only("ptse"),
    "grep": _only("nilLcwEFPGhHovepqzaIrABCm", "line-number ignore-case files-with-matches count "
                  "files-without-match word-regexp extended-regexp fixed-strings perl-regexp cached "
                  "untracked name-only heading break show-function all-match and or not "
                  "max-depth column only-matching invert-match quiet text context"),
    "version": _none,
}  # fmt: skip


def _git(words: Command) -> bool:
    """A subcommand that shows, with options that show; `-c` and their like never."""
    left = list(words)
    while left and left[0].is_fixed:
        if left[0].text == "--no-pager":
            left = left[1:]
        elif left[0].text == "-C" and len(left) > 1 and left[1].is_fixed:
            left = left[2:]
        else:
            break
    if not left or not left[0].is_fixed:
        return False
    if left[0].text == "--version":
        return len(left) == 1
    check = _GIT.get(left[0].text)
    return check is not None and check(tuple(left[1:]))


def _command(words: Command) -> bool:
    """`command -v NAME` looks a name up."""
    return bool(words) and words[0].is_fixed and words[0].text in ("-v", "-V")


_ANY: Final = names(
    """
    ls cat head tail wc grep egrep fgrep nl cut tr diff cmp comm paste join stat du df pwd cd echo : true
    false basename dirname realpath readlink which type uname id whoami printenv md5sum sha1sum sha224sum
    sha256sum sha384sum sha512sum b2sum cksum sum od hexdump strings fold fmt rev tac seq expr jq nproc
    arch groups tty getconf factor numfmt column zcat bzcat xzcat sleep ps free uptime lscpu
    """
)
_CHECKS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(_ANY, _any),
    # `test -v 'a[$(..)]'` runs what the subscript says.
    "test": _but("-v", "-R"),
    "printf": _but("-v"),
    "rg": _but("--pre", "--hostname-bin", "-z", "--search-zip"),
    "sort": _but("-o", "--output", "-T", "--temporary-directory", "--compress-program"),
    "uniq": _but(operands=1),
    "tree": _but("-o", "--output", "-R"),
    "file": _but("-C", "--compile", "-z", "-Z", "--uncompress"),
    "date": _but("-s", "--set", operands=2),
    "find": _find,
    "git": _git,
    "command": _command,
}
