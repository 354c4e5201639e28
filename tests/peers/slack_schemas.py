"""
What Slack takes and says, as Slack's own packages have it: JSON Schemas made from their types.

Structure comes from `@slack/types` and `@slack/web-api` (unknown arguments, blocks and elements are
faults there), lengths from the models of slack_sdk, and from `LIMITS` what neither of them knows. The
packages are installed, and the schemas made, once for each lock; that is part of setting the beds up.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError, best_match
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from tests.peers import beds
from tests.peers.node import node, npm

HERE: Final = Path(__file__).parent / "slack"
BLOCKS: Final = 50
VIEW_BLOCKS: Final = 100
TEXT: Final = 40_000
UPDATED_TEXT: Final = 4_000
ALL_BLOCKS_TEXT: Final = 13_200
"""Characters in all blocks of a message: more is `msg_blocks_too_long`; Slack has it nowhere written."""
LENGTHS: Final = {
    "block_id": 255, "action_id": 255, "callback_id": 255, "private_metadata": 3_000,
    "external_id": 255,
}  # fmt: skip
_KEPT_TEXTS: Final = {"text", "alt_text", "title", "details", "output", "description"}


@cache
def javascript() -> Path:
    """The folder that holds `node_modules`, installed by lock. Raises RuntimeError."""

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund"]
        beds.run([*npm(), "ci", *quiet], folder, "Installing the Slack server and Slack's types")

    return beds.bed("slack-js", HERE / "package-lock.json", install)


@cache
def schemas() -> Mapping[str, Any]:
    """Every schema by its name; made where they are not there yet. Raises RuntimeError."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:8]

    def make(folder: Path) -> None:
        script = HERE / "schemas.mjs"
        beds.run([node(), script, javascript(), folder], folder, "Making schemas of Slack's types")

    folder = beds.bed(f"slack_schemas_{lock}", HERE / "schemas.mjs", make)
    found: Mapping[str, Any] = json.loads((folder / "schemas.json").read_text())
    return found


def faults_of_call(method: str, arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with a call of the Web API; nothing where Slack would take it.

    Args:
        arguments: without the token, with JSON for what is JSON, numbers and truth values as such.
    """
    structure = list(_structure(f"arguments {method}", arguments))
    if structure and "team_id" in arguments:
        # slack_sdk gives a client's workspace with every call; Slack passes over what it need not know.
        rest = {name: value for name, value in arguments.items() if name != "team_id"}
        structure = list(_structure(f"arguments {method}", rest))
    wrong = structure
    if isinstance(arguments.get("blocks"), list):
        # The arguments' own type lets any block through.
        wrong += _structure("blocks", arguments["blocks"])
        wrong += [f"in blocks, {each}" for each in _of_blocks(arguments["blocks"], BLOCKS)]
        wrong += _of_all_text(arguments["blocks"])
    if isinstance(arguments.get("view"), dict):
        wrong += [f"in view, {each}" for each in _of_view(arguments["view"])]
    wrong += _of_text(method, arguments)
    return [f"{method}: {each}" for each in wrong]


def faults_of_view(view: Mapping[str, Any]) -> list[str]:
    """What is wrong with a view, wherever it stands, as in the answer to a submission."""
    return [f"view: {each}" for each in (*_structure("view", view), *_of_view(view))]


def faults_of_answer(method: str, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer of ours to such a call."""
    shown = _bare(answer)
    return [f"answer of {method}: {each}" for each in _structure(f"answer {method}", shown)]


def faults_of_event(event: Mapping[str, Any]) -> list[str]:
    """What is wrong with an event of ours."""
    name = f"event {event.get('type')} {event.get('subtype', '')}".strip()
    validator = _event_validator(event.get("type", ""), event.get("subtype", ""))
    if validator is None:
        return [f"{name}: Slack has no such event"]
    # The types take it for what was published, which it was, without all that Slack adds to it.
    event = {each: value for each, value in event.items() if each != "view"}
    error = best_match(validator.iter_errors(_bare(event)))
    return [] if error is None else [f"{name}: {_words(error)}"]


@cache
def _validator(name: str) -> Draft7Validator | None:
    schema = schemas().get(name)
    if schema is None:
        return None
    return Draft7Validator(_open(schema) if name.startswith("answer ") else schema)


@cache
def _event_validator(kind: str, subtype: str) -> Draft7Validator | None:
    """That of one event: its own schema says better what is wrong than the union of all."""
    schema = schemas()["event"]
    for name, each in schema["definitions"].items():
        fields = each.get("properties", {})
        theirs = (fields.get("type", {}).get("const"), fields.get("subtype", {}).get("const", ""))
        if name.endswith("Event") and theirs == (kind, subtype):
            made = _open({**schema, "$ref": f"#/definitions/{name}"})
            for inner in ("message", "previous_message"):
                # Of a message within an event the types ask for what only events have.
                if inner in fields:
                    made["definitions"][name]["properties"][inner] = _INNER
            return Draft7Validator(made)
    return None


def _open(schema: Any) -> Any:
    """The same schema, with room for fields: Slack's types of answers were made from a few of them."""
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: _open(v) for k, v in schema.items() if (k, v) != ("additionalProperties", False)}


