"""
The call that an approval is about: its hash, and the text that people are shown of it.

Rule 1: an approval is bound to `call_hash`: the call with that very hash runs, once, and no other.
Rule 2: the text holds the call whole. It begins with the line `tool: NAME`; then comes a line
        `why: REASON`, where there is one, and after an empty line the arguments in a fenced block:
        the command of a `bash` call word for word, anything else as JSON. Behind it may stand what
        else there is to see of it, such as the changes that it sends.
Rule 3: a command with characters that nobody sees, or that move others, is shown as JSON, in which
        each is written out: what is read is what runs.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

Form = Literal["bash", "json"]

_TEXT: Final = re.compile(
    r"\Atool: (?P<tool>\S+)\n(?:why: (?P<why>[^\n]*)\n)?\n"
    r"(?P<fence>`{3,})(?P<form>bash|json)\n(?P<body>.*?)\n(?P=fence)(?:\n\n(?P<about>.*))?\Z",
    re.DOTALL,
)
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_BLANKS: Final = frozenset("\n\t ")
_SHAPELESS: Final = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    r"\u2800]"
)
"""Unicode's Default_Ignorable_Code_Point (https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt),
and the Braille pattern without a dot."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """What people are shown of a call. `body` is whole: a command, or the arguments as JSON."""

    tool: str
    why: str
    form: Form
    body: str
    about: str = ""


def call_hash(tool: str, args: Mapping[str, Any]) -> str:
    """sha256 hex of the call: of `{"args": ARGUMENTS, "tool": NAME}` as canonical JSON."""
    return sha256(_canonical({"tool": tool, "args": args}).encode()).hexdigest()


def written(tool: str, args: Mapping[str, Any], why: str = "", about: str = "") -> str:
    """The text of an approval of this call.

    Args:
        why: a line that says why people are asked.
        about: what else there is to see of it, as Markdown.
    """
    form, body = _body(tool, args)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    reason = f"why: {' '.join(why.split())}\n" if why.strip() else ""
    further = f"\n\n{about.strip()}" if about.strip() else ""
    return f"tool: {tool}\n{reason}\n{fence}{form}\n{body}\n{fence}{further}"


def read(text: str) -> WrittenCall | None:
    """The call in a text of `written`, or None where it is none."""
    found = _TEXT.match(text)
    if found is None:
        return None
    form: Form = "bash" if found["form"] == "bash" else "json"
    about = found["about"] or ""
    return WrittenCall(found["tool"], found["why"] or "", form, found["body"], about)


def _body(tool: str, args: Mapping[str, Any]) -> tuple[Form, str]:
    command = args.get("command")
    is_plain = isinstance(command, str) and not any(map(_is_unseen, command))
    if tool == "bash" and set(args) == {"command"} and is_plain:
        return "bash", str(command)
    return "json", json.dumps(args, indent=2, sort_keys=True, ensure_ascii=True)


def _is_unseen(character: str) -> bool:
    if character in _BLANKS:
        return False
    # A blank that is none of the three, or a letter without a shape, is as good as unseen.
    is_unseen = unicodedata.category(character) in _UNSEEN or not character.isprintable()
    return is_unseen or _SHAPELESS.match(character) is not None


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
