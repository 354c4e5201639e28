"""
What a button of ours says, as Slack keeps it and gives it back. Pure.

Rule 1: a value is JSON: the verb, and in a view, which stands in no channel, where the verb acts and
        under which message.
Rule 2: ids are unique in a message and in a view, and tell nothing: only the value counts.
Rule 3: a value that none of ours could be is nobody's press.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.ids import NETWORK, is_channel, is_user, parted
from bot.errors import Refused
from bot.ports.chat import Place

ACTION: Final = "headway:"
"""What every action id of ours begins with, and every block id with buttons in it."""
VALUE_MOST: Final = 2_000
LABEL_MOST: Final = 75
"""https://docs.slack.dev/reference/block-kit/block-elements/button-element"""
VERB_MOST: Final = 800
PAGES_MOST: Final = 10_000
UNREAD: Final = "?"
"""What a press says that cannot be read."""


@dataclass(frozen=True, slots=True)
class Press:
    """What a button says."""

    verb: str
    place: Place | None = None
    """Where it acts; None: in the thread of the message under which it stands."""
    of: str = ""
    """Id of the message under which it counts as pressed, where that is not the one it stands under."""
    page: int = 0
    """Of a home, which it turns to; such a press says nothing else."""


def button(press: Press, label: str, number: int, *, style: str = "", spoken: str = "") -> Any:
    """The element. `number`: its own in the message or the view; `spoken`: for who cannot see it."""
    element: dict[str, Any] = {
        "type": "button",
        "action_id": f"{ACTION}{number}",
        "text": {"type": "plain_text", "text": cut(label, LABEL_MOST) or "…", "emoji": True},
        "value": value_of(press),
    }
    if style:
        element["style"] = style
    if spoken:
        element["accessibility_label"] = cut(spoken, LABEL_MOST)
    return element


def value_of(press: Press) -> str:
    """The value.

    Raises:
        Refused: the verb is too long for a button; code `too_long`.
    """
    if press.page:
        return json.dumps({"p": press.page})
    said: dict[str, str] = {"v": press.verb}
    if press.place is not None:
        said |= {"w": press.place.workspace, "r": press.place.room, "t": press.place.thread}
    if press.of:
        said["o"] = press.of
    value = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    if len(press.verb) > VERB_MOST or units(value) > VALUE_MOST:
        raise Refused("That is too long for a button. Say it in a message.", code="too_long")
    return value


def press_of(value: object) -> Press | None:
    """What a value says; None where it is none of ours."""
    if not isinstance(value, str) or len(value) > VALUE_MOST:
        return None
    try:
        said = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    page = said.get("p")
    if type(page) is int and 1 <= page <= PAGES_MOST:
        return Press("", page=page)
    if not all(isinstance(said.get(name, ""), str) for name in "vwrto"):
        return None
    verb, of = said.get("v"), said.get("o", "")
    if not isinstance(verb, str) or len(verb) > VERB_MOST or not _is_message(of):
        return None
    if "w" not in said:
        return Press(verb, of=of)
    place = place_of(said["w"], said.get("r", ""), said.get("t", ""))
    return None if place is None else Press(verb, place, of)


def read_press(value: object) -> Press:
    """What a value says; of one that is none of ours, the verb `UNREAD`, which is answered and does nothing."""
    return press_of(value) or Press(UNREAD)


def place_of(workspace: str, room: str, thread: str) -> Place | None:
    """The place; None where it can be none. An empty room is one that is yet to be chosen."""
    is_place = is_user(workspace) and (not room or is_channel(room)) and (room or not thread)
    # The thread of a goal whose first message is on its way is none of the network's yet.
    is_thread = not thread or thread.startswith(("new:", f"{room}:"))
    return Place(NETWORK, workspace, room, thread) if is_place and is_thread else None


def units(text: str) -> int:
    """Characters as Slack counts them at most: UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, most: int) -> str:
    """The text with at most so many UTF-16 units; an ellipsis stands for what is not there."""
    if units(text) <= most:
        return text
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (most - 1)]
    return kept.decode("utf-16-le", "ignore").rstrip() + "…"


def _is_message(id: str) -> bool:
    if not id:
        return True
    try:
        parted(id)
    except Refused:
        return False
    return True