def _bare(part: Any) -> Any:
    """The same without blocks, which were checked as they came, nulls, and what those types have wrong."""
    if isinstance(part, list):
        return [_bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {k: _bare(v) for k, v in part.items() if v is not None and k not in _UNCHECKED}


def _structure(name: str, given: Any) -> Iterator[str]:
    validator = _validator(name)
    if validator is None:
        yield f"there is no schema {name!r}"
        return
    error = best_match(validator.iter_errors(given))
    if error is not None:
        yield _words(error)


def _words(error: ValidationError) -> str:
    where = "/".join(str(part) for part in error.absolute_path)
    return f"{where or 'top'}: {error.message[:300]}"


def _of_view(view: Mapping[str, Any]) -> Iterator[str]:
    yield from _of_blocks(view.get("blocks") or [], VIEW_BLOCKS)
    for part in ("title", "submit", "close"):
        text = view.get(part)
        if isinstance(text, dict) and not 1 <= len(text.get("text", "")) <= 24:
            yield f"{part} of {len(text.get('text', ''))} characters"
    has_inputs = any(block.get("type") == "input" for block in view.get("blocks") or [])
    if view.get("type") == "modal" and view.get("submit") is None and has_inputs:
        yield "inputs and no submit"
    yield from _of_lengths(view)


def _of_blocks(blocks: list[Any], most: int) -> Iterator[str]:
    if len(blocks) > most:
        yield f"{len(blocks)} blocks of {most}"
    ids = [block.get("block_id") for block in blocks if isinstance(block, dict)]
    given = [each for each in ids if each is not None]
    if len(given) != len(set(given)):
        yield "a block_id twice"
    for block in blocks:
        yield from _of_block(block)
        yield from _of_lengths(block)


def _of_block(block: Any) -> Iterator[str]:
    """What slack_sdk's models find; they write anew what they do not know, so it is compared."""
    if not isinstance(block, dict):
        yield f"a block that is {type(block).__name__}"
        return
    try:
        parsed = Block.parse(dict(block))
        if parsed is None:
            yield f"unknown block {block.get('type')!r}"
            return
        parsed.validate_json()
        told = parsed.to_dict()
    except SlackObjectFormationError as error:
        yield f"{block.get('type')}: {error}"
        return
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        yield f"{block.get('type')}: slack_sdk cannot read it: {error!r}"
        return
    if block.get("type") not in _REWRITTEN and told != block:
        yield f"{block.get('type')}: slack_sdk reads {json.dumps(told)[:200]} there"


def _of_lengths(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for each in part:
            yield from _of_lengths(each)
    if not isinstance(part, dict):
        return
    for name, most in LENGTHS.items():
        if isinstance(value := part.get(name), str) and len(value) > most:
            yield f"{name} of {len(value)} characters"
    if part.get("type") == "button":
        yield from _of_button(part)
    if part.get("type") in ("section", "header", "mrkdwn", "plain_text", "markdown"):
        text = part.get("text")
        if text == "" or (isinstance(text, dict) and text.get("text") == ""):
            yield f"{part['type']} without a text"
    for value in part.values():
        yield from _of_lengths(value)


def _of_button(button: Mapping[str, Any]) -> Iterator[str]:
    text = button.get("text")
    for value, most in (
        (text.get("text") if isinstance(text, dict) else None, 75), (button.get("value"), 2_000),
        (button.get("url"), 3_000), (button.get("accessibility_label"), 75),
    ):  # fmt: skip
        if isinstance(value, str) and len(value) > most:
            yield f"button with {len(value)} characters of {most}"


def _of_all_text(blocks: list[Any]) -> Iterator[str]:
    size = sum(_texts(block) for block in blocks)
    if size > ALL_BLOCKS_TEXT:
        yield f"msg_blocks_too_long: {size} characters of text in blocks"


def _texts(part: Any) -> int:
    if isinstance(part, list):
        return sum(_texts(each) for each in part)
    if not isinstance(part, dict):
        return 0
    own = sum(len(v) for k, v in part.items() if k in _KEPT_TEXTS and isinstance(v, str))
    return own + sum(_texts(v) for v in part.values())


def _of_text(method: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    if method not in ("chat.postMessage", "chat.update", "chat.postEphemeral"):
        return
    text = arguments.get("text")
    if isinstance(text, str):
        most = UPDATED_TEXT if method == "chat.update" else TEXT
        if len(text) > most:
            yield f"msg_too_long: text of {len(text)} characters"
        if not text.strip():
            yield "no text for notifications"
    elif not arguments.get("markdown_text"):
        yield "no text for notifications"
    for ts in ("thread_ts", "ts"):
        if isinstance(value := arguments.get(ts), str) and not re.fullmatch(r"\d+\.\d+", value):
            yield f"{ts} is {value!r}"


_UNCHECKED: Final = {"blocks", "comments_count"}
_INNER: Final = {"type": "object", "required": ["type", "ts", "text", "user"]}
_REWRITTEN: Final = frozenset(
    {"rich_text", "table", "plan", "task_card", "context_actions", "input"}
)
"""Blocks of which slack_sdk's models keep less than they were given."""
