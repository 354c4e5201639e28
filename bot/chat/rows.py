"""What a row of the outbox tells by its key and its reason: whom it calls, and what it answers. Pure."""

from typing import Final

from bot.chat.replies import is_of_asker
from bot.ports.chat import EDIT, REMOVAL
from bot.ports.mail import Due

SILENT: Final = frozenset({"status", "card", "removal", "root"})
ROOT: Final = "root:"
ANSWER: Final = "reply:"
FAILED: Final = "failed:"
ASKING: Final = (f"{ANSWER}{REMOVAL}", f"{ANSWER}{EDIT}")
"""Keys of answers that ask the goal's owner: somebody removed or edited its objective."""
OF_ADMINS: Final = ("access:", "lost:")
"""What keys of cards for a room's admins begin with."""
OFFER: Final = "offer"
"""The reason of a card that offers a goal; behind a colon to whom."""
MOVED: Final = "moved:"
"""What behind that stands in the key of a root that was made because its room moved."""
_UNSEEN: Final = (MOVED, "command:", "button:", "form:")
"""What ids begin with that are of no message."""


def origin_of(key: str) -> str:
    """The message because of which a thread begins, by its root's key; empty where it is none."""
    of = key.removeprefix(ROOT)
    return "" if of.startswith(_UNSEEN) else of


def edits_root(due: Due) -> bool:
    """Whether it makes the first message of a thread say the objective as it is now."""
    return due.kind == "card" and ":card:root:" in due.key


def answered(due: Due) -> str:
    """Id of the message that it answers; empty where it answers none."""
    for begins in (ANSWER, FAILED):
        if due.key.startswith(begins):
            return due.key.removeprefix(begins)
    return ""


def offered_to(due: Due) -> tuple[str, ...]:
    """The person to whom a card offers a goal."""
    kind, _, of = due.reason.partition(":")
    return (of,) if kind == OFFER and of else ()


def is_silent(due: Due) -> bool:
    """Whether it calls nobody: it tells how things stand, or answers whoever asked just now."""
    if due.kind != "reply":
        return due.kind in SILENT
    is_answer = due.key.startswith(ANSWER) and not due.key.startswith(ASKING)
    return is_answer and is_of_asker(due.reason)
