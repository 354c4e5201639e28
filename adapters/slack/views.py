"""
Forms, details and homes as Slack's views, and forms that were filled in as messages. Pure.

Rule 1: whatever a window or a home holds, the view is within every limit of Slack's; what does not fit is
        cut with an ellipsis, save what is filled in and what is approved.
Rule 2: what a form is about goes along in `private_metadata`, which only we write and only Slack gives.
Rule 3: what is no form of ours is nobody's message.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from adapters.slack.ids import is_channel
from adapters.slack.payloads import Json, fields, opaque, text_of
from adapters.slack.plates import Numbers, home_blocks, plain_text, plate
from adapters.slack.presses import cut, place_of, units
from bot.ports.chat import FORM_ACT, Incoming, Place, Speaker
from bot.ports.windows import ROOM, TICKED, WORDS, Act, Home, Input, Window

FORM: Final = "headway:form"
"""Callback id of every view of ours that is submitted."""
READ: Final = "headway:read"
"""Callback id of those that are not."""
BLOCK: Final = "headway:input:"
"""What the block id of an input begins with; its name follows."""
ACTION: Final = "headway:value"
TITLE_MOST: Final = 24
HINT_MOST: Final = 2_000
TEXT_MOST: Final = 3_000
OPTIONS_MOST: Final = 100
LABEL_MOST: Final = 75
METADATA_MOST: Final = 3_000
BLOCKS_MOST: Final = 100
ERROR_MOST: Final = 600
"""https://docs.slack.dev/reference/views/modal-views and /reference/block-kit"""
FIELDS_MOST: Final = 30
_ACTS: Final = frozenset(get_args(Act))


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences of views that are the network's own, from the catalogue."""

    loading: str
    failed: str
    title: str
    close: str
    later: str
    """Of the button that turns to the next page of a home."""
    earlier: str
    page: str
    """With `{page}` and `{pages}`."""
    thread: str
    """Label of the link to a goal's thread."""


def modal(window: Window) -> dict[str, Any]:
    """The view of a window."""
    numbers = Numbers()
    blocks: list[Any] = []
    for at, shape in enumerate(window.sections):
        if at:
            blocks.append({"type": "divider"})
        blocks += plate(shape, numbers)
    is_form = bool(window.submit and window.act)
    if is_form:
        room = BLOCKS_MOST - len(window.inputs)
        first = next((one.name for one in window.inputs if not one.value), "")
        blocks = blocks[:room]
        blocks += [_input(one, is_first=one.name == first) for one in window.inputs]
    view = {
        "type": "modal",
        "callback_id": FORM if is_form else READ,
        "title": _title(window.title),
        "blocks": blocks[:BLOCKS_MOST] or [_said("…")],
    }
    if window.close:
        view["close"] = _title(window.close)
    if is_form:
        view["submit"] = _title(window.submit)
        view["private_metadata"] = _metadata(window)
    return view


def loading(words: Words) -> dict[str, Any]:
    """What stands there until the window is read."""
    return _notice(words.loading, words)


def failure(why: str, words: Words) -> dict[str, Any]:
    """What stands in the place of a window that there is not: why, in a sentence."""
    return _notice(why or words.failed, words)


def home_view(home: Home, workspace: str, words: Words) -> dict[str, Any]:
    """The view of a home."""
    at = words.page.format(page=home.page, pages=home.pages)
    turn = (words.earlier, words.later, at, words.thread)
    return {"type": "home", "blocks": home_blocks(home, workspace, turn)}


def form_of(view: Json, who: Speaker, workspace: str, at: float) -> Incoming | None:
    """A form that was filled in, as a message; None where it is none of ours.

    Args:
        view: of the payload `view_submission`.
        workspace: the install's, by whose right it came.
    """
    about, id = _about(view), opaque(view.get("id"))
    if about is None or not id or about["w"] != workspace:
        return None
    filled = _filled(view)
    room = filled.pop(ROOM, about["r"]) if about["a"] == "start" else about["r"]
    place = place_of(workspace, room, about["t"] if room == about["r"] else "")
    if place is None:
        return None
    text = filled.pop(WORDS, "")
    form = {**filled, **about["f"], FORM_ACT: about["a"]}
    return Incoming(
        f"form:{id}",
        place,
        who,
        text,
        at,
        reply_to=about["o"],
        via="form",
        form=tuple(form.items()),
    )


def workspace_of(view: Json) -> str:
    """The workspace in which a form of ours acts; empty where it is none of ours."""
    about = _about(view)
    return about["w"] if about is not None else ""


def is_form(view: Json) -> bool:
    """Whether a view is a form of ours."""
    return view.get("callback_id") == FORM


