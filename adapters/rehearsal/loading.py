"""Scripts from outside: a Python path, or a TOML or JSON file.

A file holds either `[[rule]]` entries (conditions of `script.Rule`, and a `reply` or a `fault`)
or an `[[agent]]` list with an optional `[[audit]]` list. A reply is written as `text`, as `tool`
with `input`, as `content` (raw blocks), or as several of them, in that order.
"""

import importlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.rehearsal.script import (
    Answer,
    Block,
    Fault,
    Reply,
    Rule,
    Script,
    linear,
    rules,
    text,
    tool_use,
)


class ScriptInvalid(ValueError):
    """The script cannot be used; the message says where and how to write it."""


def load(source: str) -> Script:
    """The script at `module:function`, or in a .toml or .json file.

    Raises: ScriptInvalid.
    """
    if source.endswith((".toml", ".json")):
        return from_mapping(_read(Path(source)))
    module, _, name = source.partition(":")
    try:
        script = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ScriptInvalid(
            f"no script at {source!r} ({error}); name one as module:function or as a .toml file"
        ) from error
    if not callable(script):
        raise ScriptInvalid(f"{source!r} is no function; name one as module:function")
    return script  # type: ignore[no-any-return]


def from_mapping(written: Mapping[str, Any]) -> Script:
    """The script that a file holds.

    Raises: ScriptInvalid.
    """
    try:
        if "rule" in written:
            return rules(*(_rule(line) for line in written["rule"]))
        if "agent" in written:
            agent = [_answer(line) for line in written["agent"]]
            audit = [_answer(line) for line in written.get("audit", ())]
            return linear(agent, audit or None)
    except (TypeError, KeyError, AttributeError) as error:
        raise ScriptInvalid(f"the script has an entry that cannot be read: {error}") from error
    raise ScriptInvalid("the script has neither [[rule]] nor [[agent]] entries; write one of them")


def reply_of(written: Mapping[str, Any]) -> Reply:
    """A reply from its written form."""
    rest = dict(written)
    content: list[Block] = []
    if "text" in rest:
        content.append(text(rest.pop("text")))
    if "tool" in rest:
        content.append(tool_use(rest.pop("tool"), rest.pop("input", {})))
    content += rest.pop("content", [])
    return Reply(tuple(content), **rest)


def fault_of(written: Mapping[str, Any]) -> Fault:
    """A fault from its written form; an empty one is an overload."""
    rest = dict(written)
    reply = rest.pop("reply", None)
    return Fault(**rest, reply=reply_of(reply) if reply else None)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        words = path.read_text("utf-8")
        loaded = tomllib.loads(words) if path.suffix == ".toml" else json.loads(words)
    except (OSError, ValueError) as error:
        raise ScriptInvalid(f"the script {path} cannot be read: {error}") from error
    if not isinstance(loaded, dict):
        raise ScriptInvalid(f"the script {path} holds no table; write [[rule]] entries")
    return loaded


def _rule(written: Mapping[str, Any]) -> Rule:
    rest = dict(written)
    fault, reply = rest.pop("fault", None), rest.pop("reply", None)
    return Rule(_answer({"fault": fault} if fault is not None else reply), **rest)


def _answer(written: Mapping[str, Any]) -> Answer:
    if "fault" in written:
        return fault_of(written["fault"])
    return reply_of(written)
