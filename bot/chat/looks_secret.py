"""
What looks like a secret in a text that somebody wrote. Pure.

Rule 1: a token of a known maker's is known by its own beginning and length; anything else only where words
        next to it say that it is one (`password: ...`), and it looks like nothing that people write.
Rule 2: hashes, ids, versions, paths, addresses without a password, pictures in base64 and code with names
        are none: who is told too often reads no more.
Rule 3: this is a help to people and no wall: what is not known here passes.

Beginnings and lengths are those of the makers' documentation on their tokens, and of the rules of gitleaks and
of GitHub's secret scanning, as of 2026.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_EDGE: Final = r"(?<![A-Za-z0-9_-])"
_KNOWN: Final = {
    "slack": r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{20,250}",
    "slack_hook": r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}",
    "github": r"gh[opsur]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255}",
    "gitlab": r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_.-]{20,300}",
    "anthropic": r"sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{20,200}",
    "openai": r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,250}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    "aws": r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    "google": r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,500}",
    "npm": r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "pypi": r"pypi-AgE[A-Za-z0-9_-]{50,500}",
    "stripe": r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{32,100}",
    "huggingface": r"hf_[A-Za-z0-9]{34,40}(?![A-Za-z0-9])",
    "docker": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,60}",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{64}",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "telegram": r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
    "matrix": r"syt_[A-Za-z0-9]{4,100}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}",
    "vault": r"hv[bs]\.[A-Za-z0-9_-]{24,300}",
    "age": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "jwt": r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,2000}",
}
_TOKEN: Final = re.compile(
    _EDGE + "(?:" + "|".join(f"(?P<{kind}>{shape})" for kind, shape in _KNOWN.items()) + ")"
)
_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----BEGIN )[\s\S]){0,20000}?"
    r"(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|(?=-----BEGIN )|\Z)"
)
"""One that has no end ends where the next one begins: what was looked at is not looked at again."""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/?#@:\"'<>]*:([^\s/?#@\"'<>]{3,200})@[^\s]")
_SAID: Final = re.compile(
    r"(?i)(?<![a-z])(?:pass(?:word|wort|wd|phrase)?|pwd|secret|token|api[ _-]?key|access[ _-]?key|"
    r"auth[ _-]?key|private[ _-]?key|client[ _-]?secret|bearer|credentials?)[\"'`*]{0,3}"
    r"(?:\s*(?::=|[:=])\s*|\s+is:?\s+|\s+)[\"'`*]{0,3}(?:bearer\s+)?([^\s\"'`<>,;(){}\[\]]{8,500})"
)
_SURE: Final = re.compile(
    r"(?i)(?<![a-z])(?:password|passwort|passphrase|pwd)[\"'`*]{0,3}\s*[:=]\s*[\"'`*]{0,3}"
    r"([^\s\"'`<>,;(){}\[\]]{8,500})"
)
_NO_SECRET: Final = re.compile(
    r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:sha(?:1|256|512):)?[0-9a-f]{32,128}|[./~$%@#].*"
    r"|.*[.](?:py|js|ts|md|txt|json|ya?ml|toml|com|org|net|io|dev|html?|env)(?:[/:?#.].*)?|https?://.*"
    r"|.*(?:example|changeme|placeholder|your[_-]|xxxx|\*\*\*|\.\.\.|…|redacted|secret|password|token|null|none|true|false|env).*"
    r"|v?[0-9]+(?:[.][0-9]+)+.*|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|\w+\(.*|headway_[0-9a-f]{40}|[A-Za-z_]+=[^=].*"
)
"""Ids, hashes, paths, names, versions, days, calls, and what stands where a secret would."""
_ORDINARY: Final = re.compile(
    r"[A-Za-z]?[a-z'’-]+[.!?…]*|[A-Z_]+|[a-z]+(?:[_.-][a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[0-9.,:/-]+"
)
_LEAST_BITS: Final = 3.0
"""Of entropy a letter: below it are words, and what was typed by holding a key."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Where something secret seems to stand, and of which kind: a key of the texts `secret_kind.*`."""

    begin: int
    end: int
    kind: str


def suspects(text: str) -> tuple[Suspect, ...]:
    """What looks secret in a text, in order, none over another."""
    found = sorted(_all(text), key=lambda one: (one.begin, -one.end))
    apart: list[Suspect] = []
    for one in found:
        if not apart or one.begin >= apart[-1].end:
            apart.append(one)
    return tuple(apart)


def _all(text: str) -> Iterator[Suspect]:
    for match in _KEY.finditer(text):
        yield Suspect(*match.span(), "private_key")
    for match in _TOKEN.finditer(text):
        if not _is_sample(match[0]):
            yield Suspect(*match.span(), str(match.lastgroup))
    for match in _URL.finditer(text):
        if not _NO_SECRET.fullmatch(match[1]):
            yield Suspect(*match.span(1), "url")
    for match in _SURE.finditer(text):
        if _is_password(match[1]):
            yield Suspect(*match.span(1), "password")
    for match in _SAID.finditer(text):
        if _is_random(match[1]):
            yield Suspect(*match.span(1), "password")


def _is_sample(token: str) -> bool:
    """Whether it is one from a manual: the same letter again and again, or a word that says so."""
    body = token[-16:]
    return len(set(body)) < 5 or "EXAMPLE" in token.upper()


def _is_password(value: str) -> bool:
    """Whether what stands behind `password:` is one: no plain word, and no name of one."""
    value = value.rstrip(".!?")
    if len(value) < 8 or _NO_SECRET.fullmatch(value) or _ORDINARY.fullmatch(value):
        return False
    return _kinds(value) >= 2


def _is_random(value: str) -> bool:
    """Whether letters look as if nobody had chosen them."""
    value = value.rstrip(".!?")
    if len(value) < 16 or _NO_SECRET.fullmatch(value) or _ORDINARY.fullmatch(value):
        return False
    return _kinds(value) >= 2 and _bits(value) >= _LEAST_BITS and any(map(str.isdigit, value))


def _kinds(value: str) -> int:
    tests = (str.islower, str.isupper, str.isdigit, lambda letter: not letter.isalnum())
    return sum(any(map(test, value)) for test in tests)


def _bits(value: str) -> float:
    """Entropy of a letter, in bits."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