def complaints(errors: Mapping[str, str], view: Json) -> dict[str, Any]:
    """The answer to a submission that says what is wrong, under the inputs that are there."""
    there = [
        text_of(block.get("block_id"))
        for block in _blocks(view)
        if block.get("type") == "input" and text_of(block.get("block_id")).startswith(BLOCK)
    ]
    told: dict[str, str] = {}
    for name, why in errors.items():
        block = f"{BLOCK}{name}"
        under = block if block in there else next(iter(there), "")
        if under:
            told[under] = cut(f"{told.get(under, '')} {_unticked(why)}".strip(), ERROR_MOST)
    return {"response_action": "errors", "errors": told}


def _input(one: Input, *, is_first: bool) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "input",
        "block_id": f"{BLOCK}{one.name}",
        "label": plain_text(one.label, HINT_MOST),
        "element": _element(one, is_first=is_first),
        "optional": one.is_optional,
    }
    if one.hint:
        block["hint"] = plain_text(_unticked(one.hint), HINT_MOST)
    return block


def _element(one: Input, *, is_first: bool) -> dict[str, Any]:
    element = _asked(one)
    if is_first:
        element["focus_on_load"] = True
    return element


def _asked(one: Input) -> dict[str, Any]:
    match one.kind:
        case "words" | "line":
            element: dict[str, Any] = {
                "type": "plain_text_input",
                "action_id": ACTION,
                "multiline": one.kind == "words",
                "max_length": max(1, min(one.most, TEXT_MOST)),
            }
            # A value that would be cut is not put there: what is submitted is what counts.
            if one.value and units(one.value) <= element["max_length"]:
                element["initial_value"] = one.value
            return element
        case "choice":
            options = [_option(*option) for option in one.options[:OPTIONS_MOST]]
            element = {"type": "static_select", "action_id": ACTION, "options": options}
            chosen = [option for option in options if option["value"] == one.value]
            if chosen:
                element["initial_option"] = chosen[0]
            return element
        case "tick":
            options = [_option(TICKED, next((told for _, told in one.options), one.label))]
            element = {"type": "checkboxes", "action_id": ACTION, "options": options}
            if one.value == TICKED:
                element["initial_options"] = options
            return element
        case "place":
            element = {
                "type": "conversations_select",
                "action_id": ACTION,
                "filter": {
                    "include": ["public", "private"],
                    "exclude_bot_users": True,
                    "exclude_external_shared_channels": False,
                },
            }
            if is_channel(one.value) and not one.value.startswith("D"):
                element["initial_conversation"] = one.value
            else:
                element["default_to_current_conversation"] = True
            return element


def _option(value: str, label: str) -> dict[str, Any]:
    return {"text": plain_text(label or value, LABEL_MOST), "value": cut(value, 150)}


def _metadata(window: Window) -> str:
    place = window.place or Place("slack", "", "")
    about = {
        "a": window.act,
        "w": place.workspace,
        "r": place.room,
        "t": place.thread,
        "o": window.of,
        "f": [list(pair) for pair in window.fixed],
    }
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
    # Only fields of ours stand there, none of which is long: more is a mistake of ours, and no form.
    return text if units(text) <= METADATA_MOST else ""


def _about(view: Json) -> dict[str, Any] | None:
    """What a form is about, as `_metadata` has it."""
    if not is_form(view):
        return None
    try:
        about = json.loads(text_of(view.get("private_metadata")))
    except (ValueError, RecursionError):
        return None
    if not isinstance(about, dict) or text_of(about.get("a")) not in _ACTS:
        return None
    if not all(isinstance(about.get(name), str) for name in "wrto"):
        return None
    pairs = about.get("f")
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        return None
    return {**about, "f": dict(pairs)}


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)


def _filled(view: Json) -> dict[str, str]:
    """What stands in each input, by its name."""
    values = fields(fields(view.get("state")).get("values"))
    found: dict[str, str] = {}
    for block, actions in list(values.items())[:FIELDS_MOST]:
        if block.startswith(BLOCK):
            found[block.removeprefix(BLOCK)] = _value(fields(fields(actions).get(ACTION)))
    return found


def _value(element: Json) -> str:
    chosen = fields(element.get("selected_option")).get("value")
    value = element.get("value") or element.get("selected_conversation") or chosen
    ticked = element.get("selected_options")
    if isinstance(ticked, list) and ticked:
        value = fields(ticked[0]).get("value")
    return text_of(value)


def _blocks(view: Json) -> Sequence[Json]:
    blocks = view.get("blocks")
    return [one for one in blocks if isinstance(one, Mapping)] if isinstance(blocks, list) else []


def _title(text: str) -> Any:
    return plain_text(text, TITLE_MOST)


def _notice(text: str, words: Words) -> dict[str, Any]:
    return {
        "type": "modal",
        "callback_id": READ,
        "title": _title(words.title),
        "close": _title(words.close),
        "blocks": [_said(text)],
    }


def _said(text: str) -> dict[str, Any]:
    return {"type": "section", "text": plain_text(_unticked(text), TEXT_MOST)}


def _unticked(text: str) -> str:
    """A sentence of ours where no markup is read: what stands as code stands in quotes."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    return "".join(f"“{part}”" if at % 2 else part for at, part in enumerate(parts))
