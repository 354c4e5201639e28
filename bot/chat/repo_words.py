"""How a room's repositories are named in words: `repo add URL as app secret TOKEN`. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.objective_lines import NAME, repository_in
from bot.ports.repositories import Repository
from bot.ports.repository_urls import NoUrl, read_url

_WORD: Final = re.compile(r"repos?(?:itor(?:y|ies))?", re.IGNORECASE)
_VERBS: Final = frozenset({"", "list", "add", "remove"})
_OPTIONS: Final = ("as", "secret", "branch")
_SECRET: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_BRANCH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,199}")


@dataclass(frozen=True, slots=True)
class RepoWords:
    """What is wanted: a repository to add, a name to remove, or (neither) the list."""

    add: Repository | None = None
    remove: str = ""


def read_repo(text: str, texts: Texts) -> RepoWords | None:
    """What was said behind `room`, or None where it is not about repositories.

    Raises:
        BadInput: it is, and cannot be taken as it is.
    """
    if not is_about_repositories(text):
        return None
    match text.split()[1:]:
        case [] | ["list"]:
            return RepoWords()
        case [_, url, *options] if _verb(text) == "add":
            return RepoWords(_added(url, options, texts))
        case [_, name] if _verb(text) == "remove":
            return RepoWords(remove=name)
        case _:
            raise BadInput(texts("bad.repo"))


def is_about_repositories(text: str) -> bool:
    """Whether what follows `room` is about them, and not rather an objective."""
    words = text.split(maxsplit=2)
    return bool(words and _WORD.fullmatch(words[0])) and _verb(text) in _VERBS


def listed(repositories: "tuple[Repository, ...] | list[Repository]", texts: Texts) -> str:
    """A line each."""
    if not repositories:
        return texts("said.repo.none")
    lines = [
        texts(
            "said.repo.line",
            name=one.name,
            url=one.url,
            branch=texts("repo.branch", branch=one.branch) if one.branch else "",
            secret=texts("repo.secret", secret=one.secret) if one.secret else "",
        )
        for one in repositories
    ]
    return "\n".join([texts("said.repo.head"), *lines, "", texts("said.repo.foot")])


def shown_in(objective: str, texts: Texts) -> tuple[str, ...]:
    """What a goal's status says of the repository that its objective names."""
    name = repository_in(objective)
    return (texts("status.repository", name=name),) if name else ()


def _verb(text: str) -> str:
    return [*text.lower().split(maxsplit=2), "", ""][1]


def _added(text: str, options: list[str], texts: Texts) -> Repository:
    try:
        url = read_url(text)
    except NoUrl as error:
        raise BadInput(texts(f"bad.repo.{error.code}")) from None
    if len(options) % 2:
        raise BadInput(texts("bad.repo"))
    given = dict(zip([one.lower() for one in options[::2]], options[1::2], strict=True))
    if not given.keys() <= set(_OPTIONS) or len(given) * 2 != len(options):
        raise BadInput(texts("bad.repo"))
    name, secret, branch = (given.get(one, "") for one in _OPTIONS)
    for value, fits, key in ((name, NAME, "name"), (secret, _SECRET, "secret"),
                             (branch, _BRANCH, "branch")):  # fmt: skip
        if value and not fits.fullmatch(value):
            raise BadInput(texts(f"bad.repo.{key}", value=value[:60]))
    return Repository(name or url.name, url.url, branch, secret)
