"""
How secrets of a room are named: `secret NAME host ... [given] [as VARIABLE]`, `secret remove NAME`. Pure.

Rule 1: a value is never among the words. A word that is neither a host nor one of ours is taken for one.
Rule 2: the variable's name is made of the secret's, and is none that programs or shells go by.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from bot.hosts import read_rule, rule_text
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


_TYPED: Final = re.compile(
    r"\s*(?:[/!@<]\S+\s+)?secret:?\s+(\S+)\s+(\S.*)", re.DOTALL | re.IGNORECASE
)


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
    if not words or [word.lower() for word in words] == ["list"]:
        return SecretWords("list")
    if words[0].lower() == "remove" and len(words) == 2:
        return SecretWords("remove", words[1]) if NAME.fullmatch(words[1]) else None
    name, rest = words[0], words[1:]
    if not NAME.fullmatch(name):
        return None
    found = _further(name, rest)
    if found is None:
        # Whoever names a variable means a secret, and may have typed its value behind it.
        return (
            SecretWords("keep", name, wrong="bad.secret.value")
            if CAPITALS.fullmatch(name)
            else None
        )
    return found


def typed_value(text: str) -> str:
    """What stands in a command where a value was typed, and must not be kept; empty: nothing does."""
    match = _TYPED.match(text)
    if match is None or not CAPITALS.fullmatch(match[1]):
        return ""
    found = read_secret(f"{match[1]} {match[2]}")
    return match[2].strip() if found is not None and found.wrong else ""


def variable_of(name: str) -> str:
    """The variable that holds a secret's placeholder, by its name."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _further(name: str, words: list[str]) -> SecretWords | None:
    hosts: list[str] = []
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
            return None
        at += 1
    wrong = "bad.secret.variable" if _TAKEN.fullmatch(variable or variable_of(name)) else ""
    wrong = "bad.secret.hosts" if len(hosts) > HOSTS_MOST else wrong
    return SecretWords("keep", name, tuple(dict.fromkeys(hosts)), is_given, variable, wrong)


def _host(word: str) -> str | None:
    """The host that a word names: one of one label alone is rather a word."""
    try:
        rule = read_rule(word.removesuffix(","))
    except (ValueError, UnicodeError):
        return None
    return rule_text(rule) if "." in rule.name else None
