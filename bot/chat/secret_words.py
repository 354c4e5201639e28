"""
How secrets of a room are named: `secret NAME host ... [given] [as VARIABLE]`, `secret remove NAME`. Pure.

Rule 1: a value is never among the words. A word that is neither a host nor one of ours is taken for one,
        where what stands before it can be nothing but a secret's name, or where it can be nothing but a value.
Rule 2: the variable's name is made of the secret's, and is none that programs or shells go by.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from bot.hosts import read_rule, rule_text, split_port
from bot.ports.gateway import InUse

NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
CAPITALS: Final = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
"""Names that nothing but a variable has: what follows them is no objective."""
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
HOSTS_MOST: Final = 10
_TAKEN: Final = re.compile(
    r"(LD_|DYLD_|BASH|GIT_|PYTHON|NODE_OPTIONS|PERL|RUBY|SSL_|CURL_|REQUESTS_|PIP_|CARGO_|LC_|XDG_).*"
    r"|.*_PROXY|PATH|HOME|USER|SHELL|IFS|ENV|LANG|TERM|PWD|OLDPWD|TMPDIR|PS[0-4]|PROMPT_COMMAND"
    r"|EDITOR|VISUAL|PAGER|HEADWAY_.*",
    re.IGNORECASE,
)
"""What shells, linkers, interpreters and the way to the network go by."""


_NAMED: Final = re.compile(rf"({NAME.pattern})(?:\s*[:=])?(?:\s+|(?<=[:=])|$)(.*)", re.DOTALL)
"""The secret's name, as people write it before a value, too: `NAME=value`."""
_BRACKETS: Final = re.compile(r"\[[^\[\]]*\]")
"""A mark in the place of a value, which is one word."""
_PLAIN: Final = re.compile(r"[A-Za-z]?[a-z'’-]*[a-z][,.;:!?…]*")
_OF_SECRETS: Final = re.compile(r"pass|pwd|token|key|cred|auth|secret", re.IGNORECASE)
_ENDING: Final = re.compile(r"[a-z]{2,24}|[A-Z]{2,24}|[A-Z][a-z]{1,23}|xn--[a-z0-9-]{2,59}")
_CHOSEN: Final = re.compile(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,})(?:-?[A-Z][a-z]+)*")
"""A label of large and small letters that somebody has thought of: `GitHub`."""


@dataclass(frozen=True, slots=True)
class SecretWords:
    """What is to be done with which secret; `wrong`: the words cannot be taken, and which text says why."""

    do: Literal["list", "remove", "keep"]
    name: str = ""
    hosts: tuple[str, ...] = ()
    is_given: bool = False
    variable: str = ""
    wrong: str = ""

    @property
    def in_use(self) -> InUse:
        """The secret as a room would have it."""
        mode: Literal["given", "proxied"] = "given" if self.is_given else "proxied"
        return InUse(self.name, self.hosts, self.variable or variable_of(self.name), mode)


def read_secret(text: str) -> SecretWords | None:
    """What the words behind `secret` mean, or None where they are rather an objective."""
    words = text.split()
    match [word.lower() for word in words]:
        case [] | ["list"]:
            return SecretWords("list")
        case ["remove"]:
            return SecretWords("remove", wrong="bad.secret.which")
        case ["remove", _]:
            return SecretWords("remove", words[1]) if NAME.fullmatch(words[1]) else None
        case ["remove" | "list", *_]:
            return None
        case _:
            pass
    parts = _NAMED.fullmatch(text.strip())
    return None if parts is None else _kept(parts[1], _BRACKETS.sub("[]", parts[2]).split())


def value_at(text: str) -> int | None:
    """Where a value begins that was typed behind `secret`, and must not be kept; None: nowhere."""
    parts, found = _NAMED.fullmatch(text), read_secret(text)
    is_typed = found is not None and found.wrong == "bad.secret.value"
    return parts.start(2) if parts is not None and is_typed else None


def variable_of(name: str) -> str:
    """The variable that holds a secret's placeholder, by its name."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _kept(name: str, words: list[str]) -> SecretWords | None:
    hosts: list[str] = []
    others: list[str] = []
    is_given, variable, at = False, "", 0
    while at < len(words):
        word = words[at]
        if word.lower() == "given":
            is_given = True
        elif word.lower() == "as" and at + 1 < len(words) and VARIABLE.fullmatch(words[at + 1]):
            at += 1
            variable = words[at]
        elif (host := _host(word)) is not None:
            hosts.append(host)
        else:
            others.append(word)
        at += 1
    if others:
        is_value = _is_value(name, others)
        return SecretWords("keep", name, wrong="bad.secret.value") if is_value else None
    wrong = "bad.secret.variable" if _TAKEN.fullmatch(variable or variable_of(name)) else ""
    wrong = "bad.secret.hosts" if len(hosts) > HOSTS_MOST else wrong
    return SecretWords("keep", name, tuple(dict.fromkeys(hosts)), is_given, variable, wrong)


def _is_value(name: str, words: list[str]) -> bool:
    """Whether words that are none of ours are a value, and not the rest of an objective.

    Whoever names a variable means a secret. Behind any other name it takes one word alone, and a name or
    a word that is not like those of which sentences are made.
    """
    if CAPITALS.fullmatch(name):
        return True
    is_named = not _PLAIN.fullmatch(name) or _OF_SECRETS.search(name)
    return len(words) == 1 and bool(is_named or not _PLAIN.fullmatch(words[0]))


def _host(word: str) -> str | None:
    """The host that a word names: one of one label alone is rather a word, one of random letters a value."""
    word = word.removesuffix(",")
    try:
        rule = read_rule(word)
    except (ValueError, UnicodeError):
        return None
    return rule_text(rule) if "." in rule.name and _is_chosen(word) else None


def _is_chosen(host: str) -> bool:
    """Whether a host's labels look as if somebody had thought of them."""
    labels = split_port(host)[0].removeprefix("*.").removesuffix(".").split(".")
    if all(map(str.isdecimal, labels)) or not host.isascii():
        return True
    mixed = (
        label for label in labels if not (label.islower() or label.isupper() or label.isdecimal())
    )
    return bool(_ENDING.fullmatch(labels[-1])) and all(map(_CHOSEN.fullmatch, mixed))
