"""A goal's files in words: what it made for people, and what lies in its workspace. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from bot.chat.facts import Manner
from bot.chat.texts import Texts
from bot.chat.times import moment
from bot.goals.goal import Goal
from bot.ports.artifacts import Artifact
from bot.ports.attached import size_of
from bot.ports.plain import printable
from bot.ports.snapshots import Entry

SHOWN_MOST: Final = 20
PATH_CHARS: Final = 120


def files_text(
    goal: Goal,
    made: Sequence[Artifact],
    entries: Sequence[Entry] | None,
    now: float,
    manner: Manner,
) -> str:
    """What `files` answers. `entries`: of the last snapshot; None where there is none."""
    texts, name = manner.texts, manner.texts("goal", number=goal.number)
    lines = [_made(one, now, manner) for one in sorted(made, key=lambda one: -one.at)[:SHOWN_MOST]]
    if len(made) > SHOWN_MOST:
        lines.append(texts("details.others", n=len(made) - SHOWN_MOST))
    folders = _folders(entries or (), manner)
    if not lines and not folders:
        return texts("said.files.none", goal=name)
    parts = [texts("said.files.head", goal=name)]
    parts += lines or [texts("said.files.nothing_made")]
    if folders:
        parts += ["", texts("said.files.folders"), *folders]
    parts += ["", texts("said.files.hint", path=_path(made[0].path if made else "drafts/…"))]
    if goal.restore:
        parts.append(texts("said.files.to_restore"))
    return "\n".join(parts)


def rule_of(path: str, texts: Texts) -> str:
    """What becomes of a file at that path."""
    top = path.partition("/")[0] if "/" in path else ""
    return texts.first(f"files.rule.{top}", "files.rule.other")


def _made(one: Artifact, now: float, manner: Manner) -> str:
    texts = manner.texts
    return texts(
        "said.files.line",
        path=_path(one.path),
        size=size_of(one.size),
        origin=texts(f"said.files.{one.origin}", turn=one.turn),
        time=moment(one.at, now, manner.zone, texts),
    )


def _folders(entries: Sequence[Entry], manner: Manner) -> list[str]:
    """A line for each folder at the top: how many files, how large."""
    counts, sizes = Counter[str](), Counter[str]()
    for one in entries:
        if one.kind == "file":
            top = one.path.partition("/")[0] + ("/" if "/" in one.path else "")
            counts[top] += 1
            sizes[top] += one.size
    return [
        manner.texts(
            "said.files.folder" if counts[top] > 1 else "said.files.folder.one",
            path=_path(top), n=counts[top], size=size_of(sizes[top]),
        )
        for top in sorted(counts)
    ][:SHOWN_MOST]  # fmt: skip


def _path(path: str) -> str:
    """A path on one line, as code; a name is data of a stranger."""
    plain = printable(path.encode("utf-8", "replace").decode()).replace("`", "'")
    plain = " ".join(plain.split())
    return plain if len(plain) <= PATH_CHARS else plain[: PATH_CHARS - 1] + "…"
