"""
What strangers say, as it may stand in a prompt: tools, files, pages, servers, the names of all of these. Pure.

Rule 1: what a tool gave stands between tags with a mark that does not occur in it: nothing in it can end it.
Rule 2: a line of it that looks like one of ours is quoted where it stands outside such tags.
Rule 3: a word of a stranger's within a line of ours is one line, and bounded.
"""

import re
from hashlib import sha256
from itertools import count
from typing import Final

MARK_CHARS: Final = 8
_ENDS: Final = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_BLANK: Final = r" \t\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_UNSEEN: Final = r"\x00-\x08\x0e-\x1b\x7f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_LABEL: Final = re.compile(
    # No end of a line among the blanks: what was looked at is not looked at again.
    rf"(?:(?<=[{_ENDS}])|\A)([{_BLANK}{_UNSEEN}]*)"
    rf"\[(?=[\s{_UNSEEN}]*(?:Automatic|A goal|The objective|Message from|Answer of)\b)",
    re.IGNORECASE,
)


def unlabelled(text: str) -> str:
    """What somebody wrote, with every line quoted that looks like one of ours."""
    return _LABEL.sub(r"\1> [", text)


def fenced(text: str, seed: str) -> str:
    """What a tool gave, between tags that no text can foresee: the mark is made of the text itself.

    Args:
        text: whole, as the tool gave it.
        seed: names the call; the same call and text always have the same tags.
    """
    marks = (
        sha256(f"{number}\0{seed}\0{text}".encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]
        for number in count()
    )
    mark = next(mark for mark in marks if mark not in text)
    return f"<data-{mark}>\n{text}\n</data-{mark}>"


def unfenced(text: str) -> str:
    """What stands between the tags of `fenced`; any other text as it is."""
    first, _, rest = text.partition("\n")
    inner, _, last = rest.rpartition("\n")
    is_fenced = first.startswith("<data-") and first[1:] == last[2:]
    return inner if is_fenced else text


def one_line(text: str, most: int) -> str:
    """A stranger's words as part of a line: no line's end, nothing unseen, at most `most` characters."""
    seen = "".join(character if character.isprintable() else " " for character in text[: most * 8])
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def bounded(text: str, most: int) -> str:
    """A stranger's lines: nothing unseen but ends of lines, none that looks like ours, cut at its end."""
    kept = "".join(
        character if character.isprintable() or character == "\n" else " "
        for character in text[: most + 1]
    )
    if len(text) > most:
        kept = kept[: most - 14].rstrip() + " [cut off here]"
    return unlabelled(kept.strip())
