"""What can be pressed and filled in, in a message or a view. Pure."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def found(part: Mapping[str, Any], wanted: str) -> Json:
    """The element of a message or a view whose action or label is `wanted`, with its block.

    Raises:
        LookupError: there is none; the message names those that are there.
    """
    there = buttons(part)
    for element in there:
        label = (element.get("text") or {}).get("text", "")
        if wanted in (element.get("action_id"), label):
            return element
    names = [(each.get("text") or {}).get("text", each.get("action_id")) for each in there]
    raise LookupError(f"There is no {wanted!r}; there are {names}.")


def buttons(part: Mapping[str, Any]) -> list[Json]:
    """All that can be pressed in a message or a view, each with its block."""
    elements: list[Json] = []
    for block in part.get("blocks") or ():
        inside = list(block.get("elements") or ()) if block.get("type") == "actions" else []
        if block.get("accessory"):
            inside.append(block["accessory"])
        elements += [{**each, "block_id": block.get("block_id", "")} for each in inside]
    return elements


def input_of(view: Mapping[str, Any], name: str) -> tuple[str, Json]:
    for block in view.get("blocks", ()):
        element = block.get("element") or {}
        label = (block.get("label") or {}).get("text", "")
        named = (element.get("action_id"), block.get("block_id"), label, label.lower())
        if block.get("type") == "input" and name in named:
            return block["block_id"], element
    raise LookupError(f"The window has no input {name!r}.")


def filled(element: Mapping[str, Any], value: str | None) -> Json:
    kind = element["type"]
    if kind in ("conversations_select", "channels_select"):
        return {"type": kind, f"selected_{kind.removesuffix('s_select')}": value}
    if kind == "checkboxes":
        ticked = [one for one in element.get("options", ()) if one["value"] == value]
        return {"type": kind, "selected_options": ticked}
    if kind.endswith("select") or kind == "radio_buttons":
        chosen = next((o for o in element.get("options", ()) if o["value"] == value), None)
        return {"type": kind, "selected_option": chosen}
    return {"type": kind, "value": value or None}
